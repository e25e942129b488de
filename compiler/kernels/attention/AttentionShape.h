// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of an attention on its region: cost, scratch and code depend on them.

#ifndef COMPILER_KERNELS_ATTENTION_ATTENTIONSHAPE_H
#define COMPILER_KERNELS_ATTENTION_ATTENTIONSHAPE_H

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/PrecisionLevel.h"
#include "compiler/machine/Tiling.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/wse/InherentAttributes.h"

namespace wsec {

/// Words of SRAM that scores may take before keys come in rounds, also where
/// their gradients take as many, and those of keys or values that are multicast
/// at a time. With few scores all of these, and `streamedWords`, are a quarter.
inline constexpr int64_t scoreWords = 2048, gradientScoreWords = 1024;
inline constexpr int64_t gatheredWords = 2048, fewScores = 4;
/// Bands of rows that bring keys in rounds of their own, each with code of its
/// own, where scores of a key of every row are more than twice as many words,
/// or these bring all of theirs in fewer rounds.
inline constexpr int64_t mostBands = 4;
/// Words of stored keys, or of values, that a PE takes at a time.
inline constexpr int64_t streamedWords = 1024;

/// Keys and values, [2, keys, features], where they come from the store.
inline wse::WeightAttr storedOf(wse::AttentionOp op) {
  return op->getAttrOfType<wse::WeightAttr>(wse::storedAttrName);
}

/// Bands of its rows, as it was told; 0: as many as are best.
inline int64_t bandsAskedOf(mlir::Operation *op) {
  auto bands = op->getAttrOfType<mlir::IntegerAttr>(wse::bandsAttrName);
  return bands ? bands.getInt() : 0;
}

/// What an attention and its gradient have in common.
struct AttentionOperands {
  mlir::Value query, key, value, attended;
  double scale;
  mlir::ArrayAttr terms;
  llvm::SmallVector<mlir::Value, 1> masks = {};
  std::optional<double> softcap = {};
  wse::WeightAttr stored = {};
  bool few;            ///< scores at a time
  int64_t inBands = 0; ///< of rows that bring keys; 0: as many as are best
  bool isGradient = false;
  int64_t parts = 0; ///< to which tokens are dealt; 0: they are in order

  AttentionOperands(wse::AttentionOp op);
  AttentionOperands(wse::AttentionGradientOp op)
      : query(op.getQuery()), key(op.getKey()), value(op.getValue()),
        attended(op.getAttended()), scale(op.getScale().convertToDouble()),
        terms(op.getTerms()), few(op.getFewScores()), inBands(bandsAskedOf(op)),
        isGradient(true) {}
  auto eachTerm() const { return terms.getAsRange<onnx::TermAttr>(); }
};

inline AttentionOperands::AttentionOperands(wse::AttentionOp op)
    : query(op.getQuery()), key(op.getKey()), value(op.getValue()),
      attended(op.getResult()), scale(op.getScale().convertToDouble()),
      terms(op.getTerms()), masks(op.getMasks()), stored(storedOf(op)),
      few(op.getFewScores()), inBands(bandsAskedOf(op)) {
  if (auto its =
          op->getAttrOfType<mlir::IntegerAttr>(onnx::lengthPartsAttrName))
    parts = its.getInt();
  if (std::optional<llvm::APFloat> cap = op.getSoftcap())
    softcap = cap->convertToDouble();
}

struct AttentionShape {
  AttentionOperands of;
  Layout query, key, value;
  int64_t columns;       // of a head
  int64_t queries, keys; // tokens of a sequence
  int64_t headSize, valueSize;
  int64_t channels;   // most tokens of a sequence in one PE at a time
  int64_t passes = 1; // of keys: as many as it has tokens, if one at a time
  bool streamed;      // keys and values come from the store, to all rows
  int64_t tokens;     // that a row brings in a round; the last brings the rest
  int64_t rounds;     // before the last
  int64_t bands = 1;  // of rows that bring keys at a time
  // Rows of a group, where what goes north goes in two phases, values on the
  // way of keys; 0: in a chain.
  int64_t pitch = 0;
  mlir::Type element; // of keys and values
  Pairing pairing;    // of keys and values that are exchanged
  bool narrow; // they have 16 bits: sums are made in f32, beside the result
  bool narrowScores; // but those that are scores, which become exponentials

