// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/presets/OnnxGraph.h"

namespace wsec::presets {

std::string OnnxGraph::node(const char *op,
                            const std::vector<std::string> &inputs,
                            const std::string &name,
                            std::initializer_list<Attribute> attributes,
                            const char *domain) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(op);
  if (*domain)
    node.set_domain(domain);
  node.set_name(name);
  node.add_output(name);
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const Attribute &each : attributes) {
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(each.name);
    switch (each.kind) {
    case Attribute::Integer:
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(each.integer);
      break;
    case Attribute::Float:
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(each.number);
      break;
    case Attribute::Text:
      attribute.set_type(onnx::AttributeProto::STRING);
      attribute.set_s(each.text);
      break;
    }
  }
  return name;
}

onnx::TensorProto &OnnxGraph::constant(const std::string &name, int type) {
  node("Constant", {}, name);
  onnx::AttributeProto &value =
      *graph.mutable_node(graph.node_size() - 1)->add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(type);
  return *value.mutable_t();
}

std::string OnnxGraph::integers(const std::string &name,
                                const std::vector<int64_t> &values) {
  onnx::TensorProto &tensor = constant(name, onnx::TensorProto::INT64);
  tensor.add_dims(int64_t(values.size()));
  for (int64_t value : values)
    tensor.add_int64_data(value);
  return name;
}

std::string OnnxGraph::integer(const std::string &name, int64_t value) {
  constant(name, onnx::TensorProto::INT64).add_int64_data(value);
  return name;
}

std::string OnnxGraph::number(const std::string &name, float value) {
  constant(name, onnx::TensorProto::FLOAT).add_float_data(value);
  return name;
}

std::string OnnxGraph::numbers(const std::string &name,
                               const std::vector<float> &values,
                               const std::vector<int64_t> &dims) {
  onnx::TensorProto &tensor = constant(name, onnx::TensorProto::FLOAT);
  for (int64_t extent : dims)
    tensor.add_dims(extent);
  for (float value : values)
    tensor.add_float_data(value);
  return name;
}

} // namespace wsec::presets
