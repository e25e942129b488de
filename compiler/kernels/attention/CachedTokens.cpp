// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/attention/CachedTokens.h"

#include "compiler/kernels/Selection.h"
#include "compiler/kernels/Sources.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/wse/StateBytes.h"

using namespace mlir;

namespace wsec {

using pe::ScalarKind;

Affine oneOf(RoutineBuilder &b, ValueRange numbers,
             function_ref<Affine(int64_t)> isIts) {
  if (numbers.size() == 1)
    return b.argument(numbers.front());
  Affine sum;
  for (auto [index, number] : llvm::enumerate(numbers))
    sum = sum + b.compute(ScalarKind::Mul,
                          {b.argument(number), isIts(int64_t(index))});
  return sum;
}

Affine ownPosition(RoutineBuilder &b, ValueRange positions,
                   const Layout &layout) {
  ScalarBuilder &s = b.scalars();
  return oneOf(b, positions, [&](int64_t element) {
    return Affine(s.equal(s.div(s.py(), layout.group), element));
  });
}

CachedTokens::CachedTokens(RoutineBuilder &b, const Tile &state,
                           ValueRange positions, int64_t count)
    : position(ownPosition(b, positions, state.layout)),
      span(state.layout.span), b(b) {
  ScalarBuilder &s = b.scalars();
  const Layout &layout = state.layout;
  row = s.mod(s.py(), layout.group);
  if (span < layout.group) {
    row = s.min(row, span - 1);
    active = state.active;
  }
  Affine beforeCall = allBelow(position);
  firstFresh = beforeCall * span + Affine(row) + position * -1;
  before = here(beforeCall);
  now = below(position + Affine(count));
  seenByAll = count == 1 ? now : below(position + Affine(1));
}

// Of the tokens below n row r has those r, r + span, ...: (n + span - 1 - r) /
// span of them.
Affine CachedTokens::allBelow(const Affine &end) const {
  if (span == 1)
    return end;
  return b.compute(ScalarKind::Div,
                   {end + Affine(span - 1) + Affine(row) * -1, span});
}

Affine CachedTokens::here(const Affine &tokens) const {
  return active ? b.compute(ScalarKind::Mul, {tokens, active}) : tokens;
}

Affine CachedTokens::below(const Affine &end) const {
  return here(allBelow(end));
}

Affine channelsOfCall(RoutineBuilder &b, const Tile &tokens) {
  ScalarBuilder &s = b.scalars();
  const Layout &layout = tokens.layout;
  auto parts =
      b.operation()->getAttrOfType<IntegerAttr>(onnx::lengthPartsAttrName);
  if (!parts || layout.group == 0 || layout.span != parts.getInt() ||
      layout.replicatedRows)
    return tokens.channels;
  Value row = s.min(s.mod(s.py(), layout.group), layout.span - 1);
  Affine length = b.argument(wse::argumentsOf(b.operation()).back());
  Affine own = b.compute(
      ScalarKind::Div,
      {length + Affine(layout.span - 1) + Affine(row) * -1, layout.span});
  return b.compute(ScalarKind::Max, {own, 1});
}

/// Of the queries those that stand before one of them, of `end`: 0 to all.
static Affine queriesBelow(RoutineBuilder &b, const ScoreLines &lines,
                           const Affine &end) {
  return b.compute(ScalarKind::Min,
                   {b.compute(ScalarKind::Max, {end, 0}), Affine(lines.round)});
}

static void hide(RoutineBuilder &b, const ScoreLines &lines,
                 const Affine &first, const Affine &count) {
  b.vector(Opcode::Mov, {count}, Operand::memory(lines.buffer, first, {1}),
           {Operand::immediate(lowestScore)});
}

void hideLater(RoutineBuilder &b, const CachedTokens &tokens,
               const ScoreLines &lines, int64_t late) {
  b.loop(late, [&](Affine number) {
    Affine token = b.compute(
        ScalarKind::Min, {tokens.seenByAll + number, Affine(lines.held - 1)});
    Affine before = queriesBelow(
        b, lines, token * tokens.span + Affine(tokens.row) + lines.first * -1);
    hide(b, lines, token * (lines.round * lines.repeat), before * lines.repeat);
  });
}

// Some are hidden from all queries, and some behind them from later ones alone.
void hideEarlier(RoutineBuilder &b, const CachedTokens &tokens,
                 const ScoreLines &lines, int64_t window) {
  const int64_t asked = lines.round * lines.repeat;
  const Affine gone = tokens.below(
      b.compute(ScalarKind::Max, {lines.first + Affine(1 - window), 0}));
  hide(b, lines, 0, gone * asked);
  b.loop(tileSizeMax(lines.round - 1, tokens.span), [&](Affine number) {
    Affine token =
        b.compute(ScalarKind::Min, {gone + number, Affine(lines.held - 1)});
    Affine seeing = queriesBelow(b, lines,
                                 token * tokens.span + Affine(tokens.row) +
                                     Affine(window) + lines.first * -1);
    hide(b, lines, token * asked + seeing * lines.repeat,
         Affine(asked) + seeing * -lines.repeat);
  });
}

// Some are hidden from all queries, and those before each chunk that begins
// among the queries from these on.
void hideChunks(RoutineBuilder &b, const CachedTokens &tokens,
                const ScoreLines &lines, int64_t chunk) {
  const int64_t asked = lines.round * lines.repeat;
  const Affine first = b.compute(ScalarKind::Div, {lines.first, chunk}) * chunk;
  hide(b, lines, 0, tokens.below(first) * asked);
  b.loop(tileSizeMax(lines.round - 1, chunk), [&](Affine number) {
    const Affine next = first + number * chunk + Affine(chunk);
    Affine seeing = queriesBelow(b, lines, next + lines.first * -1);
    Affine before =
        b.compute(ScalarKind::Min, {tokens.below(next), Affine(lines.held)});
    b.vector(Opcode::Mov, {before, Affine(asked) + seeing * -lines.repeat},
             Operand::memory(lines.buffer, seeing * lines.repeat, {asked, 1}),
             {Operand::immediate(lowestScore)});
  });
}

SmallVector<StreamNeed> batchStreams(const Layout &tokens) {
  if (tokens.group == 1)
    return {};
  return {{StreamPattern::KeyNorth, {}},
          {StreamPattern::KeyCast, {tokens.batch, tokens.group, tokens.group}}};
}

SmallVector<Relay> batchRelays() {
  using P = StreamPattern;
  return {{P::KeyNorth, P::KeyNorth}, {P::KeyNorth, P::KeyCast}};
}

void multicastTokens(RoutineBuilder &b, const Tile &tokens,
                     ArrayRef<Affine> extents, const Operand &own,
                     Value wordsOfToken, ArrayRef<Affine> all,
                     const Operand &kept) {
  ScalarBuilder &s = b.scalars();
  const Layout &layout = tokens.layout;
  Value behind = s.constant(0);
  if (layout.span > 1)
    behind =
        s.sub(s.sub(s.mul(s.add(s.div(s.py(), layout.group), 1), layout.tokens),
                    tokens.firstToken),
              tokens.tokens);
  GroupBlock block;
  block.extents.assign(extents.begin(), extents.end());
  block.own = own;
  block.wordsBehind = s.mul(behind, wordsOfToken);
  block.anyBehind = s.less(0, behind);
  block.anyOwn = tokens.active;
  multicastBlocks(
      b, PEGroups::ofBatch(layout), block, all, kept,
      Operand::fabric(b.color(StreamPattern::KeyCast), unsigned(all.size())));
}

double multicastTokensCycles(const Layout &tokens, double wordsOfToken,
                             const Machine &machine) {
  CostModel model(machine);
  const double instructions = 5 * (machine.vectorSetup + machine.asyncIssue);
  return instructions +
         std::max(model.chain(double(tokens.span), 0),
                  model.thereAndBack(double(tokens.tokens) * wordsOfToken)) +
         model.multicast(double(tokens.group), 0);
}

Value createCachedAttention(Operation *user, Selection &selection) {
  auto op = cast<onnx::CachedAttentionOp>(user);
  auto state = [&](Value present) {
    return selection.stateOf(present.getDefiningOp<onnx::UpdateOp>());
  };
  wse::StateOp keys = state(op.getKeys()), values = state(op.getValues());
  const int64_t repeat = op.getNumHeads() / op.getKvHeads();
  Value query = selection.toState(op.getQ(), keys, repeat, op);
  if (!query)
    return {};
  const wse::TokenTiling held =
      wse::withHeadSize(wse::TokenTiling::of(values.getType()),
                        shapeOf(op.getY()).back() / int64_t(op.getNumHeads()));
  Value sinks;
  if (op.getSinks()) {
    wse::WeightAttr each = selection.asWeight(op.getSinks(), op);
    if (!each)
      return {};
    const int64_t batch = held.getBatch(), count = op.getNumHeads();
    const StridedView view =
        stridedView(each).reshaped({1, 1, count})->expanded({batch, 1, count});
    sinks = selection.load(withView(each, view),
                           wse::TokenTiling(batch, 1).withColumns(
                               wse::ColumnPlacement::Replicated),
                           op);
  }
  const wse::TokenTiling tiling =
      held.forState(tilingOf(query).getTokens(), repeat);
  Type type = selection.tensorType(tiling, shapeOf(op.getY()).back(), query);
  auto attention = selection.createFor<wse::CachedAttentionOp>(
      op, type, query, FlatSymbolRefAttr::get(keys),
      FlatSymbolRefAttr::get(values), selection.argumentsOf(op.getPosition()),
      sinks, op.getNumHeadsAttr(), op.getKvHeadsAttr(),
      selection.builder().getF64FloatAttr(op.getScale().convertToFloat()),
      UnitAttr(), op.getSlidingWindowAttr(), op.getChunkedAttr(),
      op.getSoftcapAttr());
  return attention;
}

} // namespace wsec
