// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements at computed places: places are numbers of rows of a table, made on
// the PEs from the indices; the store looks the rows up. A place outside of the
// table ends the run, so an index that is outside of its own dimension becomes
// one.
#ifndef COMPILER_INFER_PLACES_H
#define COMPILER_INFER_PLACES_H

#include "compiler/infer/Legalization.h"

namespace wsec::infer {

/// Every place is held against every update.
inline constexpr int64_t mostComparisons = int64_t(1) << 24;

/// Counts negative indices from the end; -1 for one that is outside.
int64_t indexInto(int64_t extent, int64_t index);

/// The first of known places that follow one another along `axis` of `indices`,
/// and are the same along all others; none where they are computed, or beyond
/// `extent`.
std::optional<int64_t> firstOfRun(const values::Fact &indices, int64_t axis,
                                  int64_t extent);

/// The first of known tuples of indices [extents.., rank] that count through a
/// box of `shape`, each number along its own dimension: so exporters assign to
/// slices.
std::optional<Shape> cornerOfBox(const Fact &indices,
                                 llvm::ArrayRef<int64_t> shape);

/// `extent` elements of `x` from `start` on along one axis.
mlir::Value sliceAlong(Legalization &legalization, mlir::Value x, int64_t axis,
                       int64_t start, int64_t extent);

/// `x` with `updates` from place `first` on along one axis: what is before
/// them, they, and what is behind.
mlir::Value runWritten(Legalization &legalization, mlir::Value x,
                       mlir::Value updates, int64_t axis, int64_t first);

/// Whether f32 tells the places along an axis apart; else says why.
bool canCount(Legalization &legalization, int64_t extent);

/// 0, step, 2 * step, ... along one axis of `rank`.
mlir::Value countAlong(Legalization &legalization, ElementType type,
                       int64_t rank, int64_t axis, int64_t extent,
                       int64_t step);

mlir::Value asI32(Legalization &legalization, mlir::Value indices);

/// The `count` largest floats along an axis, or the smallest, in order, and
/// their places. NaN is larger than any number; of equal ones the first comes
/// first.
struct Extremes {
  mlir::Value places, values;
};
Extremes extremes(Legalization &legalization, mlir::Value x, int64_t axis,
                  int64_t count, bool smallest);

/// Rows of a table [rows, width].
mlir::Value rowsAt(Legalization &legalization, mlir::Value table,
                   mlir::Value places);

/// `past` [batch, ..., length, ...] with the rows of `written` from `start`
/// [batch] on along `axis`, or, circular, on from the first behind the last.
/// Null: from 0. Rows of both are one table, read at [batch, what lies between,
/// length]; to write behind the last one ends the run.
mlir::Value rowsWritten(Legalization &legalization, mlir::Value past,
                        mlir::Value written, mlir::Value start, int64_t axis,
                        bool isCircular);

/// step * index, of indices that may count from the end of `extent`; `outside`
/// for those that are beyond it.
mlir::Value steps(Legalization &legalization, mlir::Value indices,
                  int64_t extent, int64_t step, int64_t outside);

/// Numbers of the elements of a tensor of `shape` that `indices`, for one axis,
/// ask for.
mlir::Value elementPlaces(Legalization &legalization,
                          llvm::ArrayRef<int64_t> shape, mlir::Value indices,
                          int64_t axis);

/// Elements at known places along one axis, of which there is at least one.
mlir::Value elementsOf(Legalization &legalization, mlir::Value x, int64_t axis,
                       llvm::ArrayRef<int64_t> places);

/// Elements of `x` that `indices` ask for along one axis.
mlir::Value elementsAt(Legalization &legalization, mlir::Value x,
                       mlir::Value indices, int64_t axis);

} // namespace wsec::infer

#endif // COMPILER_INFER_PLACES_H