  /// Terms whose numbers, of masks, 16 bits may not hold: where all keys are
  /// hidden, infinities would be left.
  static bool isBeyondNarrow(onnx::TermAttr term) {
    return term.getKind() == onnx::TermKind::Raise ||
           (term.getKind() == onnx::TermKind::Add && term.getOperand());
  }

  AttentionShape(const AttentionOperands &of, const Machine &machine)
      : of(of), query(Layout::of(of.query, machine.height)),
        key(Layout::of(of.key, machine.height)),
        value(Layout::of(of.value, machine.height)),
        columns(query.features.columns), queries(query.tokens),
        keys(key.tokens), headSize(query.features.unitSize),
        valueSize(value.features.unitSize),
        channels(query.group == 0 ? queries : tileSizeMax(queries, query.span)),
        streamed(of.stored != nullptr), element(elementTypeOf(of.key)),
        pairing(local() ? Pairing::None
                        : pairingOf({of.key, of.value}, machine)),
        narrow(isNarrow(of.attended)),
        narrowScores(narrow && headSize <= narrowTerms &&
                     llvm::none_of(of.eachTerm(), isBeyondNarrow) &&
                     hasPrecisionLevel(of.attended.getDefiningOp(),
                                       PrecisionLevel::NarrowAttention)) {
    const int64_t part = of.few ? fewScores : 1;
    const int64_t most =
        (of.isGradient ? gradientScoreWords : scoreWords) / part;
    if (streamed) { // in rounds of equally many
      tokens = std::min(
          {std::max<int64_t>(1, most / channels), keys,
           std::max<int64_t>(1, streamedWords / part / this->most(headSize))});
      while (keys % tokens)
        --tokens;
      rounds = keys / tokens - 1;
      return;
    }
    arrange(most);
    if (of.inBands) {
      bands = of.inBands;
      rounds = 0;
    }
    // Bands in each round would be much code.
    const bool fits = scoreCount() <= 2 * most && (bands == 1 || rounds == 0);
    if (of.isGradient && !fits && query.group != 0 && channels > 1) {
      passes = std::exchange(channels, 1);
      arrange(most);
    }
    pitch = pitchOfColumn(machine);
  }

  /// Rounds and bands of keys, for so many words of scores.
  void arrange(int64_t most) {
    tokens = std::max<int64_t>(1, most / channels / rows());
    bands = 1;
    // Heads and rounds are of whole words; bands are of keys.
    if ((pairing == Pairing::Features && (headSize % 2 || valueSize % 2)) ||
        (pairing == Pairing::Channels && (tokens == 1 || of.inBands)))
      pairing = Pairing::None;
    tokens -= tokens % tokensOfWord();
    rounds = keys * channels <= most ? 0 : keys / rows() / tokens;
    // The last round is never empty.
    if (rounds > 0 && rounds * tokens * rows() == keys)
      --rounds;
    if (local() || tokens > 1)
      return;
    // A key of each row has scores that may be twice as many. Bands that bring
    // all of theirs take as few rounds as have room; of few scores, as many as
    // those of a key of each row.
    auto divide = [&](int64_t scores, int64_t most) {
      const int64_t parts = llvm::divideCeil(scores, most);
      return parts <= mostBands && (parts == 1 || of.masks.empty()) ? parts : 0;
    };
    bands = std::max<int64_t>(1, divide(rows() * channels, 2 * most));
    const int64_t whole =
        divide(keys * channels, rows() * channels > most ? 2 * most : most);
    const int64_t all = allRounds();
    if (whole > 0 && whole < all &&
        (whole == 1 || (of.parts == 0 && passes == 1))) {
      bands = of.few && whole > 1 ? std::min(mostBands, all) : whole;
      rounds = 0;
    }
  }

  /// Tokens and features in a word that moves.
  int64_t tokensOfWord() const { return pairing == Pairing::Channels ? 2 : 1; }
  int64_t featuresOfWord() const {
    return pairing == Pairing::Features ? 2 : 1;
  }
  /// Whether heads have masks of their own; whether all queries of a batch
  /// element have one.
  static bool isByHead(mlir::Value mask) {
    // With one key its heads are of one feature, which is no head of a tiling.
    return tilingOf(mask).getColumns() != wse::ColumnPlacement::Replicated;
  }
  bool isKeyMask(mlir::Value mask, int64_t height) const {
    return tilingOf(mask).sameRows(tilingOf(of.query).perBatchElement(height));
  }

