// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms that the compiler emits and random programs lack: heads of columns that
// keep a block and relay it, and classes whose routines are alike.
#include "test/runtime/differential/ProofForms.h"

namespace wsec::runtime::test {
namespace {

class Forms : public ProgramForm {
public:
  using ProgramForm::ProgramForm;

  /// Words of the host to columns' heads, which keep blocks of them and relay
  /// each a step later; other PEs say `y != f(x)`.
  void headColumns() {
    const int per = 1 + draw(2), rows = width / per;
    ClassBuilder pes = builder.addClass("pes", 0, width, 0, height);
    const Scalar x = pes.px(), y = pes.py();
    const Scalar f =
        pes.scalar(ScalarOp::Div, x.index, pes.constant(per).index);
    const Scalar within =
        pes.scalar(ScalarOp::Mod, x.index, pes.constant(per).index);
    const Scalar head = pes.scalar(ScalarOp::Equal, y.index, f.index);
    Scalar rest = pes.negate(head);
    if (chance(2))
      rest = pes.both(pes.less(x, width), rest);
    if (chance(3))
      rest = pes.both(rest, pes.less(y, height - draw(2)));
    pes.less(x, 1);
    pes.less(y, 1);
    routeColumns(per, rows);
    const int block = 1 + draw(3);
    addSegments(per, rows, block);
    // Relays of parts of the segments.
    std::vector<int> relays;
    for (int left = total; left > 0; left -= relays.back())
      relays.push_back(1 + draw(std::min(left, 4)));
    const bool direct = chance(4), aside = chance(2);
    BodyBuilder body = pes.routine(0);
    std::vector<uint16_t> buffers;
    for (size_t i = 0; i < relays.size(); ++i)
      buffers.push_back(pes.buffer("b" + std::to_string(i), 64));
    auto add = [&](size_t i, int thread, Scalar guard, const test::Operand &to,
                   const test::Operand &from) {
      auto &made = body.add(Opcode::Mov, {relays[i], block}, to, from);
      made.guard = int16_t(guardOf(guard));
      made.thread = int8_t(thread);
    };
    auto words = [&](size_t i) { return memory(buffers[i], {block, 1}); };
    const auto channel =
        fabric(1, 2).window(Value(within).times(block), per * block);
    auto spread = [&](size_t i) {
      if (direct)
        add(i, 0, head, fabric(2, 2), channel);
      else
        add(i, 1, head, fabric(2, 2), words(i));
      add(i, aside ? 2 : -1, rest, words(i), fabric(2, 2));
    };
    if (!direct)
      add(0, 0, head, words(0), channel);
    for (size_t i = 0; i < relays.size(); ++i) {
      body.await(aside ? 5 : 1);
      spread(i);
      if (!direct && i + 1 < relays.size())
        add(i + 1, 0, head, words(i + 1), channel);
    }
    body.await(aside ? 7 : 3);
    builder.launch(0, {0});
    if (chance(2))
      builder.launch(0, {0});
  }

