// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DIALECTS_ONNX_NAMEDPARAMETERS_H
#define DIALECTS_ONNX_NAMEDPARAMETERS_H

#include "llvm/ADT/StringRef.h"

namespace wsec::onnx {

/// Marks an onnx.parameter that was asked to train by its name, not as one of
/// all.
inline constexpr llvm::StringLiteral namedAttrName = "onnx.named";

/// The name that its module gives an onnx.parameter whose own is a number
/// (compiler/import/ModuleNames.h).
inline constexpr llvm::StringLiteral moduleAttrName = "onnx.module";

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_NAMEDPARAMETERS_H
