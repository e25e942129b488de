// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Colors whose routes turn, in the forms that the compiler emits: between PEs,
// side by side with words that go straight, and on the way from and to the
// edge.
#include "test/runtime/differential/ProofForms.h"

namespace wsec::runtime::test {
namespace {

class Ways : public ProgramForm {
public:
  using ProgramForm::ProgramForm;

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

  /// A color that turns in columns 0 and 1, and on which all rows or columns
  /// beyond send side by side, to one line of PEs or to several.
  void bundles() {
    using enum Port;
    ClassBuilder pes = builder.addClass("pes", 0, width, 0, height);
    const Scalar x = pes.px(), y = pes.py();
    builder.route(1, 0, 1, 0, 1, Ramp, {South});
    builder.route(1, 0, 1, 1, 2, North, {East});
    builder.route(1, 1, 2, 1, 2, West, {Ramp});
    const bool south = chance(2), many = chance(2), aside = chance(2);
    const int length = south ? height : width - 2, from = draw(length - 1);
    const int to = from + 1 + draw(length - 1 - from);
    const Scalar beyond = pes.negate(pes.less(x, 2));
    const Scalar along =
        south ? y : pes.scalar(ScalarOp::Sub, x.index, pes.constant(2).index);
    auto route = [&](int begin, int end, Port receive,
                     std::vector<Port> ports) {
      if (begin < end && south)
        builder.route(1, 2, width, begin, end, receive, ports);
      else if (begin < end)
        builder.route(1, 2 + begin, 2 + end, 0, height, receive, ports);
    };
    const Port onward = south ? South : East, back = south ? North : West;
    route(from, from + 1, Ramp, {onward});
    if (many)
      route(from + 1, to, back, {Ramp, onward});
    else
      route(from + 1, to, back, {onward});
    route(to, to + 1, back, {Ramp});
    const uint16_t a = pes.buffer("a", 64), b = pes.buffer("b", 64);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {16}, memory(a, {1}), immediate(1));
    auto add = [&](bool sends, int words, Scalar where, int thread) {
      auto &made =
          sends ? body.add(Opcode::Mov, {words}, fabric(1), memory(a, {1}))
                : body.add(Opcode::Mov, {words}, memory(b, {1}), fabric(1));
      made.guard = int16_t(guardOf(where));
      made.thread = int8_t(thread);
    };
    const int words = 1 + draw(8);
    const Scalar sends = pes.both(beyond, pes.equal(along, from));
    const Scalar takes =
        pes.both(beyond, many ? pes.both(pes.negate(pes.less(along, from + 1)),
                                         pes.less(along, to + 1))
                              : pes.equal(along, to));
    add(true, words, sends, aside || many ? 0 : -1);
    add(false, words, takes, chance(2) ? 1 : -1);
    add(true, 3, pes.both(pes.equal(x, 0), pes.equal(y, 0)), 2);
    add(false, 3, pes.both(pes.equal(x, 1), pes.equal(y, 1)), -1);
    body.await(7);
    builder.launch(0);
  }

