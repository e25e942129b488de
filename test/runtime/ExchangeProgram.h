// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with the ways in which the compiler's programs move words: sums and
// relays along rows, multicasts, channels of the host and columns, on 4 x 2
// PEs.
#ifndef TEST_RUNTIME_EXCHANGEPROGRAM_H
#define TEST_RUNTIME_EXCHANGEPROGRAM_H

#include "test/runtime/ProgramBuilder.h"

namespace wsec::runtime::test {

/// Routine 0: an all-reduce of `words` words in each row. Routine 1: each row's
/// words are gathered in a chain west and are multicast. Routine 2: the host's
/// words, `lines` lines of `block` words for each column. Routine 3: partial
/// sums in two blocks, of which each PE adds the own part to what it has.
/// Routine 4: rows funnel east and leave.
class ExchangeProgram {
public:
  static constexpr int width = 4, height = 2;
  static constexpr int64_t words = 12, lines = 5, block = 4;
  enum Color {
    Even = 1,
    Odd = 2,
    Cast = 3,
    Channel = 4,
    Column = 5,
    Exit = 6,
    EastEven = 7,
    EastOdd = 8
  };
  enum Routine { AllReduce, ChainGather, Host, Partial, Store };

  ExchangeProgram()
      : builder(width, height),
        pes(builder.addClass("pes", 0, width, 0, height)) {
    addRoutes();
    addScalars();
    pes.source->code_bytes = 2048;
    pes.nextAddress = 8192;
    mine = pes.buffer("mine", 256);
    all = pes.buffer("all", 256);
    addAllReduce();
    addChainGather();
    addHost();
    addPartial();
    addStore();
    for (uint32_t routine : {AllReduce, ChainGather, Partial})
      builder.launch(routine);
    builder.launch(Host, {in});
    builder.launch(Store, {out});
  }

  program::ProgramT &source() { return builder.source; }
  std::vector<std::unique_ptr<program::StatementT>> &body(Routine routine) {
    return pes.source->routines[routine]->body;
  }
  program::InstructionT &instruction(Routine routine, size_t index) {
    return *body(routine)[index]->kind.AsInstruction();
  }
  const program::Program &finish() { return builder.finish(); }

  /// The words of the host, however many the code takes.
  VectorHost makeHost() const {
    VectorHost host;
    for (uint32_t channel = 0; channel < 2; ++channel) {
      host.feed(in, channel,
                std::vector<float>(size_t(lines * block * width / 2), 1));
      host.expect(out, channel, uint64_t(words * width));
    }
    return host;
  }

  ProgramBuilder builder;
  ClassBuilder pes;

private:
  using Port = program::Port;

