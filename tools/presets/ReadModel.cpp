// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/presets/ReadModel.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx-ml.pb.h"
#include "runtime/files/MappedFile.h"
#include "runtime/program/NearestNames.h"

#include <climits>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

namespace wsec::presets {

namespace {
/// One walk over the nodes of a graph.
class WorkloadReader {
public:
  WorkloadReader(const onnx::GraphProto &graph, std::string path)
      : graph(graph), path(std::move(path)) {}
  Workload read(int64_t sequence);

private:
  std::runtime_error cannotTell(const std::string &what) const {
    return std::runtime_error(
        absl::StrCat(runtime::inQuotes(path), ": cannot tell ", what));
  }
  void collectInitializers();
  /// The initializer that `value` is, or was before it was transposed or cast.
  const onnx::TensorProto *initializer(const std::string &value) const;
  /// Of the weights of `node`, of which a token meets `share`.
  void addProduct(const onnx::NodeProto &node, double share = 1);
  /// Of all experts, those that a token meets.
  double shareOfExperts(const onnx::NodeProto &node) const;
  void visit(const onnx::NodeProto &node);
  int64_t sequenceOfInput() const;

  const onnx::GraphProto &graph;
  std::string path;
  std::map<std::string, const onnx::TensorProto *> initializers;
  std::map<std::string, const onnx::TensorProto *> products; ///< each once
  const onnx::TensorProto *embedding = nullptr;
  Workload work;
};
} // namespace

static int64_t elementsOf(const onnx::TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.dims())
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      return 0;
  return count;
}

static bool isFloat(const onnx::TensorProto &tensor) {
  const int type = tensor.data_type();
  return type == onnx::TensorProto::FLOAT ||
         type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16 ||
         type == onnx::TensorProto::DOUBLE;
}

void WorkloadReader::collectInitializers() {
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    initializers[tensor.name()] = &tensor;
    if (isFloat(tensor)) {
      work.parameters += elementsOf(tensor);
      work.activeParameters += elementsOf(tensor);
    }
  }
}

const onnx::TensorProto *
WorkloadReader::initializer(const std::string &value) const {
  const auto found = initializers.find(value);
  return found == initializers.end() ? nullptr : found->second;
}

void WorkloadReader::addProduct(const onnx::NodeProto &node, double share) {
  for (const std::string &input : node.input()) {
    const onnx::TensorProto *weight = initializer(input);
    if (!weight || weight->dims_size() < 2)
      continue;
    work.productFlops += 2.0 * share * double(elementsOf(*weight));
    if (products.emplace(weight->name(), weight).second) {
      work.productParameters += elementsOf(*weight);
      work.activeParameters -=
          int64_t((1 - share) * double(elementsOf(*weight)));
    }
  }
}

void WorkloadReader::visit(const onnx::NodeProto &node) {
  const std::string &op = node.op_type();
  if (op == "MatMul" || op == "Gemm") {
    addProduct(node);
  } else if (op == "MoE") {
    addProduct(node, shareOfExperts(node));
  } else if (op == "Softmax" || op == "Attention" ||
             op == "MultiHeadAttention" || op == "GroupQueryAttention") {
    ++work.layers;
  } else if (op == "Gather" && node.input_size() > 0) {
    const onnx::TensorProto *table = initializer(node.input(0));
    if (table && isFloat(*table) && table->dims_size() == 2 &&
        (!embedding || elementsOf(*table) > elementsOf(*embedding)))
      embedding = table;
  } else if ((op == "Transpose" || op == "Cast" || op == "Identity") &&
             node.input_size() == 1 && node.output_size() == 1) {
    if (const onnx::TensorProto *same = initializer(node.input(0)))
      initializers[node.output(0)] = same;
  }
}

double WorkloadReader::shareOfExperts(const onnx::NodeProto &node) const {
  const onnx::TensorProto *weights =
      node.input_size() > 2 ? initializer(node.input(2)) : nullptr;
  double chosen = 1; // the operator's default
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "k")
      chosen = double(attribute.i());
  if (!weights || weights->dims_size() != 3 || chosen < 1 ||
      chosen > double(weights->dims(0)))
    throw cannotTell("the experts of " + runtime::inQuotes(node.name()));
  return chosen / double(weights->dims(0));
}

int64_t WorkloadReader::sequenceOfInput() const {
  for (const onnx::ValueInfoProto &input : graph.input()) {
    const auto &shape = input.type().tensor_type().shape();
    if (!initializer(input.name()) && shape.dim_size() >= 2 &&
        shape.dim(1).dim_value() > 0)
      return shape.dim(1).dim_value();
  }
  throw cannotTell("how long its sequences are: name it with --sequence");
}

