// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/PathRouter.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <set>

using namespace wsec;

namespace {

Rect pes(int64_t x0, int64_t x1, int64_t y0, int64_t y1) {
  return {x0, x1, 1, y0, y1, 1};
}

PathNet net(const std::string &name, int64_t x, int64_t y, Rect to,
            size_t bundle = 0) {
  PathNet result;
  result.name = name;
  result.x = x;
  result.y = y;
  result.destinations = {to};
  result.bundle = bundle;
  return result;
}

PathProblem mesh(int64_t width, int64_t height, int64_t colors,
                 std::vector<PathNet> nets) {
  PathProblem problem;
  problem.meshWidth = width;
  problem.meshHeight = height;
  problem.colors = colors;
  problem.nets = std::move(nets);
  return problem;
}

/// Routes and holds the result against the checker.
Paths route(const PathProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  Paths paths;
  EXPECT_FALSE(routeByNegotiation(problem, paths));
  EXPECT_EQ(problem.verify(paths), "");
  return paths;
}

std::string whyNot(const PathProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  Paths paths;
  const auto failure = routeByNegotiation(problem, paths);
  return failure ? failure->reason : "";
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// The 6x4 mesh of PathProblem.h.
PathProblem lanes(int64_t colors = 1) {
  return mesh(
      6, 4, colors,
      {net("a", 0, 0, pes(4, 6, 2, 3)), net("b", 0, 1, pes(4, 6, 3, 4))});
}

} // namespace

TEST(PathRouterTest, StraightWayTakesAsManySettingsAsPEs) {
  const Paths paths = route(mesh(5, 1, 1, {net("a", 0, 0, pes(3, 5, 0, 1))}));
  EXPECT_EQ(paths.nets[0].settings.size(), 5u);
}

TEST(PathRouterTest, ParallelNetsOfOneColorTakeLanes) {
  const Paths paths = route(lanes());
  EXPECT_EQ(paths.nets[0].color, 0);
  EXPECT_EQ(paths.nets[1].color, 0);
}

TEST(PathRouterTest, MulticastSharesItsTrunk) {
  // Three PEs of a column at the end of a row: eight hops, not fifteen.
  const Paths paths = route(mesh(6, 3, 1, {net("a", 0, 1, pes(5, 6, 0, 3))}));
  EXPECT_EQ(paths.nets[0].settings.size(), 8u);
}

TEST(PathRouterTest, SourceMayHearItself) {
  const Paths paths = route(mesh(1, 1, 1, {net("a", 0, 0, pes(0, 1, 0, 1))}));
  EXPECT_EQ(paths.nets[0].settings[0].transmit, portBit(Port::Ramp));
}

TEST(PathRouterTest, NetsThatMeetNowhereShareAColor) {
  const Paths paths = route(mesh(4, 2, 2,
                                 {net("a", 0, 0, pes(3, 4, 0, 1), 0),
                                  net("b", 0, 1, pes(3, 4, 1, 2), 1)}));
  EXPECT_EQ(paths.nets[0].color, paths.nets[1].color);
}

TEST(PathRouterTest, CrossingNetsTakeTwoColors) {
  const Paths paths = route(mesh(3, 3, 2,
                                 {net("a", 0, 1, pes(2, 3, 1, 2), 0),
                                  net("b", 1, 0, pes(1, 2, 2, 3), 1)}));
  EXPECT_NE(paths.nets[0].color, paths.nets[1].color);
}

TEST(PathRouterTest, NegotiationMovesTheNetThatCanGoElsewhere) {
  // Both would go through the gap at (2,1); only a reaches the one at (2,3).
  PathProblem problem =
      mesh(5, 4, 1,
           {net("a", 0, 2, pes(4, 5, 2, 3)), net("b", 0, 0, pes(4, 5, 0, 1))});
  problem.obstacles = {{0, pes(2, 3, 0, 1)}, {0, pes(2, 3, 2, 3)}};
  const Paths paths = route(problem);
  auto passes = [&](size_t n, int64_t y) {
    return std::any_of(
        paths.nets[n].settings.begin(), paths.nets[n].settings.end(),
        [&](const PathSetting &at) { return at.x == 2 && at.y == y; });
  };
  EXPECT_TRUE(passes(0, 3));
  EXPECT_TRUE(passes(1, 1));
}

TEST(PathRouterTest, ObstaclesAreOfOneColor) {
  PathProblem problem = mesh(3, 1, 2, {net("a", 0, 0, pes(2, 3, 0, 1))});
  problem.obstacles = {{0, pes(1, 2, 0, 1)}};
  EXPECT_EQ(route(problem).nets[0].color, 1);
}

TEST(PathRouterTest, LinksAreSharedByNetsThatAreNeverInUseTogether) {
  PathProblem problem = mesh(
      3, 1, 2,
      {net("a", 0, 0, pes(2, 3, 0, 1), 0), net("b", 0, 0, pes(2, 3, 0, 1), 1)});
  EXPECT_TRUE(has(whyNot(problem),
                  "'a' and 'b' compete for the link from PE (0,0) to EAST, "
                  "which would have to pass 2 words at a time and passes 1"))
      << whyNot(problem);
  problem.nets[1].begin = 1;
  problem.nets[1].end = 2;
  route(problem);
}

TEST(PathRouterTest, FullLinksAreGoneRound) {
  PathProblem problem = mesh(
      3, 2, 2,
      {net("a", 0, 0, pes(2, 3, 0, 1), 0), net("b", 0, 0, pes(2, 3, 0, 1), 1)});
  const Paths paths = route(problem);
  EXPECT_EQ(paths.nets[0].settings.size() + paths.nets[1].settings.size(), 8u);
  problem.linkWords = 2;
  EXPECT_EQ(route(problem).nets[1].settings.size(), 3u);
}

TEST(PathRouterTest, FailureNamesThePlaceAndWhoCompetes) {
  // Two rooms with one door, and what is beside it, between them.
  PathProblem problem =
      mesh(5, 2, 1,
           {net("a", 0, 0, pes(4, 5, 0, 1)), net("b", 0, 1, pes(4, 5, 1, 2))});
  problem.obstacles = {{0, pes(2, 3, 1, 2)}};
  EXPECT_TRUE(has(whyNot(problem),
                  "'a' from WEST and 'b' from WEST compete for color 0 of PE "
                  "(3,0)\nof 1 colors none is left for 'a' and the 1 others "
                  "that share its color"))
      << whyNot(problem);
}

TEST(PathRouterTest, FailureNamesSharedEnds) {
  EXPECT_TRUE(
      has(whyNot(mesh(2, 2, 1,
                      {net("a", 0, 0, pes(1, 2, 0, 1)),
                       net("b", 0, 1, pes(1, 2, 0, 1))})),
          "'b' and 'a' compete for color 0 of PE (1,0)\nof 1 colors "
          "none is left for 'a' and the 1 others that share its color"));
}

TEST(PathRouterTest, FailureNamesAWall) {
  PathProblem problem = mesh(3, 1, 1, {net("a", 0, 0, pes(2, 3, 0, 1))});
  problem.obstacles = {{0, pes(1, 2, 0, 1)}};
  EXPECT_TRUE(has(whyNot(problem), "on color 0 no way is left for 'a' from PE "
                                   "(0,0) to PE (2,0)"));
}

TEST(PathRouterTest, FailureNamesWhoIsInTheWay) {
  PathProblem problem = mesh(4, 2, 1, {net("a", 0, 0, pes(3, 4, 0, 1))});
  problem.obstacles = {{0, pes(2, 3, 0, 1), "stream 'row_west'"},
                       {PathObstacle::everyColor, pes(1, 2, 1, 2), "the hole"}};
  EXPECT_TRUE(has(whyNot(problem),
                  "no way is left for 'a' from PE (0,0) to PE (3,0) past "
                  "stream 'row_west', the hole"))
      << whyNot(problem);
}

TEST(PathRouterTest, SearchEndsAfterSoManySteps) {
  PathProblem problem = mesh(9, 9, 2, {net("a", 0, 0, pes(8, 9, 8, 9))});
  Paths paths;
  problem.mostSteps = 8;
  const auto failure = routeByNegotiation(problem, paths);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, PathFailure::Effort);
  EXPECT_EQ(failure->reason, "the search for 'a' and the others has looked at "
                             "8 PEs and gives up");
  problem.mostSteps = 999;
  route(problem);
}

