// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/Subgraphs.h"
#include "llvm/ADT/StringSet.h"

using namespace wsec;
using llvm::StringRef;

bool wsec::hasBodies(const NodeProto &node) {
  const auto domain = normalizedDomain(node.domain());
  if (domain == "ai.onnx.preview")
    return node.op_type() == "FlexAttention";
  return domain.empty() &&
         (node.op_type() == "If" || node.op_type() == "Loop" ||
          node.op_type() == "Scan");
}

llvm::SmallVector<GraphProto *, 2> wsec::bodiesOf(NodeProto &node) {
  llvm::SmallVector<GraphProto *, 2> bodies;
  if (hasBodies(node))
    for (AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        bodies.push_back(attribute.mutable_g());
  return bodies;
}

llvm::SmallVector<const GraphProto *, 2> wsec::bodiesOf(const NodeProto &node) {
  llvm::SmallVector<const GraphProto *, 2> bodies;
  if (hasBodies(node))
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        bodies.push_back(&attribute.g());
  return bodies;
}

/// Adds to `free` what `graph` uses and does not define.
static void addFreeValues(const GraphProto &graph, llvm::StringSet<> &known,
                          std::vector<StringRef> &free) {
  llvm::StringSet<> defined;
  for (const ValueInfoProto &input : graph.input())
    defined.insert(input.name());
  for (const TensorProto &initializer : graph.initializer())
    defined.insert(initializer.name());
  for (const NodeProto &node : graph.node())
    for (StringRef output : node.output())
      defined.insert(output);
  auto use = [&](StringRef value) {
    if (!value.empty() && !defined.contains(value) &&
        known.insert(value).second)
      free.push_back(value);
  };
  for (const NodeProto &node : graph.node())
    llvm::for_each(usedValues(node), use);
  for (const ValueInfoProto &output : graph.output())
    use(output.name());
}

std::vector<StringRef> wsec::capturedValues(const NodeProto &node) {
  std::vector<StringRef> captured;
  llvm::StringSet<> known;
  for (const GraphProto *body : bodiesOf(node))
    addFreeValues(*body, known, captured);
  return captured;
}

std::vector<StringRef> wsec::usedValues(const NodeProto &node) {
  std::vector<StringRef> used(node.input().begin(), node.input().end());
  for (StringRef value : capturedValues(node))
    used.push_back(value);
  return used;
}
