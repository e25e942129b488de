// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of models that take what calls before have left at the length it
// has (`--kv-capacity`).
#ifndef DIALECTS_ONNX_CACHEDCALLS_H
#define DIALECTS_ONNX_CACHEDCALLS_H

#include "dialects/onnx/Onnx.h"

namespace wsec::onnx {

/// On a function that is a model at one length of what calls before have left:
/// the call's tokens and those before, array<i64: 1, 511>. An entry fills the
/// capacity of its states.
inline constexpr llvm::StringLiteral callAttrName = "onnx.call";
/// On a private function: the entry (@decode) that it is at another length, to
/// tell what follows the length.
inline constexpr llvm::StringLiteral sampleOfAttrName = "onnx.sample_of";
/// On the argument of an entry with the positions of its tokens.
inline constexpr llvm::StringLiteral positionsAttrName = "onnx.positions";
/// On an argument that is a state and does not grow, as that of a recurrence: a
/// call reads all of it, zeros at position 0, and leaves all of it.
inline constexpr llvm::StringLiteral wholeAttrName = "onnx.whole";

/// Whether the attributes of an argument are those of a state that grows from
/// call to call.
inline bool isGrowing(mlir::DictionaryAttr about) {
  return about && about.contains(stateAttrName) &&
         !about.contains(wholeAttrName);
}

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_CACHEDCALLS_H
