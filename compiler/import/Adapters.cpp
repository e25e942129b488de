// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/Adapters.h"
#include "compiler/import/ElementTypes.h"
#include "compiler/import/ModuleNames.h"
#include "runtime/files/ProceduralFile.h"
#include "runtime/program/NearestNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/GlobPattern.h"

#include <cmath>

using namespace wsec;
using llvm::createStringError;
using llvm::StringRef;
using llvm::Twine;

llvm::Expected<AdapterOptions> AdapterOptions::parse(StringRef text) {
  AdapterOptions options;
  bool fits = true;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    const auto [key, value] = part.split('=');
    if (key == "rank")
      fits &= !value.getAsInteger(10, options.rank);
    else if (key == "alpha")
      fits &= !value.getAsDouble(options.alpha);
    else if (key == "targets" && !value.empty())
      options.targets.push_back(value.str());
    else
      fits = false;
  }
  if (fits && options.rank > 0 && options.alpha > 0 &&
      std::isfinite(options.alpha) && !options.targets.empty())
    return options;
  return createStringError("wants rank=N,alpha=X,targets=GLOB with numbers "
                           "above 0, found '" +
                           text + "'");
}

namespace {
/// The matrix that a product multiplies by.
struct Weight {
  const TensorProto *tensor = nullptr;
  bool isTransposed = false; ///< [out, in], as A and B are
};

class AdapterBuilder {
public:
  AdapterBuilder(GraphProto &graph, const AdapterOptions &options)
      : graph(graph), options(options), modules(moduleNames(graph)) {}
  llvm::Error run();

private:
  llvm::Error readTargets();
  Weight weightOf(const NodeProto &node) const;
  StringRef nameOf(const Weight &weight) const;
  bool isTarget(const NodeProto &node, const Weight &weight);
  llvm::Error adapt(NodeProto &node, const Weight &weight);
  std::string adapter(StringRef name, int64_t rows, int64_t columns,
                      double range, const NodeProto &of);
  NodeProto &add(const NodeProto &beside, StringRef type,
                 llvm::ArrayRef<StringRef> inputs, const Twine &output);

  GraphProto &graph;
  const AdapterOptions &options;
  const ModuleNames modules;
  llvm::StringMap<const TensorProto *> initializers;
  llvm::StringMap<const NodeProto *> transposes; // by their results
  llvm::StringSet<> added;
  struct Target {
    llvm::GlobPattern pattern;
    bool isFound = false;
  };
  std::vector<Target> targets;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> tensors; // not into the graph while it is walked
};
} // namespace

llvm::Error AdapterBuilder::readTargets() {
  for (const std::string &text : options.targets) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return createStringError(
          "--lora: targets=" + text +
          " is no pattern of names: " + llvm::toString(pattern.takeError()));
    targets.push_back({std::move(*pattern)});
  }
  return llvm::Error::success();
}

static bool hasOne(const NodeProto &node, StringRef attribute) {
  return llvm::any_of(node.attribute(), [&](const AttributeProto &its) {
    return its.name() == attribute && its.i() != 0;
  });
}

static bool swapsTwo(const NodeProto &transpose) {
  for (const AttributeProto &its : transpose.attribute())
    if (its.name() == "perm")
      return its.ints_size() == 2 && its.ints(0) == 1;
  return true;
}

/// None for what is no product with a matrix.
Weight AdapterBuilder::weightOf(const NodeProto &node) const {
  const bool isGemm = node.op_type() == "Gemm";
  if (!normalizedDomain(node.domain()).empty() ||
      (!isGemm && node.op_type() != "MatMul") || node.input_size() < 2 ||
      node.output_size() != 1 || hasOne(node, "transA"))
    return {};
  Weight weight{nullptr, isGemm && hasOne(node, "transB")};
  StringRef name = node.input(1);
  if (const NodeProto *transpose = transposes.lookup(name)) {
    weight.isTransposed = !weight.isTransposed;
    name = transpose->input(0);
  }
  weight.tensor = initializers.lookup(name);
  return weight.tensor && weight.tensor->dims_size() == 2 ? weight : Weight();
}

/// That of its module, if there is one.
StringRef AdapterBuilder::nameOf(const Weight &weight) const {
  auto its = modules.find(weight.tensor->name());
  return its == modules.end() ? StringRef(weight.tensor->name()) : its->second;
}

bool AdapterBuilder::isTarget(const NodeProto &node, const Weight &weight) {
  bool found = false;
  for (Target &target : targets)
    if (target.pattern.match(weight.tensor->name()) ||
        target.pattern.match(nameOf(weight)) ||
        target.pattern.match(node.name()))
      found = target.isFound = true;
  return found;
}

