// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/move/ColumnExits.h"

using namespace mlir;
using namespace wsec;

ColumnExits::ColumnExits(const Layout &layout, const Machine &machine,
                         Where where, bool twoLanes)
    : machine(machine), layout(layout), where(where),
      last(layout.columnRows(machine.height).last()),
      rows(layout.columnRows(machine.height)) {
  if (layout.features.replicated || layout.cyclic)
    return;
  exits = machine.exitsOfColumns(where == AnyRow ? 0 : int(last));
  this->twoLanes = twoLanes && llvm::any_of(exits, [](const auto &exit) {
                     return exit.end - exit.begin > 1;
                   });
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

ArrayRef<StreamPattern> ColumnExits::lanes() const {
  static const StreamPattern lanes[] = {StreamPattern::OutBand,
                                        StreamPattern::OutHalf};
  return ArrayRef(lanes).take_front(twoLanes ? 2 : 1);
}

std::vector<ChannelPosition>
ColumnExits::ofLane(const StreamPattern &lane) const {
  std::vector<ChannelPosition> its = exits;
  for (ChannelPosition &exit : its)
    if (twoLanes) {
      const int middle = exit.begin + (exit.end - exit.begin) / 2;
      (lane == StreamPattern::OutHalf ? exit.end : exit.begin) = middle;
    }
  return its;
}

SmallVector<StreamNeed> ColumnExits::streams() const {
  SmallVector<StreamNeed> needs;
  if (machine.width > 1)
    needs.push_back({StreamPattern::RowEast, {}});
  if (linksRows())
    needs.push_back({StreamPattern::OutColumn, rows});
  if (hasRowsSouth())
    needs.push_back({StreamPattern::KeyNorth, {}});
  for (const StreamPattern &lane : lanes())
    needs.push_back({lane, where == AnyRow ? RowSet{1, 1, 1} : rows});
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
  OfColumn exit{channel, s.channelRowOfMesh(channel),
                s.tileStart(s.width(), count, number),
                s.sub(s.tileStart(s.width(), count, s.add(number, 1)), 1)};
  if (twoLanes) {
    Value half = s.div(s.add(s.sub(exit.last, exit.first), 1), 2);
    Value middle = s.add(exit.first, half);
    exit.west = s.less(s.px(), middle);
    exit.first = s.choose(exit.west, exit.first, middle);
    exit.last = s.choose(exit.west, s.sub(middle, 1), exit.last);
  }
  return exit;
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
