// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches that stay on the wafer: what writes and reads them becomes an
// onnx.update and an onnx.cached_attention, or nothing.
#ifndef COMPILER_INFER_STATES_H
#define COMPILER_INFER_STATES_H

#include "compiler/infer/Attention.h"

namespace wsec::infer {

/// Whether `past` is what the call before has left of a state, perhaps as
/// another type.
bool isOfState(mlir::Value past);

/// Writes tokens to a state, along `axis` from `start` on, which has to be an
/// input of the model: it becomes an argument of the entry, from 0 to what the
/// capacity allows. Null with a reason where that is not what a state does.
mlir::Value updateState(Legalization &legalization, mlir::Value past,
                        mlir::Value written, mlir::Value start, int64_t axis,
                        bool isCircular);

/// Whether `past` is a state of a model that takes it at the length it has
/// (`--kv-capacity`).
bool isGrowingState(mlir::Value past);

/// Writes tokens behind those that the call finds: the place of a Concat along
/// `axis`, whose result has the capacity; with `isInPlace` that of an operator
/// that writes to the past, if this has the capacity. Null with a reason.
mlir::Value appendToState(Legalization &legalization, mlir::Value past,
                          mlir::Value written, int64_t axis,
                          bool isInPlace = false);

/// Whether `cache` is such a state, perhaps transposed, to which a scatter
/// writes.
bool isStaticCache(mlir::Value cache);

/// A scatter of `written` along `axis` to such a cache, at `places` [..,
/// tokens,
/// ..], which have to be the positions of the call. Null with a reason.
mlir::Value scatterToState(Legalization &legalization, mlir::Value cache,
                           mlir::Value places, mlir::Value written,
                           int64_t axis);

/// Whether keys or values are what a state holds.
bool readsState(const GeneralAttention &attention);

/// Attention to states, with its sinks; [batch, queries, heads * size]. Null
/// with a reason unless each query sees all tokens up to its own, or the last
/// of these.
mlir::Value attendToState(Legalization &legalization,
                          const GeneralAttention &attention);

} // namespace wsec::infer

#endif // COMPILER_INFER_STATES_H
