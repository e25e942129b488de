// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/SchedulingProblem.h"
#include "compiler/schedule/FirstFitScheduler.h"
#include "compiler/schedule/LaunchOrder.h"
#include "compiler/schedule/LayoutClassScheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <tuple>

using namespace wsec;

namespace {

SchedulingProblem makeProblem(std::vector<KernelMemory> kernels,
                              int64_t bytes = 1024) {
  SchedulingProblem problem;
  problem.firstAddress = 128;
  problem.endAddress = 128 + bytes;
  problem.kernels = std::move(kernels);
  return problem;
}

Schedule solve(const SchedulingProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  Schedule schedule;
  SramOverflow overflow;
  EXPECT_TRUE(scheduleByFirstFit(problem, schedule, overflow))
      << overflow.message;
  EXPECT_EQ(problem.verify(schedule), "");
  return schedule;
}

/// The worked example of SchedulingProblem.h.
SchedulingProblem example() {
  return makeProblem(
      {{"a", {}, 64, 0, {}}, {"b", {0}, 64, 64, {0}}, {"c", {1}, 32, 0, {}}});
}

/// The kernels of `layers` pre-norm transformer layers, appended to `kernels`.
void appendLayers(std::vector<KernelMemory> &kernels, int layers) {
  const int64_t x = 96, wide = 384;
  kernels.push_back({"embed", {}, x, 0, {}});
  size_t residual = 0;
  auto add = [&](const char *name, std::vector<size_t> operands, int64_t bytes,
                 int64_t scratch, std::vector<size_t> overwrites = {}) {
    kernels.push_back({name, operands, bytes, scratch, overwrites});
    return kernels.size() - 1;
  };
  for (int l = 0; l < layers; ++l) {
    size_t norm = add("norm1", {residual}, x, 16);
    size_t q = add("q", {norm}, x, 8);
    size_t k = add("k", {norm}, x, 8);
    size_t v = add("v", {norm}, x, 8);
    size_t attention = add("attention", {q, k, v}, x, 200);
    size_t tiled = add("redistribute", {attention}, x, 0);
    size_t proj = add("proj", {tiled}, x, 8);
    size_t sum = add("add1", {proj, residual}, x, 0, {proj, residual});
    size_t norm2 = add("norm2", {sum}, x, 16);
    size_t up = add("up", {norm2}, wide, 8);
    size_t gelu = add("gelu", {up}, wide, 0, {up});
    size_t down = add("down", {gelu}, x, 8);
    residual = add("add2", {down, sum}, x, 0, {down, sum});
  }
}

/// Kernels without memory: operands, region, what they follow, cycles.
SchedulingProblem
launches(std::vector<
         std::tuple<std::vector<size_t>, size_t, std::vector<size_t>, double>>
             kernels) {
  SchedulingProblem problem = makeProblem({});
  for (auto &[operands, region, after, cycles] : kernels)
    problem.kernels.push_back({"k" + std::to_string(problem.kernels.size()),
                               operands,
                               4,
                               0,
                               {},
                               region,
                               after,
                               cycles});
  EXPECT_EQ(problem.check(), "");
  EXPECT_EQ(problem.verify(solve(problem)), "");
  return problem;
}

TEST(LaunchOrder, IsThatOfTheListInOneRegion) {
  EXPECT_EQ(orderLaunches(
                launches({{{}, 0, {}, 9}, {{}, 0, {}, 1}, {{0}, 0, {}, 1}})),
            (std::vector<size_t>{0, 1, 2}));
}
TEST(LaunchOrder, GoesByPredictedStarts) {
  // Region 0: k0 to 10, k1; region 1: k2 to 4, k3 to 8, k4 to 12.
  EXPECT_EQ(orderLaunches(launches({{{}, 0, {}, 10},
                                    {{0}, 0, {}, 1},
                                    {{}, 1, {}, 4},
                                    {{2}, 1, {}, 4},
                                    {{3}, 1, {}, 4}})),
            (std::vector<size_t>{2, 0, 3, 4, 1}));
}
TEST(LaunchOrder, TransfersOccupyBothRegions) {
  // k2 brings k0 from region 0 to 1, after k1; k3 can start on 0 only then.
  EXPECT_EQ(orderLaunches(launches({{{}, 0, {}, 1},
                                    {{}, 1, {}, 5},
                                    {{0}, 1, {}, 1},
                                    {{0}, 0, {}, 1},
                                    {{1}, 1, {}, 1}})),
            (std::vector<size_t>{1, 0, 2, 3, 4}));
}
TEST(LaunchOrder, OfSeveralThatStartAtOnceMostLeftIsFirst) {
  EXPECT_EQ(
      orderLaunches(launches(
          {{{}, 0, {}, 3}, {{}, 1, {}, 2}, {{}, 1, {}, 2}, {{}, 2, {}, 3}})),
      (std::vector<size_t>{1, 0, 3, 2}));
}
TEST(LaunchOrder, WaitsForWhatIsStored) {
  // k1 on region 1 loads what k0 on region 0 stores.
  EXPECT_EQ(
      orderLaunches(launches(
          {{{}, 0, {}, 10}, {{}, 1, {0}, 1}, {{}, 2, {}, 5}, {{}, 2, {}, 5}})),
      (std::vector<size_t>{0, 2, 3, 1}));
}

TEST(SchedulingProblem, RegionsHaveSramOfTheirOwn) {
  SchedulingProblem problem = makeProblem({{"a", {}, 64, 0, {}, 0},
                                           {"b", {0}, 64, 0, {}, 1},
                                           {"c", {0, 1}, 64, 0, {}, 1}});
  Schedule schedule;
  SramOverflow overflow;
  ASSERT_TRUE(scheduleByFirstFit(problem, schedule, overflow));
  EXPECT_EQ(problem.verify(schedule), "");
  EXPECT_EQ(schedule.resultAddresses[0], schedule.resultAddresses[1]);
  problem.kernels[1].region = 0;
  EXPECT_NE(problem.verify(schedule).find("overlaps"), std::string::npos);
  problem.kernels[1].overwrites = {0};
  EXPECT_EQ(problem.check(), "");
  problem.kernels[1].region = 1;
  EXPECT_EQ(problem.check(),
            "kernel 'b' overwrites a result on another region");
}

TEST(FirstFitScheduler, SaysOfAllScratchWhatRoomThereIs) {
  // c lies behind a and b, which are free when d runs, from address 0.
  SchedulingProblem problem = makeProblem({{"a", {}, 64, 0, {}},
                                           {"b", {}, 32, 120, {}},
                                           {"c", {0, 1}, 32, 300, {}},
                                           {"d", {2}, 32, 100, {}},
                                           {"e", {3}, 0, 200, {}}},
                                          192);
  Schedule schedule;
  SramOverflow overflow;
  ASSERT_FALSE(scheduleByFirstFit(problem, schedule, overflow));
  ASSERT_EQ(overflow.scratch.size(), 4u);
  EXPECT_EQ(overflow.owner, 1u); // the first
  EXPECT_NE(overflow.message.find("kernel 'b' needs 120 bytes"),
            std::string::npos);
  auto isOf = [&](size_t i, size_t kernel, int64_t free, int64_t gap) {
    EXPECT_EQ(overflow.scratch[i].kernel, kernel);
    EXPECT_EQ(overflow.scratch[i].free, free);
    EXPECT_EQ(overflow.scratch[i].gap, gap);
  };
  isOf(0, 1, 96, 96);
  isOf(1, 2, 64, 64);
  isOf(2, 3, 128, 64); // in pieces
  isOf(3, 4, 160, 160);
}

/// A kernel in region 0 without scratch, of a layout class.
KernelMemory formed(const char *name, std::vector<size_t> operands,
                    int64_t bytes, size_t layoutClass) {
  KernelMemory kernel{name, std::move(operands), bytes, 0, {}};
  kernel.layoutClass = layoutClass;
  return kernel;
}

TEST(LayoutClassScheduler, WorkedExample) {
  SchedulingProblem problem = makeProblem(
      {formed("a", {}, 64, 1), formed("b", {0}, 32, 2), formed("c", {1}, 64, 1),
       formed("d", {2}, 32, 2), formed("e", {3}, 64, 1)});
  problem.kernels[0].scratchBytes = problem.kernels[2].scratchBytes = 16;
  std::optional<Schedule> schedule = scheduleByLayoutClass(problem);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(problem.verify(*schedule), "");
  EXPECT_EQ(schedule->resultAddresses,
            (std::vector<int64_t>{128, 192, 128, 192, 128}));
  EXPECT_EQ(schedule->scratchAddresses[0], 224);
  EXPECT_EQ(schedule->scratchAddresses[2], 224);
}
TEST(LayoutClassScheduler, GivesAClassOneAddressWhereFirstFitGivesSeveral) {
  // What is alive when the three of class 1 begin differs.
  SchedulingProblem problem =
      makeProblem({formed("long", {}, 32, 2), formed("x", {0}, 64, 1),
                   formed("wide", {1, 0}, 256, 3), formed("y", {2}, 64, 1),
                   formed("last", {3}, 32, 2), formed("z", {4, 3}, 64, 1)});
  Schedule first = solve(problem);
  EXPECT_NE(first.resultAddresses[1], first.resultAddresses[3]);
  std::optional<Schedule> schedule = scheduleByLayoutClass(problem);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(problem.verify(*schedule), "");
  EXPECT_EQ(schedule->resultAddresses[1], schedule->resultAddresses[3]);
  // `y` lives when `z` begins.
  EXPECT_NE(schedule->resultAddresses[3], schedule->resultAddresses[5]);
}
TEST(LayoutClassScheduler, LayersFindTheSameAddresses) {
  SchedulingProblem problem = makeProblem({}, 4096);
  appendLayers(problem.kernels, 6);
  for (KernelMemory &kernel : problem.kernels)
    kernel.layoutClass = size_t(kernel.resultBytes);
  std::optional<Schedule> schedule = scheduleByLayoutClass(problem);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(problem.verify(*schedule), "");
  for (size_t k = 14; k < problem.kernels.size(); ++k) {
    EXPECT_EQ(schedule->resultAddresses[k], schedule->resultAddresses[k - 13]);
    EXPECT_EQ(schedule->scratchAddresses[k],
              schedule->scratchAddresses[k - 13]);
  }
}
TEST(LayoutClassScheduler, SaysThatTheSramIsTooSmall) {
  SchedulingProblem problem =
      makeProblem({formed("a", {}, 64, 1), formed("b", {0}, 64, 2)}, 128);
  EXPECT_TRUE(scheduleByLayoutClass(problem));
  problem.endAddress -= 4;
  EXPECT_FALSE(scheduleByLayoutClass(problem));
  problem.endAddress += 4;
  problem.kernels[1].scratchBytes = 4;
  EXPECT_FALSE(scheduleByLayoutClass(problem));
  problem.kernels[1].scratchBytes = 0;
  problem.persistents = {{"held", 0, 4}};
  EXPECT_FALSE(scheduleByLayoutClass(problem));
}

TEST(SchedulingProblem, WorkedExample) {
  Schedule schedule = solve(example());
  EXPECT_EQ(schedule.resultAddresses, (std::vector<int64_t>{128, 128, 192}));
  EXPECT_EQ(schedule.scratchAddresses[1], 192);
  EXPECT_EQ(schedule.highWater, 256);
  EXPECT_EQ(schedule.highWaterKernel, 1u);
}

TEST(SchedulingProblem, BuffersAreAlignedWhereverTheyBegin) {
  SchedulingProblem problem = example();
  problem.firstAddress = 130;
  EXPECT_EQ(solve(problem).resultAddresses[0], 132);
}

TEST(SchedulingProblem, DeadBuffersAreReused) {
  Schedule schedule = solve(makeProblem(
      {{"a", {}, 64, 0, {}}, {"b", {0}, 64, 0, {}}, {"c", {1}, 64, 0, {}}},
      128));
  EXPECT_EQ(schedule.resultAddresses, (std::vector<int64_t>{128, 192, 128}));
}

TEST(SchedulingProblem, LiveOperandIsNotOverwritten) {
  Schedule schedule = solve(makeProblem(
      {{"a", {}, 64, 0, {}}, {"b", {0}, 64, 0, {0}}, {"c", {0, 1}, 0, 0, {}}}));
  EXPECT_NE(schedule.resultAddresses[1], schedule.resultAddresses[0]);
}

// Equal layers must find equal addresses soon, or code would grow with depth.
TEST(SchedulingProblem, AddressesOfLayersRepeat) {
  std::vector<KernelMemory> kernels;
  appendLayers(kernels, 6);
  Schedule schedule = solve(makeProblem(kernels));
  const size_t perLayer = 13, period = 2 * perLayer;
  for (size_t k = 1 + 2 * perLayer; k + period < kernels.size(); ++k) {
    EXPECT_EQ(schedule.resultAddresses[k], schedule.resultAddresses[k + period])
        << kernels[k].name << " " << k;
    EXPECT_EQ(schedule.scratchAddresses[k],
              schedule.scratchAddresses[k + period])
        << kernels[k].name << " " << k;
  }
}

TEST(SchedulingProblem, DepthNeedsNoMoreSram) {
  std::vector<KernelMemory> shallow, deep;
  appendLayers(shallow, 2);
  appendLayers(deep, 96);
  EXPECT_EQ(solve(makeProblem(shallow)).highWater,
            solve(makeProblem(deep)).highWater);
}

TEST(SchedulingProblem, NoBuffersReachNowhere) {
  SchedulingProblem problem = makeProblem({{"store", {}, 0, 0, {}}});
  problem.firstAddress = 64;
  Schedule schedule = solve(problem);
  EXPECT_EQ(schedule.highWater, 0);
  // The verifier need not know where the solver was allowed to begin.
  problem.firstAddress = 0;
  EXPECT_EQ(problem.verify(schedule), "");
}

TEST(SchedulingProblem, OverflowNamesTheLargestBuffers) {
  SchedulingProblem problem = makeProblem(
      {{"a", {}, 64, 0, {}}, {"b", {}, 100, 0, {}}, {"c", {0, 1}, 96, 0, {}}},
      256);
  Schedule schedule;
  SramOverflow overflow;
  EXPECT_FALSE(scheduleByFirstFit(problem, schedule, overflow));
  EXPECT_EQ(overflow.owner, 2u);
  EXPECT_EQ(overflow.message,
            "SramOverflow: kernel 'c' needs 96 bytes of SRAM per PE for its "
            "result; of 256 "
            "bytes for buffers, 164 are in use; largest: 100 bytes for the "
            "result of 'b', 64 bytes for the result of 'a'; compile for a "
            "larger mesh or for fewer tokens");
}

TEST(SchedulingProblem, FragmentedOverflowSaysSo) {
  SchedulingProblem problem = makeProblem({{"a", {}, 64, 0, {}},
                                           {"b", {}, 32, 0, {}},
                                           {"c", {0}, 0, 0, {}},
                                           {"d", {1}, 96, 0, {}}},
                                          128);
  Schedule schedule;
  SramOverflow overflow;
  EXPECT_FALSE(scheduleByFirstFit(problem, schedule, overflow));
  EXPECT_NE(overflow.message.find("in pieces that leave no gap"),
            std::string::npos)
      << overflow.message;
}

TEST(SchedulingProblem, WhereMostLivesFirstLeavesNoGaps) {
  std::vector<KernelMemory> kernels(24, {"other", {}, 4, 0, {}});
  kernels[0].resultBytes = kernels[1].resultBytes = 100;
  kernels[2].operands = {0};
  kernels[22].scratchBytes = 250;
  kernels[23].operands = {1};
  const SchedulingProblem problem = makeProblem(std::move(kernels), 400);
  Schedule schedule;
  SramOverflow why;
  EXPECT_FALSE(scheduleByFirstFit(problem, schedule, why));
  EXPECT_FALSE(scheduleByLayoutClass(problem));
  const std::optional<Schedule> byBreadth = scheduleByBreadth(problem);
  ASSERT_TRUE(byBreadth);
  EXPECT_EQ(problem.verify(*byBreadth), "");
  EXPECT_EQ(byBreadth->scratchAddresses[22], 128);
  EXPECT_EQ(byBreadth->resultAddresses[1], 128 + 252);
}

// What is computed in the place of a larger operand takes no more than its own.
TEST(SchedulingProblem, ByBreadthTheRestOfAnOperandIsFree) {
  const SchedulingProblem problem = makeProblem({{"large", {}, 100, 0, {}},
                                                 {"small", {0}, 20, 0, {0}},
                                                 {"next", {}, 90, 0, {}},
                                                 {"end", {1, 2}, 0, 0, {}}},
                                                120);
  const std::optional<Schedule> byBreadth = scheduleByBreadth(problem);
  ASSERT_TRUE(byBreadth);
  EXPECT_EQ(problem.verify(*byBreadth), "");
}

// What each layer keeps for the end leaves first fit another state each time.
TEST(SchedulingProblem, LayersFindTheSameAddresses) {
  std::vector<KernelMemory> kernels;
  for (size_t layer = 0; layer < 4; ++layer) {
    kernels.push_back({"kept", {}, 8, 0, {}});
    kernels.push_back({"wide", {4 * layer}, 60, 40, {}});
    kernels.push_back({"narrow", {4 * layer + 1}, 40, 60, {}});
    kernels.push_back({"end", {4 * layer + 2}, 0, 20, {}});
  }
  kernels.push_back({"all", {0, 4, 8, 12}, 0, 0, {}});
  const SchedulingProblem problem = makeProblem(std::move(kernels), 192);
  EXPECT_FALSE(scheduleByLayoutClass(problem));
  const Schedule byFirstFit = solve(problem);
  const std::optional<Schedule> byLayers = scheduleByLayers(problem);
  ASSERT_TRUE(byLayers);
  EXPECT_EQ(problem.verify(*byLayers), "");
  auto alike = [](const Schedule &schedule) {
    for (size_t kernel = 4; kernel < 16; ++kernel)
      if (kernel % 4 && (schedule.resultAddresses[kernel] !=
                             schedule.resultAddresses[kernel - 4] ||
                         schedule.scratchAddresses[kernel] !=
                             schedule.scratchAddresses[kernel - 4]))
        return false;
    return true;
  };
  EXPECT_FALSE(alike(byFirstFit));
  EXPECT_TRUE(alike(*byLayers));
}

TEST(SchedulingProblem, TheLargestLaunchHasItsOperands) {
  std::vector<KernelMemory> kernels = {{"a", {}, 100, 0, {}},
                                       {"b", {}, 8, 50, {}},
                                       {"c", {0, 1, 1}, 100, 30, {}}};
  EXPECT_EQ(makeProblem(kernels).bytesOfLaunch(), 100 + 8 + 100 + 30);
  kernels[2].overwrites = {0};
  EXPECT_EQ(makeProblem(kernels).bytesOfLaunch(), 100 + 8 + 30);
}

TEST(SchedulingProblem, ChecksItsInput) {
  auto errorOf = [](std::function<void(SchedulingProblem &)> change) {
    SchedulingProblem problem = example();
    change(problem);
    return problem.check();
  };
  EXPECT_EQ(errorOf([](SchedulingProblem &p) { p.endAddress = 100; }),
            "no SRAM is left for buffers: they would begin at byte 128 of "
            "100");
  EXPECT_EQ(errorOf([](SchedulingProblem &p) { p.firstAddress = -4; }),
            "no SRAM is left for buffers: they would begin at byte -4 of "
            "1152");
  EXPECT_EQ(
      errorOf([](SchedulingProblem &p) { p.kernels[2].resultBytes = -1; }),
      "kernel 'c' asks for negative bytes");
  EXPECT_EQ(errorOf([](SchedulingProblem &p) { p.kernels[0].resultBytes = 0; }),
            "kernel 'b' reads a result that no earlier kernel makes");
  EXPECT_EQ(
      errorOf([](SchedulingProblem &p) { p.kernels[0].scratchBytes = -1; }),
      "kernel 'a' asks for negative bytes");
  EXPECT_EQ(errorOf([](SchedulingProblem &p) { p.kernels[1].operands = {1}; }),
            "kernel 'b' reads a result that no earlier kernel makes");
  EXPECT_EQ(
      errorOf([](SchedulingProblem &p) { p.kernels[2].overwrites = {0}; }),
      "kernel 'c' overwrites what it does not read");
}

/// A legal schedule of the worked example with one thing changed.
std::string errorOf(std::function<void(Schedule &)> change) {
  SchedulingProblem problem = example();
  Schedule schedule = solve(problem);
  change(schedule);
  return problem.verify(schedule);
}

TEST(BrokenSchedule, T1MissingKernel) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.slots.pop_back(); }),
            "expected slots and addresses of 3 kernels");
  EXPECT_EQ(errorOf([](Schedule &s) { s.resultAddresses.pop_back(); }),
            "expected slots and addresses of 3 kernels");
  EXPECT_EQ(errorOf([](Schedule &s) { s.scratchAddresses.pop_back(); }),
            "expected slots and addresses of 3 kernels");
}
TEST(BrokenSchedule, T1SlotOutOfRange) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.slots[2] = 3; }),
            "kernel 'c' has slot 3 of 3");
  EXPECT_EQ(errorOf([](Schedule &s) { s.slots[0] = -1; }),
            "kernel 'a' has slot -1 of 3");
}
TEST(BrokenSchedule, T1TwoKernelsInOneSlot) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.slots[2] = 1; }),
            "kernels 'b' and 'c' both have slot 1");
}
TEST(BrokenSchedule, T1BeforeWhatStoresItsTensor) {
  SchedulingProblem problem = makeProblem(
      {{"a", {}, 0, 0, {}}, {"b", {}, 0, 0, {}, 0, {0}}, {"c", {}, 0, 0, {}}});
  Schedule schedule = solve(problem);
  std::swap(schedule.slots[0], schedule.slots[1]);
  EXPECT_EQ(
      problem.verify(schedule),
      "kernel 'b' runs in slot 0, before 'a'; both use a tensor that one of "
      "them writes");
  problem.kernels[0].after = {1};
  EXPECT_EQ(problem.check(), "kernel 'a' follows no earlier kernel");
  problem.kernels[0].after = {};
  problem.kernels[0].cycles = -1;
  EXPECT_EQ(problem.check(), "kernel 'a' takes negative cycles");
}
TEST(BrokenSchedule, T1BeforeItsOperand) {
  EXPECT_EQ(errorOf([](Schedule &s) { std::swap(s.slots[1], s.slots[2]); }),
            "kernel 'c' runs in slot 1, before its operand 'b'");
}
/// The worked example as two entries, a and b of the first, c alone in the
/// second, and 40 bytes that stay between their calls.
SchedulingProblem twoEntries() {
  SchedulingProblem problem = example();
  problem.kernels[2].operands = {};
  problem.kernels[2].entry = 1;
  problem.persistents = {{"w", 0, 40}};
  return problem;
}
std::string errorOfEntries(std::function<void(Schedule &)> change) {
  SchedulingProblem problem = twoEntries();
  Schedule schedule = solve(problem);
  change(schedule);
  return problem.verify(schedule);
}

