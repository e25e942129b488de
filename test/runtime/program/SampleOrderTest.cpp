// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/SampleOrder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

namespace wsec::runtime::test {
namespace {

double lastEnd(const SampleFlow &flow, const std::vector<SampleLaunch> &order) {
  double last = 0;
  for (const SampleLaunch &each : order)
    last = std::max(last, each.start + flow.cycles[each.launch]);
  return last;
}

/// Launch 0 of one class stores what launch 1 of another reads.
SampleFlow twoStages(double latency) {
  SampleFlow flow;
  flow.classesOf = {{0}, {1}};
  flow.after = {{}, {0}};
  flow.cycles = {100, 80};
  flow.storeLatency = latency;
  flow.classes = 2;
  flow.ahead = {{9, 9}, {9, 9}};
  return flow;
}

TEST(SampleOrderTest, WordsOfTheStoreAreThereLaterThanTheyAreStored) {
  const SampleFlow flow = twoStages(1000);
  const std::vector<SampleLaunch> order = orderSamples(flow, 1);
  ASSERT_EQ(order.size(), 2u);
  EXPECT_EQ(order[1].start, 1100);
}

TEST(SampleOrderTest, WhatTheFirstSampleWaitsForLaterOnesFindThere) {
  const SampleFlow flow = twoStages(1000);
  const std::vector<SampleLaunch> order = orderSamples(flow, 8);
  EXPECT_EQ(cyclesPerSample(flow, 8, order), 100);
  EXPECT_EQ(lastEnd(flow, order), 8 * 100 + 1000 + 80);
}

TEST(SampleOrderTest, PaceIsThatOfTheSecondHalf) {
  EXPECT_EQ(meanPace({70}), 70);
  EXPECT_EQ(meanPace({50, 60, 75, 95}), 17.5);
}

/// Of one class a long launch, of another twelve short ones; commands that get
/// past the long one are four.
SampleFlow longAndShort() {
  SampleFlow flow;
  flow.classes = 2;
  flow.ahead = {{4, 4}, {4, 4}};
  for (int i = 0; i < 12; ++i) {
    flow.classesOf.push_back({1});
    flow.cycles.push_back(80);
  }
  flow.classesOf.push_back({0});
  flow.cycles.push_back(1000);
  flow.after.resize(13);
  return flow;
}

TEST(SampleOrderTest, UnhinderedCommandsDoNotWait) {
  const SampleFlow flow = longAndShort();
  std::vector<SampleLaunch> order = {{0, 12, 0}};
  for (uint32_t launch = 0; launch < 12; ++launch)
    order.push_back({0, launch, 0});
  playUnhindered(flow, 1, order);
  EXPECT_EQ(lastEnd(flow, order), 1000);
  playSamples(flow, 1, order);
  EXPECT_GT(lastEnd(flow, order), 1000);
}

/// Two classes of four launches each, of which the commands of one sample get
/// past a busy one.
TEST(SampleOrderTest, ThereIsOneCommandForEachSample) {
  SampleFlow flow;
  flow.classes = 2;
  flow.ahead = {{1, 1}, {1, 1}};
  flow.classesOf = {{0}, {0}, {0}, {0}, {0, 1}, {1}, {1}, {1}, {1}};
  flow.cycles = {100, 100, 100, 100, 10, 100, 100, 100, 100};
  flow.after.resize(9);
  const std::vector<SampleLaunch> order = orderSamples(flow, 8);
  for (const SampleLaunch &each : order)
    EXPECT_EQ(each.follows, each.launch != 0) << each.launch;
  EXPECT_EQ(cyclesPerSample(flow, 8, order), 410);
}

/// A class takes a launch that follows the command of another one's.
TEST(SampleOrderTest, WhatFollowsACommandHasItsOrder) {
  // Commands do not get past a busy class: launch 1 of class 1 comes with the
  // command of launch 0, launch 2 once both are done.
  SampleFlow flow;
  flow.classes = 2;
  flow.ahead = {{0, 0}, {0, 0}};
  flow.classesOf = {{0}, {1}, {1}};
  flow.cycles = {100, 30, 10};
  flow.after.resize(3);
  std::vector<SampleLaunch> order = {
      {0, 0, 0, false}, {0, 1, 0, true}, {0, 2, 0, false}};
  playSamples(flow, 1, order);
  EXPECT_EQ(order[1].start, 0);
  EXPECT_EQ(order[2].start, 100);
}

/// Six classes, each with launches of its own that take 1200 cycles in all.
SampleFlow randomFlow(std::mt19937 &random) {
  SampleFlow flow;
  flow.classes = 6;
  flow.ahead.assign(6, std::vector<size_t>(6, 8));
  for (uint32_t c = 0; c < flow.classes; ++c) {
    const uint32_t count = 1 + uint32_t(random() % 12);
    for (uint32_t i = 0; i < count; ++i) {
      flow.classesOf.push_back({c});
      flow.cycles.push_back(1200.0 / count);
    }
  }
  flow.after.resize(flow.cycles.size());
  return flow;
}

TEST(SampleOrderTest, NoCommandOfASampleWaits) {
  std::mt19937 random(1);
  constexpr uint32_t samples = 12;
  for (int i = 0; i < 20; ++i) {
    const SampleFlow flow = randomFlow(random);
    const std::vector<SampleLaunch> order = orderSamples(flow, samples);
    EXPECT_NEAR(lastEnd(flow, order), samples * 1200.0, 1e-6);
    // Starts are those of that order, and each launch is there once.
    std::vector<SampleLaunch> again = order;
    playSamples(flow, samples, again);
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (size_t at = 0; at < order.size(); ++at) {
      EXPECT_EQ(again[at].start, order[at].start);
      seen.insert({order[at].sample, order[at].launch});
    }
    EXPECT_EQ(seen.size(), samples * flow.cycles.size());
  }
}

} // namespace
} // namespace wsec::runtime::test
