// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FlexAttention of ai.onnx.preview: its subgraphs change scores and shares, and
// the nodes that ONNX says it is stand in its place.
#ifndef COMPILER_INFER_FLEXATTENTION_H
#define COMPILER_INFER_FLEXATTENTION_H

#include "compiler/infer/Bodies.h"

namespace wsec::infer {

bool isFlexAttention(onnx::NodeOp op);

/// Puts the nodes in front of it; its result. Nothing where that cannot be,
/// `why` says so.
std::optional<llvm::SmallVector<mlir::Value>>
expandFlexAttention(onnx::NodeOp op, const Inferring &inferring,
                    std::string &why);

} // namespace wsec::infer

#endif // COMPILER_INFER_FLEXATTENTION_H
