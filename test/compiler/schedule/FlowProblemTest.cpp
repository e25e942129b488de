// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/FlowProblem.h"
#include "compiler/schedule/BackPressureScheduler.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace wsec;

namespace {

HostTransfer transfer(size_t launch, int64_t words, size_t stream = 0) {
  HostTransfer result;
  result.launch = launch;
  result.stream = stream;
  result.words = words;
  result.queue = 4;
  return result;
}

/// Two launches of 100 cycles, 50 words each on one color.
FlowProblem example() {
  FlowProblem problem;
  problem.storeLatency = 20;
  problem.launches = {{"a", 100, 30}, {"b", 100, 0}};
  problem.transfers = {transfer(0, 50), transfer(1, 50)};
  return problem;
}

/// The first result of `a` leaves for the store, which sends it back to `b`.
FlowProblem throughTheStore() {
  FlowProblem problem = example();
  HostTransfer out = transfer(0, 40, 1);
  out.in = false;
  out.queue = 0;
  problem.transfers.insert(problem.transfers.begin() + 1, out);
  problem.transfers[2].after = {1};
  return problem;
}

FlowSchedule solve(const FlowProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  FlowSchedule schedule = scheduleByBackPressure(problem);
  EXPECT_EQ(problem.verify(schedule), "");
  return schedule;
}

// The fourth word before the last is used 8 cycles before the end.
TEST(FlowProblem, WordsWaitForThoseBefore) {
  FlowSchedule schedule = solve(example());
  EXPECT_EQ(schedule.launches[0].end, 130);
  EXPECT_EQ(schedule.launches[1].begin, 130);
  EXPECT_EQ(schedule.launches[1].end, 230);
  EXPECT_EQ(schedule.transfers[0].window.begin, 20);
  EXPECT_EQ(schedule.transfers[0].window.end, 122);
  EXPECT_EQ(schedule.transfers[1].window.begin, 122);
  EXPECT_EQ(schedule.transfers[1].window.end, 222);
  EXPECT_EQ(schedule.transfers[1].ahead, 4);
}

TEST(FlowProblem, WordsThatFitTheWayEnterBeforeTheirLaunch) {
  FlowProblem problem = example();
  problem.transfers[1].words = 3;
  problem.transfers[1].firstUse = 0.9;
  FlowSchedule schedule = solve(problem);
  EXPECT_EQ(schedule.transfers[1].ahead, 3);
  EXPECT_EQ(schedule.transfers[1].window.end, 128);
}

TEST(FlowProblem, ALaunchIsNoShorterThanItsWords) {
  FlowProblem problem = example();
  problem.transfers[1].words = 300;
  FlowSchedule schedule = solve(problem);
  EXPECT_EQ(schedule.launches[1].end, 122 + 304);
}

TEST(FlowProblem, TheFirstToBeUsedComesFirst) {
  FlowProblem problem = example();
  problem.transfers.push_back(transfer(1, 10, 1));
  problem.transfers[1].firstUse = 0.5;
  FlowSchedule schedule = solve(problem);
  EXPECT_EQ(schedule.transfers[1].slot, 2);
  EXPECT_EQ(schedule.transfers[2].slot, 1);
}

TEST(FlowProblem, ALaunchWaitsForWhatTheStoreLacks) {
  FlowSchedule schedule = solve(throughTheStore());
  EXPECT_EQ(schedule.transfers[1].window.end, 130);
  EXPECT_EQ(schedule.transfers[2].window.begin, 150);
  EXPECT_EQ(schedule.launches[1].end, 250);
}

TEST(FlowProblem, RegionsRunAtTheSameTime) {
  FlowProblem problem = example();
  problem.launches[1].regions = {1};
  problem.transfers[1].stream = 1;
  FlowSchedule schedule = solve(problem);
  EXPECT_EQ(schedule.launches[1].begin, 0);
  EXPECT_EQ(schedule.launches[1].end, 100);
  EXPECT_EQ(schedule.transfers[1].window.begin, 20);
  EXPECT_EQ(schedule.transfers[1].slot, 1);
}

TEST(FlowProblem, ChecksItsInput) {
  auto errorOf = [](std::function<void(FlowProblem &)> change) {
    FlowProblem problem = throughTheStore();
    change(problem);
    return problem.check();
  };
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.launches[1].regions = {}; }),
            "'b' runs nowhere, or for negative cycles");
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.launches[1].cycles = -1; }),
            "'b' runs nowhere, or for negative cycles");
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.launches[1].lead = -1; }),
            "'b' runs nowhere, or for negative cycles");
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[0].launch = 1; }),
            "transfers are not in the order of launches");
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[2].launch = 2; }),
            "transfers are not in the order of launches");
  const std::string outside =
      "the words of 'a' are used outside of their launch, or fewer than none";
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[0].words = -1; }),
            outside);
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[0].queue = -1; }),
            outside);
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[0].firstUse = -1; }),
            outside);
  EXPECT_EQ(errorOf([](FlowProblem &p) {
              p.transfers[0].firstUse = 0.5;
              p.transfers[0].lastUse = 0.25;
            }),
            outside);
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[1].after = {1}; }),
            "the words of 'a' come of what nothing has stored");
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[2].launch = 0; }), "");
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[2].lastUse = 1.5; }),
            "the words of 'b' are used outside of their launch, or fewer than "
            "none");
  EXPECT_EQ(errorOf([](FlowProblem &p) { p.transfers[2].after = {0}; }),
            "the words of 'b' come of what nothing has stored");
}

