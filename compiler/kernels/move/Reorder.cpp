// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batch elements of a state that go on from others. Every row sends its words
// north to row 0, which multicasts them; a row keeps those of its place in each
// batch element, and then takes what its source's are. Two batch elements of
// three rows, of which both go on from the second:
//
//   row 0   a0 <- b0      row 3   b0
//       1   a1 <- b1          4   b1
//       2   a2 <- b2          5   b2
//
// How many words move does not depend on the call: those that are not there
// yet are zeros, and nobody keeps them.

#include "compiler/kernels/move/Reorder.h"

#include "compiler/kernels/attention/CachedTokens.h"

using namespace mlir;

namespace wsec {
namespace {

/// What moves of a state.
struct MovedState {
  MovedState(wse::ReorderOp op, const Machine &machine)
      : state(SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(
            op, op.getStateAttr())),
        element(state.getHeldType().getElementType()),
        layout(Layout::of(state.getHeldType(), machine.height)),
        words(wordsOf(element, layout.words(machine.width, machine.height))),
        elements(words * 4 / pe::elementBytes(element)) {}

  wse::StateOp state;
  Type element;
  Layout layout;
  int64_t words, elements; ///< of a row
  int64_t rows() const { return layout.batch * layout.group; }
};

class Reorder final : public KernelFor<wse::ReorderOp> {
  bool replaces() const final { return true; }
  SmallVector<Relay> relays() const final { return batchRelays(); }

  KernelCost costOf(wse::ReorderOp op, const Machine &machine) const final {
    const MovedState moved(op, machine);
    CostModel model(machine);
    KernelCost cost;
    const double own = double(moved.words);
    cost.compute = 3 * model.copies(1, own);
    cost.serial = 3 * (machine.vectorSetup + machine.asyncIssue) +
                  std::max(model.chain(machine.height, 0),
                           model.thereAndBack(own * double(moved.rows()))) +
                  model.multicast(machine.height, 0);
    cost.lowerBound = own;
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::ReorderOp,
                                    const Machine &machine) const final {
    return {{StreamPattern::KeyNorth, {}},
            {StreamPattern::KeyCast, {1, machine.height, machine.height}}};
  }
  int64_t scratchWords(wse::ReorderOp op, const Machine &machine) const final {
    const MovedState moved(op, machine);
    return moved.words * (1 + moved.layout.batch);
  }
  LogicalResult lowerOp(wse::ReorderOp op, RoutineBuilder &b) const final;
};

} // namespace

LogicalResult Reorder::lowerOp(wse::ReorderOp op, RoutineBuilder &b) const {
  const MovedState moved(op, b.machine());
  Tile held = b.tile(moved.state);
  ScalarBuilder &s = b.scalars();
  const int64_t group = moved.layout.group, batch = moved.layout.batch;
  const std::string own = b.scratch("own", moved.elements, moved.element);
  const std::string all =
      b.scratch("all", batch * moved.elements, moved.element);
  const CachedTokens tokens(b, held, op.getPositions(), 1);
  /// Elements from `from` to `to`, that a batch element at `position` has.
  auto copy = [&](const Affine &position, const Operand &from,
                  const Operand &to) {
    Affine features = held.features, there = tokens.below(position);
    if (!moved.layout.cyclic) {
      features =
          b.compute(pe::ScalarKind::Mul,
                    {features, b.compute(pe::ScalarKind::Min, {position, 1})});
      there = held.channels;
    }
    b.vector(Opcode::Mov, {there, features}, to, {from});
  };
  auto lines = [&](StringRef buffer, const Affine &first) {
    return Operand::memory(buffer, first, {1, held.pitch});
  };
  b.vector(Opcode::Mov, {moved.elements}, Operand::memory(own, 0, {1}),
           {Operand::immediate(0)});
  b.where(held.sequences,
          [&] { copy(tokens.position, lines(held.buffer, 0), lines(own, 0)); });
  GroupBlock block;
  block.extents = {moved.words};
  block.own = Operand::memory(b.wordsOf(own), 0, {1});
  Value behind = s.max(s.sub(s.constant(moved.rows() - 1), s.py()), 0);
  block.wordsBehind = s.mul(behind, moved.words);
  block.anyBehind = s.less(0, behind);
  block.anyOwn = s.less(s.py(), moved.rows());
  Operand heard = Operand::fabric(b.color(StreamPattern::KeyCast), 2)
                      .windowed(s.mul(s.mod(s.py(), group), moved.words),
                                group * moved.words);
  multicastBlocks(b,
                  {b.height(), StreamPattern::KeyCast, StreamPattern::KeyNorth},
                  block, {batch, moved.words},
                  Operand::memory(b.wordsOf(all), 0, {moved.words, 1}), heard);
  b.where(held.sequences, [&] {
    const Affine source = ownPosition(b, op.getSources(), moved.layout);
    auto isSource = [&](int64_t element) {
      return b.compute(pe::ScalarKind::Equal, {source, element});
    };
    copy(oneOf(b, op.getPositions(), isSource),
         lines(all, source * moved.elements), lines(held.buffer, 0));
  });
  return success();
}

WSEC_DEFINE_KERNEL(Reorder)

void createReorder(OpBuilder &builder, wse::StateOp state, ValueRange sources,
                   ValueRange positions) {
  createKernel<wse::ReorderOp>(
      builder, state.getLoc(), builder.getStrArrayAttr({state.getSymName()}),
      state.getRegionAttr(), FlatSymbolRefAttr::get(state.getSymNameAttr()),
      sources, positions);
}

} // namespace wsec