Workload WorkloadReader::read(int64_t sequence) {
  work.name = std::filesystem::path(path).stem().string();
  collectInitializers();
  for (const onnx::NodeProto &node : graph.node())
    visit(node);
  if (work.productParameters == 0)
    throw cannotTell("its products: no MatMul or Gemm has a stored weight");
  if (work.layers == 0)
    throw cannotTell("its layers: there is neither attention nor a softmax");
  if (!embedding)
    throw cannotTell("its width: no Gather reads a table of embeddings");
  work.width = embedding->dims(1);
  int64_t inLayers = 0;
  for (const auto &[name, weight] : products)
    if (weight->dims(0) != embedding->dims(0) &&
        weight->dims(1) != embedding->dims(0))
      inLayers += elementsOf(*weight);
  work.firstLayerParameters = inLayers / work.layers;
  work.sequence = sequence ? sequence : sequenceOfInput();
  work.attentionFlops =
      4.0 * double(work.sequence) * double(work.width * work.layers);
  return std::move(work);
}

static onnx::ModelProto parseModel(const std::string &path) {
  const auto file = runtime::MappedFile::open(path);
  onnx::ModelProto model;
  if (file->size() > INT_MAX ||
      !model.ParseFromArray(file->data(), int(file->size())))
    throw std::runtime_error(
        runtime::inQuotes(path) +
        (file->size() > INT_MAX
             ? ": files of more than 2 GB are not read; keep weights in "
               "external data"
             : ": not an ONNX model"));
  return model;
}

Workload readWorkload(const std::string &path, int64_t sequence) {
  const onnx::ModelProto model = parseModel(path);
  return WorkloadReader(model.graph(), path).read(sequence);
}

std::string SignatureTensor::description() const {
  if (!hasShape)
    return name;
  return absl::StrCat(
      name, " [",
      absl::StrJoin(dims, ", ",
                    [](std::string *text, int64_t dim) {
                      absl::StrAppend(text, dim < 0 ? "?" : absl::StrCat(dim));
                    }),
      "]");
}

static SignatureTensor signatureOf(const onnx::ValueInfoProto &value) {
  const auto &type = value.type().tensor_type();
  SignatureTensor tensor;
  tensor.name = value.name();
  tensor.elementType = type.elem_type();
  tensor.isInteger = type.elem_type() == onnx::TensorProto::INT64 ||
                     type.elem_type() == onnx::TensorProto::INT32;
  tensor.hasShape = type.has_shape();
  for (const auto &dim : type.shape().dim())
    tensor.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return tensor;
}

/// Rows of tables by the inputs that look them up, as they are or in another
/// shape.
static std::map<std::string, int64_t> tablesOf(const onnx::GraphProto &graph) {
  static const std::set<std::string> keeps = {
      "Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  std::map<std::string, const onnx::TensorProto *> stored;
  for (const onnx::TensorProto &tensor : graph.initializer())
    stored[tensor.name()] = &tensor;
  std::map<std::string, std::string> inputOf; // a value is of its elements
  for (const onnx::ValueInfoProto &input : graph.input())
    inputOf[input.name()] = input.name();
  std::map<std::string, int64_t> rows;
  for (const onnx::NodeProto &node : graph.node()) {
    const bool looksUp = node.op_type() == "Gather" && node.input_size() == 2;
    if ((!looksUp && !keeps.count(node.op_type())) || node.output_size() == 0)
      continue;
    const auto from =
        node.input_size() ? inputOf.find(node.input(looksUp)) : inputOf.end();
    if (from == inputOf.end())
      continue;
    if (!looksUp) {
      const std::string input = from->second;
      inputOf[node.output(0)] = input;
      continue;
    }
    const auto table = stored.find(node.input(0));
    bool isByRow = table != stored.end() && table->second->dims_size() > 0;
    for (const onnx::AttributeProto &attribute : node.attribute())
      isByRow &= attribute.name() != "axis" || attribute.i() == 0;
    if (!isByRow)
      continue;
    const auto [its, isFirst] =
        rows.try_emplace(from->second, table->second->dims(0));
    its->second = std::min<int64_t>(its->second, table->second->dims(0));
  }
  return rows;
}

ModelSignature readSignature(const std::string &path) {
  const onnx::ModelProto model = parseModel(path);
  const onnx::GraphProto &graph = model.graph();
  ModelSignature signature;
  std::set<std::string> stored, files;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    stored.insert(tensor.name());
    for (const auto &entry : tensor.external_data())
      if (entry.key() == "location")
        files.insert(entry.value());
  }
  const std::map<std::string, int64_t> tables = tablesOf(graph);
  for (const onnx::ValueInfoProto &input : graph.input()) {
    if (stored.count(input.name()))
      continue;
    signature.inputs.push_back(signatureOf(input));
    if (const auto found = tables.find(input.name()); found != tables.end())
      signature.inputs.back().tableRows = found->second;
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    signature.outputs.push_back(signatureOf(output));
  signature.weightFiles.assign(files.begin(), files.end());
  return signature;
}

} // namespace wsec::presets
