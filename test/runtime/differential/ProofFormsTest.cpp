// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the proof by phases against the stepping engine on programs drawn by
// lot in the forms that the compiler emits and random programs lack: heads of
// columns that keep a block and relay it, colors that turn, and classes whose
// routines are alike. Half of them are broken in some place.
#include "runtime/program/Checker.h"
#include "runtime/program/DeadlockChecker.h"
#include "runtime/program/Errors.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/differential/Choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace wsec::runtime::test {
namespace {

using namespace program;
using Statements = std::vector<std::unique_ptr<StatementT>>;

int guardOf(Scalar scalar) { return int(scalar.index); }

class Forms {
public:
  Forms(Choices &choices, int width, int height)
      : choices(choices), width(width), height(height), builder(width, height) {
  }

  int draw(int n) { return int(choices.draw(uint32_t(n))); }
  bool chance(int n) { return draw(n) == 0; }

  /// Changes a number, a guard, the order, a thread or a route.
  void damage() {
    auto &classes = builder.source.classes;
    PEClassT &peClass = *classes[size_t(draw(int(classes.size())))];
    Statements &body =
        peClass.routines[size_t(draw(int(peClass.routines.size())))]->body;
    if (body.empty())
      return;
    const size_t at = size_t(draw(int(body.size())));
    InstructionT *instruction = body[at]->kind.AsInstruction();
    switch (draw(8)) {
    case 0:
      if (at + 1 < body.size())
        std::swap(body[at], body[at + 1]);
      return;
    case 1:
      body.erase(body.begin() + long(at));
      return;
    case 2:
      if (instruction)
        instruction->extents[0]->constant += 1 - 2 * draw(2);
      return;
    case 3:
      if (instruction)
        instruction->guard = int16_t(draw(int(peClass.scalars.size())));
      return;
    case 4:
      if (instruction)
        instruction->thread = int8_t(draw(5) - 1);
      return;
    case 5:
      std::swap(body[at], body[size_t(draw(int(body.size())))]);
      return;
    default:
      break;
    }
    RouteRuleT &rule =
        *builder.source.routes[size_t(draw(int(builder.source.routes.size())))];
    if (rule.color == ProgramBuilder::launchColor)
      return;
    if (chance(2))
      rule.receive = Port(draw(5));
    else
      rule.transmit ^= uint8_t(1u << draw(5));
  }

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

