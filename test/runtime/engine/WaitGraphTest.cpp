// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports about states that no engine would take long to describe, however
// long the routes are and however many PEs wait.
#include "runtime/engine/WaitGraph.h"
#include "runtime/program/Ports.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Port;

constexpr int color = 1;
constexpr uint8_t ramp = 1 << unsigned(Port::Ramp);

uint8_t to(Port port) { return uint8_t(1 << unsigned(port)); }

/// Color 1 goes through all rows, the even ones to the east, and up all ramps.
class Snake {
public:
  Snake(int width, int height)
      : width(width), height(height), program(width, height) {
    TaskClass pes = program.pes("pes", 0, width, 0, height);
    pes.body(0);
    program.launch(0);
    pe.name = "pes";
  }

  std::optional<RouteNow> route(Coordinate at) const {
    const bool odd = at.y % 2;
    const bool enters = at.x == (odd ? width - 1 : 0);
    const bool leaves = at.x == (odd ? 0 : width - 1);
    const Port along = odd ? Port::West : Port::East;
    RouteNow now;
    now.receive = !enters ? opposite(along) : at.y ? Port::North : Port::Ramp;
    now.transmit = ramp | to(leaves ? Port::South : along);
    if (leaves && at.y == height - 1)
      now.transmit = ramp;
    return now;
  }

  /// All PEs but the first wait for a word.
  WaitGraph waiting() {
    WaitGraph graph(Call(program.finish()),
                    [this](Coordinate at, int) { return route(at); });
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        if (x || y)
          graph.add({.pe = {x, y}, .code = &pe, .color = color});
    return graph;
  }

  int width, height;
  TaskProgram program;
  ClassCode pe;
};

TEST(WaitGraphTest, ALongRouteLeadsToItsSender) {
  const std::string text = Snake(400, 500).waiting().describe();
  EXPECT_NE(text.find("the words come from PE (0, 0) (at rest)"),
            std::string::npos)
      << text;
}

TEST(WaitGraphTest, WordsStuckAllAlongALongRouteLeadToTheirTaker) {
  Snake snake(300, 300);
  WaitGraph graph = snake.waiting();
  for (int y = 0; y < 300; ++y)
    for (int x = 0; x < 300; ++x)
      graph.addWords({x, y}, color, snake.route({x, y})->receive);
  graph.addDelivered({0, 299}, color, 4);
  const std::string text = graph.describe();
  EXPECT_NE(text.find("words that have come are not taken by PE (0, 299)"),
            std::string::npos)
      << text;
}

/// A fork: west of PE 2 and east of it.
std::optional<RouteNow> fork(Coordinate at, int) {
  RouteNow now;
  now.receive = at.x < 2 ? Port::East : at.x > 2 ? Port::West : Port::Ramp;
  now.transmit = ramp;
  if (at.x == 1 || at.x == 2)
    now.transmit |= to(Port::West);
  if (at.x == 2 || at.x == 3)
    now.transmit |= to(Port::East);
  return now;
}

class ForkTest : public testing::Test {
protected:
  ForkTest() : program(5, 1) {
    program.pes("pes", 0, 5, 0, 1).body(0);
    program.launch(0);
    pe.name = "pes";
  }

  /// What PE 2 waits for, which cannot send.
  std::string describe(const std::vector<std::pair<int, size_t>> &delivered,
                       const WaitGraph::RouteOf &routeOf) {
    WaitGraph graph(Call(program.finish()), routeOf);
    graph.add({.pe = {2, 0}, .code = &pe, .color = color, .room = true});
    for (const auto &[x, words] : delivered)
      graph.addDelivered({x, 0}, color, words);
    return graph.describe();
  }

  void expect(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  TaskProgram program;
  ClassCode pe;
};

TEST_F(ForkTest, ThePeWithMostWordsIsTheTaker) {
  expect(describe({{1, 3}, {3, 4}, {4, 5}}, fork), "not taken by PE (4, 0)");
}

TEST_F(ForkTest, OfEqualsTheNearest) {
  expect(describe({{0, 4}, {3, 4}}, fork), "not taken by PE (3, 0)");
}

TEST_F(ForkTest, ARouterThatIsDeaf) {
  expect(describe({},
                  [](Coordinate at, int) {
                    auto now = fork(at, color);
                    if (at.x == 4)
                      now->receive = Port::Ramp;
                    return now;
                  }),
         "the switch does not listen to the west, where words wait, in the "
         "router of PE (4, 0)");
}

TEST_F(ForkTest, TheNearestRouterThatIsTornDown) {
  expect(describe({},
                  [](Coordinate at, int) {
                    auto now = fork(at, color);
                    now->tornDown = at.x == 0 || at.x == 3;
                    return now;
                  }),
         "color 1 is torn down in the router of PE (3, 0)");
}

TEST_F(ForkTest, NobodyTakes) {
  expect(describe({}, fork), "nobody takes the words before");
}

TEST(WaitGraphTest, ARouteInACircle) {
  TaskProgram program(2, 1);
  program.pes("pes", 0, 2, 0, 1).body(0);
  program.launch(0);
  ClassCode pe;
  pe.name = "pes";
  WaitGraph graph(Call(program.finish()), [](Coordinate at, int) {
    RouteNow now;
    now.receive = at.x ? Port::West : Port::East;
    now.transmit = ramp | to(at.x ? Port::West : Port::East);
    return std::optional(now);
  });
  graph.add({.pe = {0, 0}, .code = &pe, .color = color});
  EXPECT_NE(graph.describe().find("the route of color 1 runs in a circle"),
            std::string::npos);
}

} // namespace
} // namespace wsec::runtime
