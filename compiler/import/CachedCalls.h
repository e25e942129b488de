// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--kv-capacity`: a model that takes what calls before have left, as long as
// they have made it, and gives it back longer. Its entries hold it at one
// length, the capacity, which pasts of static caches have by themselves.
#ifndef COMPILER_IMPORT_CACHEDCALLS_H
#define COMPILER_IMPORT_CACHEDCALLS_H

#include "compiler/import/ImportModel.h"
#include "compiler/import/ModelFile.h"
#include "compiler/import/StatePairs.h"
#include <optional>

namespace wsec {

/// A call that finds `past` tokens and writes `tokens`.
struct CachedCall {
  int64_t tokens, past;
  int64_t total() const { return tokens + past; }
};

/// What of a model's inputs has to do with the tokens of a call.
struct CachedInputs {
  const ValueInfoProto *tokens = nullptr; // input_ids or inputs_embeds
  const ValueInfoProto *mask = nullptr;   // attention_mask, or null
  /// position_ids and cache_position, if there are such; the host gives the
  /// first.
  llvm::SmallVector<const ValueInfoProto *> positions;
  llvm::SmallVector<const ValueInfoProto *> pasts;
  /// Pasts that calls read and write as a whole.
  llvm::SmallVector<const ValueInfoProto *> whole;

  /// The symbol of the call's tokens; empty where the model fixes them.
  std::string tokensSymbol() const;
};

/// Null of inputs that a model has no need of. Fails after errors, which say
/// how to export.
mlir::FailureOr<CachedInputs>
findCachedInputs(const OnnxModel &model,
                 llvm::ArrayRef<const ValueInfoProto *> inputs,
                 const StatePairs &states, const ImportOptions &options,
                 mlir::MLIRContext *context);

/// How many tokens a call of `entry` has, by its dimensions, those of all
/// entries, or the shape of an input; nothing if that is open.
std::optional<int64_t> tokensOf(const CachedInputs &inputs,
                                const ImportOptions &options,
                                const EntryOptions &entry);

/// `options` with the dimensions of such a call.
ImportOptions boundTo(const CachedCall &call, const CachedInputs &inputs,
                      const ImportOptions &options, const EntryOptions &entry);

/// What a call with an empty past and such capacity is written as, with calls
/// of other lengths that tell what in the model follows the length: the first
/// fills the capacity, the last is one of so many tokens without a past.
llvm::SmallVector<CachedCall> callsThatTell(int64_t tokens, int64_t capacity);

} // namespace wsec

#endif // COMPILER_IMPORT_CACHEDCALLS_H
