// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/CachedTokens.h"

using namespace mlir;

namespace wsec {

using pe::ScalarKind;

CachedTokens::CachedTokens(RoutineBuilder &b, const Tile &state,
                           const Affine &position, int64_t count)
    : b(b), span(state.layout.span) {
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

} // namespace wsec
