// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_CANONICALIZE_ATTENDTOSTATES_H
#define COMPILER_CANONICALIZE_ATTENDTOSTATES_H

#include "dialects/onnx/Onnx.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace wsec::canonicalize {

/// Attention to what is made of states of latents becomes one to these, where
/// that is what it is; the operation that takes its place, or itself.
onnx::AttentionOp attendToLatents(onnx::AttentionOp op);

/// The sinks of attention to states: one number for each head, a score beside
/// those of keys. Looked up only.
using Sinks = llvm::DenseMap<mlir::Operation *, mlir::Value>;

/// Attention to keys and values that are states of calls of any length
/// (`onnx.call`) becomes onnx.cached_attention, with its `sinks` where it has
/// some, where each token sees those up to itself and nothing else acts on
/// scores; else the operation gets a reason, for `verifyStates`.
void attendToStates(mlir::ModuleOp module, const Sinks &sinks);

} // namespace wsec::canonicalize

#endif // COMPILER_CANONICALIZE_ATTENDTOSTATES_H
