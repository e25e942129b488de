// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention and its gradient do alike: keys and values of a batch
// element come to all its rows, scores of some keys and their exponentials are
// there in every column of a head.

#ifndef COMPILER_KERNELS_ATTENTION_ATTENTIONWRITER_H
#define COMPILER_KERNELS_ATTENTION_ATTENTIONWRITER_H

#include "compiler/kernels/attention/AttentionTerms.h"

namespace wsec {

class AttentionWriter {
public:
  AttentionWriter(const AttentionOperands &operands, RoutineBuilder &builder);
  virtual ~AttentionWriter() = default;

  void write();

protected:
  using Value = mlir::Value;
  using Place = AttentionPlace;
  using Round = AttentionRound;
  struct Exchange {
    Thread thread, hearing;
    const Tile &tile, &words;
    StreamPattern north, cast;
    const std::string &buffer;
  };

  /// A head of a sequence.
  virtual void attend(Place place) = 0;

  Exchange keyExchange() const {
    return {KeyThread,
            GatherThread,
            key,
            keyWords,
            StreamPattern::KeyNorth,
            StreamPattern::KeyCast,
            gathered};
  }
  Exchange valueExchange() const {
    if (shape.pitch) {
      return {KeyThread,
              GatherThread,
              value,
              valueWords,
              StreamPattern::KeyNorth,
              StreamPattern::KeyCast,
              gathered};
    }
    return {ValueThread,
            shape.early() ? FillThread : GatherThread,
            value,
            valueWords,
            StreamPattern::ValueNorth,
            StreamPattern::ValueCast,
            shape.early() ? values : gathered};
  }
  /// body(first, count, keys x features x tokens) for some own features of a
  /// head at a time.
  void inSlices(Place place, Round round, const Exchange &exchange,
                llvm::function_ref<void(Affine, Affine, Operand)> body);
  /// body(first, count) likewise.
  void eachSlice(const Tile &tile,
                 llvm::function_ref<void(Affine, Affine)> body);
  /// Rows of `sums` become the products of keys, or values, with the rows of
  /// `tile`, over all features of the head.
  void products(Place place, Round round, const Exchange &exchange,
                const Tile &tile, std::string &sums);
  /// Whether a row brings keys of a round.
  Value isOfBand(Round round, Value row);
  /// `scores` of a round: scaled, bounded, masked.
  void score(Place place, Round round);
  /// largest = max(largest, scores)
  void findLargest(const std::string &into, int64_t keys);
  /// Exponentials of scores less `largest`. Columns of one head share them out.
  void exponentials(int64_t keys);
  /// What earlier rounds summed up, at the scale of the new maximum.
  void correct(int64_t keys);
  /// sums += lines * perChannel over keys, the features of each, and own
  /// tokens.
  void multiply(int64_t keys, Affine features, int64_t mostFeatures,
                size_t summed, Operand sums, Operand lines, Operand perChannel);

  /// Rows without queries only take part in the exchange.
  void compute(llvm::function_ref<void()> body) { b.where(query.active, body); }
  Operand rowsOf(const std::string &buffer) const {
    return Operand::memory(buffer, 0, {shape.channels, 1});
  }
  /// The exponentials of the scores.
  Operand exponentialRows() const {
    return rowsOf(rounded.empty() ? scores : rounded);
  }
  static Operand perToken(const std::string &buffer) {
    return Operand::memory(buffer, 0, {1});
  }
  static Operand perScore(const std::string &buffer) {
    return Operand::memory(buffer, 0, {0, 1});
  }
  void eachToken(Opcode opcode, const std::string &into,
                 const llvm::SmallVector<Operand, 0> &operands) {
    b.vector(opcode, {asked}, perToken(into), operands);
  }
  /// Features of a head that this PE holds.
  Affine ownFeatures(const Tile &tile) const {
    return shape.spread() ? Affine(tile.features)
                          : Affine(tile.layout.features.unitSize);
  }
  /// Word of the first token of a sequence in the given head.
  static Affine start(const Tile &tile, Place place) {
    int64_t head = tile.layout.features.unitSize * tile.pitch;
    return place.head * head + place.sequence * tile.layout.tokens;
  }
  static Operand rowsAt(const Tile &tile, Place place, Affine first = 0) {
    return Operand::memory(tile.buffer, start(tile, place) + first * tile.pitch,
                           {tile.pitch, 1});
  }
  /// Queries that are at work, or what is of their tokens.
  static Operand queryRowsAt(const Tile &tile, Place place, Affine first = 0) {
    Operand rows = rowsAt(tile, place, first);
    rows.offset = rows.offset + place.query;
    return rows;
  }

  RoutineBuilder &b;
  ScalarBuilder &s;
  AttentionShape shape;
  Tile query, key, value;
  Affine asked;              ///< own queries that are computed at a time
  Value present;             ///< and all that are there at a time
  Tile keyWords, valueWords; ///< as they move
  Tile attended;
  std::string scores, largest, sum, next, correction;
  std::string gathered, values; ///< keys or values, and values that are early
  std::string weighted;         ///< f32 sums of a head, where narrow
  std::string rounded;          ///< exponentials in 16 bits, where narrow
  std::string other;            ///< where scores go next
  PEGroups groups;              ///< of the columns of a head
  std::optional<AttentionTerms> terms;

private:
  void streamStored();
  void hearStored(Round round);
  void startGather(Place place, Round round, const Exchange &exchange,
                   Affine first, Affine features);
  void send(const Exchange &exchange, Round round, const Operand &own,
            Value tokens, Value tokensSouth, Affine features);
  Value wordsBefore(const Exchange &exchange, Round round, Value row,
                    Affine features);
};

} // namespace wsec

#endif // COMPILER_KERNELS_ATTENTION_ATTENTIONWRITER_H
