// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Re-indexings of a tensor that move no element: transpose, slice, reshape,
// expand. A view maps the index of a result to a position in the row-major
// order of the tensor it looks at, its root.
//
// Worked example. A root [2,5,12] (batch, token, 3 heads of 4) reshaped to
// [2,5,3,4] and transposed by [0,2,1,3] has the dimensions
//   batch (2, stride 60)   head (3, stride 4)   token (5, stride 12)
//   feature (4, stride 1)
// Merging batch and head by a reshape to [6,5,4] leaves a first dimension of
// two *atoms*, (2,60)(3,4): no single stride describes it, yet nothing moved.
// So each dimension is a list of atoms, and a later split back loses nothing.
#ifndef COMPILER_VALUES_STRIDEDVIEW_H
#define COMPILER_VALUES_STRIDEDVIEW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace wsec::values {

using Shape = llvm::SmallVector<int64_t, 4>;

/// Product of the extents; 1 for a scalar.
int64_t numElements(llvm::ArrayRef<int64_t> shape);

/// Strides of a dense row-major tensor.
Shape rowMajorStrides(llvm::ArrayRef<int64_t> shape);

class StridedView {
public:
  struct Atom {
    int64_t size;
    int64_t stride;
    bool operator==(const Atom &other) const {
      return size == other.size && stride == other.stride;
    }
  };
  using Atoms = llvm::SmallVector<Atom, 2>;

  /// All of a dense row-major tensor.
  static StridedView whole(llvm::ArrayRef<int64_t> shape);
  static StridedView strided(llvm::ArrayRef<int64_t> shape, int64_t offset,
                             llvm::ArrayRef<int64_t> strides);

  Shape shape() const;
  size_t rank() const { return dims.size(); }
  int64_t getOffset() const { return offset; }
  /// Atoms of a range of dimensions, outermost first, in normal form: no atom
  /// of size 1, neighbours merged where one stride serves both.
  Atoms atoms(size_t firstDim, size_t numDims) const;
  /// One stride per dimension, if every dimension has one.
  std::optional<Shape> strides() const;
  /// Holds when the view is the root, element by element, in its order.
  bool isContiguous() const;

  StridedView transposed(llvm::ArrayRef<int64_t> perm) const;
  /// Numpy broadcasting; `to` must be at least as long as the rank.
  StridedView expanded(llvm::ArrayRef<int64_t> to) const;
  /// Elements start, start + step, ... of one dimension; nothing if the
  /// dimension has several atoms and is not taken whole.
  std::optional<StridedView> sliced(size_t dim, int64_t start, int64_t size,
                                    int64_t step) const;
  /// Nothing if an atom would have to be cut unevenly.
  std::optional<StridedView> reshaped(llvm::ArrayRef<int64_t> to) const;

private:
  int64_t offset = 0;
  llvm::SmallVector<Atoms, 4> dims;
};

} // namespace wsec::values

#endif // COMPILER_VALUES_STRIDEDVIEW_H