TEST(SchedulingProblem, WhatPersistsLiesLowestInAllEntries) {
  const Schedule schedule = solve(twoEntries());
  EXPECT_EQ(schedule.persistentAddresses, std::vector<int64_t>{128});
  EXPECT_EQ(schedule.resultAddresses, (std::vector<int64_t>{168, 168, 168}));
  EXPECT_EQ(schedule.slots, (std::vector<int64_t>{0, 1, 2}));
}
TEST(SchedulingProblem, WhatPersistsMayBeTooMuch) {
  SchedulingProblem problem = twoEntries();
  problem.persistents.push_back({"v", 0, 1000});
  Schedule schedule;
  SramOverflow overflow;
  EXPECT_FALSE(scheduleByFirstFit(problem, schedule, overflow));
  EXPECT_EQ(overflow.owner, 4u);
  EXPECT_EQ(overflow.message,
            "SramOverflow: 'v' needs 1000 bytes of SRAM per PE that stay; of "
            "1024 bytes for buffers, 40 are in use; largest: 40 bytes for "
            "what stays of 'w'; compile for a larger mesh or for fewer tokens");
  problem.persistents[1].bytes = 0;
  EXPECT_EQ(problem.check(), "'v' stays on the wafer and has no bytes");
}
TEST(SchedulingProblem, EntriesStandOneAfterTheOther) {
  SchedulingProblem problem = twoEntries();
  problem.kernels[0].entry = 1;
  EXPECT_EQ(problem.check(), "kernel 'b' stands behind those of another entry");
}
TEST(BrokenSchedule, T1AmongAnotherEntry) {
  EXPECT_EQ(
      errorOfEntries([](Schedule &s) { std::swap(s.slots[1], s.slots[2]); }),
      "kernel 'b' runs in slot 2, behind 'c' of a later entry");
}
TEST(BrokenSchedule, T2NoAddressOfWhatPersists) {
  EXPECT_EQ(errorOfEntries([](Schedule &s) { s.persistentAddresses.clear(); }),
            "expected addresses of 1 that persist");
}
TEST(BrokenSchedule, T3OverwritesWhatPersists) {
  EXPECT_EQ(errorOfEntries([](Schedule &s) { s.resultAddresses[2] = 160; }),
            "result of 'c' at [160,192) overlaps persistent 'w' at [128,168) "
            "in slot 2");
}
TEST(BrokenSchedule, T2Unaligned) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.resultAddresses[2] = 194; }),
            "result of 'c' at [194,226) is not aligned to 4 bytes");
}
TEST(BrokenSchedule, T2OutsideTheSram) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.scratchAddresses[1] = 1120; }),
            "scratch of 'b' at [1120,1184) leaves the SRAM for buffers, "
            "[128,1152)");
  EXPECT_EQ(errorOf([](Schedule &s) { s.resultAddresses[0] = 64; }),
            "result of 'a' at [64,128) leaves the SRAM for buffers, "
            "[128,1152)");
}
TEST(BrokenSchedule, T3Overlap) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.resultAddresses[2] = 160; }),
            "result of 'c' at [160,192) overlaps result of 'b' at [128,192) "
            "in slot 2");
}
TEST(BrokenSchedule, T3OverwritesFromAnotherAddress) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.resultAddresses[1] = 132; }),
            "result of 'b' at [132,196) overlaps result of 'a' at [128,192) "
            "in slot 1");
}
TEST(BrokenSchedule, T3OverwritesTheEndOfAnOperand) {
  SchedulingProblem problem = example();
  Schedule schedule = solve(problem);
  problem.kernels[1].resultBytes = 32;
  schedule.resultAddresses[1] = 160; // of a: [128,192)
  EXPECT_EQ(problem.verify(schedule),
            "result of 'b' at [160,192) overlaps result of 'a' at [128,192) "
            "in slot 1");
}
TEST(BrokenSchedule, T3OverwritesMoreThanTheOperand) {
  SchedulingProblem problem = example();
  Schedule schedule = solve(problem);
  problem.kernels[1].resultBytes = 128;
  EXPECT_EQ(problem.verify(schedule),
            "result of 'b' at [128,256) overlaps result of 'a' at [128,192) "
            "in slot 1");
}
TEST(BrokenSchedule, T3ScratchOverwritesNothing) {
  EXPECT_EQ(errorOf([](Schedule &s) {
              s.resultAddresses[1] = 192;
              s.scratchAddresses[1] = 128;
            }),
            "scratch of 'b' at [128,192) overlaps result of 'a' at [128,192) "
            "in slot 1");
}
TEST(BrokenSchedule, T3OverwritesALiveOperand) {
  SchedulingProblem problem = example();
  Schedule schedule = solve(problem);
  problem.kernels[2].operands.push_back(0);
  EXPECT_EQ(problem.verify(schedule),
            "result of 'b' at [128,192) overlaps result of 'a' at [128,192) "
            "in slot 1");
}
TEST(BrokenSchedule, T4HighWater) {
  EXPECT_EQ(errorOf([](Schedule &s) { s.highWater = 192; }),
            "buffers end at byte 256, the high-water mark is given as 192");
  EXPECT_EQ(errorOf([](Schedule &s) { s.highWaterKernel = 0; }),
            "the high-water mark is not that of the kernel it is given to");
}
TEST(BrokenSchedule, T4HighWaterOfWhatPersists) {
  EXPECT_EQ(
      errorOfEntries([](Schedule &s) { s.persistentAddresses[0] = 1000; }),
      "buffers end at byte 1040, the high-water mark is given as 296");
  EXPECT_EQ(errorOfEntries([](Schedule &s) {
              s.persistentAddresses[0] = 1000;
              s.highWater = 1040;
              s.highWaterKernel = 3;
            }),
            "");
}

} // namespace
