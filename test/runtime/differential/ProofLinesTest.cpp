// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines side by side that a proof follows at once: chains whose numbers of
// words differ from line to line, and are sent and received in other portions
// in some.
#include "test/runtime/differential/ProofForms.h"

namespace wsec::runtime::test {
namespace {

/// Each PE sends its neighbour along the chains what that receives, in parts.
/// Sizes depend on the chain, and on the place in it.
class Chains : public ProgramForm {
public:
  Chains(Choices &choices, int width, int height)
      : ProgramForm(choices, width, height), chainsAreRows(chance(2)),
        length(chainsAreRows ? width : height),
        pes(builder.addClass("pes", 0, width, 0, height)),
        place(chainsAreRows ? pes.px() : pes.py()),
        chain(chainsAreRows ? pes.py() : pes.px()),
        before(pes.scalar(ScalarOp::Sub, place.index, pes.constant(1).index)),
        a(pes.buffer("a", 256)), b(pes.buffer("b", 256)) {}

  void make() {
    routeChains();
    const Scalar sends = pes.less(place, length - 1);
    const Scalar takes = pes.negate(pes.equal(place, 0));
    const Scalar odd = pes.parity(place);
    const Value to = Value(1) + Value(odd),
                from = Value(2) + Value(odd).times(-1);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {256}, memory(a, {1}), immediate(1));
    for (int turn = 0, turns = 1 + draw(3); turn < turns; ++turn) {
      Value all;
      std::vector<Value> parts;
      for (int part = 0, count = 1 + draw(3); part < count; ++part) {
        const int form = draw(5), number = 1 + draw(4);
        all = all + sizeAt(place, form, number);
        parts.push_back(sizeAt(before, form, number));
      }
      // In one of the chains more is taken, perhaps instead of the next part.
      if (chance(6)) {
        const Scalar here =
            pes.equal(chain, draw(chainsAreRows ? height : width));
        const size_t part = size_t(draw(int(parts.size())));
        parts[part] = parts[part] + Value(here);
        if (part + 1 < parts.size() && chance(2))
          parts[part + 1] = parts[part + 1] + Value(here).times(-1);
      }
      add(body, fabric(to), memory(a, {1}), all, sends, 0);
      for (const Value &part : parts)
        add(body, memory(b, {1}), fabric(from), part, takes, -1);
      body.await(1);
    }
    builder.launch(0);
  }

private:
  void routeChains() {
    using enum Port;
    auto route = [&](int color, int at, Port receive, Port to) {
      if (chainsAreRows)
        builder.route(color, at, at + 1, 0, height, receive, {to});
      else
        builder.route(color, 0, width, at, at + 1, receive, {to});
    };
    for (int at = 0; at < length; ++at) {
      if (at + 1 < length)
        route(1 + at % 2, at, Ramp, chainsAreRows ? East : South);
      if (at > 0)
        route(2 - at % 2, at, chainsAreRows ? West : North, Ramp);
    }
  }

  /// Of a PE at `where` of its chain.
  Scalar sizeAt(Scalar where, int form, int number) {
    auto op = [&](ScalarOp op, Scalar left, Scalar right) {
      return pes.scalar(op, left.index, right.index);
    };
    const Scalar tile = pes.scalar(
        ScalarOp::TileSize, pes.constant(3 * number).index,
        pes.constant(chainsAreRows ? height : width).index, chain.index);
    const Scalar row = op(ScalarOp::Mod, where, pes.constant(number));
    switch (form) {
    case 0:
      return tile;
    case 1: // a product
      return op(ScalarOp::Mul, tile, op(ScalarOp::Max, row, pes.constant(0)));
    case 2: // what is left of a tile in front of another
      return op(ScalarOp::Max, op(ScalarOp::Sub, chain, where),
                pes.constant(0));
    case 3: // in some chains only
      return pes.less(chain, number);
    default:
      return pes.constant(number);
    }
  }

  void add(BodyBuilder &body, const test::Operand &to,
           const test::Operand &from, const Value &size, Scalar guard,
           int thread) {
    auto &made = body.add(Opcode::Mov, {size}, to, from);
    made.guard = int16_t(guardOf(guard));
    made.thread = int8_t(thread);
  }

  const bool chainsAreRows;
  const int length;
  ClassBuilder pes;
  const Scalar place, chain, before;
  const uint16_t a, b;
};

TEST(ProofLines, OtherNumbersInEachLine) {
  const Counts counts = hold(&Chains::make, 5, 5);
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 200);
}

/// Each chain has a direction of its own, although all run the same statements:
/// its first PE sends, the last takes, those between hand on. In one of them
/// two neighbours may hand on to each other instead.
class Directions : public ProgramForm {
public:
  Directions(Choices &choices, int width, int height)
      : ProgramForm(choices, width, height), chainsAreRows(chance(2)),
        chains(chainsAreRows ? height : width),
        length(chainsAreRows ? width : height), forward(draw(chains + 1)),
        circle(chance(3) ? draw(chains) : -1),
        pes(builder.addClass("pes", 0, width, 0, height)),
        place(chainsAreRows ? pes.px() : pes.py()),
        chain(chainsAreRows ? pes.py() : pes.px()) {}