/// A legal schedule with one thing changed.
std::string errorOf(std::function<void(FlowSchedule &)> change,
                    FlowProblem problem = example()) {
  FlowSchedule schedule = solve(problem);
  change(schedule);
  return problem.verify(schedule);
}

TEST(BrokenFlows, WithoutATransfer) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers.pop_back(); }),
            "expected windows of 2 launches and 2 transfers");
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.launches.pop_back(); }),
            "expected windows of 2 launches and 2 transfers");
}
TEST(BrokenFlows, T5SlotOutOfRange) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[1].slot = 2; }),
            "the words of 'b' have slot 2, which is not one of 2 or is "
            "another's");
}
TEST(BrokenFlows, T5SlotBelowTheFirst) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[0].slot = -1; }),
            "the words of 'a' have slot -1, which is not one of 2 or is "
            "another's");
}
TEST(BrokenFlows, T5TwoInOneSlot) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[1].slot = 0; }),
            "the words of 'b' have slot 0, which is not one of 2 or is "
            "another's");
}
TEST(BrokenFlows, T5SwappedOnOneColor) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) {
              std::swap(s.transfers[0].slot, s.transfers[1].slot);
            }),
            "the words of 'b' have slot 0, but an earlier launch has 1 on "
            "their color: words of a color do not overtake one another");
}
TEST(BrokenFlows, T6TooShortForItsWords) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[0].window.end = 60; }),
            "the words of 'a' flow in [20,60), too short for 50 words of a "
            "channel");
}
TEST(BrokenFlows, T6OverlapOnOneColor) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[1].window.begin = 121; }),
            "the words of 'b' flow in [121,222), but the words of 'a' have "
            "their color until cycle 122");
}
TEST(BrokenFlows, T7BeforeTheStoreSends) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[0].window.begin = 19; }),
            "the words of 'a' flow in [19,122), before the store can send them "
            "in cycle 20");
}
TEST(BrokenFlows, T7BeforeTheStoreHasIt) {
  EXPECT_EQ(
      errorOf([](FlowSchedule &s) { s.transfers[2].window.begin = 149; },
              throughTheStore()),
      "the words of 'b' flow in [149,242), before the store can send them in "
      "cycle 150");
}
TEST(BrokenFlows, T8MoreAheadThanTheWayHolds) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[1].ahead = 5; }),
            "5 of the words of 'b' are ahead of it, of 50 words the way holds "
            "4");
}
TEST(BrokenFlows, T8FewerThanNoneAhead) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[0].ahead = -1; }),
            "-1 of the words of 'a' are ahead of it, of 50 words the way holds "
            "4");
}
TEST(BrokenFlows, T8AllBeforeTheirLaunch) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[1].window.end = 175; }),
            "the words of 'b' flow in [122,175), with 4 ahead of a launch that "
            "runs in [130,230)");
}
TEST(BrokenFlows, T8BehindTheirLaunch) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[1].window.end = 231; }),
            "the words of 'b' flow in [122,231), with 4 ahead of a launch that "
            "runs in [130,230)");
}
TEST(BrokenFlows, T8LeavesBeforeItsLaunch) {
  FlowProblem problem = throughTheStore();
  problem.transfers[1].launch = 1;
  problem.transfers[2].after = {};
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.transfers[1].window.begin = 129; },
                    problem),
            "the words of 'b' flow in [129,230), with 0 ahead of a launch that "
            "runs in [130,230)");
}
TEST(BrokenFlows, T9WhileItsRegionIsBusy) {
  FlowProblem problem = example();
  problem.launches[1].regions = {1, 0};
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.launches[1].begin = 0; }, problem),
            "'b' runs in [0,230), expected it from cycle 130 on for 100 or "
            "more");
}
TEST(BrokenFlows, T9AGapBetweenLaunches) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.launches[1].begin = 131; }),
            "'b' runs in [131,230), expected it from cycle 130 on for 100 or "
            "more");
}
TEST(BrokenFlows, T9BeforeAnotherRegionHasStored) {
  FlowProblem problem = throughTheStore();
  problem.launches[1].regions = {1};
  const FlowSchedule schedule = solve(problem);
  const int64_t stored = schedule.transfers[1].window.end;
  EXPECT_GE(stored, 130);
  EXPECT_EQ(schedule.launches[1].begin, stored);
  EXPECT_LE(schedule.launches[1].end, stored + problem.storeLatency + 101);
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.launches[1].begin = 0; }, problem)
                    .find("expected it from cycle " + std::to_string(stored) +
                          " on") != std::string::npos,
            true);
}
TEST(BrokenFlows, T9ShorterThanItCosts) {
  EXPECT_EQ(errorOf([](FlowSchedule &s) { s.launches[1].end = 225; }),
            "'b' runs in [130,225), expected it from cycle 130 on for 100 or "
            "more");
}

