// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/RowExchange.h"

using namespace mlir;

namespace wsec {

using pe::Affine;
using pe::Opcode;
using pe::Operand;
using wse::StreamPattern;

void multicastRow(RoutineBuilder &b, const Tile &tile, ArrayRef<Affine> extents,
                  const Operand &kept, const Operand &heard) {
  ScalarBuilder &s = b.scalars();
  Value parity = s.mod(s.px(), 2);
  Value isFirst = s.equal(s.px(), 0);
  Affine incoming = b.parityColor(StreamPattern::RowWest, s.logicalNot(parity));
  Value featuresEast = s.sub(tile.layout.features.total(),
                             s.add(tile.firstFeature, tile.features));
  // Everybody hears while he sends, so that the own block can be awaited before
  // the others' are relayed.
  b.start(GatherThread, Opcode::Mov, extents, kept, {heard});
  auto send = [&](auto part) {
    b.where(isFirst, [&] { part(b.color(StreamPattern::RowCast)); });
    b.where(s.logicalNot(isFirst),
            [&] { part(b.parityColor(StreamPattern::RowWest, parity)); });
  };
  send([&](Affine onward) {
    b.start(RowThread, Opcode::Mov, {tile.features, tile.channels},
            Operand::fabric(onward, 2),
            {Operand::memory(tile.buffer, 0, {tile.pitch, 1})});
  });
  send([&](Affine onward) {
    b.start(RowThread, Opcode::Mov, {s.mul(featuresEast, tile.channels)},
            Operand::fabric(onward), {Operand::fabric(incoming)},
            s.less(0, featuresEast));
  });
  b.await(GatherThread);
}

void allReduceRow(RoutineBuilder &b, Opcode opcode, StringRef buffer,
                  StringRef result, Affine words, function_ref<void()> finish) {
  ScalarBuilder &s = b.scalars();
  Value parity = s.mod(s.px(), 2);
  Value isFirst = s.equal(s.px(), 0);
  Value isLast = s.equal(s.px(), b.width() - 1);
  Value isInner = s.logicalNot(s.add(isFirst, isLast));
  Operand mine = Operand::memory(buffer, 0, {1});
  Operand onward =
      Operand::fabric(b.parityColor(StreamPattern::RowWest, parity));
  Operand incoming = Operand::fabric(
      b.parityColor(StreamPattern::RowWest, s.logicalNot(parity)));
  int64_t cast = b.color(StreamPattern::RowCast);

  b.where(isLast, [&] { b.vector(Opcode::Mov, {words}, onward, {mine}); });
  if (b.width() > 2)
    b.where(isInner,
            [&] { b.vector(opcode, {words}, onward, {mine, incoming}); });
  b.where(isFirst, [&] {
    b.vector(opcode, {words}, mine, {mine, incoming});
    finish();
    // Column 0 hears its own multicast: it must not wait for itself.
    b.start(RowThread, Opcode::Mov, {words}, Operand::fabric(cast), {mine});
  });
  b.vector(Opcode::Mov, {words}, Operand::memory(result, 0, {1}),
           {Operand::fabric(cast)});
}

SmallVector<StreamNeed> rowStreams(const Machine &machine) {
  if (machine.width == 1)
    return {};
  return {{StreamPattern::RowWest, {}}, {StreamPattern::RowCast, {}}};
}

SmallVector<StreamNeed> columnStreams(const Layout &layout,
                                      const Machine &machine) {
  return {{StreamPattern::Channel, {}},
          {StreamPattern::Column, layout.columnRows(machine.height)}};
}

} // namespace wsec
