// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/RandomTensors.h"
#include "dialects/onnx/RandomOperators.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace wsec;

static bool drawn(const NodeProto &node) {
  return normalizedDomain(node.domain()).empty() && node.output_size() == 1 &&
         wsec::onnx::isRandomOperator(node.op_type());
}

/// What the model says of a value, or a type without a shape.
static TypeProto statedType(const GraphProto &graph, const NodeProto &node) {
  for (const auto *infos : {&graph.value_info(), &graph.output()})
    for (const ValueInfoProto &info : *infos)
      if (info.name() == node.output(0) &&
          info.type().tensor_type().has_shape())
        return info.type();
  TypeProto type;
  auto &tensor = *type.mutable_tensor_type();
  tensor.set_elem_type(TensorProto::FLOAT);
  for (const auto &attribute : node.attribute())
    if (attribute.name() == "dtype")
      tensor.set_elem_type(int(attribute.i()));
    else if (attribute.name() == "shape")
      for (int64_t extent : attribute.ints())
        tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  return type;
}

/// Whether each dimension is a number, or a name that an input has: another
/// would take any extent.
static bool isBoundByInputs(const TypeProto &type, const GraphProto &graph) {
  llvm::StringSet<> names;
  for (const ValueInfoProto &input : graph.input())
    for (const auto &dimension : input.type().tensor_type().shape().dim())
      if (!dimension.dim_param().empty())
        names.insert(dimension.dim_param());
  const auto &tensor = type.tensor_type();
  return tensor.has_shape() &&
         llvm::all_of(tensor.shape().dim(), [&](const auto &dimension) {
           return dimension.dim_value() > 0 ||
                  names.contains(dimension.dim_param());
         });
}

llvm::Error wsec::giveRandomTensors(OnnxModel &model,
                                    std::vector<BoundInput> &bindings) {
  GraphProto &graph = *model.proto.mutable_graph();
  for (BoundInput &bound : bindings) {
    if (llvm::any_of(graph.input(), [&](const ValueInfoProto &input) {
          return input.name() == bound.name;
        }))
      continue;
    // A node may be called as another one's result.
    auto node = llvm::find_if(graph.node(), [&](const NodeProto &its) {
      return drawn(its) && its.output(0) == bound.name;
    });
    if (node == graph.node().end())
      node = llvm::find_if(graph.node(), [&](const NodeProto &its) {
        return drawn(its) && its.name() == bound.name;
      });
    if (node == graph.node().end())
      continue;
    TypeProto type = statedType(graph, *node);
    if (!isBoundByInputs(type, graph))
      return llvm::createStringError(
          model.path + ": --bind " + bound.name +
          ": the model does not state the shape of '" + node->output(0) +
          "', by numbers and dimensions of its inputs; "
          "onnx.shape_inference.infer_shapes adds it");
    bound.name = node->output(0);
    ValueInfoProto &input = *graph.add_input();
    input.set_name(bound.name);
    *input.mutable_type() = std::move(type);
    graph.mutable_node()->erase(node);
  }
  return llvm::Error::success();
}
