// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the importer says of nodes with subgraphs.
#ifndef DIALECTS_ONNX_BODIES_H
#define DIALECTS_ONNX_BODIES_H

#include "llvm/ADT/StringRef.h"

namespace wsec::onnx {

/// Among what a Loop or Scan states: how many of its last operands its body
/// uses of the graphs around it.
inline constexpr llvm::StringLiteral capturedAttrName = "captured";

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_BODIES_H