TEST(PathRouterTest, WordsMayLeaveTheMesh) {
  // Round a PE that nothing passes, and out in the row they came from.
  PathNet a = net("a", 0, 1, pes(3, 4, 1, 2));
  a.exit = Port::East;
  PathProblem problem = mesh(4, 3, 1, {a});
  problem.obstacles = {{PathObstacle::everyColor, pes(1, 2, 1, 2)}};
  const Paths paths = route(problem);
  EXPECT_EQ(paths.nets[0].settings.size(), 6u);
  EXPECT_TRUE(std::any_of(
      paths.nets[0].settings.begin(), paths.nets[0].settings.end(),
      [](const PathSetting &at) {
        return at.x == 3 && at.y == 1 && at.transmit == portBit(Port::East);
      }));
  Paths bent = paths;
  for (PathSetting &at : bent.nets[0].settings)
    if (at.x == 3 && at.y == 1)
      at.transmit |= portBit(Port::Ramp);
  EXPECT_EQ(problem.verify(bent), "N5: net 'a', color 0: words reach PE (3,1), "
                                  "which is not meant");
}

TEST(PathRouterTest, WordsMayEnterAtAnEdge) {
  PathNet a = net("a", 0, 1, pes(2, 3, 0, 2));
  a.entry = Port::West;
  EXPECT_EQ(route(mesh(3, 2, 1, {a})).nets[0].settings.size(), 4u);
}

