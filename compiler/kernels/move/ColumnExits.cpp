// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/move/ColumnExits.h"

using namespace mlir;
using namespace wsec;

ColumnExits::ColumnExits(const Layout &layout, const Machine &machine,
                         Where where)
    : machine(machine), layout(layout), where(where),
      last(layout.columnRows(machine.height).last()),
      rows(layout.columnRows(machine.height)) {
  if (layout.features.replicated || layout.cyclic)
    return;
  exits = machine.exitsOfColumns(where == AnyRow ? 0 : int(last));
  if (where == AnyRow && !exits.empty())
    rows = {1, exits.back().row + 1, exits.back().row + 1};
}

bool ColumnExits::linksRows() const {
  return rows.last() > 0 ||
         llvm::any_of(exits, [&](const ChannelPosition &exit) {
           return exit.begin < exit.end && exit.row > rows.last();
         });
}

int64_t ColumnExits::features(const ChannelPosition &exit) const {
  return layout.features.before(exit.end, machine.width) -
         layout.features.before(exit.begin, machine.width);
}

SmallVector<StreamNeed> ColumnExits::streams() const {
  SmallVector<StreamNeed> needs;
  if (machine.width > 1)
    needs.push_back({StreamPattern::RowEast, {}});
  if (linksRows())
    needs.push_back({StreamPattern::OutColumn, rows});
  if (hasRowsSouth())
    needs.push_back({StreamPattern::KeyNorth, {}});
  needs.push_back(
      {StreamPattern::OutBand, where == AnyRow ? RowSet{1, 1, 1} : rows});
  return needs;
}

SmallVector<Relay> ColumnExits::relays() {
  using P = StreamPattern;
  return {{P::OutColumn, P::OutColumn},
          {P::OutColumn, P::RowEast},
          {P::OutColumn, P::OutBand},
          {P::RowEast, P::RowEast},
          {P::RowEast, P::OutBand}};
}

ColumnExits::OfColumn ColumnExits::ofColumn(ScalarBuilder &s) const {
  const int64_t count = int64_t(exits.size());
  const int64_t skipped = machine.channelsInUse() - count;
  Value number = s.tileIndex(s.width(), count, s.px());
  Value channel = s.add(number, skipped);
  return {channel, s.channelRowOfMesh(channel),
          s.tileStart(s.width(), count, number),
          s.sub(s.tileStart(s.width(), count, s.add(number, 1)), 1)};
}

Value ColumnExits::rowsNorth(ScalarBuilder &s) const {
  if (rows.groups == 1)
    return s.min(s.py(), rows.used);
  return s.min(s.add(s.mul(s.div(s.py(), rows.pitch), rows.used),
                     s.min(s.mod(s.py(), rows.pitch), rows.used)),
               rows.groups * rows.used);
}

WordsFromWest::WordsFromWest(RoutineBuilder &b, const ColumnExits &exits,
                             const ColumnExits::OfColumn &exit,
                             const Tile &tile)
    : b(b) {
  if (b.width() == 1)
    return;
  ScalarBuilder &s = b.scalars();
  incoming =
      b.parityColor(StreamPattern::RowEast, s.logicalNot(s.mod(s.px(), 2)));
  features = s.sub(
      tile.firstFeature,
      RoutineBuilder::featuresBefore(s, exits.layout.features, exit.first));
  any = s.less(exit.first, s.px());
}

void WordsFromWest::relay(Thread thread, pe::Affine onward,
                          int64_t wordsOfFeature) const {
  if (b.width() > 1)
    b.start(thread, pe::Opcode::Mov, {pe::Affine(features) * wordsOfFeature},
            pe::Operand::fabric(onward), {pe::Operand::fabric(incoming)}, any);
}
