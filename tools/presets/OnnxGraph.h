// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_TOOLS_PRESETS_ONNXGRAPH_H
#define WSEC_TOOLS_PRESETS_ONNXGRAPH_H

#include "onnx-ml.pb.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace wsec::presets {

/// Builds an ONNX graph node by node. Every method returns the name of a value;
/// a node's result is called like the node.
class OnnxGraph {
public:
  explicit OnnxGraph(onnx::GraphProto &graph) : graph(graph) {}

  /// An attribute of a node; a negative axis is as good as any integer.
  struct Attribute {
    const char *name;
    enum { Integer, Float, Text } kind;
    int64_t integer = 0;
    float number = 0;
    const char *text = nullptr;
    static Attribute of(const char *name, int64_t value) {
      return {name, Integer, value, 0, nullptr};
    }
    static Attribute ofFloat(const char *name, float value) {
      return {name, Float, 0, value, nullptr};
    }
    static Attribute ofText(const char *name, const char *value) {
      return {name, Text, 0, 0, value};
    }
  };

  std::string node(const char *op, const std::vector<std::string> &inputs,
                   const std::string &name,
                   std::initializer_list<Attribute> attributes = {},
                   const char *domain = "");
  /// A Constant: a list of integers, or a scalar.
  std::string integers(const std::string &name,
                       const std::vector<int64_t> &values);
  std::string integer(const std::string &name, int64_t value);
  std::string number(const std::string &name, float value);
  std::string numbers(const std::string &name, const std::vector<float> &values,
                      const std::vector<int64_t> &dims);

private:
  onnx::TensorProto &constant(const std::string &name, int type);
  onnx::GraphProto &graph;
};

} // namespace wsec::presets

#endif // WSEC_TOOLS_PRESETS_ONNXGRAPH_H