  /// Neighbour links: a PE sends on the color of its parity.
  void addLinks(int even, int odd, Port from, Port to, int sendFirst,
                int receiveFirst) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        if (x >= sendFirst && x < sendFirst + width - 1)
          builder.route(x % 2 ? odd : even, x, x + 1, y, y + 1, Port::Ramp,
                        {to});
        if (x >= receiveFirst && x < receiveFirst + width - 1)
          builder.route(x % 2 ? even : odd, x, x + 1, y, y + 1, from,
                        {Port::Ramp});
      }
  }

  void addRoutes() {
    addLinks(Even, Odd, Port::East, Port::West, 1, 0);
    addLinks(EastEven, EastOdd, Port::West, Port::East, 0, 1);
    builder.route(Cast, 0, 1, 0, 2, Port::Ramp, {Port::Ramp, Port::East});
    builder.route(Cast, 1, 3, 0, 2, Port::West, {Port::Ramp, Port::East});
    builder.route(Cast, 3, 4, 0, 2, Port::West, {Port::Ramp});
    builder.route(Channel, 0, 1, 0, 1, Port::West, {Port::Ramp, Port::East});
    builder.route(Channel, 1, 2, 0, 1, Port::West, {Port::Ramp});
    builder.route(Channel, 0, 2, 1, 2, Port::West, {Port::East});
    builder.route(Channel, 2, 3, 1, 2, Port::West, {Port::Ramp, Port::East});
    builder.route(Channel, 3, 4, 1, 2, Port::West, {Port::Ramp});
    builder.route(Column, 0, 2, 0, 1, Port::Ramp, {Port::Ramp, Port::South});
    builder.route(Column, 0, 2, 1, 2, Port::North, {Port::Ramp});
    builder.route(Column, 2, 4, 1, 2, Port::Ramp, {Port::Ramp, Port::North});
    builder.route(Column, 2, 4, 0, 1, Port::South, {Port::Ramp});
    builder.route(Exit, 3, 4, 0, 2, Port::Ramp, {Port::East});
  }

  void addScalars() {
    using program::ScalarOp;
    px = pes.px();
    Scalar py = pes.py(), two = pes.constant(2);
    parity = pes.scalar(ScalarOp::Mod, px.index, two.index);
    isFirst = pes.equal(px, 0);
    isLast = pes.equal(px, width - 1);
    notFirst = pes.negate(isFirst);
    notLast = pes.negate(isLast);
    isInner = pes.both(notFirst, notLast);
    Scalar channel = pes.scalar(ScalarOp::Div, px.index, two.index);
    isHead = pes.scalar(ScalarOp::Equal, py.index, channel.index);
  }

  Value onward() const { return Value(Even) + Value(parity); }
  Value incoming() const { return Value(Odd) + Value(parity).times(-1); }

  void addAllReduce() {
    BodyBuilder body = pes.routine(AllReduce);
    using program::Opcode;
    Operand own = memory(mine, {1});
    body.add(Opcode::Mov, {words}, own, immediate(1));
    body.add(Opcode::Mov, {words}, fabric(onward()), own).guard = isLast.index;
    body.add(Opcode::Add, {words}, fabric(onward()), own, fabric(incoming()))
        .guard = isInner.index;
    body.add(Opcode::Add, {words}, own, own, fabric(incoming())).guard =
        isFirst.index;
    auto &cast = body.add(Opcode::Mov, {words}, fabric(Cast), own);
    cast.guard = isFirst.index;
    cast.thread = 0;
    body.add(Opcode::Mov, {words}, memory(all, {1}), fabric(Cast));
    body.await(1);
  }

  void addChainGather() {
    BodyBuilder body = pes.routine(ChainGather);
    using program::Opcode;
    Value relayed = Value(words * (width - 1)) + Value(px).times(-words);
    body.add(Opcode::Mov, {words * width}, memory(all, {1}), fabric(Cast))
        .thread = 2;
    for (bool first : {true, false}) {
      Value to = first ? Value(Cast) : onward();
      auto &own = body.add(Opcode::Mov, {words}, fabric(to), memory(mine, {1}));
      own.guard = first ? isFirst.index : notFirst.index;
      own.thread = 0;
      body.await(1);
      auto &relay =
          body.add(Opcode::Mov, {relayed}, fabric(to), fabric(incoming()));
      relay.guard = first ? isFirst.index : notFirst.index;
      relay.thread = 0;
    }
    body.await(1 | 4);
  }

  void addHost() {
    auto tensor = std::make_unique<program::TensorT>();
    tensor->name = "x";
    tensor->shape = {lines, block * width};
    source().tensors.push_back(std::move(tensor));
    auto stream = std::make_unique<program::HostStreamT>();
    stream->name = "in";
    stream->color = Channel;
    stream->channels = {{0, 0, 2}, {1, 2, 4}};
    stream->scalars = {{program::ScalarOp::Px, 0, 0, 0}};
    auto segment = std::make_unique<program::SegmentT>();
    segment->lines = Value(lines).build();
    segment->line_stride = block * width;
    segment->extents.push_back(Value(block).build());
    segment->strides = {1};
    segment->offset = Value(Scalar{0}).times(block).build();
    stream->segments.push_back(std::move(segment));
    source().streams.push_back(std::move(stream));
    in = 0;

    BodyBuilder body = pes.routine(Host);
    using program::Opcode;
    auto &relay = body.add(
        Opcode::Mov, {lines, block}, fabric(Column, 2),
        fabric(Channel, 2).window(Value(parity).times(block), 2 * block));
    relay.guard = isHead.index;
    relay.thread = 1;
    body.add(Opcode::Mov, {2 * block}, memory(all, {1}), fabric(Column));
    body.add(Opcode::Add, {lines - 2, block}, memory(all, {0, 1}),
             memory(all, {0, 1}), fabric(Column, 2));
    body.await(2);
  }

  void addPartial() {
    BodyBuilder body = pes.routine(Partial);
    using program::Opcode;
    Operand own = memory(mine, {1});
    auto &keep = body.add(
        Opcode::Add, {1, words}, memory(all, {0, 1}), memory(all, {0, 1}),
        fabric(Cast, 2).window(Value(px).times(2), 2 * words));
    keep.thread = 0;
    body.loop(2, [&](BodyBuilder inner) {
      inner.add(Opcode::Mov, {words}, fabric(onward()), own).guard =
          isLast.index;
      inner.add(Opcode::Add, {words}, fabric(onward()), own, fabric(incoming()))
          .guard = isInner.index;
      inner.add(Opcode::Add, {words}, fabric(Cast), own, fabric(incoming()))
          .guard = isFirst.index;
    });
    body.await(1);
  }

  void addStore() {
    auto tensor = std::make_unique<program::TensorT>();
    tensor->name = "y";
    tensor->role = program::TensorRole::Output;
    tensor->shape = {height, words * width};
    source().tensors.push_back(std::move(tensor));
    auto stream = std::make_unique<program::HostStreamT>();
    stream->name = "out";
    stream->direction = program::Direction::Out;
    stream->color = Exit;
    stream->channels = {{0, 0, 1}, {1, 1, 2}};
    stream->scalars = {{program::ScalarOp::Px, 0, 0, 0},
                       {program::ScalarOp::Py, 0, 0, 0}};
    auto segment = std::make_unique<program::SegmentT>();
    segment->tensor = 1;
    segment->lines = Value(1).build();
    segment->extents.push_back(Value(words).build());
    segment->strides = {1};
    segment->offset =
        (Value(Scalar{0}).times(words) + Value(Scalar{1}).times(words * width))
            .build();
    stream->segments.push_back(std::move(segment));
    source().streams.push_back(std::move(stream));
    out = 1;

    BodyBuilder body = pes.routine(Store);
    using program::Opcode;
    for (bool last : {false, true}) {
      Value to = last ? Value(Exit) : Value(EastEven) + Value(parity);
      Value from = Value(EastOdd) + Value(parity).times(-1);
      auto &own = body.add(Opcode::Mov, {words}, fabric(to), memory(mine, {1}));
      own.guard = last ? isLast.index : notLast.index;
      own.thread = 2;
      body.await(4);
      auto &relay = body.add(Opcode::Mov, {Value(px).times(words)}, fabric(to),
                             fabric(from));
      relay.guard = last ? isLast.index : notLast.index;
      relay.thread = 2;
    }
    body.await(4);
  }

  Scalar px, parity, isFirst, isLast, notFirst, notLast, isInner, isHead;
  uint16_t mine = 0, all = 0;
  uint32_t in = 0, out = 0;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_EXCHANGEPROGRAM_H
