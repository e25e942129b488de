// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the terms of an attention's mask (#onnx.term) do to scores and weights.
//
// `zero_hidden` asks of which queries the mask hides all keys before any score
// is there; their scores become minus infinity, so that of them no NaN is left,
// and the sum of their weights, which is 0, counts as 1.

#ifndef COMPILER_KERNELS_ATTENTION_ATTENTIONTERMS_H
#define COMPILER_KERNELS_ATTENTION_ATTENTIONTERMS_H

#include "compiler/kernels/attention/AttentionShape.h"
#include "compiler/kernels/attention/CausalMask.h"

namespace wsec {

/// One head of one sequence; the own query that is at work, where those are
/// taken one by one.
struct AttentionPlace {
  pe::Affine head, sequence, query = 0;
};

/// Keys whose scores are there at a time: of each row the tokens from `first`
/// on, `tokens` or, in the last round, all; of the rows of a band, before which
/// others of the round have `firstKey` keys.
struct AttentionRound {
  pe::Affine first;
  int64_t keys;
  bool last;
  int64_t firstRow = 0, endRow = 0, firstKey = 0;
};

class AttentionTerms {
public:
  /// Whether a query does not see all that comes later.
  static bool hidesLater(const AttentionShape &shape);
  /// Words of scratch besides that of the scores.
  static int64_t scratchWords(const AttentionShape &shape);
  /// How often they pass over the scores, beyond what every attention does.
  static int64_t passes(const AttentionShape &shape);

  /// `asked`: own queries that are computed. `scores`: the buffer of the
  /// scores; where these are spread it is free while terms act on them, which
  /// have moved.
  AttentionTerms(RoutineBuilder &builder, const AttentionShape &shape,
                 const Tile &query, pe::Affine asked,
                 const std::string &scores);

  /// body(round) for each round of keys, and what the terms need for it.
  void eachRound(llvm::function_ref<void(AttentionRound)> body);
  /// Once per launch.
  void prepare();
  /// The next of own queries that are taken one by one, or with a negative
  /// number one before.
  void nextQuery(int64_t queries) {
    if (later)
      compute([&] { later->advance(-queries); });
  }
  /// Once per head of a sequence, before its rounds.
  void begin(AttentionPlace place);
  /// Acts on scores, rows of keys.
  void apply(AttentionPlace place, AttentionRound round,
             const std::string &scores);
  /// What an earlier round gave is multiplied by `correction`: NaN would stay.
  void keepEarlier(const std::string &correction);
  /// Acts on weights of a round, rows of keys, and on their sums so far.
  void guard(const std::string &sum, int64_t keys, const pe::Operand &weights);
  /// A sum of weights becomes what results are multiplied by.
  void divide(const std::string &sum);

private:
  void act(onnx::TermAttr term, AttentionPlace place, AttentionRound round,
           const std::string &scores);
  void withMask(onnx::TermAttr term, AttentionPlace place, AttentionRound round,
                pe::Opcode how, const std::string &into, int64_t pitch);
  void lowerLater(onnx::TermAttr term, AttentionPlace place,
                  AttentionRound round);

  /// Rows without queries only take part in the exchange.
  void compute(llvm::function_ref<void()> body) { b.where(query.active, body); }
  /// Tokens of a row, and how many rows have one more.
  int64_t leastTokens() const { return shape.keys / shape.rows(); }
  int64_t largerRows() const { return shape.keys % shape.rows(); }
  pe::Operand perToken(const std::string &buffer) const {
    return pe::Operand::memory(buffer, 0, {1});
  }
  pe::Operand perScore(const std::string &buffer) const {
    return pe::Operand::memory(buffer, 0, {0, 1});
  }
  pe::Operand rows(const std::string &buffer) const {
    return pe::Operand::memory(buffer, 0, {shape.channels, 1});
  }
  void eachToken(pe::Opcode opcode, const std::string &into,
                 const llvm::SmallVector<pe::Operand, 0> &operands) {
    b.vector(opcode, {asked}, perToken(into), operands);
  }

  RoutineBuilder &b;
  const AttentionShape &shape;
  const Tile &query;
  pe::Affine asked;
  std::optional<CausalMask> later;
  std::string hidden;   ///< of CausalMask
  std::string noNumber; ///< for zero_nan: of which tokens weights are NaN
  std::string unseen;   ///< for zero_hidden: which tokens see no key
};

} // namespace wsec

#endif // COMPILER_KERNELS_ATTENTION_ATTENTIONTERMS_H
