// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of models with a dimension that each call chooses (`--dim
// sequence=1..128`).
#ifndef DIALECTS_ONNX_LENGTHS_H
#define DIALECTS_ONNX_LENGTHS_H

#include "llvm/ADT/StringRef.h"

namespace wsec::onnx {

/// On a function: the least and the most that the dimension is in a call,
/// array<i64: 1, 128>; its values have the most. On the argument that has the
/// number of the call, likewise.
inline constexpr llvm::StringLiteral lengthAttrName = "onnx.length";
/// On a function: what users call the dimension.
inline constexpr llvm::StringLiteral lengthNameAttrName = "onnx.length_name";
/// On a function: the one (@main) that it is at another length, its only one,
/// to tell what follows it.
inline constexpr llvm::StringLiteral lengthOfAttrName = "onnx.length_of";
/// On a function: likewise, at one or two, where extents of one fold; known
/// values alone are compared.
inline constexpr llvm::StringLiteral foldedLengthOfAttrName =
    "onnx.folded_length_of";
/// On arguments and results: the axes that have the length, array<i64: 1>.
inline constexpr llvm::StringLiteral lengthAxesAttrName = "onnx.length_axes";

/// On a function, and on kernels that need not compute what is behind the
/// length: to how many parts its elements are dealt, which rows hold in turn.
inline constexpr llvm::StringLiteral lengthPartsAttrName = "onnx.length_parts";
/// Where the element of a caller lies of `extent` that are dealt to `parts`:
/// the parts follow one another, the larger ones first.
///
///   8 to 3 parts:   0 3 6 | 1 4 7 | 2 5
inline int64_t dealtPlace(int64_t element, int64_t extent, int64_t parts) {
  const int64_t part = element % parts, rest = extent % parts;
  return part * (extent / parts) + (part < rest ? part : rest) +
         element / parts;
}

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_LENGTHS_H
