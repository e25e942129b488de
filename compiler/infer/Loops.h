// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's Loop and Scan. A wafer's program does the same work in every run: how
// often a body is gone through has to be known, and then its nodes stand there
// so often, called "<loop>/<trip>/<node>".
#ifndef COMPILER_INFER_LOOPS_H
#define COMPILER_INFER_LOOPS_H

#include "compiler/infer/Bodies.h"

namespace wsec::infer {

/// Nodes that the loops of a function may unroll to.
inline constexpr size_t maxUnrolledNodes = 1 << 16;

/// A Loop or Scan, as the importer makes it.
bool isLoop(onnx::NodeOp op);

/// Puts the trips of a Loop or Scan in front of it; the values of its results.
/// Nothing where that cannot be, `why` says so. `unrolled` counts nodes.
std::optional<llvm::SmallVector<mlir::Value>>
unroll(onnx::NodeOp op, const Inferring &inferring, size_t &unrolled,
       int64_t &trips, std::string &why);

} // namespace wsec::infer

#endif // COMPILER_INFER_LOOPS_H