TEST(BrokenFlows, NameTheLaunchesThatAreConcerned) {
  auto concerned = [](const FlowProblem &problem,
                      std::function<void(FlowSchedule &)> change) {
    FlowSchedule schedule = solve(problem);
    change(schedule);
    std::vector<size_t> about;
    EXPECT_NE(problem.verify(schedule, &about), "");
    return about;
  };
  using Launches = std::vector<size_t>;
  EXPECT_EQ(
      concerned(example(),
                [](FlowSchedule &s) { s.transfers[1].window.begin = 121; }),
      (Launches{1, 0}));
  EXPECT_EQ(concerned(example(),
                      [](FlowSchedule &s) { s.transfers[0].window.end = 60; }),
            Launches{0});
  EXPECT_EQ(concerned(example(),
                      [](FlowSchedule &s) {
                        std::swap(s.transfers[0].slot, s.transfers[1].slot);
                      }),
            (Launches{1, 0}));
  EXPECT_EQ(
      concerned(throughTheStore(),
                [](FlowSchedule &s) { s.transfers[2].window.begin = 149; }),
      (Launches{1, 0}));
  EXPECT_EQ(
      concerned(example(), [](FlowSchedule &s) { s.launches[1].end = 225; }),
      Launches{1});
}

/// Launches with transfers on two colors in, and results through the store.
FlowProblem randomProblem(std::mt19937 &random) {
  auto below = [&](int64_t n) { return int64_t(random() % uint32_t(n)); };
  FlowProblem problem;
  problem.storeLatency = below(200);
  const size_t launches = size_t(1 + below(12));
  for (size_t l = 0; l < launches; ++l) {
    const size_t region = size_t(below(2));
    problem.launches.push_back({std::to_string(l),
                                double(below(4000)) / 4,
                                l ? 0 : double(below(99)),
                                {region}});
    if (below(4) == 0)
      problem.launches.back().regions.push_back(1 - region);
    for (size_t stream = 0; stream < 3; ++stream) {
      if (below(2))
        continue;
      HostTransfer its = transfer(l, below(600), 3 * region + stream);
      its.in = stream < 2;
      its.queue = its.in ? below(20) : 0;
      its.firstUse = double(below(8)) / 8;
      its.lastUse = std::min(1.0, its.firstUse + double(below(9)) / 8);
      for (size_t t = 0; its.in && t < problem.transfers.size(); ++t)
        if (!problem.transfers[t].in && problem.transfers[t].launch < l &&
            below(4) == 0)
          its.after.push_back(t);
      problem.transfers.push_back(its);
    }
  }
  return problem;
}

TEST(FlowProblem, SolvesRandomProblems) {
  std::mt19937 random(7);
  for (int i = 0; i < 5000 && !HasFailure(); ++i)
    solve(randomProblem(random));
}

} // namespace
