// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DIALECTS_ONNX_EXPERTS_H
#define DIALECTS_ONNX_EXPERTS_H

#include "llvm/ADT/StringRef.h"

namespace wsec::onnx {

/// On an onnx.top_k: its places are numbers of so many experts, from which
/// tokens choose.
inline constexpr llvm::StringLiteral expertsAttrName = "onnx.experts";

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_EXPERTS_H
