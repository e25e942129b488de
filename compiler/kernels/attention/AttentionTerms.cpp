// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/attention/AttentionTerms.h"

using namespace mlir;

namespace wsec {

using onnx::TermAttr;
using onnx::TermKind;
using pe::Affine;
using pe::Opcode;
using pe::Operand;

bool AttentionTerms::hidesLater(const AttentionShape &shape) {
  return llvm::any_of(shape.of.eachTerm(),
                      [](TermAttr term) { return bool(term.getLater()); });
}

static bool has(const AttentionShape &shape, TermKind kind) {
  return llvm::any_of(shape.of.eachTerm(),
                      [&](TermAttr term) { return term.getKind() == kind; });
}

int64_t AttentionTerms::scratchWords(const AttentionShape &shape) {
  int64_t words = 0;
  if (hidesLater(shape))
    words += CausalMask::scratchWords(shape.numberedKeys(), shape.channels);
  if (hidesLater(shape) && !shape.spread())
    words += shape.scoreCount();
  if (has(shape, TermKind::ZeroNaN) || has(shape, TermKind::ZeroHidden))
    words += shape.channels; // only one of them stands at the end
  return words;
}

int64_t AttentionTerms::passes(const AttentionShape &shape) {
  int64_t passes = 0;
  for (TermAttr term : shape.of.eachTerm()) {
    const bool isAdded = term.getKind() == TermKind::Add && term.getLater();
    if (isAdded && term.getOperand())
      passes += 3;
    else if (isAdded && term.getLater().getValue().isInfinity())
      passes += 1;
    else if (term.getKind() == TermKind::Raise ||
             term.getKind() == TermKind::ZeroNaN)
      passes += 1;
    else if (term.getKind() == TermKind::ZeroHidden)
      passes += 2;
  }
  return passes;
}

AttentionTerms::AttentionTerms(RoutineBuilder &builder,
                               const AttentionShape &shape, const Tile &query,
                               Affine asked, const std::string &scores)
    : b(builder), shape(shape), query(query), asked(std::move(asked)) {
  if (hidesLater(shape)) {
    hidden = shape.spread() ? scores : b.scratch("hidden", shape.scoreCount());
    later.emplace(b, query, this->asked, shape.numberedKeys(), shape.channels,
                  hidden, shape.of.parts != 0);
  }
  if (has(shape, TermKind::ZeroNaN))
    noNumber = b.scratch("no_number", shape.channels);
  if (has(shape, TermKind::ZeroHidden))
    unseen = b.scratch("unseen", shape.channels);
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

void AttentionTerms::prepare() {
  if (later)
    compute([&] {
      later->prepare();
      if (!shape.blocked() && shape.of.parts != 0)
        later->numberKeys(shape.rows(), largerRows(), leastTokens(),
                          leastTokens() + 1, leastTokens());
      else if (shape.rounds == 0)
        later->numberKeys(1, 0, shape.numberedKeys(), 0, shape.numberedKeys());
    });
}

void AttentionTerms::eachRound(function_ref<void(AttentionRound)> body) {
  const bool counts = later && shape.rounds > 0;
  auto count = [&](auto part) {
    if (counts)
      compute(part);
  };
  count([&] {
    later->numberKeys(shape.rows(), largerRows(), leastTokens(), shape.tokens,
                      shape.tokens);
  });
  // Tokens of all rows together, or of a band of rows after the other.
  auto inBands = [&](AttentionRound all) {
    if (shape.bands == 1)
      return body(all);
    for (int64_t band = 0; band < shape.bands; ++band) {
      all.firstRow = shape.bandStart(band);
      all.endRow = shape.bandStart(band + 1);
      all.firstKey = shape.keysBefore(all.firstRow, all.last);
      all.keys = shape.keysOfBand(band, all.last);
      if (all.keys == 0)
        continue;
      if (later && shape.rounds > 0)
        later->startAt(all.firstKey);
      body(all);
      if (later && shape.rounds == 0)
        compute([&] {
          later->advance(band + 1 < shape.bands ? all.keys : -all.firstKey);
        });
    }
  };
  // Where the last round is as any other, it is one of the loop.
  const int64_t rounds = shape.rounds + shape.streamed;
  b.loop(rounds, [&](Affine number) {
    inBands(
        {number * shape.tokens, shape.tokens * shape.rows(), /*last=*/false});
    count([&] { later->advance(shape.tokens); });
  });
  if (shape.streamed)
    return count([&] { later->advance(-rounds * shape.tokens); });
  const int64_t before = shape.rounds * shape.tokens;
  count([&] {
    later->numberKeys(shape.rows(), largerRows(), leastTokens(),
                      leastTokens() + 1 - before, leastTokens() - before);
  });
  inBands({before, shape.lastKeys(), /*last=*/true});
  count([&] { later->advance(-before); });
}

/// The largest number that the mask has for each query says whether it hides
/// all keys.
void AttentionTerms::begin(AttentionPlace place) {
  if (unseen.empty())
    return;
  const auto added = cast<TermAttr>(shape.of.terms[0]);
  compute(
      [&] { eachToken(Opcode::Mov, unseen, {Operand::immediate(-infinity)}); });
  eachRound([&](AttentionRound round) {
    compute([&] {
      if (!added.getLater())
        return withMask(added, place, round, Opcode::Max, unseen, 0);
      lowerLater(added, place, round);
      b.vector(Opcode::Max, {round.keys, asked}, perScore(unseen),
               {perScore(unseen), rows(hidden)});
    });
  });
  compute([&] {
    eachToken(Opcode::LessOrEqual, unseen,
              {perToken(unseen), Operand::immediate(lowestScore)});
  });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void AttentionTerms::apply(AttentionPlace place, AttentionRound round,
                           const std::string &scores) {
  for (TermAttr term : shape.of.eachTerm())
    act(term, place, round, scores);
}

void AttentionTerms::act(TermAttr term, AttentionPlace place,
                         AttentionRound round, const std::string &scores) {
  const FloatAttr number = term.getLater();
  const float low = number ? number.getValue().convertToFloat() : 0;
  auto onScores = [&](Opcode opcode, const Operand &a, const Operand &other) {
    b.vector(opcode, {round.keys, asked}, rows(scores), {a, other});
  };
  switch (term.getKind()) {
  case TermKind::Add:
    if (number && term.getOperand()) {
      lowerLater(term, place, round);
      return onScores(Opcode::Add, rows(scores), rows(hidden));
    }
    // What no f16 holds is no factor of what is not hidden.
    if (number && shape.narrowScores && low <= -65504)
      return later->replace(scores, round.keys, -infinity);
    if (number)
      return later->add(scores, round.keys, low);
    return withMask(term, place, round, Opcode::Add, scores, shape.channels);
  case TermKind::Replace:
    if (term.getOperand())
      withMask(term, place, round, Opcode::Select, scores, shape.channels);
    if (number)
      later->replace(scores, round.keys, low);
    return;
  case TermKind::Raise:
    return onScores(
        Opcode::Max, rows(scores),
        Operand::immediate(term.getTo().getValue().convertToFloat()));
  case TermKind::ZeroHidden:
    return onScores(Opcode::Select, perScore(unseen),
                    Operand::immediate(-infinity));
  case TermKind::ZeroEmpty:
  case TermKind::ZeroNaN:
    return;
  }
}

/// `hidden` becomes the lesser of a mask and the number for later keys.
void AttentionTerms::lowerLater(TermAttr term, AttentionPlace place,
                                AttentionRound round) {
  later->limit(round.keys, term.getLater().getValue().convertToFloat());
  withMask(term, place, round, Opcode::Min, hidden, shape.channels);
}

/// Combines a mask with `into`, whose rows are `pitch` apart. Keys of a round
/// are in order of rows; the first rows have one token more.
void AttentionTerms::withMask(TermAttr term, AttentionPlace place,
                              AttentionRound round, Opcode how,
                              const std::string &into, int64_t pitch) {
  const Value value = shape.of.masks[*term.getOperand()];
  const Tile mask = b.tile(value);
  const int64_t token = shape.isKeyMask(value, b.height()) ? 0 : 1;
  const int64_t before = shape.rounds * shape.tokens;
  Affine start = round.first * mask.pitch + place.sequence * mask.layout.tokens;
  if (AttentionShape::isByHead(value))
    start = start + place.head * (shape.keys * mask.pitch);
  auto combine = [&](int64_t rows, int64_t tokens, int64_t apart,
                     int64_t firstKey, int64_t firstScore) {
    if (rows == 0 || tokens == 0)
      return;
    SmallVector<Affine> extents = {rows, tokens, asked};
    Operand old =
        Operand::memory(into, firstScore * pitch, {tokens * pitch, pitch, 1});
    Operand given =
        Operand::memory(mask.buffer, start + Affine(firstKey * mask.pitch),
                        {apart * mask.pitch, mask.pitch, token});
    auto dropOuter = [](auto &list) { list.erase(list.begin()); };
    if (rows == 1)
      dropOuter(extents), dropOuter(old.strides), dropOuter(given.strides);
    b.vector(how, extents, old, {how == Opcode::Select ? given : old, given});
  };
  if (!shape.blocked() || shape.local())
    return combine(1, round.keys, 0, 0, 0);
  int64_t least = leastTokens(), larger = largerRows();
  int64_t of[] = {shape.tokens, shape.tokens};
  if (round.last) {
    of[0] = least + 1 - before;
    of[1] = least - before;
  }
  combine(larger, of[0], least + 1, 0, 0);
  combine(shape.rows() - larger, of[1], least, larger * (least + 1),
          larger * of[0]);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void AttentionTerms::keepEarlier(const std::string &correction) {
  if (noNumber.empty())
    return;
  const Operand same = perToken(correction);
  eachToken(Opcode::Sub, noNumber, {same, same});
  eachToken(Opcode::Select, correction,
            {perToken(noNumber), Operand::immediate(1)});
}

/// Weights of tokens whose sum is NaN or, of no key yet, 0 are 0: what they
/// weigh counts only if it is no number either.
void AttentionTerms::guard(const std::string &sum, int64_t keys,
                           const Operand &weights) {
  if (noNumber.empty())
    return;
  eachToken(Opcode::Less, noNumber, {Operand::immediate(0), perToken(sum)});
  eachToken(Opcode::Not, noNumber, {perToken(noNumber)});
  b.vector(Opcode::Select, {keys, asked}, weights,
           {perScore(noNumber), Operand::immediate(0)});
}

void AttentionTerms::divide(const std::string &sum) {
  // Where a key is seen the largest score adds 1 to the sum.
  if (has(shape, TermKind::ZeroEmpty))
    eachToken(Opcode::Max, sum, {perToken(sum), Operand::immediate(1)});
  if (!unseen.empty())
    eachToken(Opcode::Select, sum, {perToken(unseen), Operand::immediate(1)});
  eachToken(Opcode::Reciprocal, sum, {perToken(sum)});
  if (!noNumber.empty())
    eachToken(Opcode::Select, sum, {perToken(noNumber), Operand::immediate(0)});
}

} // namespace wsec
