// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows over images: what convolutions multiply and pools reduce.
#ifndef COMPILER_INFER_WINDOWS_H
#define COMPILER_INFER_WINDOWS_H

#include "compiler/infer/Legalization.h"

namespace wsec::infer {

/// Elements of a window, each of which is a slice.
inline constexpr int64_t kMostTaps = 4096;

/// Along each spatial axis.
struct Windows {
  Shape extents, strides, dilations, before, after; // of windows; pads
  Shape counts;                                     // of windows
};

/// Windows as `strides`, `dilations`, `pads` and `auto_pad` state them. With
/// `ceiling` one more where elements are left, if it begins on the image or on
/// the pads before it. Nothing, with a reason, if they do not fit.
std::optional<Windows> windowsOf(Node &node, llvm::ArrayRef<int64_t> spatial,
                                 const Shape &extents, bool ceiling = false);

/// A list with `count` numbers of `least` or more, all `otherwise` if it is not
/// stated. Nothing, with a reason, if it is none.
std::optional<Shape> perAxis(Node &node, llvm::StringRef name, size_t count,
                             int64_t otherwise, int64_t least);

/// Whether a slice for each element of such a window is not too much; else
/// says why.
bool areFewTaps(Node &node, llvm::ArrayRef<int64_t> extents);

/// Whether windows neither overlap nor leave gaps, and there are no pads.
bool arePatches(const Windows &windows, llvm::ArrayRef<int64_t> spatial);

/// `x` with elements of `fill` before and behind along an axis.
mlir::Value padded(Legalization &n, mlir::Value x, size_t axis, int64_t before,
                   int64_t after, double fill);

} // namespace wsec::infer

#endif // COMPILER_INFER_WINDOWS_H