  /// Two classes side by side with routines that differ in one place, or in
  /// none, launched one after the other.
  void alikeRoutines() {
    const int half = width / 2;
    for (int c = 0; c < 2; ++c) {
      const int x0 = c * half, color = 1 + 2 * c;
      ClassBuilder pes =
          builder.addClass(c ? "east" : "west", x0, x0 + half, 0, height);
      for (int x = x0; x < x0 + half; ++x) {
        if (x + 1 < x0 + half)
          builder.route(color + x % 2, x, x + 1, 0, height, Port::Ramp,
                        {Port::East});
        if (x > x0)
          builder.route(color + (x + 1) % 2, x, x + 1, 0, height, Port::West,
                        {Port::Ramp});
      }
      const Scalar x = pes.px(), y = pes.py();
      const Scalar odd = pes.parity(x);
      const Scalar sends = pes.less(x, x0 + half - 1);
      const Scalar takes = pes.negate(pes.equal(x, x0));
      pes.less(y, height - 1);
      const uint16_t a = pes.buffer("a", 64), b = pes.buffer("b", 64);
      const Value to = Value(color) + Value(odd);
      const Value from = Value(color + 1) + Value(odd).times(-1);
      const int words = 1 + draw(6), turns = 1 + draw(3);
      const bool aside = !chance(6), branch = chance(2);
      for (uint32_t copy = 0; copy < 2; ++copy) {
        BodyBuilder body = pes.routine(uint32_t(2 * c) + copy);
        auto fill = [&](BodyBuilder into) {
          auto &send =
              into.add(Opcode::Mov, {words}, fabric(to), memory(a, {1}));
          send.guard = int16_t(guardOf(sends));
          send.thread = int8_t(aside ? 0 : -1);
          auto &take =
              into.add(Opcode::Mov, {words}, memory(b, {1}), fabric(from));
          take.guard = int16_t(guardOf(takes));
          if (aside)
            into.await(1);
        };
        body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(1));
        if (turns > 1)
          body.loop(turns, fill);
        else
          fill(body);
        body.await(1);
        if (branch)
          intoBranch(pes, uint32_t(copy), sends);
      }
    }
    for (int i = 0; i < 4; ++i)
      builder.launch(uint32_t(i < 2 ? i : draw(4)));
    builder.launch(2);
    builder.launch(3);
  }

private:
  void routeColumns(int per, int rows) {
    using enum Port;
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < (y + 1) * per; ++x) {
        std::vector<Port> to;
        if (x >= y * per)
          to.push_back(Ramp);
        if (x + 1 < (y + 1) * per)
          to.push_back(East);
        builder.route(1, x, x + 1, y, y + 1, West, to);
      }
    for (int x = 0; x < width; ++x)
      for (int y = 0; y < height; ++y) {
        const int head = x / per;
        std::vector<Port> to;
        if (y != head)
          to.push_back(Ramp);
        if (y <= head && y > 0)
          to.push_back(North);
        if (y >= head && y + 1 < height)
          to.push_back(South);
        builder.route(2, x, x + 1, y, y + 1,
                      y == head  ? Ramp
                      : y < head ? South
                                 : North,
                      to);
      }
  }

  void addSegments(int per, int rows, int block) {
    addTensor(builder, "t", TensorRole::Input, {1024});
    builder.stream("s", Direction::In, 1, {});
    HostStreamT &stream = *builder.source.streams[0];
    for (int y = 0; y < rows; ++y)
      stream.channels.push_back({y, y * per, (y + 1) * per});
    for (int s = 0, count = 1 + draw(2); s < count; ++s) {
      const int lines = 1 + draw(5);
      total += lines;
      stream.segments.push_back(makeSegment(0, lines, block, {block}, {1}, 0));
    }
  }

  /// Puts a routine's statements into a branch that PEs take if 2 * scalar or
  /// its opposite is not zero: nobody else does anything.
  void intoBranch(ClassBuilder &pes, uint32_t routine, Scalar scalar) {
    Statements &body = pes.source->routines[routine]->body;
    IfT branch;
    branch.condition = (chance(12) ? Value(scalar).times(2) : Value(1)).build();
    branch.then = std::move(body);
    body.clear();
    auto statement = std::make_unique<StatementT>();
    statement->kind.Set(std::move(branch));
    body.push_back(std::move(statement));
  }

  int total = 0; ///< lines of the host
};

TEST(ProofForms, HeadsOfColumnsThatRelay) {
  const Counts counts = hold(&Forms::headColumns, 4, 4);
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 200);
}

TEST(ProofForms, ClassesWhoseRoutinesAreAlike) {
  const Counts counts = hold(&Forms::alikeRoutines, 6, 2);
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 80);
}

} // namespace
} // namespace wsec::runtime::test