NodeProto &AdapterBuilder::add(const NodeProto &beside, StringRef type,
                               llvm::ArrayRef<StringRef> inputs,
                               const Twine &output) {
  NodeProto &node = nodes.emplace_back();
  node.set_op_type(type.str());
  node.set_name((beside.name() + "/lora_" + Twine(nodes.size())).str());
  for (StringRef input : inputs)
    node.add_input(input.str());
  node.add_output(output.str());
  return node;
}

/// The transposed of a new initializer, which several products may share.
std::string AdapterBuilder::adapter(StringRef name, int64_t rows,
                                    int64_t columns, double range,
                                    const NodeProto &of) {
  std::string result = (name + "/transposed").str();
  if (!added.insert(name).second)
    return result;
  runtime::ProceduralFile file;
  file.range = float(range);
  for (const char c : name) // another sequence for each of them
    file.seed = file.seed * 1099511628211u + uint8_t(c);
  file.seed += options.seed;
  TensorProto &tensor = tensors.emplace_back();
  tensor.set_name(name.str());
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(rows);
  tensor.add_dims(columns);
  tensor.set_data_location(TensorProto::EXTERNAL);
  StringStringEntryProto &location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value(file.location());
  AttributeProto &perm = *add(of, "Transpose", {name}, result).add_attribute();
  perm.set_name("perm");
  perm.set_type(AttributeProto::INTS);
  perm.add_ints(1);
  perm.add_ints(0);
  return result;
}

llvm::Error AdapterBuilder::adapt(NodeProto &node, const Weight &weight) {
  const TensorProto &its = *weight.tensor;
  if (its.data_type() != TensorProto::FLOAT)
    return createStringError(
        "--lora: adapters are of f32, and weight '" + its.name() +
        "' of node '" + node.name() + "' is " +
        elementTypeName(its.data_type()) +
        "; leave it out of the targets, or export the model in float32");
  const int64_t in = its.dims(weight.isTransposed ? 1 : 0);
  const int64_t out = its.dims(weight.isTransposed ? 0 : 1);
  if (options.rank > std::min(in, out))
    return createStringError("--lora: rank=" + Twine(options.rank) +
                             " is more than weight '" + its.name() + "', " +
                             Twine(in) + " x " + Twine(out) + ", has");
  StringRef stem = nameOf(weight);
  stem.consume_back(".weight");
  const std::string a = (stem + ".lora_A.weight").str(),
                    b = (stem + ".lora_B.weight").str();
  if (initializers.contains(a) || initializers.contains(b))
    return createStringError("--lora: the model has '" + a +
                             "': its adapters are there; --train='*.lora_*' "
                             "trains them");
  const std::string y = node.output(0), base = y + "/base", down = y + "/down";
  const std::string scale = "lora_scale";
  if (added.insert(scale).second) {
    TensorProto &tensor = tensors.emplace_back();
    tensor.set_name(scale);
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_float_data(float(options.alpha / double(options.rank)));
  }
  const std::string aT =
      adapter(a, options.rank, in, 1 / std::sqrt(double(in)), node);
  const std::string bT = adapter(b, out, options.rank, 0, node);
  add(node, "MatMul", {node.input(0), aT}, down);
  add(node, "Mul", {down, scale}, down + "/scaled");
  add(node, "MatMul", {down + "/scaled", bT}, y + "/adapted");
  add(node, "Add", {base, y + "/adapted"}, y);
  node.set_output(0, base);
  return llvm::Error::success();
}

llvm::Error AdapterBuilder::run() {
  if (llvm::Error error = readTargets())
    return error;
  for (const TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  for (const NodeProto &node : graph.node())
    if (node.op_type() == "Transpose" && node.input_size() == 1 &&
        node.output_size() == 1 && swapsTwo(node))
      transposes[node.output(0)] = &node;
  std::vector<std::string> names;
  for (NodeProto &node : *graph.mutable_node()) {
    const Weight weight = weightOf(node);
    if (!weight.tensor)
      continue;
    names.push_back(nameOf(weight).str());
    if (!isTarget(node, weight))
      continue;
    if (llvm::Error error = adapt(node, weight))
      return error;
  }
  for (auto [target, text] : llvm::zip_equal(targets, options.targets))
    if (!target.isFound)
      return createStringError("--lora: targets=" + text +
                               " names no weight of a product" +
                               runtime::nearestNames(text, names));
  for (NodeProto &node : nodes)
    *graph.add_node() = std::move(node);
  for (TensorProto &tensor : tensors)
    *graph.add_initializer() = std::move(tensor);
  return llvm::Error::success();
}

llvm::Error wsec::addAdapters(OnnxModel &model, const AdapterOptions &options) {
  return AdapterBuilder(*model.proto.mutable_graph(), options).run();
}