//===----------------------------------------------------------------------===//
// The checker, one broken rule at a time
//===----------------------------------------------------------------------===//

namespace {
std::string said(const PathProblem &problem, const Paths &paths) {
  return problem.verify(paths);
}
PathSetting &settingAt(Paths &paths, size_t net, int64_t x, int64_t y) {
  for (PathSetting &setting : paths.nets[net].settings)
    if (setting.x == x && setting.y == y)
      return setting;
  ADD_FAILURE() << "no setting at " << x << "," << y;
  return paths.nets[net].settings.front();
}
} // namespace

TEST(PathProblemTest, N1EveryNetHasAColorThatThereIs) {
  const PathProblem problem = lanes(2);
  Paths paths = route(problem);
  paths.nets[0].color = 1;
  EXPECT_TRUE(has(said(problem, paths),
                  "N1: net 'b' has color 0, net 'a' of its bundle has 1"));
  paths.nets[0].color = 2;
  EXPECT_TRUE(
      has(said(problem, paths), "N1: net 'a' has color 2, there are 0 to 1"));
  PathProblem family = problem;
  family.nets[1].bundle = 1;
  family.nets[0].family = family.nets[1].family = 0;
  EXPECT_TRUE(has(said(family, route(problem)),
                  "N1: net 'b' has color 0 like net 'a' of another bundle of "
                  "its family"));
  EXPECT_EQ(route(family).nets[1].color, 1);
  paths.nets.pop_back();
  EXPECT_TRUE(
      has(said(problem, paths), "N1: expected paths of 2 nets, found 1"));
}

TEST(PathProblemTest, N2SettingsTransmitSomewhere) {
  const PathProblem problem = lanes();
  const Paths sound = route(problem);
  Paths paths = sound;
  settingAt(paths, 0, 0, 0).transmit = 0;
  EXPECT_TRUE(has(said(problem, paths),
                  "N2: net 'a', color 0: PE (0,0) transmits to no port"));
  paths = sound;
  PathSetting &last = settingAt(paths, 1, 5, 3);
  last.transmit |= portBit(last.receive);
  EXPECT_TRUE(has(said(problem, paths), "PE (5,3) sends words back to WEST"));
  paths = sound;
  paths.nets[0].settings.push_back({6, 0, Port::West, 1});
  EXPECT_TRUE(has(said(problem, paths), "PE (6,0) is not on the mesh"));
}

TEST(PathProblemTest, N3OneSettingOfAColor) {
  PathProblem problem = lanes();
  Paths paths = route(problem);
  paths.nets[0].settings.push_back({0, 1, Port::North, 16});
  EXPECT_TRUE(has(said(problem, paths),
                  "N3: net 'b', color 0: PE (0,1) has two "
                  "settings of this color, the other of net 'a'"));
  paths = route(problem);
  problem.obstacles = {{0, pes(0, 1, 0, 4)}};
  EXPECT_TRUE(has(said(problem, paths),
                  "N3: net 'a', color 0: PE (0,0) has a setting of "
                  "this color already"));
}

