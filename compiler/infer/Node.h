// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rules of shape inference and folding see of an ONNX node: facts
// about its inputs, its attributes, and a place for facts about its outputs.
#ifndef COMPILER_INFER_NODE_H
#define COMPILER_INFER_NODE_H

#include "compiler/values/OperatorBuilder.h"
#include "compiler/values/Refused.h"
#include "dialects/onnx/OnnxSchemas.h"

namespace wsec::infer {
// What sources see that are `using namespace wsec::infer`.
using namespace mlir;
using namespace wsec;
using namespace values;
using onnx::BinaryKind;
using onnx::ReduceKind;
using onnx::UnaryKind;

class Node {
public:
  /// `understood`: the attributes that rules may ask for, with spaces between.
  /// Attributes and inputs are what the schema says: `statementProblem` and
  /// `operandProblem` have held.
  Node(const onnx::OperatorSchema &schema, mlir::DictionaryAttr attributes,
       llvm::StringRef understood, llvm::SmallVector<const Fact *> inputs,
       size_t numOutputs)
      : outputs(numOutputs), schema(schema), attributes(attributes),
        understood(understood), inputs(std::move(inputs)) {}

  /// The opset that defined the operator as this node means it.
  int64_t version() const { return schema.sinceVersion; }

  size_t numInputs() const { return inputs.size(); }
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  const Fact &input(size_t i) const { return *inputs[i]; }
  /// Fails with a reason unless input `i`, if present, can be broadcast to a
  /// tensor of this shape.
  bool broadcasts(size_t i, llvm::ArrayRef<int64_t> shape);
  /// Fails with a reason unless input `i`, if present, has this shape.
  bool hasShape(size_t i, llvm::StringRef what,
                llvm::ArrayRef<int64_t> expected);
  /// Fails with the reason `what` if one of these inputs is there.
  bool refuses(llvm::ArrayRef<size_t> inputs, llvm::StringRef what);
  /// Fails with a reason when no tensor has this shape (see `shapeProblem`).
  bool allows(llvm::ArrayRef<int64_t> shape);
  /// The integers of a shape-like input, or of the attribute of this name that
  /// older opsets have in its place; fails if they are not constant.
  std::optional<Shape> ints(size_t i, llvm::StringRef what);
  std::optional<int64_t> oneInt(size_t i, llvm::StringRef what);
  /// The integers of an input, or attribute, as axes of a tensor, in order, not
  /// negative. Empty if absent; nothing if they are wrong (a reason is set).
  std::optional<Shape> axes(size_t i, int64_t rank);

  // Only those attributes may be asked for that the rules declare. What the
  // node does not state is the schema's default, or `otherwise` if there is
  // none. One that a later version brought was its default before.
  bool hasAttr(llvm::StringRef name) const { return bool(attribute(name)); }
  /// Whether the node has an attribute of a name that is one in some opsets
  /// only.
  bool statesAttr(llvm::StringRef name) const;
  int64_t intAttr(llvm::StringRef name, int64_t otherwise = 0) const;
  double floatAttr(llvm::StringRef name, double otherwise = 0) const;
  llvm::StringRef stringAttr(llvm::StringRef name) const;
  std::optional<Shape> intsAttr(llvm::StringRef name) const;
  std::optional<Tensor> tensorAttr(llvm::StringRef name) const;
  /// An `axis` attribute, counted from the front; fails outside the rank.
  std::optional<int64_t> axisAttr(int64_t rank);

  /// Every present input, loaded; nothing unless all of them are constants
  /// and `result` is small enough to be made.
  std::optional<std::vector<Tensor>> loadAll(const Fact &result) const;

  /// Sets the first result. Always true.
  bool setOutput(Fact fact) {
    outputs.front() = std::move(fact);
    return true;
  }
  /// The first results; others, which nobody may use, are like the last.
  /// Always true.
  bool setOutputs(llvm::ArrayRef<Fact> facts);

  /// Records why nothing is known of the outputs.
  Refused fail(const llvm::Twine &why);
  const std::string &reason() const { return why; }
  /// Fails: `what`, input `i`, shapes the result, or rules have to know it.
  Refused failUnknown(size_t i, const llvm::Twine &what);
  /// The input for which `failUnknown` was called.
  std::optional<size_t> unknownInput() const { return toBeKnown; }

  std::vector<Fact> outputs;

private:
  mlir::Attribute attribute(llvm::StringRef name) const;
  const onnx::AttributeSchema *defaultOf(llvm::StringRef name) const;

  const onnx::OperatorSchema &schema;
  mlir::DictionaryAttr attributes;
  llvm::StringRef understood;
  llvm::SmallVector<const Fact *> inputs; // null: left out
  std::string why;
  std::optional<size_t> toBeKnown;
};

/// Finds facts about the outputs of a node; false with a reason if it cannot.
using InferRule = bool (*)(Node &node);

/// Runs a rule and checks what rules leave to it: results have shapes that
/// tensors can have.
bool apply(InferRule rule, Node &node);

/// What a Slice takes; nothing if the bounds are not known or wrong (a reason
/// is set).
std::optional<Box> sliceBox(Node &node);

} // namespace wsec::infer

#endif // COMPILER_INFER_NODE_H
