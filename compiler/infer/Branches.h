// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's If. The branch of a condition that is known takes the node's place. A
// wafer's program does the same work in every run: of a computed condition none
// is taken.
#ifndef COMPILER_INFER_BRANCHES_H
#define COMPILER_INFER_BRANCHES_H

#include "compiler/infer/Bodies.h"

namespace wsec::infer {

/// An If, as the importer makes it.
bool isIf(onnx::NodeOp op);

/// The branch that is taken. Null where that is not known; `why` says so.
mlir::func::FuncOp chosenBranch(onnx::NodeOp op, const values::Fact *condition,
                                std::string &why);

} // namespace wsec::infer

#endif // COMPILER_INFER_BRANCHES_H
