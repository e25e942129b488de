// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels share that work on states of which rows take the tokens in turn:
// which tokens a row has at a position of the call, and how tokens of the call
// get to all rows of their batch element.

#ifndef COMPILER_KERNELS_ATTENTION_CACHEDTOKENS_H
#define COMPILER_KERNELS_ATTENTION_CACHEDTOKENS_H

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/attention/CausalMask.h"
#include "compiler/machine/Tiling.h"

#include <string>

namespace wsec {

/// The only one of `numbers`, or that for whose index `isIts` is 1, and not 0.
Affine oneOf(RoutineBuilder &builder, mlir::ValueRange numbers,
             llvm::function_ref<Affine(int64_t)> isIts);
/// The position of all batch elements, or that of the row's.
Affine ownPosition(RoutineBuilder &builder, mlir::ValueRange positions,
                   const Layout &layout);

/// Tokens of a row of a state while `count` tokens go there from `position` on,
/// or ask for it. Computed while the PE runs; rows beside the state have none.
///
///   3 rows, position 4, 2 tokens:   row 0  0 3      before 2, now 2
///                                       1  1 4 <-   before 1, now 2
///                                       2  2 5 <-   before 1, now 2
struct CachedTokens {
  CachedTokens(RoutineBuilder &builder, const Tile &state,
               mlir::ValueRange positions, int64_t count);

  /// Own tokens of those below one; it is not negative.
  Affine below(const Affine &end) const;

  Affine position; ///< of the batch element
  /// Tokens that were there before the call, and that are there now.
  Affine before, now;
  /// The first of the call's tokens that this row has, perhaps one too far.
  Affine firstFresh;
  /// Tokens that even the first of the call's tokens sees.
  Affine seenByAll;
  mlir::Value row; ///< of the batch element
  int64_t span;    ///< rows that take tokens in turn

private:
  /// Own tokens of those below one, as if rows beside the state had some.
  Affine allBelow(const Affine &end) const;
  Affine here(const Affine &tokens) const;

  RoutineBuilder &b;
  mlir::Value active; ///< null: all rows
};

/// Channels of a row with tokens of a call of some length, one at least: rows
/// hold tokens in turn (`onnx.length_parts` of the operation), so those are the
/// first. All channels where the operation is of no length, or lies otherwise.
Affine channelsOfCall(RoutineBuilder &builder, const Tile &tokens);

/// Scores of own tokens, a line each of up to `held`: of `round` queries, the
/// first of which stands at `first`, `repeat` numbers each.
struct ScoreLines {
  std::string buffer;
  int64_t held, round, repeat;
  Affine first;
};
/// Hides tokens that come after some of the queries, at most `late` a row.
void hideLater(RoutineBuilder &builder, const CachedTokens &tokens,
               const ScoreLines &lines, int64_t late);
/// Hides those that are no more among the last `window` up to a query's own.
void hideEarlier(RoutineBuilder &builder, const CachedTokens &tokens,
                 const ScoreLines &lines, int64_t window);
/// Hides those before the last multiple of `chunk` up to a query's own.
void hideChunks(RoutineBuilder &builder, const CachedTokens &tokens,
                const ScoreLines &lines, int64_t chunk);

/// The streams on which tokens of a call reach all rows of their batch element,
/// and sums of these rows the first one; none where that is the only one.
llvm::SmallVector<StreamNeed> batchStreams(const Layout &tokens);
llvm::SmallVector<Relay> batchRelays();

/// Multicasts words of `tokens` to all rows of its batch element, token after
/// token: `own` over `extents` those of this row, `wordsOfToken` of each, into
/// kept[..] over `all`.
void multicastTokens(RoutineBuilder &builder, const Tile &tokens,
                     llvm::ArrayRef<Affine> extents, const Operand &own,
                     mlir::Value wordsOfToken, llvm::ArrayRef<Affine> all,
                     const Operand &kept);
/// What that costs.
double multicastTokensCycles(const Layout &tokens, double wordsOfToken,
                             const Machine &machine);

class Selection;
/// The kernel of an attention to states, with queries as these lie.
mlir::Value createCachedAttention(mlir::Operation *attention,
                                  Selection &selection);

} // namespace wsec

#endif // COMPILER_KERNELS_ATTENTION_CACHEDTOKENS_H
