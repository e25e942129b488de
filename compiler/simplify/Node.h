// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rules of shape inference and folding see of an ONNX node: facts
// about its inputs, its attributes, and a place for facts about its outputs.
#ifndef COMPILER_SIMPLIFY_NODE_H
#define COMPILER_SIMPLIFY_NODE_H

#include "compiler/simplify/Tensor.h"
#include "dialects/onnx/OnnxSchemas.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <memory>
#include <string>
#include <vector>

namespace wsec::simplify {

/// Where the elements of a constant are: in memory, or in a file.
struct Storage {
  ElementType type;
  std::string file; // in one of the folders; empty: in memory
  const std::vector<std::string> *weightFolders = nullptr; // of the dialect
  uint64_t fileOffset = 0;
  uint64_t fileBytes = 0;
  mlir::DenseElementsAttr dense; // in memory, in the IR as well

  bool isExternal() const { return !file.empty(); }
  int64_t numElements() const;
  /// The elements in memory, decoded when first asked for.
  const Tensor &inMemory() const;

  mutable std::optional<Tensor> tensor;
};

/// Elements known at compile time: a view of a storage. Re-indexing a
/// constant changes the view and reads nothing. Where the fact's type is not
/// that of the storage, f16 or bf16 elements are read as f32.
struct Constant {
  std::shared_ptr<const Storage> storage;
  StridedView view;
};

/// No fold makes or reads more than this.
inline constexpr int64_t maxFoldedBytes = int64_t(64) << 20;
/// Floating-point data in a file is a weight: from this size on it is never
/// read, it only gets views.
inline constexpr int64_t maxReadWeightBytes = int64_t(16) << 20;

/// What is known of a value.
struct Fact {
  ElementType type = ElementType::Float32;
  Shape shape;
  std::optional<Constant> constant;

  static Fact ofTensor(Tensor tensor);
  int64_t rank() const { return shape.size(); }
  int64_t bytes() const { return numElements(shape) * storedBytes(type); }
  /// The elements, if they are known, few enough and readable.
  std::optional<Tensor> load() const;
};

/// The facts of `fact` after a reshape.
Fact reshapeFact(const Fact &fact, llvm::ArrayRef<int64_t> shape);

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
  /// Fails with a reason when no tensor has this shape (see `shapeProblem`).
  bool allows(llvm::ArrayRef<int64_t> shape);
  /// The integers of a shape-like input; fails if they are not constant.
  std::optional<Shape> ints(size_t i, llvm::StringRef what);
  std::optional<int64_t> oneInt(size_t i, llvm::StringRef what);
  /// Axes from input `i` (newer opsets) or the attribute, in order, not
  /// negative. Empty if absent; nothing if they are wrong (a reason is set).
  std::optional<Shape> axes(size_t i, int64_t rank);

  // Only those attributes may be asked for that the rules declare. What the
  // node does not state is the schema's default, or `otherwise` if there is
  // none. One that a later version brought was its default before.
  bool hasAttr(llvm::StringRef name) const { return bool(attribute(name)); }
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

  /// Records why nothing is known of the outputs. Always false.
  bool fail(const llvm::Twine &why);
  const std::string &reason() const { return why; }

  std::vector<Fact> outputs;

private:
  mlir::Attribute attribute(llvm::StringRef name) const;
  const onnx::AttributeSchema *defaultOf(llvm::StringRef name) const;

  const onnx::OperatorSchema &schema;
  mlir::DictionaryAttr attributes;
  llvm::StringRef understood;
  llvm::SmallVector<const Fact *> inputs; // null: left out
  std::string why;
};

/// Finds facts about the outputs of a node; false with a reason if it cannot.
using Rule = bool (*)(Node &node);

/// Runs a rule and checks what rules leave to it: results have shapes that
/// tensors can have.
bool apply(Rule rule, Node &node);

/// What we know of an operator. All attributes that decide what its results
/// are, and that rules of this phase honour, are `understood`.
struct NamedRule {
  llvm::StringLiteral name;
  Rule rule;
  llvm::StringLiteral understood = "";
};
/// Null for an operator that has no rule. Operators outside ONNX's own domain
/// are called "domain.Name".
const NamedRule *findRule(llvm::StringRef qualifiedName);
/// All, family by family.
std::vector<NamedRule> allRules();

// The families of operators, one file each.
llvm::ArrayRef<NamedRule> elementwiseRules();
llvm::ArrayRef<NamedRule> shapeRules();
llvm::ArrayRef<NamedRule> indexRules();
llvm::ArrayRef<NamedRule> reduceRules();
llvm::ArrayRef<NamedRule> matrixRules();
llvm::ArrayRef<NamedRule> quantizedRules();
llvm::ArrayRef<NamedRule> fusedRules();
llvm::ArrayRef<NamedRule> convolutionRules();

/// What a Slice takes: along each dimension the elements starts[d],
/// starts[d] + steps[d], ..., extents[d] of them. Nothing if the bounds are
/// not known or wrong (a reason is set).
struct Box {
  Shape starts, extents, steps;
};
std::optional<Box> sliceBox(Node &node);

/// The shape two shapes broadcast to, or nothing.
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a,
                                     llvm::ArrayRef<int64_t> b);
/// Why no tensor has this shape, or nothing: extents are not negative, and the
/// bytes of a tensor are counted in an int64.
std::optional<std::string> shapeProblem(llvm::ArrayRef<int64_t> shape);
/// "2x3x4", or "scalar".
std::string printShape(llvm::ArrayRef<int64_t> shape);

/// ElementType of an MLIR type and back; signless integers are signed.
std::optional<ElementType> elementTypeOf(mlir::Type type);
mlir::Type toMlirType(mlir::MLIRContext *context, ElementType type);
/// Dense elements as a tensor, and back.
std::optional<Tensor> tensorOf(mlir::DenseElementsAttr elements);
mlir::DenseElementsAttr denseOf(mlir::MLIRContext *context,
                                const Tensor &tensor);

} // namespace wsec::simplify

#endif // COMPILER_SIMPLIFY_NODE_H
