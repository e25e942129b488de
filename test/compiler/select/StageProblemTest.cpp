// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/StageProblem.h"
#include "compiler/select/StagePartitioner.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace wsec;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The worked example of StageProblem.h.
StageProblem example() {
  StageProblem problem;
  problem.rows = {{{{0, 8}}}};
  problem.mostStages = 3;
  problem.widths = {2, 4, 8};
  problem.cycles = {{60, 20, 40}, {30, 10, 20}, {20, 8, 15}};
  problem.leaving = problem.entering = {{0, 2, 2}, {0, 2, 2}, {0, 2, 2}};
  problem.bytes = problem.working = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  return problem;
}

TEST(StageProblem, Example) {
  StageProblem problem = example();
  ASSERT_EQ(problem.check(), "");
  std::optional<StagePlan> plan = partitionStages(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(problem.verify(*plan), "");
  EXPECT_EQ(plan->cycles, 32);
  ASSERT_EQ(plan->stages.size(), 2u);
  EXPECT_EQ(plan->stages[0].end, 1u);
}

TEST(StageProblem, WhatDoesNotFitAlone) {
  StageProblem problem = example();
  problem.room = 10;
  problem.bytes = {{20, 20, 20}, {10, 10, 10}, {5, 5, 5}};
  EXPECT_FALSE(partitionStages(problem));
  problem.rows = {{{{0, 12}}}};
  std::optional<StagePlan> plan = partitionStages(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(problem.verify(*plan), "");
}

/// Cut at some places only, it is still a plan, and nearly as fast as any.
TEST(StageProblem, ManyKernels) {
  constexpr size_t count = 5000;
  StageProblem problem;
  problem.rows = {{{{0, 64}}}};
  problem.mostStages = 8;
  problem.widths = {8, 16};
  problem.cycles.assign(2, std::vector<double>(count, 1));
  problem.leaving.assign(2, std::vector<double>(count, 9));
  for (std::vector<double> &its : problem.leaving)
    for (size_t at = 0; at < count; at += 5)
      its[at] = 1;
  problem.entering = problem.leaving;
  problem.bytes.assign(2, std::vector<int64_t>(count, 0));
  problem.working = problem.bytes;
  std::optional<StagePlan> plan = partitionStages(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(problem.verify(*plan), "");
  EXPECT_EQ(plan->stages.size(), 8u);
  EXPECT_LT(plan->cycles, count / 8 * 1.01 + 2);
}

TEST(StageProblem, Check) {
  StageProblem problem = example();
  problem.widths = {4, 2, 8};
  EXPECT_EQ(problem.check(), "widths are positive, and ascend");
  problem.widths = {0, 2, 4};
  EXPECT_EQ(problem.check(), "widths are positive, and ascend");
  problem.widths = {};
  EXPECT_EQ(problem.check(), "widths are positive, and ascend");
  auto withoutLast = [](auto &table) { table[1].pop_back(); };
  for (int table = 0; table < 5; ++table) {
    problem = example();
    table == 0   ? withoutLast(problem.cycles)
    : table == 1 ? withoutLast(problem.leaving)
    : table == 2 ? withoutLast(problem.entering)
    : table == 3 ? withoutLast(problem.bytes)
                 : withoutLast(problem.working);
    EXPECT_EQ(
        problem.check(),
        "each kernel has cycles and bytes on each width, and what leaves and "
        "enters before it");
  }
  problem = example();
  problem.cycles[1][2] = never;
  EXPECT_EQ(problem.check(), "cycles are finite");
  problem = example();
  problem.mostStages = 0;
  EXPECT_EQ(problem.check(), "at least one stage is needed");
  EXPECT_EQ(StageProblem().check(), "there are no kernels");
}

// What a kernel uses beside what stays counts once, in the stage that has it.
TEST(StageProblem, WorkingBytesOfTheMostHungry) {
  StageProblem problem = example();
  problem.room = 10;
  problem.bytes.assign(3, {2, 2, 2});
  problem.working.assign(3, {5, 3, 7});
  EXPECT_EQ(problem.bytesOf({0, 2, 1}), 4 + 5);
  EXPECT_EQ(problem.bytesOf({0, 3, 2}), 6 + 7);
  std::optional<StagePlan> plan = partitionStages(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(problem.verify(*plan), "");
  // All on one stage do not fit, nor do b and c.
  problem.mostStages = 1;
  EXPECT_FALSE(partitionStages(problem));
}

class Broken : public ::testing::Test {
protected:
  StageProblem problem = example();
  StagePlan plan = *partitionStages(problem);
};

TEST_F(Broken, G1Gap) {
  plan.stages[1].begin = 2;
  EXPECT_EQ(problem.verify(plan),
            "G1: stage [2, 3) does not go on at kernel 1 of 3");
}
TEST_F(Broken, G1NoKernels) {
  plan.stages.insert(plan.stages.begin(), {0, 0, 0});
  EXPECT_EQ(problem.verify(plan),
            "G1: stage [0, 0) does not go on at kernel 0 of 3");
}
TEST_F(Broken, G1BeyondTheLastKernel) {
  plan.stages[1].end = 4;
  EXPECT_EQ(problem.verify(plan),
            "G1: stage [1, 4) does not go on at kernel 1 of 3");
}
TEST_F(Broken, G1LeavesKernelsOut) {
  plan.stages.pop_back();
  EXPECT_EQ(problem.verify(plan), "G1: 1 stages have 1 of 3 kernels");
}
TEST_F(Broken, G1TooMany) {
  problem.mostStages = 1;
  EXPECT_EQ(problem.verify(plan),
            "G1: 2 stages in row 1, there may be 1 in each of 1");
}
TEST_F(Broken, G1TooManyRows) {
  plan.stages[1].turns = true;
  EXPECT_EQ(problem.verify(plan),
            "G1: 1 stages in row 2, there may be 3 in each of 1");
}
TEST_F(Broken, G2TooWide) {
  plan.stages[1].width = 2;
  EXPECT_EQ(problem.verify(plan),
            "G2: no 8 columns are free in row 1 from column 4 on");
}
TEST_F(Broken, G2NoWidth) {
  plan.stages[1].width = 3;
  EXPECT_EQ(problem.verify(plan), "G2: there is no width 3");
}
TEST_F(Broken, G3Crossing) {
  for (std::vector<double> &row : problem.entering)
    row[1] = never;
  EXPECT_EQ(problem.verify(plan),
            "G3: what kernels [1, 3) take or hand over cannot cross");
}
TEST_F(Broken, G4Bytes) {
  problem.bytes[1] = {0, 3, 4};
  EXPECT_EQ(problem.verify(plan),
            "G4: kernels [1, 3) hold 7 bytes in a PE of 0");
}
TEST_F(Broken, G4Working) {
  problem.working[1] = {0, 3, 4};
  EXPECT_EQ(problem.verify(plan),
            "G4: kernels [1, 3) hold 4 bytes in a PE of 0");
}
TEST_F(Broken, G5Cycles) {
  plan.cycles = 31;
  EXPECT_EQ(problem.verify(plan).substr(0, 21), "G5: the slowest stage");
}
TEST_F(Broken, G5Latency) {
  plan.latency = 31;
  EXPECT_EQ(problem.verify(plan).substr(0, 14), "G5: all stages");
}

/// All plans, one after the other.
class Oracle {
public:
  explicit Oracle(const StageProblem &problem) : problem(problem) { extend(); }
  double least = never;

private:
  void extend() {
    const size_t next = plan.stages.empty() ? 0 : plan.stages.back().end;
    if (next == problem.kernelCount()) {
      plan.cycles = plan.latency = 0;
      for (size_t i = 0; i < plan.stages.size(); ++i) {
        const double its =
            problem.cyclesOf(plan.stages[i], i + 1 < plan.stages.size() &&
                                                 plan.stages[i + 1].turns);
        plan.cycles = std::max(plan.cycles, its);
        plan.latency += its;
      }
      if (problem.verify(plan).empty())
        least = std::min(least, plan.cycles);
      return;
    }
    for (size_t end = next + 1; end <= problem.kernelCount(); ++end)
      for (size_t width = 0; width < problem.widths.size(); ++width)
        for (bool turns : {false, true}) {
          if (turns && (next == 0 || problem.rows.size() == 1))
            continue;
          plan.stages.push_back({next, end, width, turns});
          extend();
          plan.stages.pop_back();
        }
  }

  const StageProblem &problem;
  StagePlan plan;
};

StageProblem randomProblem(std::mt19937 &random) {
  auto number = [&](int most) { return int(random() % unsigned(most + 1)); };
  StageProblem problem;
  const int64_t columns = 1 + number(11);
  for (int row = number(2); row >= 0; --row) {
    std::vector<PlacedRegion> keepOuts;
    for (int i = number(2); i > 0; --i)
      keepOuts.push_back({number(int(columns) - 1), number(2), 1, 1});
    problem.rows.push_back(freeColumns(columns, row, 1, keepOuts));
  }
  problem.mostStages = 1 + size_t(number(4));
  problem.room = number(16);
  const size_t kernels = 1 + size_t(number(5));
  int64_t width = 0;
  for (int w = 1 + number(2); w > 0; --w)
    problem.widths.push_back(width += 1 + number(3));
  for (size_t w = 0; w < problem.widths.size(); ++w) {
    problem.cycles.emplace_back();
    problem.leaving.emplace_back();
    problem.entering.emplace_back();
    problem.storing.emplace_back();
    problem.loading.emplace_back();
    problem.bytes.emplace_back();
    problem.working.emplace_back();
    for (size_t k = 0; k < kernels; ++k) {
      problem.cycles[w].push_back(number(40));
      const bool isOpen = w ? problem.entering[0][k] < never : number(4) > 0;
      problem.leaving[w].push_back(isOpen ? number(6) : never);
      problem.entering[w].push_back(isOpen ? number(6) : never);
      problem.storing[w].push_back(isOpen ? number(9) : never);
      problem.loading[w].push_back(isOpen ? number(9) : never);
      problem.bytes[w].push_back(number(5));
      problem.working[w].push_back(number(4));
    }
  }
  return problem;
}

TEST(StagePartitioner, AsFastAsAnyPlan) {
  std::mt19937 random(1);
  int solved = 0, turns = 0;
  for (int i = 0; i < 1500; ++i) {
    StageProblem problem = randomProblem(random);
    ASSERT_EQ(problem.check(), "");
    const double least = Oracle(problem).least;
    std::optional<StagePlan> plan = partitionStages(problem);
    ASSERT_EQ(plan.has_value(), least < never) << i;
    if (!plan)
      continue;
    ++solved;
    ASSERT_EQ(problem.verify(*plan), "") << i;
    ASSERT_EQ(plan->cycles, least) << i;
    for (const Stage &stage : plan->stages)
      turns += stage.turns;
  }
  EXPECT_GT(solved, 500);
  EXPECT_GT(turns, 200);
}

/// a 100, b `middle`, c 100, on one width; a quarter to take or hand over.
StageProblem twoLong(double middle) {
  StageProblem problem;
  problem.rows = {{{{0, 3}}}};
  problem.mostStages = 3;
  problem.widths = {1};
  problem.cycles = {{100, middle, 100}};
  problem.leaving = problem.entering = {{0, 0.25, 0.25}};
  problem.bytes = problem.working = {{0, 0, 0}};
  return problem;
}

/// All have the share of the channels that they count on.
void asItIs(size_t, StagePlan &) {}

/// A choice that counts how often it asks for a problem.
class CountingChoice {
public:
  explicit CountingChoice(std::vector<StageProblem> problems)
      : problems(std::move(problems)), answers(this->problems.size()) {}

  std::optional<StageChoice::Chosen> best() {
    StageChoice choice(
        [this](size_t number) {
          ++asked;
          return problems[number];
        },
        asItIs);
    for (StageAnswers &known : answers)
      choice.add(known);
    return choice.best();
  }

  const std::vector<StageProblem> problems;
  std::vector<StageAnswers> answers;
  size_t asked = 0;
};

StageChoice::Chosen chosenOf(std::vector<StageProblem> problems) {
  return CountingChoice(std::move(problems)).best().value();
}

TEST(StageChoice, ANearTieGoesToLatency) {
  // | a | b | c | takes 100.25, a sample alone 202; | a b | c | 101.25 and
  // 201.5, which is 1 % more.
  StagePlan plan = chosenOf({twoLong(1)}).plan;
  EXPECT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.cycles, 101.25);
  EXPECT_EQ(plan.latency, 201.5);
}
TEST(StageChoice, ThroughputComesFirst) {
  // | a b | c | takes 3 % more than | a | b | c |.
  StagePlan plan = chosenOf({twoLong(3)}).plan;
  EXPECT_EQ(plan.stages.size(), 3u);
  EXPECT_EQ(plan.cycles, 100.25);
}
TEST(StageChoice, OfSeveralProblems) {
  // The second is faster by 1 % than the first, which has less latency; the
  // third has no plan, the fourth takes 20 % more.
  StageProblem faster = twoLong(1), slower = twoLong(1), none = twoLong(1);
  faster.cycles = {{99, 99, 99}};
  slower.cycles = {{120, 1, 0}};
  none.widths = {4};
  EXPECT_EQ(chosenOf({twoLong(1), faster}).problem, 0u);
  EXPECT_EQ(chosenOf({faster, twoLong(1)}).problem, 1u);
  EXPECT_EQ(chosenOf({faster, none, slower}).problem, 0u);
  EXPECT_FALSE(CountingChoice({}).best());
}
TEST(StageChoice, WithTheChannelsThatStagesGet) {
  // | a | b | c | takes 10 more than with an even share, and loses.
  StageAnswers known;
  StageChoice choice([](size_t) { return twoLong(3); },
                     [](size_t, StagePlan &plan) {
                       if (plan.stages.size() == 3)
                         plan.cycles += 10;
                     });
  choice.add(known);
  const StagePlan plan = choice.best()->plan;
  EXPECT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.cycles, 103.25);
}
/// Stages of the best of | a | b | c | and | a b c | for so many samples.
size_t stagesFor(int64_t samples, const StageChoice::Finish &finish) {
  StageProblem one = twoLong(3);
  one.mostStages = 1;
  const std::vector<StageProblem> problems = {twoLong(3), one};
  std::vector<StageAnswers> known(2);
  StageChoice choice([&](size_t number) { return problems[number]; }, finish,
                     samples);
  for (StageAnswers &its : known)
    choice.add(its);
  return choice.best()->plan.stages.size();
}

TEST(StageChoice, ForSoManySamples) {
  // Of a sample | a | b | c | takes 100.25 and alone 304, | a b c | 203 alone.
  EXPECT_EQ(stagesFor(1, asItIs), 1u);
  EXPECT_EQ(stagesFor(2, asItIs), 3u);
  EXPECT_EQ(stagesFor(0, asItIs), 3u);
}
TEST(StageChoice, LoadingCountsOnce) {
  // | a | b | c | has to wait long until its weights are there.
  auto loadsLong = [](size_t, StagePlan &plan) {
    plan.load = plan.stages.size() > 1 ? 1000 : 0;
  };
  EXPECT_EQ(stagesFor(10, loadsLong), 1u);
  EXPECT_EQ(stagesFor(11, loadsLong), 3u);
}
TEST(StageChoice, OneStageIsNoPipeline) {
  StageProblem problem = twoLong(1);
  problem.mostStages = 1;
  EXPECT_FALSE(CountingChoice({problem}).best());
}
TEST(StageChoice, WhatIsKnownIsNotAskedAgain) {
  // The second takes longer than the first, by which it is known to be no
  // answer; without the first it has to be solved.
  StageProblem slower = twoLong(1);
  slower.cycles = {{120, 1, 0}};
  CountingChoice both({twoLong(1), slower});
  const StagePlan plan = both.best()->plan;
  EXPECT_EQ(both.asked, 3u); // to solve, to compare, the best one's own
  EXPECT_TRUE(both.answers[0].least);
  EXPECT_FALSE(both.answers[1].least);
  both.asked = 0;
  EXPECT_EQ(both.best()->plan.latency, plan.latency);
  EXPECT_EQ(both.asked, 1u);

  CountingChoice alone({slower});
  alone.answers = {both.answers[1]};
  const double cycles = alone.best()->plan.cycles;
  EXPECT_EQ(cycles, CountingChoice({slower}).best()->plan.cycles);
  EXPECT_TRUE(alone.answers[0].least);
}
/// Rows of stages with fewer and fewer stages in each, as attempts have them.
TEST(StageChoice, WhatIsKnownChangesNoAnswer) {
  std::mt19937 random(2);
  int chosen = 0, fewerAsked = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<StageProblem> problems;
    for (int n = 0; n < 4; ++n)
      problems.push_back(randomProblem(random));
    std::vector<StageAnswers> known(problems.size());
    for (size_t most = 4; most > 0; --most) {
      for (StageProblem &problem : problems)
        problem.mostStages = most;
      CountingChoice fresh(problems), remembers(problems);
      for (size_t n = 0; n < problems.size(); ++n)
        remembers.answers[n].isPartOf(known[n]);
      const auto expected = fresh.best(), actual = remembers.best();
      ASSERT_EQ(actual.has_value(), expected.has_value()) << i;
      fewerAsked += remembers.asked < fresh.asked;
      known = remembers.answers;
      if (!expected)
        continue;
      ++chosen;
      ASSERT_EQ(actual->problem, expected->problem) << i;
      ASSERT_EQ(actual->plan.cycles, expected->plan.cycles) << i;
      ASSERT_EQ(actual->plan.latency, expected->plan.latency) << i;
    }
  }
  EXPECT_GT(chosen, 200);
  EXPECT_GT(fewerAsked, 100);
}
TEST(StageChoice, HasAPlan) {
  StageProblem none = twoLong(1);
  none.widths = {4};
  size_t asked = 0;
  for (const auto &[problem, has] :
       {std::pair(twoLong(1), true), std::pair(none, false)}) {
    StageAnswers known;
    StageChoice choice(
        [&, its = problem](size_t) {
          ++asked;
          return its;
        },
        asItIs);
    EXPECT_EQ(choice.hasPlan(known), has);
    EXPECT_EQ(choice.hasPlan(known), has);
  }
  EXPECT_EQ(asked, 2u);
}

} // namespace