  /// Microthreads send along ways that turn; each PE does its part of several
  /// transfers in the same order, or not.
  void turningColors() {
    ClassBuilder pes = builder.addClass("pes", 0, width, 0, height);
    const Scalar x = pes.px(), y = pes.py();
    std::vector<Scalar> here;
    for (int i = 0; i < width * height; ++i)
      here.push_back(
          pes.both(pes.equal(x, i % width), pes.equal(y, i / width)));
    std::vector<std::vector<Part>> parts(here.size());
    const int transfers = 1 + draw(3);
    for (int color = 1; color <= transfers; ++color)
      addWay(color, parts);
    BodyBuilder body = pes.routine(0);
    for (size_t pe = 0; pe < parts.size(); ++pe) {
      auto &its = parts[pe];
      if (its.size() > 1 && chance(6))
        std::swap(its[0], its[1]);
      emit(pes, body, here[pe], its);
    }
    body.await(0xff);
    builder.launch(0);
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

  /// Of each channel: what the host has for it.
  VectorHost host() const {
    VectorHost host;
    if (builder.source.streams.empty())
      return host;
    const HostStreamT &stream = *builder.source.streams[0];
    for (uint32_t c = 0; c < stream.channels.size(); ++c) {
      int64_t words = 0;
      for (const auto &segment : stream.segments)
        words += segment->lines->constant * segment->extents[0]->constant *
                 (stream.channels[c].end() - stream.channels[c].begin());
      host.feed(0, c, std::vector<float>(size_t(words), 1));
    }
    return host;
  }

  Choices &choices;
  const int width, height;
  ProgramBuilder builder;

private:
  /// What a PE does for a transfer.
  struct Part {
    int color = 0;
    bool sends = false, aside = false;
    std::vector<int> sizes;
  };

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

  void addWay(int color, std::vector<std::vector<Part>> &parts) {
    constexpr int dx[] = {0, 0, 1, -1}, dy[] = {-1, 1, 0, 0};
    auto bit = [](Port port) { return uint8_t(1u << unsigned(port)); };
    std::vector<int> way{draw(width * height)};
    std::vector<Port> ports;
    for (int tries = 0; tries < 12 && way.size() < 6; ++tries) {
      const int port = draw(4);
      const int x = way.back() % width + dx[port];
      const int y = way.back() / width + dy[port];
      if (x < 0 || y < 0 || x == width || y == height ||
          std::find(way.begin(), way.end(), y * width + x) != way.end())
        continue;
      way.push_back(y * width + x);
      ports.push_back(Port(port));
    }
    if (way.size() < 2)
      return;
    std::vector<int> sizes{1 + draw(5)};
    if (chance(3))
      sizes.push_back(1 + draw(3));
    const bool main = chance(10), aside = chance(2);
    constexpr Port opposite[] = {Port::South, Port::North, Port::West,
                                 Port::East};
    for (size_t i = 0; i < way.size(); ++i) {
      auto rule = std::make_unique<RouteRuleT>();
      rule->color = uint8_t(color);
      const int x = way[i] % width, y = way[i] / width;
      rule->rect =
          std::make_unique<Rect>(ClassBuilder::makeRect(x, x + 1, y, y + 1));
      rule->receive = i == 0 ? Port::Ramp : opposite[unsigned(ports[i - 1])];
      if (i + 1 < way.size())
        rule->transmit |= bit(ports[i]);
      if (i > 0 && (i + 1 == way.size() || chance(2))) {
        rule->transmit |= bit(Port::Ramp);
        parts[size_t(way[i])].push_back({color, false, aside, sizes});
      }
      builder.source.routes.push_back(std::move(rule));
    }
    parts[size_t(way[0])].push_back({color, true, !main, sizes});
  }

  void emit(ClassBuilder &pes, BodyBuilder &body, Scalar here,
            const std::vector<Part> &its) {
    for (const Part &part : its) {
      const uint16_t buffer =
          pes.buffer("m" + std::to_string(pes.source->buffers.size()), 8);
      body.add(Opcode::Mov, {8}, memory(buffer, {1}), immediate(1)).guard =
          int16_t(guardOf(here));
      for (int size : part.sizes) {
        auto &made = part.sends
                         ? body.add(Opcode::Mov, {size}, fabric(part.color),
                                    memory(buffer, {1}))
                         : body.add(Opcode::Mov, {size}, memory(buffer, {1}),
                                    fabric(part.color));
        made.guard = int16_t(guardOf(here));
        made.thread = int8_t(part.aside ? part.color : -1);
        if (part.aside && part.sizes.size() > 1)
          body.await(uint8_t(1u << part.color));
      }
      if (part.aside && chance(4))
        body.await(uint8_t(1u << part.color));
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

struct Counts {
  int free = 0, refused = 0, hung = 0;
};

template <typename Make>
Counts hold(uint64_t programs, Make make) {
  Counts counts;
  for (uint64_t seed = 0; seed < programs; ++seed) {
    Choices choices(seed);
    Forms forms = make(choices);
    for (uint64_t i = 0; i < seed % 3; ++i)
      forms.damage();
    std::optional<ErrorClass> error;
    try {
      stateCodeBytes(forms.builder);
      checkProgram(forms.builder.finish());
    } catch (const Error &) {
      continue;
    }
    const Program &finished = forms.builder.finish();
    const DeadlockProof phases = provePhases(finished);
    const DeadlockProof proof = proveDeadlockFree(finished);
    VectorHost host = forms.host();
    try {
      WaveletEngine(finished).run(host);
    } catch (const Error &problem) {
      error = problem.errorClass();
    }
    const bool hangs = error == ErrorClass::Deadlock;
    const bool free = phases.verdict == Verdict::Free;
    counts.hung += hangs;
    counts.free += free;
    counts.refused += !free;
    EXPECT_FALSE(hangs && free) << "by phases, seed " << seed;
    EXPECT_FALSE(hangs && proof.verdict == Verdict::Free) << "seed " << seed;
    EXPECT_FALSE(!error && proof.verdict == Verdict::Deadlock)
        << "seed " << seed << ": " << proof.reason;
  }
  return counts;
}

TEST(ProofForms, HeadsOfColumnsThatRelay) {
  const Counts counts = hold(3000, [](Choices &choices) {
    Forms forms(choices, 4, 4);
    forms.headColumns();
    return forms;
  });
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 200);
}

TEST(ProofForms, ColorsThatTurn) {
  const Counts counts = hold(3000, [](Choices &choices) {
    Forms forms(choices, 3, 3);
    forms.turningColors();
    return forms;
  });
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 200);
}

TEST(ProofForms, ClassesWhoseRoutinesAreAlike) {
  const Counts counts = hold(3000, [](Choices &choices) {
    Forms forms(choices, 6, 2);
    forms.alikeRoutines();
    return forms;
  });
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 80);
}

} // namespace
} // namespace wsec::runtime::test
