// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_KERNELS_ATTENTION_CACHEDATTENTIONSHAPE_H
#define COMPILER_KERNELS_ATTENTION_CACHEDATTENTIONSHAPE_H

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/machine/Tiling.h"
#include "dialects/wse/StateBytes.h"

#include <optional>

namespace wsec {

/// Words of scores that are made at a time, of as many tokens as share them
/// evenly: beside a decoder's states there is little room, or less.
inline constexpr int64_t cachedScoreWords = 512, fewCachedScoreWords = 128;

/// The state of this name.
inline wse::StateOp stateOf(wse::CachedAttentionOp op,
                            mlir::FlatSymbolRefAttr name) {
  return mlir::SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(op, name);
}

/// Numbers of 8 bits come out of their halves of an element as 256 times what
/// they are, and count 127 where their scale does 1.
inline constexpr double bytesOfScale = 256 * 127;

/// What a state has of a tensor of `heads` heads, if it held these floats.
inline Layout layoutOfFloats(wse::StateOp state, mlir::Value tensor,
                             int64_t heads, int64_t stateHeads,
                             const Machine &machine) {
  const int64_t size = wse::featuresOf(tensor) / heads;
  return Layout::of(
      wse::withHeadSize(wse::TokenTiling::of(state.getHeldType()), size)
          .type(stateHeads * size, elementTypeOf(tensor)),
      machine.height);
}

/// What attention to states computes in a PE, and how much memory that takes.
struct CachedAttentionShape {
  Layout query, result, keys, values;
  int64_t tokens; // that ask
  int64_t repeat; // heads of queries for each of keys
  int64_t keySize, valueSize;
  int64_t columns;               // of a head
  int64_t mostKey, mostValue;    // features of it in a PE
  bool bytes;                    // states have 8 bits, and scales
  int64_t held;                  // most tokens of a state in a PE
  int64_t channels;              // most queries of a head in a PE of their row
  int64_t round;                 // tokens whose scores are made at a time
  std::optional<int64_t> window; // none: it hides nothing
  bool chunked;                  // it ends at its multiples
  std::optional<double> softcap;
  mlir::Type element;
  bool narrow; // of 16 bits: sums are made in f32
  /// Whether rows weigh by the largest of their own scores, and correct that by
  /// the largest of all, which comes meanwhile.
  bool ownLargest;

  CachedAttentionShape(wse::CachedAttentionOp op, const Machine &machine)
      : CachedAttentionShape(op, machine, op.getFewScores()) {}
  CachedAttentionShape(wse::CachedAttentionOp op, const Machine &machine,
                       bool fewScores)
      : query(Layout::of(op.getQuery(), machine.height)),
        result(Layout::of(op.getResult(), machine.height)),
        keys(layoutOfFloats(stateOf(op, op.getKeysAttr()), op.getQuery(),
                            op.getNumHeads(), op.getKeyHeads(), machine)),
        values(layoutOfFloats(stateOf(op, op.getValuesAttr()), op.getResult(),
                              op.getNumHeads(), op.getKeyHeads(), machine)),
        tokens(query.tokens), repeat(op.getNumHeads() / op.getKeyHeads()),
        keySize(keys.features.unitSize), valueSize(values.features.unitSize),
        columns(keys.features.columns), mostKey(tileSizeMax(keySize, columns)),
        mostValue(tileSizeMax(valueSize, columns)),
        bytes(wse::scalesOf(stateOf(op, op.getKeysAttr())) != nullptr),
        held(keys.pitch(machine.height)), channels(query.pitch(machine.height)),
        round(tokens), chunked(op.getChunked()),
        element(elementTypeOf(op.getQuery())), narrow(isNarrow(op.getQuery())) {
    if (auto tokens = op.getSlidingWindow();
        tokens && *tokens < uint64_t(keys.tokens))
      window = *tokens;
    if (auto bound = op.getSoftcap())
      softcap = bound->convertToDouble();
    const int64_t most = fewScores ? fewCachedScoreWords : cachedScoreWords;
    while (round > 1 && (tokens % round || scoreCount() > most))
      --round;
    ownLargest = largestCycles(machine, true, double(held)) <
                 largestCycles(machine, false, double(held));
  }
  /// Cycles from scores on of which a row has `own`, a round: with the largest
  /// of all, or with own ones first.
  double largestCycles(const Machine &machine, bool ownFirst, double own) const;
  /// Along the columns of a head: `words` in all, of each a few.
  double gatheredCycles(const Machine &machine, double words) const;

  bool spread() const { return columns > 1; }
  /// Whether queries and results move along their rows: where heads of queries
  /// lie one after the other over the columns of their head of keys.
  bool moves() const { return spread() && repeat > 1; }
  /// Elements of a word that so move: of 16 bits two, where all columns of a
  /// head have whole words of one query.
  int64_t perWord() const {
    return narrow && channels == 1 && keySize % (2 * columns) == 0 &&
                   valueSize % (2 * columns) == 0
               ? 2
               : 1;
  }
  /// Queries of a head of keys, and those of a round.
  int64_t queries() const { return tokens * repeat; }
  int64_t asked() const { return round * repeat; }
  /// Tokens of a row that some queries do not see, at most.
  int64_t late() const { return tileSizeMax(tokens - 1, keys.span); }
  /// Tokens of which a column of a head makes the exponentials, at most, and
  /// columns that make any: no more than have as many.
  int64_t share() const { return tileSizeMax(held, columns); }
  int64_t sharing() const { return tileSizeMax(held, share()); }
  /// Lines of scores: as many tokens for each of those columns.
  int64_t rows() const { return share() * sharing(); }
  int64_t scoreCount() const { return rows() * asked(); }
  /// Elements that come out of one half of a state's.
  int64_t halfCount() const {
    return bytes ? held * tileSizeMax(std::max(mostKey, mostValue), 2) : 0;
  }
  int64_t weightedCount() const { return (1 + mostValue) * queries(); }
  /// Words of weighted values of a row's own queries, where these are in
  /// several rows.
  int64_t ownCount() const {
    return query.span > 1 ? (1 + mostValue) * channels * repeat : 0;
  }
  int64_t movedQueries() const {
    return moves() ? repeat * mostKey * channels : 0;
  }
  int64_t movedResults() const {
    return moves() ? repeat * mostValue * channels : 0;
  }
  int64_t inverseCount() const { return channels * repeat; }
  /// Words that a buffer takes where one of `room` words is free for it.
  static int64_t beside(int64_t count, int64_t room) {
    return count <= room ? 0 : count;
  }
  int64_t scratchWords() const {
    auto elements = [&](int64_t count) { return wordsOf(element, count); };
    const int64_t scores = scoreCount();
    return (halfCount() + 1) / 2 + elements(halfCount()) +
           elements(queries() * mostKey) +
           (narrow ? elements(movedQueries())
                   : beside(movedQueries(), scores)) +
           (spread() ? 2 : 1) * scores + (narrow ? elements(scores) : 0) +
           (ownLargest ? 3 : 2) * asked() + weightedCount() +
           beside(ownCount(), scores) + beside(inverseCount(), asked()) +
           (perWord() == 2 ? elements(movedResults())
                           : beside(movedResults(), scores));
  }
};

/// Cycles of the busiest PE, at the last position that the entry takes.
KernelCost costOf(wse::CachedAttentionOp op, const CachedAttentionShape &shape,
                  const Machine &machine);

} // namespace wsec

#endif // COMPILER_KERNELS_ATTENTION_CACHEDATTENTIONSHAPE_H
