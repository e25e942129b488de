// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of models that take what calls before have left at the length it
// has (`--kv-capacity`).
#ifndef DIALECTS_ONNX_CACHEDCALLS_H
#define DIALECTS_ONNX_CACHEDCALLS_H

#include "llvm/ADT/StringRef.h"

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
/// On the module: inputs that do not grow from call to call, which the host
/// carries, ["past_key_values.0.conv"].
inline constexpr llvm::StringLiteral carriedAttrName = "onnx.carried";

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_CACHEDCALLS_H
