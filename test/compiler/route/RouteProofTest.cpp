// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The proof from rectangles is held against the walk over all PEs: it must
// never hold where the walk finds something, and must hold for all that the
// router makes.

#include "compiler/route/RouteProof.h"
#include "TransformerStreams.h"
#include "compiler/route/ColoringRouter.h"
#include "compiler/route/RouteTracer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace wsec;

namespace {

/// Small random numbers, the same on every machine.
class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}
  int64_t below(int64_t limit) { return int64_t(engine() % uint64_t(limit)); }
  bool oneIn(int64_t chances) { return below(chances) == 0; }

private:
  std::mt19937 engine;
};

/// Channels with random rows and shares, some of them empty.
void moveChannels(RoutingProblem &problem, Random &random) {
  RouteRegion &region = problem.regions[0];
  for (auto *channels : {&region.west, &region.east}) {
    int64_t extent = channels->back().end, next = 0, row = 0;
    for (size_t l = 0; l < channels->size(); ++l) {
      RouteChannel &channel = (*channels)[l];
      bool last = l + 1 == channels->size();
      channel.begin = next;
      channel.end = last ? extent : next + random.below(extent - next + 1);
      next = channel.end;
      int64_t spare = region.height - row - int64_t(channels->size() - l);
      channel.row = row + random.below(spare + 1);
      row = channel.row + 1;
    }
  }
}

RouteRows randomRows(int64_t height, Random &random) {
  RouteRows rows;
  rows.pitch = 1 + random.below(height);
  rows.groups = 1 + random.below(height / rows.pitch);
  rows.used = 1 + random.below(rows.pitch);
  return rows;
}

RoutingProblem randomProblem(Random &random) {
  for (;;) {
    int64_t width = 1 + random.below(9), height = 1 + random.below(9);
    RoutingProblem problem = transformerProblem(
        width, height, 1 + random.below(height), randomRows(height, random));
    if (random.oneIn(2))
      moveChannels(problem, random);
    if (random.oneIn(2)) {
      RouteRegion &region = problem.regions[0];
      region.x = random.below(4);
      region.y = random.below(4);
      problem.meshWidth = region.x + width + random.below(4);
      problem.meshHeight = region.y + height + random.below(4);
    }
    std::vector<StreamRequest> streams;
    for (const StreamRequest &stream : problem.streams)
      if (problem.connects(stream) && !random.oneIn(4))
        streams.push_back(stream);
    problem.streams = streams;
    if (problem.check().empty())
      return problem;
  }
}

RouteRect randomRect(const RoutingProblem &problem, Random &random) {
  RouteRect rect;
  rect.x0 = random.below(problem.meshWidth);
  rect.x1 = rect.x0 + 1 + random.below(problem.meshWidth - rect.x0);
  rect.xstep = 1 + random.below(3);
  rect.y0 = random.below(problem.meshHeight);
  rect.y1 = rect.y0 + 1 + random.below(problem.meshHeight - rect.y0);
  rect.ystep = 1 + random.below(3);
  return rect;
}

/// Cuts a rule in two along x; nothing changes but the rectangles.
void cutInTwo(RoutedStream &stream, size_t index, Random &random) {
  RouteRule first = stream.rules[index], second = first;
  int64_t count = (first.rect.x1 - first.rect.x0 - 1) / first.rect.xstep + 1;
  if (count < 2)
    return;
  int64_t cut =
      first.rect.x0 + (1 + random.below(count - 1)) * first.rect.xstep;
  stream.rules[index].rect.x1 = cut;
  second.rect.x0 = cut;
  stream.rules.push_back(second);
}

/// Changes one rule, usually for the worse.
void mutate(const RoutingProblem &problem, RoutedStream &stream,
            Random &random) {
  if (stream.rules.empty())
    return;
  size_t index = size_t(random.below(int64_t(stream.rules.size())));
  RouteRule &rule = stream.rules[index];
  switch (random.below(9)) {
  case 0:
    stream.rules.erase(stream.rules.begin() + int64_t(index));
    return;
  case 1:
    rule.transmit = uint8_t(1 + random.below(31));
    return;
  case 2:
    rule.transmit ^= uint8_t(1u << random.below(5));
    return;
  case 3:
    rule.receive = RoutePort(random.below(5));
    return;
  case 4:
    rule.rect = randomRect(problem, random);
    return;
  case 5:
    (random.oneIn(2) ? rule.rect.x1 : rule.rect.y1) -= 1;
    return;
  case 6:
    cutInTwo(stream, index, random);
    return;
  case 7:
    std::swap(rule, stream.rules.front());
    return;
  case 8:
    stream.rules.push_back({rule.color, randomRect(problem, random),
                            RoutePort(random.below(5)),
                            uint8_t(1 + random.below(31))});
    return;
  }
}

