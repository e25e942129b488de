// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/presets/ModelShape.h"

#include "absl/strings/str_cat.h"

#include <cmath>

namespace wsec::presets {

int64_t Parameter::elements() const {
  int64_t product = 1;
  for (int64_t extent : dims)
    product *= extent;
  return product;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

std::optional<std::string> check(const ModelShape &shape) {
  const std::pair<const char *, int64_t> numbers[] = {
      {"layers", shape.layers},         {"width", shape.width},
      {"heads", shape.heads},           {"kv_heads", shape.keyValueHeads},
      {"head_size", shape.headSize},    {"feed_forward", shape.feedForward},
      {"vocabulary", shape.vocabulary}, {"sequence", shape.sequence}};
  constexpr int64_t most = int64_t(1) << 24;
  for (const auto &[name, value] : numbers)
    if (value < 1 || value > most)
      return absl::StrCat(name, " is ", value, ", expected 1 to ", most);
  if (shape.heads % shape.keyValueHeads != 0)
    return absl::StrCat("heads, ", shape.heads,
                        ", is no multiple of kv_heads, ", shape.keyValueHeads);
  if (shape.positions == Positions::Rotary &&
      (shape.rotaryFeatures % 2 != 0 || shape.rotaryFeatures < 2 ||
       shape.rotaryFeatures > shape.headSize))
    return absl::StrCat("rotary_features is ", shape.rotaryFeatures,
                        ", expected an even number up to head_size, ",
                        shape.headSize);
  if (shape.experts < 0 || shape.experts > most || shape.expertsPerToken < 0 ||
      shape.expertsPerToken > shape.experts ||
      (shape.experts > 0 && shape.expertsPerToken == 0))
    return absl::StrCat("experts_per_token is ", shape.expertsPerToken,
                        ", expected 1 to experts, ", shape.experts);
  if (shape.experts > 0 &&
      (shape.activation == Activation::Gelu || shape.feedForwardBias))
    return absl::StrCat("experts of ",
                        shape.activation == Activation::Gelu ? "gelu"
                                                             : "swiglu or relu",
                        shape.feedForwardBias ? ", with biases" : "",
                        ", expected swiglu or relu, without");
  return std::nullopt;
}

void followChanges(ModelShape &shape, const ModelShape &before) {
  auto follow = [](int64_t &value, int64_t was, int64_t ruleThen,
                   int64_t ruleNow) {
    if (value == was && was == ruleThen)
      value = ruleNow;
  };
  follow(shape.keyValueHeads, before.keyValueHeads, before.heads, shape.heads);
  if (before.heads > 0 && shape.heads > 0)
    follow(shape.headSize, before.headSize, before.width / before.heads,
           shape.width / shape.heads);
  follow(shape.feedForward, before.feedForward, 4 * before.width,
         4 * shape.width);
  follow(shape.rotaryFeatures, before.rotaryFeatures, before.headSize,
         shape.headSize);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

namespace {
class ParameterList {
public:
  explicit ParameterList(const ModelShape &shape) : shape(shape) {}
  std::vector<Parameter> take();

private:
  void add(const std::string &name, std::vector<int64_t> dims, Role role,
           double range, double mean = 0) {
    list.push_back({name, std::move(dims), role, range, mean});
  }
  void embedding();
  void norm(const std::string &name);
  void linear(const std::string &name, int64_t inputs, int64_t outputs,
              bool bias, double gain = 1, Role role = Role::Matrix);
  void attention(const std::string &name);
  void feedForward(const std::string &name);
  void experts(const std::string &name);
  void block(const std::string &name, bool crossAttention);
  void encoderHead();

  const ModelShape &shape;
  std::vector<Parameter> list;
};
} // namespace

/// GPT-2's, for tables: a uniform distribution of standard deviation 0.02.
static const double kTableRange = 0.02 * std::sqrt(3.0);
static constexpr double kNormRange = 0.05;
/// Of T5; its first layer's, for each head.
static constexpr int64_t kRelativeBuckets = 32;

void ParameterList::norm(const std::string &name) {
  add(name + ".weight", {shape.width}, Role::Vector, kNormRange, 1);
  if (shape.norm == Norm::Layer)
    add(name + ".bias", {shape.width}, Role::Vector, kNormRange);
}

/// PyTorch's initialization: uniform, one over the root of the inputs.
void ParameterList::linear(const std::string &name, int64_t inputs,
                           int64_t outputs, bool bias, double gain, Role role) {
  const double range = gain / std::sqrt(double(inputs));
  add(name + ".weight", {inputs, outputs}, role, range);
  if (bias)
    add(name + ".bias", {outputs}, Role::Vector, range);
}

void ParameterList::embedding() {
  add("embedding.weight", {shape.vocabulary, shape.width}, Role::Table,
      kTableRange);
  if (shape.positions == Positions::Learned)
    add("positions.weight", {shape.sequence, shape.width}, Role::Table,
        kTableRange);
  if (shape.architecture == Architecture::Encoder) {
    add("segments.weight", {2, shape.width}, Role::Table, kTableRange);
    norm("embedding_norm");
  }
}

void ParameterList::attention(const std::string &name) {
  const int64_t keys = shape.keyValueHeads * shape.headSize;
  linear(name + ".q", shape.width, shape.attentionWidth(), shape.attentionBias);
  linear(name + ".k", shape.width, keys, shape.attentionBias);
  linear(name + ".v", shape.width, keys, shape.attentionBias);
  // GPT-2's: what is added to the residual 2 L times keeps its size.
  linear(name + ".out", shape.attentionWidth(), shape.width,
         shape.attentionBias, 1 / std::sqrt(2.0 * double(shape.layers)));
}

/// As onnxruntime's MoE has them: outputs before inputs, of all experts; a gate
/// and what it lets through take turns.
void ParameterList::experts(const std::string &name) {
  linear(name + ".router", shape.width, shape.experts, false);
  const int64_t gated = shape.activation == Activation::SwiGlu ? 2 : 1;
  add(name + ".experts.up.weight",
      {shape.experts, gated * shape.feedForward, shape.width}, Role::Matrix,
      1 / std::sqrt(double(shape.width)));
  add(name + ".experts.down.weight",
      {shape.experts, shape.width, shape.feedForward}, Role::Matrix,
      1 / std::sqrt(2.0 * double(shape.layers * shape.feedForward)));
}

void ParameterList::feedForward(const std::string &name) {
  if (shape.activation == Activation::SwiGlu)
    linear(name + ".gate", shape.width, shape.feedForward,
           shape.feedForwardBias);
  linear(name + ".up", shape.width, shape.feedForward, shape.feedForwardBias);
  linear(name + ".down", shape.feedForward, shape.width, shape.feedForwardBias,
         1 / std::sqrt(2.0 * double(shape.layers)));
}

void ParameterList::block(const std::string &name, bool crossAttention) {
  norm(name + ".attention_norm");
  attention(name + ".attention");
  if (crossAttention) {
    norm(name + ".cross_norm");
    attention(name + ".cross");
  }
  if (shape.residual != Residual::ParallelOneNorm)
    norm(name + ".feed_forward_norm");
  if (shape.experts)
    experts(name + ".feed_forward");
  else
    feedForward(name + ".feed_forward");
}

/// BERT's: a pooler, the head for masked words and the one for sentences.
void ParameterList::encoderHead() {
  linear("pooler", shape.width, shape.width, true, 1, Role::Extra);
  linear("words", shape.width, shape.width, true, 1, Role::Extra);
  norm("words_norm");
  add("words_head.bias", {shape.vocabulary}, Role::Vector, kTableRange);
  linear("sentences", shape.width, 2, true, 1, Role::Extra);
}

std::vector<Parameter> ParameterList::take() {
  embedding();
  const bool two = shape.architecture == Architecture::EncoderDecoder;
  for (const char *stack : {"layers", "decoder"}) {
    const bool decoder = stack[0] == 'd';
    if (decoder && !two)
      break;
    if (shape.positions == Positions::Relative)
      add(absl::StrCat(stack, ".relative.weight"),
          {kRelativeBuckets, shape.heads}, Role::Table, kTableRange);
    for (int64_t layer = 0; layer < shape.layers; ++layer)
      block(absl::StrCat(stack, ".", layer), decoder);
    if (shape.architecture != Architecture::Encoder)
      norm(decoder ? "decoder_norm" : "final_norm");
  }
  if (shape.architecture == Architecture::Encoder)
    encoderHead();
  else if (!shape.tiedHead)
    linear("head", shape.width, shape.vocabulary, shape.headBias);
  return std::move(list);
}

std::vector<Parameter> parametersOf(const ModelShape &shape) {
  return ParameterList(shape).take();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Per sample of an encoder-decoder: keys and values of cross-attention are
/// made of the encoder's tokens, everything else of its own stack's.
static void countEncoderDecoder(const ModelShape &shape, Workload &work,
                                const std::vector<Parameter> &parameters) {
  const double in = double(work.sequence), out = double(shape.decoderSequence);
  double products = 0;
  for (const Parameter &each : parameters) {
    if (each.role != Role::Matrix)
      continue;
    const bool decoder = each.name.rfind("decoder.", 0) == 0;
    const bool ofEncoder = !decoder ||
                           each.name.find(".cross.k.") != std::string::npos ||
                           each.name.find(".cross.v.") != std::string::npos;
    products += 2.0 * double(each.elements()) * (ofEncoder ? in : out);
  }
  products += 2.0 * double(shape.vocabulary * shape.width) * out; // tied head
  const double scores = in * in + out * out + in * out;
  work.sequence += shape.decoderSequence;
  work.productFlops = products / double(work.sequence);
  work.attentionFlops = 4.0 * double(shape.attentionWidth() * shape.layers) *
                        scores / double(work.sequence);
  work.layers *= 2;
}

/// Of the experts that a token does not meet, in all layers. They stream all
/// the same: some token of a pass meets each.
static int64_t unmetParameters(const ModelShape &shape) {
  const int64_t matrices = shape.activation == Activation::SwiGlu ? 3 : 2;
  return shape.layers * (shape.experts - shape.expertsPerToken) * matrices *
         shape.width * shape.feedForward;
}

Workload workloadOf(const ModelShape &shape, int64_t sequence) {
  Workload work;
  work.name = shape.name;
  work.layers = shape.layers;
  work.width = shape.width;
  work.sequence = sequence ? sequence : shape.sequence;
  work.batch = shape.batch;
  const std::vector<Parameter> parameters = parametersOf(shape);
  for (const Parameter &each : parameters) {
    work.parameters += each.elements();
    if (each.role != Role::Matrix)
      continue;
    work.productParameters += each.elements();
    if (each.name.rfind("layers.0.", 0) == 0)
      work.firstLayerParameters += each.elements();
  }
  work.activeParameters = work.parameters - unmetParameters(shape);
  if (shape.tiedHead && shape.architecture != Architecture::Encoder)
    work.productParameters += shape.vocabulary * shape.width;
  if (shape.architecture == Architecture::EncoderDecoder) {
    countEncoderDecoder(shape, work, parameters);
    return work;
  }
  work.productFlops =
      2.0 * double(work.productParameters - unmetParameters(shape));
  work.attentionFlops = 4.0 * double(work.sequence) *
                        double(shape.attentionWidth() * shape.layers);
  return work;
}

} // namespace wsec::presets