  /// Rows whose keys take part in a round.
  int64_t rows() const { return local() ? 1 : key.span; }
  /// Rows that take part in the exchange of keys and values.
  int64_t span() const { return std::max(query.span, key.span); }
  bool local() const { return streamed || span() == 1; }
  /// Whether words of keys and values wait in buffers, feature by feature.
  bool buffered() const { return streamed || !local(); }
  bool blocked() const { return rounds > 0 || bands > 1; }
  /// Keys that the rows before `row` bring in a round, or in the last.
  int64_t keysBefore(int64_t row, bool last) const {
    return last ? tileStart(keys, rows(), row) - rounds * tokens * row
                : tokens * row;
  }
  /// The first row of a band. Where each brings all of its keys they have about
  /// as many.
  int64_t bandStart(int64_t band) const {
    if (rounds > 0 || band == bands)
      return std::min(band * tileSizeMax(rows(), bands), rows());
    return tileIndex(keys, rows(), band * keys / bands);
  }
  int64_t keysOfBand(int64_t band, bool last) const {
    return keysBefore(bandStart(band + 1), last) -
           keysBefore(bandStart(band), last);
  }
  int64_t allRounds() const {
    int64_t all = rounds * bands;
    for (int64_t band = 0; band < bands; ++band)
      all += keysOfBand(band, /*last=*/true) > 0;
    return all;
  }
  bool spread() const { return columns > 1; }
  /// Whether PEs can tell which tokens are later: those that are dealt lie in
  /// as many rows.
  bool knowsOrder() const {
    return of.parts == 0 || (of.parts == query.span && of.parts == key.span);
  }
  /// Features of a head of this size that a PE holds, at least and at most.
  int64_t least(int64_t size) const { return size / columns; }
  int64_t most(int64_t size) const { return tileSizeMax(size, columns); }
  int64_t lastKeys() const { return keys - rounds * tokens * rows(); }
  int64_t mostKeys() const {
    int64_t most = 0;
    for (int64_t band = 0; band < bands; ++band)
      most = std::max({most, keysOfBand(band, true),
                       rounds > 0 ? keysOfBand(band, false) : 0});
    return most;
  }
  /// Keys that are numbered to tell which are later: those of a round of all
  /// bands, or of any band, whose keys follow those of the band before.
  int64_t numberedKeys() const {
    return rounds == 0 || bands == 1
               ? mostKeys()
               : std::max(keysBefore(rows(), true), keysBefore(rows(), false));
  }
  /// Scores in the PE that has most of them, and their words.
  int64_t wordsOfScores() const {
    return narrowScores ? wordsOf(element, scoreCount()) : scoreCount();
  }
  int64_t scoreCount() const { return mostKeys() * channels; }
  /// Words of the sums of a head that are made apart.
  int64_t weightedCount() const {
    return narrow ? most(valueSize) * channels : 0;
  }
  /// Words of exponentials that are rounded, so that both factors are narrow.
  int64_t roundedCount() const {
    return narrow && !narrowScores ? wordsOf(element, scoreCount()) : 0;
  }
  /// Words of the buffer that keys or values are multicast into. While it is
  /// not needed for these it takes the sums of partial scores.
  int64_t gatheredCount() const {
    if (streamed) // both, which come together
      return 2 * mostKeys() * most(headSize);
    int64_t words =
        local() ? 0
                : wordsOf(element, mostKeys() * std::max(slice(headSize),
                                                         slice(valueSize)));
    return spread() ? std::max(words, wordsOfScores()) : words;
  }
  /// Words that scores move to, where that buffer is never free.
  int64_t movedCount() const { return streamed && spread() ? scoreCount() : 0; }
  /// Whether values come early, into a buffer of their own: where all own
  /// features of a head come at a time.
  bool early() const {
    return spread() && !local() && !of.isGradient && pitch == 0 &&
           slice(headSize) == most(headSize) &&
           slice(valueSize) == most(valueSize);
  }
  /// Features that are multicast at a time, of a head of this size.
  int64_t slice(int64_t headSize) const {
    int64_t size = most(headSize) / featuresOfWord();
    int64_t elements = gatheredWords / (of.few ? fewScores : 1) *
                       (narrow ? 2 : 1) / featuresOfWord();
    int64_t most = std::clamp<int64_t>(elements / mostKeys(), 1, size);
    int64_t slices = (size + most - 1) / most;
    return (size + slices - 1) / slices * featuresOfWord();
  }
  /// Cycles of words on their way north over so many rows, and then south.
  double latency(const Machine &machine, int64_t rows) const;
  /// Along the columns of a head, from the store, and between rows.
  llvm::SmallVector<StreamNeed> streams(const Machine &machine) const;
  RowSet castRows(int64_t height) const {
    RowSet rows = query.rows(height);
    rows.used = span();
    return rows;
  }

private:
  int64_t pitchOfColumn(const Machine &machine) const;
};

/// What an attention, or its gradient, relays on the streams of its shape.
llvm::SmallVector<Relay> attentionRelays();

/// What an attention and its gradient are as kernels: with as many scores at a
/// time as are fast, or with few.
template <typename ModelOp, typename OpTy>
class AttentionKernel : public KernelOf<ModelOp, KernelFor<OpTy>> {
public:
  int variantOf(mlir::Operation *op) const final {
    return std::max<int>(llvm::cast<OpTy>(op).getFewScores(), bandsAskedOf(op));
  }
  void take(mlir::Operation *op, int variant) const final {
    llvm::cast<OpTy>(op).setFewScores(variant == 1);
    if (variant > 1)
      op->setAttr(wse::bandsAttrName,
                  mlir::Builder(op->getContext()).getI64IntegerAttr(variant));
    else
      op->removeAttr(wse::bandsAttrName);
  }
  llvm::StringRef variantName(int variant) const final {
    constexpr llvm::StringLiteral names[] = {"many", "few", "in two bands",
                                             "in three bands"};
    return names[variant];
  }
  llvm::SmallVector<Offer> offers(mlir::Operation *op,
                                  const Machine &machine) const final {
    llvm::SmallVector<Offer> offers;
    // Bands of all their keys, between one for all and as many as few take.
    int64_t least = 1, most = 1;
    for (int variant = 0; variant < mostBands; ++variant) {
      if (variant > 1 && (variant <= least || variant >= most))
        continue;
      const AttentionShape shape = shapeIn(op, variant, machine);
      const int64_t scratch = 4 * wordsOf(shape);
      if (variant == 0)
        least = shape.allRounds();
      if (variant == 1 && shape.rounds == 0 && shape.passes == 1)
        most = shape.bands;
      if (offers.empty() || scratch < offers.front().scratchBytes)
        offers.push_back({.variant = variant,
                          .cost = costIn(llvm::cast<OpTy>(op), shape, machine),
                          .scratchBytes = scratch});
    }
    return offers;
  }
  llvm::SmallVector<StreamNeed> streamsIn(mlir::Operation *op, int variant,
                                          const Machine &machine) const final {
    return shapeIn(op, variant, machine).streams(machine);
  }

protected:
  static AttentionShape shapeIn(mlir::Operation *op, int variant,
                                const Machine &machine) {
    AttentionOperands operands(llvm::cast<OpTy>(op));
    operands.few = variant == 1;
    operands.inBands = variant > 1 ? variant : 0;
    return AttentionShape(operands, machine);
  }
  virtual KernelCost costIn(OpTy op, const AttentionShape &shape,
                            const Machine &machine) const = 0;
  virtual int64_t wordsOf(const AttentionShape &shape) const = 0;

  KernelCost costOf(OpTy op, const Machine &machine) const final {
    return costIn(op, AttentionShape(op, machine), machine);
  }
  int64_t scratchWords(OpTy op, const Machine &machine) const final {
    return wordsOf(AttentionShape(op, machine));
  }
  llvm::SmallVector<StreamNeed> streamsOf(OpTy op,
                                          const Machine &machine) const final {
    return AttentionShape(op, machine).streams(machine);
  }
};

/// Whether heads of keys, or of values, have one feature, and those of the
/// other have more: then neither are spread.
template <typename OpTy>
bool hasSinglesBeside(OpTy op) {
  auto hasSingles = [&](mlir::Value tensor) {
    return wse::featuresOf(tensor) == int64_t(op.getNumHeads());
  };
  return hasSingles(op.getKey()) != hasSingles(op.getValue());
}

/// Writes its code: AttentionCode.cpp.
void lowerAttention(wse::AttentionOp op, RoutineBuilder &builder);

} // namespace wsec

#endif // COMPILER_KERNELS_ATTENTION_ATTENTIONSHAPE_H