/// Settings of random PEs only: mostly nonsense, sometimes short loops.
Routing randomRouting(const RoutingProblem &problem, Random &random) {
  Routing routing;
  int64_t next = 0;
  for (const StreamRequest &request : problem.streams) {
    RoutedStream stream;
    for (int i = 0; i < (hasTwoColors(request.pattern) ? 2 : 1); ++i)
      stream.colors.push_back(next++ % problem.colors);
    for (int64_t color : stream.colors)
      for (int64_t i = 1 + random.below(4); i > 0; --i)
        stream.rules.push_back({color, randomRect(problem, random),
                                RoutePort(random.below(5)),
                                uint8_t(1 + random.below(31))});
    routing.streams.push_back(stream);
  }
  return routing;
}

TEST(RouteProof, HoldsForWhatTheRouterMakes) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    RoutingProblem problem = randomProblem(random);
    Routing routing;
    ASSERT_EQ(routeByColoring(problem, routing), "");
    ASSERT_EQ(traceRouting(problem, routing), "");
    ASSERT_TRUE(proveRouting(problem, routing))
        << problem.regions[0].width << "x" << problem.regions[0].height;
  }
}

TEST(RouteProof, NeverHoldsForABrokenRouting) {
  Random random(2);
  int proved = 0;
  std::map<std::string, int> complaints; // by their last words
  for (int i = 0; i < 20000; ++i) {
    RoutingProblem problem = randomProblem(random);
    if (problem.streams.empty())
      continue;
    Routing routing;
    ASSERT_EQ(routeByColoring(problem, routing), "");
    for (int64_t changes = 1 + random.below(2); changes > 0; --changes)
      mutate(
          problem,
          routing
              .streams[size_t(random.below(int64_t(problem.streams.size())))],
          random);
    std::string error = traceRouting(problem, routing);
    if (proveRouting(problem, routing)) {
      ++proved;
      ASSERT_EQ(error, "");
    }
    ASSERT_EQ(problem.verify(routing), error);
    if (!error.empty())
      ++complaints[error.substr(error.rfind(' ') + 1)];
  }
  // Both kinds occur, and complaints of many kinds.
  EXPECT_GT(proved, 1000);
  EXPECT_GT(complaints.size(), 10u);
}

TEST(RouteProof, NeverHoldsForNonsense) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    RoutingProblem problem = randomProblem(random);
    problem.streams.resize(std::min<size_t>(problem.streams.size(), 1));
    Routing routing = randomRouting(problem, random);
    if (proveRouting(problem, routing)) {
      ASSERT_EQ(traceRouting(problem, routing), "");
    }
  }
}

// A ring hears the west, the south, the east and the north in turn, so no
// local rule is broken: only the ports that words arrive by give it away.
TEST(RouteProof, SeesALoopThatFeedsItself) {
  RoutingProblem problem = transformerProblem(6, 6, 1, {1, 6, 1});
  problem.streams = {{"key", RoutePattern::KeyCast, {1, 6, 2}}};
  Routing routing;
  ASSERT_EQ(routeByColoring(problem, routing), "");
  int64_t color = routing.streams[0].colors[0];
  auto add = [&](int64_t x, int64_t y, RoutePort receive, RoutePort transmit) {
    routing.streams[0].rules.push_back(
        {color, {x, x + 1, 1, y, y + 1, 1}, receive, portBit(transmit)});
  };
  add(2, 3, RoutePort::South, RoutePort::East);
  add(3, 3, RoutePort::West, RoutePort::South);
  add(3, 4, RoutePort::North, RoutePort::West);
  add(2, 4, RoutePort::East, RoutePort::North);
  EXPECT_FALSE(proveRouting(problem, routing));
  EXPECT_NE(problem.verify(routing).find("fed by no source"),
            std::string::npos);
}

int64_t stepsOn(int64_t width, int64_t height) {
  RoutingProblem problem =
      transformerProblem(width, height, 44, {height / 71, 71, 65});
  Routing routing;
  EXPECT_EQ(routeByColoring(problem, routing), "");
  int64_t steps = 0;
  EXPECT_TRUE(proveRouting(problem, routing, &steps));
  return steps;
}

// Fourteen planes of 745500 PEs would be ten million steps.
TEST(RouteProof, StepsFollowTheSidesNotTheArea) {
  int64_t small = stepsOn(188, 249), whole = stepsOn(750, 994);
  EXPECT_LT(whole, 5 * small);
  EXPECT_LT(whole, 750 * 994);
}

} // namespace
