// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of a value when a model is compiled: its type, its shape, and
// of a constant where its elements are and how they are viewed.
#ifndef COMPILER_VALUES_FACTS_H
#define COMPILER_VALUES_FACTS_H

#include "compiler/values/Tensor.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <memory>
#include <string>
#include <vector>

namespace wsec::values {

/// Where the elements of a constant are: in memory, or in a file.
struct Storage {
  ElementType type;
  std::string file; // in one of the folders; empty: in memory
  const std::vector<std::string> *weightFolders = nullptr; // of the dialect
  uint64_t fileOffset = 0;
  uint64_t fileBytes = 0;
  mlir::DenseElementsAttr dense; // in memory, in the IR as well
  onnx::QuantizedAttr quantized; // the same, as integers that stand for f32
  onnx::ParameterAttr parameter; // whose elements these are, or null
  bool isTrainable = false;      // they are only where training starts

  /// Re-indexed only by views.
  bool isExternal() const { return !file.empty() || parameter; }
  int64_t numElements() const;
  /// The elements in memory, decoded or expanded when first asked for.
  const Tensor &inMemory() const;

  mutable std::optional<Tensor> tensor;
};

/// Elements that no operator computes: a view of a storage. Re-indexing a
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

/// All that is known of most results.
inline Fact unknown(ElementType type, llvm::ArrayRef<int64_t> shape) {
  return Fact{type, Shape(shape), std::nullopt};
}

/// The facts of `fact` after a reshape.
Fact reshapeFact(const Fact &fact, llvm::ArrayRef<int64_t> shape);

/// `fact` seen through a view of the fact's own shape as if dense. `change`
/// makes it: from the dense shape, and from the constant's view.
template <typename Change>
Fact reindexed(const Fact &fact, Change change) {
  Fact result =
      unknown(fact.type, change(StridedView::whole(fact.shape))->shape());
  if (!fact.constant)
    return result;
  if (std::optional<StridedView> view = change(fact.constant->view)) {
    result.constant = Constant{fact.constant->storage, *view};
    return result;
  }
  // The view has no single stride where one is needed: copy it first.
  if (std::optional<Tensor> tensor = fact.load()) {
    Fact copy = Fact::ofTensor(std::move(*tensor));
    result.constant =
        Constant{copy.constant->storage, *change(copy.constant->view)};
  }
  return result;
}

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

} // namespace wsec::values

#endif // COMPILER_VALUES_FACTS_H