TEST(PathProblemTest, N4EveryHopArrives) {
  const PathProblem problem = mesh(3, 2, 1, {net("a", 0, 0, pes(2, 3, 0, 1))});
  const Paths sound = route(problem);
  Paths paths = sound;
  settingAt(paths, 0, 1, 0).transmit = portBit(Port::South);
  EXPECT_TRUE(has(said(problem, paths),
                  "N4: net 'a', color 0: PE (1,0) sends words to SOUTH, "
                  "but PE (1,1) has no setting of the net"));
  paths = sound;
  settingAt(paths, 0, 2, 0).receive = Port::South;
  EXPECT_TRUE(has(said(problem, paths), "but PE (2,0) receives from SOUTH"));
}

TEST(PathProblemTest, N5WordsReachExactlyTheirDestinations) {
  const PathProblem problem = lanes();
  const Paths sound = route(problem);
  Paths paths = sound;
  settingAt(paths, 0, 5, 2).transmit = portBit(Port::South);
  EXPECT_NE(said(problem, paths), "");
  paths = sound;
  settingAt(paths, 0, 4, 2).transmit = portBit(Port::East);
  EXPECT_TRUE(has(said(problem, paths),
                  "N5: net 'a', color 0: words do not reach PE (4,2)"));
  paths = sound;
  settingAt(paths, 1, 0, 1).transmit |= portBit(Port::Ramp);
  EXPECT_TRUE(has(said(problem, paths),
                  "N5: net 'b', color 0: words reach PE (0,1), which is not "
                  "meant"));
  paths = sound;
  settingAt(paths, 0, 0, 0).receive = Port::North;
  EXPECT_TRUE(has(said(problem, paths),
                  "PE (0,0) is its source, but does not receive from RAMP"));
}

TEST(PathProblemTest, N6NoSettingIsLeftOver) {
  const PathProblem problem = lanes();
  Paths paths = route(problem);
  paths.nets[0].settings.push_back({0, 3, Port::West, 16});
  EXPECT_TRUE(has(said(problem, paths),
                  "N6: net 'a', color 0: 1 settings are fed by nothing"));
}

TEST(PathProblemTest, N7LinksPassWhatTheyCan) {
  PathProblem problem = mesh(
      3, 1, 2,
      {net("a", 0, 0, pes(2, 3, 0, 1), 0), net("b", 0, 0, pes(2, 3, 0, 1), 1)});
  problem.linkWords = 2;
  const Paths paths = route(problem);
  problem.linkWords = 1;
  EXPECT_TRUE(has(said(problem, paths),
                  "N7: the link from PE (0,0) to EAST has to pass 2 words "
                  "of a, b and passes 1"));
}

TEST(PathProblemTest, CheckRefusesWhatMakesNoSense) {
  auto refused = [](auto change, const std::string &why) {
    PathProblem problem = lanes();
    change(problem);
    EXPECT_TRUE(has(problem.check(), why)) << problem.check();
  };
  refused([](PathProblem &p) { p.meshWidth = 0; }, "the mesh has no PEs");
  refused([](PathProblem &p) { p.colors = 33; }, "33 colors, expected 1 to 32");
  refused([](PathProblem &p) { p.nets[0].x = 6; },
          "begins at PE (6,0), which is not on the mesh");
  refused([](PathProblem &p) { p.nets[1].entry = Port::North; },
          "where there is no edge");
  refused([](PathProblem &p) { p.nets[0].destinations.clear(); },
          "has no destination");
  refused([](PathProblem &p) { p.nets[0].destinations[0].x1 = 7; },
          "has a destination that is not on the mesh");
  refused([](PathProblem &p) { p.nets[0].exit = Port::South; },
          "leaves the mesh to SOUTH, where there is no edge");
  refused(
      [](PathProblem &p) {
        p.nets[0].entry = p.nets[0].exit = Port::West;
        p.nets[0].destinations = {pes(0, 1, 0, 1)};
      },
      "leaves the mesh where it enters");
  refused([](PathProblem &p) { p.nets[1].family = 0; },
          "are of one bundle and of different families");
  refused([](PathProblem &p) { p.nets[0].end = 0; }, "is never in use");
  refused([](PathProblem &p) { p.nets[0].words = 2; },
          "brings 2 words in a unit of time, a link passes 1");
  refused([](PathProblem &p) { p.obstacles = {{1, pes(0, 1, 0, 1)}}; },
          "an obstacle is of no color or not on the mesh");
}
