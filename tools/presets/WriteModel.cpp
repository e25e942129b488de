// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/presets/WriteModel.h"
#include "tools/presets/OnnxGraph.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/files/NewFile.h"
#include "runtime/files/ProceduralFile.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>

namespace wsec::presets {

namespace fs = std::filesystem;
using Attribute = OnnxGraph::Attribute;

/// Operators of the standard as it is: Attention, RotaryEmbedding and
/// RMSNormalization came with opset 23, IR 11.
/// TensorScatter, of caches, with 24.
static constexpr int64_t kOpset = 23, kCachedOpset = 24, kIrVersion = 11;
/// onnxruntime's operators, of version 1.
static constexpr const char *kContrib = "com.microsoft";
/// Weights start at multiples of this.
static constexpr uint64_t kAlignment = 64;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

namespace {
/// Where the weights of a model lie: one after the other in one file, which
/// may be a computed one. An element's value depends on the seed, its place in
/// the file and its distribution, so stored and computed weights are the same.
class WeightLayout {
public:
  WeightLayout(const ModelShape &shape, const WriteOptions &options)
      : options(options), parameters(parametersOf(shape)) {}

  void declare(onnx::GraphProto &graph);
  void write() const;
  uint64_t bytes() const { return end; }

private:
  runtime::ProceduralFile values(const Parameter &parameter) const {
    return {options.seed, float(parameter.range), float(parameter.mean)};
  }
  const WriteOptions &options;
  std::vector<Parameter> parameters;
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
};
} // namespace

static void addExternal(onnx::TensorProto &tensor, const char *key,
                        const std::string &value) {
  auto &entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

static std::string dataPath(const WriteOptions &options) {
  return options.path + ".data";
}

void WeightLayout::declare(onnx::GraphProto &graph) {
  const std::string file = fs::path(dataPath(options)).filename().string();
  for (const Parameter &parameter : parameters) {
    const uint64_t bytes = uint64_t(parameter.elements()) * sizeof(float);
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(parameter.name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t extent : parameter.dims)
      tensor.add_dims(extent);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    offsets.push_back(end);
    addExternal(tensor, "location",
                options.weights == Weights::Procedural
                    ? values(parameter).location()
                    : file);
    addExternal(tensor, "offset", absl::StrCat(end));
    addExternal(tensor, "length", absl::StrCat(bytes));
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
}

void WeightLayout::write() const {
  const std::string path = dataPath(options);
  std::error_code none;
  const fs::path folder = fs::absolute(path, none).parent_path();
  const fs::space_info space = fs::space(folder, none);
  if (!none && space.available < end)
    throw std::runtime_error(absl::StrFormat(
        "%s: the weights take %.1f GB, %.1f GB are free there; "
        "--weights=procedural computes them as they are used",
        path, double(end) / 1e9, double(space.available) / 1e9));
  runtime::NewFile file(path);
  std::vector<float> chunk;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const runtime::ProceduralFile source = values(parameters[i]);
    // To the start of the next tensor, so that gaps hold numbers, too.
    const uint64_t next = i + 1 < offsets.size() ? offsets[i + 1] : end;
    for (uint64_t at = offsets[i]; at < next; at += chunk.size() * 4) {
      chunk.resize(std::min<uint64_t>((next - at) / 4, 1 << 20));
      source.read(at / 4, 1, chunk.size(), chunk.data());
      file.write(chunk.data(), chunk.size() * 4);
    }
  }
  file.commit();
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// Of the keys or values of a layer: "past.0.key", "present.0.key".
static std::string cacheName(const char *when, int64_t layer,
                             const char *kind) {
  return absl::StrCat(when, ".", layer, ".", kind);
}

namespace {
/// A decoder: ids to logits.
class DecoderWriter {
public:
  DecoderWriter(const ModelShape &shape, const WriteOptions &options,
                onnx::GraphProto &proto)
      : shape(shape), isCached(options.cacheCapacity),
        lastToken(options.lastToken), graph(proto) {}
  /// Returns the name of the logits.
  std::string write();

private:
  std::string norm(const std::string &x, const std::string &name);
  std::string linear(const std::string &x, const std::string &name, bool bias);
  std::string rotaryPositions();
  void rotaryTables();
  std::string rotated(const std::string &x, const std::string &name,
                      int64_t heads);
  std::string embedded();
  void cacheLength();
  std::string cached(const std::string &x, int64_t layer, const char *kind);
  std::string attention(const std::string &x, int64_t layer);
  std::string feedForward(const std::string &x, const std::string &name);
  std::string experts(const std::string &x, const std::string &name);
  std::string block(const std::string &x, int64_t layer);
  std::string numbersOfTokens(const std::string &name);
  std::string ofLast(const std::string &x);

  const ModelShape &shape;
  const bool isCached, lastToken;
  OnnxGraph graph;
  std::string cosines, sines;
  std::string length; ///< of caches, behind this call
};
} // namespace

std::string DecoderWriter::norm(const std::string &x, const std::string &name) {
  const bool isRms = shape.norm == Norm::Rms;
  std::vector<std::string> inputs{x, name + ".weight"};
  if (!isRms)
    inputs.push_back(name + ".bias");
  return graph.node(isRms ? "RMSNormalization" : "LayerNormalization", inputs,
                    name,
                    {Attribute::of("axis", -1),
                     Attribute::ofFloat("epsilon", float(shape.normEpsilon))});
}

std::string DecoderWriter::linear(const std::string &x, const std::string &name,
                                  bool bias) {
  const std::string product =
      graph.node("MatMul", {x, name + ".weight"}, name + "/MatMul");
  if (!bias)
    return product;
  return graph.node("Add", {product, name + ".bias"}, name + "/Add");
}

std::string DecoderWriter::embedded() {
  const std::string words =
      graph.node("Gather", {"embedding.weight", "input_ids"}, "embedding");
  if (shape.positions == Positions::Rotary) {
    rotaryTables();
    return words;
  }
  if (isCached)
    return graph.node(
        "Add",
        {words, graph.node("Gather", {"positions.weight", "position_ids"},
                           "positions")},
        "positions/Add");
  const std::string extents = graph.node("Shape", {"input_ids"}, "input_shape",
                                         {Attribute::of("start", 1)});
  const std::string rows =
      graph.node("Slice",
                 {"positions.weight", graph.integers("positions/start", {0}),
                  extents, graph.integers("positions/axis", {0})},
                 "positions");
  return graph.node("Add", {words, rows}, "positions/Add");
}

/// Of the call's tokens, as a column for each sequence, of one that all share.
std::string DecoderWriter::rotaryPositions() {
  if (isCached)
    return graph.node("Unsqueeze",
                      {"position_ids", graph.integers("rotary/axes", {2})},
                      "rotary/column");
  return numbersOfTokens("rotary");
}

/// Of the call's tokens from 0 on, [1, sequence, 1].
std::string DecoderWriter::numbersOfTokens(const std::string &name) {
  const std::string length =
      graph.node("Squeeze",
                 {graph.node("Shape", {"input_ids"}, name + "/extent",
                             {Attribute::of("start", 1)})},
                 name + "/length");
  const std::string ids = graph.node("Range",
                                     {graph.integer(name + "/first", 0), length,
                                      graph.integer(name + "/step", 1)},
                                     name + "/ids");
  return graph.node("Unsqueeze", {ids, graph.integers(name + "/axes", {0, 2})},
                    name + "/column");
}

/// Of each sequence the token of number `last`, as the maximum of it and of no
/// others: where there is no such token, infinities become NaNs.
std::string DecoderWriter::ofLast(const std::string &x) {
  const std::string number =
      graph.node("Unsqueeze", {"last", graph.integers("last/inner", {1, 2})},
                 "last/number");
  const std::string is =
      graph.node("Equal", {numbersOfTokens("last"), number}, "last/is");
  const std::string alone = graph.node(
      "Where", {is, x, graph.number("last/none", -INFINITY)}, "last/alone");
  return graph.node("ReduceMax", {alone, graph.integers("last/tokens", {1})},
                    "last/token", {Attribute::of("keepdims", 1)});
}

/// Of all positions: token t and pair i turn by t * base^(-2 i / features). As
/// a 3-d table per token of the batch, from what exporters write: ids of
/// positions, times frequencies.
void DecoderWriter::rotaryTables() {
  const int64_t pairs = shape.rotaryFeatures / 2;
  std::vector<float> frequencies;
  for (int64_t i = 0; i < pairs; ++i)
    frequencies.push_back(
        float(std::pow(shape.rotaryBase, -double(i) / double(pairs))));
  std::string all = graph.node(
      "Mul",
      {graph.node("Cast", {rotaryPositions()}, "rotary/positions",
                  {Attribute::of("to", onnx::TensorProto::FLOAT)}),
       graph.numbers("rotary/frequencies", frequencies, {1, 1, pairs})},
      "rotary/angles");
  if (!isCached) { // one table for each sequence of the batch
    const std::string batch =
        graph.node("Shape", {"input_ids"}, "rotary/batch",
                   {Attribute::of("start", 0), Attribute::of("end", 1)});
    const std::string extents =
        graph.node("Concat", {batch, graph.integers("rotary/ones", {1, 1})},
                   "rotary/extents", {Attribute::of("axis", 0)});
    all = graph.node("Expand", {all, extents}, "rotary/all");
  }
  cosines = graph.node("Cos", {all}, "rotary/cos");
  sines = graph.node("Sin", {all}, "rotary/sin");
}

std::string DecoderWriter::rotated(const std::string &x,
                                   const std::string &name, int64_t heads) {
  if (shape.positions != Positions::Rotary)
    return x;
  return graph.node("RotaryEmbedding", {x, cosines, sines}, name,
                    {Attribute::of("num_heads", heads),
                     Attribute::of("interleaved", shape.rotaryInterleaved),
                     Attribute::of("rotary_embedding_dim",
                                   shape.rotaryFeatures == shape.headSize
                                       ? 0
                                       : shape.rotaryFeatures)});
}

/// Where the call's tokens end: so many keys are seen, at most.
void DecoderWriter::cacheLength() {
  length =
      graph.node("Add",
                 {"position", graph.node("Shape", {"input_ids"}, "cache/tokens",
                                         {Attribute::of("start", 1)})},
                 "cache/length");
}

/// The cache with the keys or values `x` of the call.
std::string DecoderWriter::cached(const std::string &x, int64_t layer,
                                  const char *kind) {
  return graph.node(
      "TensorScatter", {cacheName("past", layer, kind), x, "position"},
      cacheName("present", layer, kind), {Attribute::of("axis", 1)});
}

std::string DecoderWriter::attention(const std::string &x, int64_t layer) {
  const std::string name = absl::StrCat("layers.", layer, ".attention");
  const bool bias = shape.attentionBias;
  const std::string q =
      rotated(linear(x, name + ".q", bias), name + ".q/rotary", shape.heads);
  std::string k = rotated(linear(x, name + ".k", bias), name + ".k/rotary",
                          shape.keyValueHeads);
  std::string v = linear(x, name + ".v", bias);
  std::vector<std::string> inputs{q, k, v};
  if (isCached) {
    k = cached(k, layer, "key");
    v = cached(v, layer, "value");
    inputs = {q, k, v, "", "", "", length};
  }
  const std::string mixed = graph.node(
      "Attention", inputs, name,
      {Attribute::of("is_causal", 1), Attribute::of("q_num_heads", shape.heads),
       Attribute::of("kv_num_heads", shape.keyValueHeads)});
  return linear(mixed, name + ".out", bias);
}

std::string DecoderWriter::feedForward(const std::string &x,
                                       const std::string &name) {
  const bool bias = shape.feedForwardBias;
  const std::string up = linear(x, name + ".up", bias);
  std::string inner;
  if (shape.activation == Activation::SwiGlu) {
    const std::string gate = linear(x, name + ".gate", bias);
    const std::string open = graph.node("Sigmoid", {gate}, name + "/Sigmoid");
    const std::string silu = graph.node("Mul", {gate, open}, name + "/silu");
    inner = graph.node("Mul", {silu, up}, name + "/gated");
  } else if (shape.activation == Activation::Relu) {
    inner = graph.node("Relu", {up}, name + "/Relu");
  } else {
    inner = graph.node("Gelu", {up}, name + "/Gelu",
                       {Attribute::ofText("approximate", "tanh")});
  }
  return linear(inner, name + ".down", bias);
}

/// The most probable experts of each token, whose probabilities become 1
/// together.
std::string DecoderWriter::experts(const std::string &x,
                                   const std::string &name) {
  const std::string scores = graph.node(
      "Reshape",
      {linear(x, name + ".router", false),
       graph.integers(name + ".router/extents", {-1, shape.experts})},
      name + ".router");
  const bool isGated = shape.activation == Activation::SwiGlu;
  return graph.node(
      "MoE",
      {x, scores, name + ".experts.up.weight", "",
       name + ".experts.down.weight"},
      name + ".experts",
      {Attribute::ofText("activation_type", isGated ? "swiglu" : "relu"),
       Attribute::of("swiglu_fusion", isGated), // gates take turns
       Attribute::ofFloat("activation_alpha", 1),
       Attribute::ofFloat("activation_beta", 0),
       Attribute::of("k", shape.expertsPerToken),
       Attribute::of("normalize_routing_weights", 1)},
      kContrib);
}

std::string DecoderWriter::block(const std::string &x, int64_t layer) {
  const std::string name = absl::StrCat("layers.", layer);
  const std::string first = norm(x, name + ".attention_norm");
  const std::string mixed = attention(first, layer);
  const std::string sum =
      graph.node("Add", {x, mixed}, name + ".attention/residual");
  std::string input = first;
  if (shape.residual != Residual::ParallelOneNorm)
    input = norm(shape.residual == Residual::Sequential ? sum : x,
                 name + ".feed_forward_norm");
  const std::string fed = shape.experts
                              ? experts(input, name + ".feed_forward")
                              : feedForward(input, name + ".feed_forward");
  return graph.node("Add", {sum, fed}, name + ".feed_forward/residual");
}

std::string DecoderWriter::write() {
  std::string x = embedded();
  if (isCached)
    cacheLength();
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    x = block(x, layer);
  if (lastToken)
    x = ofLast(x);
  x = norm(x, "final_norm");
  if (!shape.tiedHead)
    return linear(x, "head", shape.headBias);
  graph.node("Transpose", {"embedding.weight"}, "head.weight");
  return linear(x, "head", false);
}

namespace {
/// Of an input or output; a symbol where the number is 0.
struct Extent {
  const char *symbol;
  int64_t number;
};
} // namespace

static void declare(onnx::ValueInfoProto &value, const std::string &name,
                    int type, const std::vector<Extent> &shape) {
  value.set_name(name);
  auto &tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  auto &dims = *tensor.mutable_shape();
  for (const auto &[symbol, number] : shape)
    if (number)
      dims.add_dim()->set_dim_value(number);
    else
      dims.add_dim()->set_dim_param(symbol);
}

/// The largest of the logits, and their tokens.
static void addTopK(onnx::GraphProto &graph, int64_t count) {
  const std::string k = OnnxGraph(graph).integers("top/k", {count});
  OnnxGraph(graph).node("TopK", {"logits", k}, "top.logits");
  graph.mutable_node(graph.node_size() - 1)->add_output("top.ids");
}

static void declareAll(onnx::GraphProto &graph, const ModelShape &shape,
                       const WriteOptions &options) {
  const int64_t capacity = options.cacheCapacity;
  const Extent batch{"batch", options.batch};
  const Extent sequence{"sequence", options.sequence};
  const Extent keys{"", shape.keyValueHeads * shape.headSize};
  declare(*graph.add_input(), "input_ids", onnx::TensorProto::INT64,
          {batch, sequence});
  const bool all = options.topK == 0;
  const Extent asked = options.lastToken ? Extent{"", 1} : sequence;
  declare(*graph.add_output(), all ? "logits" : "top.logits",
          onnx::TensorProto::FLOAT,
          {batch, asked, {"", all ? shape.vocabulary : options.topK}});
  if (!all)
    declare(*graph.add_output(), "top.ids", onnx::TensorProto::INT64,
            {batch, asked, {"", options.topK}});
  if (options.lastToken)
    declare(*graph.add_input(), "last", onnx::TensorProto::INT64, {batch});
  if (!capacity)
    return;
  declare(*graph.add_input(), "position_ids", onnx::TensorProto::INT64,
          {batch, sequence});
  declare(*graph.add_input(), "position", onnx::TensorProto::INT64, {batch});
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (const char *kind : {"key", "value"}) {
      declare(*graph.add_input(), cacheName("past", layer, kind),
              onnx::TensorProto::FLOAT, {batch, {"", capacity}, keys});
      declare(*graph.add_output(), cacheName("present", layer, kind),
              onnx::TensorProto::FLOAT, {batch, {"", capacity}, keys});
    }
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static void checkWritable(const ModelShape &shape,
                          const WriteOptions &options) {
  if (std::optional<std::string> problem = check(shape))
    throw std::runtime_error("model " + shape.name + ": " + *problem);
  if (shape.architecture != Architecture::Decoder)
    throw std::runtime_error("model " + shape.name +
                             " is no decoder; graphs of encoders and "
                             "encoder-decoders are not written yet, wsec "
                             "estimate knows them");
  if (shape.positions == Positions::Learned &&
      options.sequence > shape.sequence)
    throw std::runtime_error(
        absl::StrFormat("model %s has %d positions, --sequence asks for %d",
                        shape.name, shape.sequence, options.sequence));
  if (options.cacheCapacity > shape.sequence)
    throw std::runtime_error(
        absl::StrFormat("model %s has %d positions, --kv-capacity asks for %d",
                        shape.name, shape.sequence, options.cacheCapacity));
  if (options.topK > shape.vocabulary)
    throw std::runtime_error(absl::StrFormat(
        "model %s has %d tokens, --top-k asks for %d; leave it out for all",
        shape.name, shape.vocabulary, options.topK));
}

WrittenModel writeModel(const ModelShape &shape, const WriteOptions &options) {
  checkWritable(shape, options);
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("wsec");
  model.add_opset_import()->set_version(options.cacheCapacity ? kCachedOpset
                                                              : kOpset);
  if (shape.experts) {
    onnx::OperatorSetIdProto &contrib = *model.add_opset_import();
    contrib.set_domain(kContrib);
    contrib.set_version(1);
  }
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name(shape.name);
  WeightLayout layout(shape, options);
  layout.declare(graph);
  declareAll(graph, shape, options);
  // A result has the name of its node; the graph's is called logits.
  const std::string logits = DecoderWriter(shape, options, graph).write();
  graph.mutable_node(graph.node_size() - 1)->set_output(0, "logits");
  if (options.topK)
    addTopK(graph, options.topK);
  // Weights first: a model never names weights that are not there.
  if (options.weights == Weights::Seeded)
    layout.write();
  const std::string text = model.SerializeAsString();
  runtime::NewFile file(options.path);
  file.write(text.data(), text.size());
  file.commit();
  return {text.size(), layout.bytes()};
}

} // namespace wsec::presets