  void make() {
    for (int line = 0; line < chains; ++line)
      routeChain(line);
    const Scalar ahead = pes.less(chain, forward), back = pes.negate(ahead);
    const Scalar low = pes.equal(place, 0), high = pes.equal(place, length - 1);
    const Scalar whole = pes.negate(pes.equal(chain, circle));
    const Scalar pair = pes.both(pes.equal(chain, circle), pes.less(place, 2));
    const Scalar first = either(pes.both(ahead, low), pes.both(back, high));
    const Scalar last = either(pes.both(ahead, high), pes.both(back, low));
    const Scalar between = pes.negate(either(first, last));
    const Scalar odd = pes.parity(place);
    const Value to = Value(1) + Value(odd),
                from = Value(2) + Value(odd).times(-1);
    const uint16_t a = pes.buffer("a", 64), b = pes.buffer("b", 64);
    const int words = 1 + draw(8), thread = draw(2) - 1;
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {64}, memory(a, {1}), immediate(1));
    auto add = [&](const test::Operand &target, const test::Operand &source,
                   Scalar where) {
      auto &made = body.add(Opcode::Mov, {words}, target, source);
      made.guard = int16_t(guardOf(where));
      made.thread = int8_t(thread);
    };
    add(fabric(to), memory(a, {1}), pes.both(first, whole));
    add(fabric(to), fabric(from), either(pes.both(between, whole), pair));
    add(memory(b, {1}), fabric(from), pes.both(last, whole));
    body.await(1);
    builder.launch(0);
  }

private:
  Scalar either(Scalar a, Scalar b) {
    return pes.scalar(ScalarOp::Max, a.index, b.index);
  }

  void routeChain(int line) {
    using enum Port;
    auto route = [&](int color, int at, Port receive, Port to) {
      if (chainsAreRows)
        builder.route(color, at, at + 1, line, line + 1, receive, {to});
      else
        builder.route(color, line, line + 1, at, at + 1, receive, {to});
    };
    const Port up = chainsAreRows ? East : South,
               down = chainsAreRows ? West : North;
    if (line == circle) {
      route(1, 0, Ramp, up);
      route(1, 1, down, Ramp);
      route(2, 1, Ramp, down);
      route(2, 0, up, Ramp);
      return;
    }
    const bool ahead = line < forward;
    for (int at = 0; at < length; ++at) {
      if (ahead ? at + 1 < length : at > 0)
        route(1 + at % 2, at, Ramp, ahead ? up : down);
      if (ahead ? at > 0 : at + 1 < length)
        route(2 - at % 2, at, ahead ? down : up, Ramp);
    }
  }

  const bool chainsAreRows;
  const int chains, length, forward, circle;
  ClassBuilder pes;
  const Scalar place, chain;
};

TEST(ProofLines, DirectionsOfTheirOwn) {
  const Counts counts = hold(&Directions::make, 4, 4);
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 800);
}

/// A chain down each of many columns, each of which has another number of
/// words; in column `odd` the last row takes one more.
DeadlockProof proveColumns(int columns, int odd) {
  using enum Port;
  constexpr int rows = 16;
  ProgramBuilder builder(columns, rows);
  for (int y = 0; y < rows; ++y) {
    if (y + 1 < rows)
      builder.route(1 + y % 2, 0, columns, y, y + 1, Ramp, {South});
    if (y > 0)
      builder.route(2 - y % 2, 0, columns, y, y + 1, North, {Ramp});
  }
  ClassBuilder pes = builder.addClass("pes", 0, columns, 0, rows);
  const Scalar x = pes.px(), y = pes.py();
  const Scalar parity = pes.parity(y);
  const Scalar more = pes.both(pes.equal(x, odd), pes.equal(y, rows - 1));
  const uint16_t a = pes.buffer("a", 2048);
  BodyBuilder body = pes.routine(0);
  auto &send = body.add(Opcode::Mov, {Value(x) + Value(1)},
                        fabric(Value(1) + Value(parity)), memory(a, {1}));
  send.guard = int16_t(pes.less(y, rows - 1).index);
  send.thread = 0;
  auto &take =
      body.add(Opcode::Mov, {Value(x) + Value(1) + Value(more)}, memory(a, {1}),
               fabric(Value(2) + Value(parity).times(-1)));
  take.guard = int16_t(pes.negate(pes.equal(y, 0)).index);
  body.await(1);
  builder.launch(0);
  stateCodeBytes(builder);
  const Program &finished = builder.finish();
  checkProgram(finished);
  return provePhases(finished);
}

TEST(ProofLines, ColumnsAreFollowedAtOnce) {
  const DeadlockProof few = proveColumns(8, -1), many = proveColumns(512, -1);
  EXPECT_EQ(few.verdict, Verdict::Free) << few.reason;
  EXPECT_EQ(many.verdict, Verdict::Free) << many.reason;
  // Words are counted, a few steps for each column, not for each PE.
  EXPECT_LT(many.steps, few.steps + 512 * 150);
}

TEST(ProofLines, OneColumnOfManyIsBroken) {
  for (int odd : {0, 100, 511}) {
    const DeadlockProof proof = proveColumns(512, odd);
    EXPECT_EQ(proof.verdict, Verdict::Undecided) << odd;
    EXPECT_EQ(proof.reason, "routine 0: color 1: more words are received than "
                            "sent: statement 1");
  }
}

} // namespace
} // namespace wsec::runtime::test