  /// Channels and exits whose words go round something on their way: each row
  /// brings words to columns of its own, the last of which sends to an exit.
  void detours() {
    const int begin = 3, per = 1 + draw(2), rows = 1 + draw(2);
    const int end = begin + per * rows;
    ClassBuilder pes = builder.addClass("pes", begin, end, 0, height);
    const Scalar x = pes.px(), y = pes.py();
    const Scalar column =
        pes.scalar(ScalarOp::Sub, x.index, pes.constant(begin).index);
    const Scalar row =
        pes.scalar(ScalarOp::Div, column.index, pes.constant(per).index);
    const Scalar within =
        pes.scalar(ScalarOp::Mod, column.index, pes.constant(per).index);
    const Scalar head = pes.scalar(ScalarOp::Equal, y.index, row.index);
    const Scalar last = pes.both(head, pes.equal(within, per - 1));
    pes.less(x, end - 1);
    pes.less(y, 1);
    for (int r = 0; r < rows; ++r) {
      using enum Port;
      const int own = begin + r * per;
      addDetour(1, 0, begin, r, West);
      for (int at = begin; at < own + per; ++at) {
        std::vector<Port> to;
        if (at >= own)
          to.push_back(Ramp);
        if (at + 1 < own + per)
          to.push_back(East);
        builder.route(1, at, at + 1, r, r + 1, West, to);
      }
      addDetour(2, own + per - 1, width, r, Ramp);
    }
    const int lines = 1 + draw(3), block = 1 + draw(2);
    const uint16_t a = pes.buffer("a", 256), b = pes.buffer("b", 256);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {width * block}, memory(b, {1}), immediate(1));
    auto &take =
        body.add(Opcode::Mov, {lines, block}, memory(a, {block, 1}),
                 fabric(1, 2).window(Value(within).times(block), per * block));
    take.guard = int16_t(guardOf(head));
    take.thread = 0;
    if (chance(2))
      body.await(1);
    auto &send =
        body.add(Opcode::Mov, {width * block}, fabric(2), memory(b, {1}));
    send.guard = int16_t(guardOf(last));
    send.thread = int8_t(draw(3) - 1);
    body.await(3);
    addTensor(builder, "in", TensorRole::Input, {1024});
    addTensor(builder, "out", TensorRole::Output, {1024});
    builder.stream("in", Direction::In, 1, {});
    builder.stream("out", Direction::Out, 2, {});
    HostStreamT &in = *builder.source.streams[0];
    HostStreamT &out = *builder.source.streams[1];
    for (int r = 0; r < rows; ++r) {
      in.channels.push_back({r, begin + r * per, begin + (r + 1) * per});
      out.channels.push_back({r, r, r + 1});
    }
    in.segments.push_back(makeSegment(0, lines, block, {block}, {1}, 0));
    out.segments.push_back(makeSegment(1, 1, block, {block}, {1}, 0));
    builder.launch(0, {0, 1});
  }

private:
  /// What a PE does for a transfer.
  struct Part {
    int color = 0;
    bool sends = false, aside = false;
    std::vector<int> sizes;
  };

  /// From column `begin` to `end` of a row, which may turn to another row and
  /// back on the way. The first PE receives from `from`.
  void addDetour(int color, int begin, int end, int row, Port from) {
    using enum Port;
    const int out = begin + draw(end - begin), back = out + draw(end - out);
    const int to = draw(height);
    const bool turns = out > begin && out < back && to != row;
    auto set = [&](int x, int y, Port receive, Port transmit) {
      builder.route(color, x, x + 1, y, y + 1, receive, {transmit});
    };
    const Port away = to < row ? North : South, home = to < row ? South : North;
    for (int x = begin; x < end; ++x) {
      const Port receive = x == begin ? from : West;
      if (!turns || x < out || x > back) {
        set(x, row, receive, East);
        continue;
      }
      const int step = to < row ? -1 : 1;
      if (x > out && x < back) {
        set(x, to, West, East);
        continue;
      }
      for (int y = row; y != to; y += step)
        if (x == out)
          set(x, y, y == row ? receive : home, away);
        else
          set(x, y, away, y == row ? East : home);
      set(x, to, x == out ? home : West, x == out ? East : home);
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
};

TEST(ProofWays, ColorsThatTurn) {
  const Counts counts = hold(&Ways::turningColors, 3, 3);
  EXPECT_GT(counts.free, 1000);
  EXPECT_GT(counts.hung, 200);
}

TEST(ProofWays, WordsSideBySide) {
  const Counts counts = hold(&Ways::bundles, 6, 5);
  EXPECT_GT(counts.free, 500);
  EXPECT_GT(counts.hung, 100);
}

TEST(ProofWays, WaysOfTheHostThatTurn) {
  const Counts counts = hold(&Ways::detours, 10, 4);
  EXPECT_GT(counts.free, 500);
  EXPECT_GT(counts.hung, 100);
}

} // namespace
} // namespace wsec::runtime::test
