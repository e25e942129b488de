// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/plan/NextPlan.h"

#include "gtest/gtest.h"

using namespace wsec::plan;

namespace {

Outcome shortOf(Lack lack, int64_t code = 0) {
  Outcome outcome;
  outcome.shortages.push_back({lack, code, 0, "it lacks"});
  outcome.regions = outcome.abreast = 1;
  outcome.columns = 8;
  outcome.rows = 6;
  outcome.kernels = 20;
  outcome.usableBytes = 40000;
  return outcome;
}

std::string textOf(const Constraints &plan) {
  std::string text;
  llvm::raw_string_ostream(text) << plan;
  return text;
}

/// All plans that are tried while the same comes of each, from the first on.
std::vector<std::string> plansFor(const Outcome &outcome, const Asked &asked) {
  std::vector<std::string> plans;
  Constraints plan = firstPlan(asked);
  while (const std::optional<Step> step = nextPlan(plan, outcome, asked)) {
    plan = step->plan;
    plans.push_back(step->note + "|" + textOf(plan));
    if (plans.size() > 100)
      break;
  }
  return plans;
}

constexpr const char *any = "abreast=4,abreast=4,abreast=4";
constexpr const char *none = "abreast=0,abreast=0,abreast=0";

TEST(NextPlanTest, nothingIsTriedWhereNothingLacks) {
  EXPECT_FALSE(nextPlan(firstPlan({}), Outcome(), {}));
  EXPECT_FALSE(nextPlan(firstPlan({}), shortOf(Lack::Place), {}));
}

TEST(NextPlanTest, colorsTakeFewerStreamsThenFewerRows) {
  Outcome outcome = shortOf(Lack::Colors);
  const Step first = *nextPlan(firstPlan({}), outcome, {});
  EXPECT_TRUE(first.plan.fewColors);
  EXPECT_TRUE(first.plan.region.empty());
  const Step second = *nextPlan(first.plan, outcome, {});
  EXPECT_EQ(second.plan.region, "8x3");
  EXPECT_EQ(second.note, "the region has fewer rows: it lacks");
  EXPECT_TRUE(second.keepsError);
  outcome.rows = 3;
  const Step third = *nextPlan(second.plan, outcome, {});
  EXPECT_EQ(third.plan.region, "8x1");
  EXPECT_EQ(third.note, "");
  outcome.rows = 1;
  EXPECT_FALSE(nextPlan(third.plan, outcome, {}));
  // Where the user has a region it stays.
  Asked asked;
  asked.region = true;
  EXPECT_FALSE(nextPlan(first.plan, outcome, asked));
}

TEST(NextPlanTest, sramIsTriedWithItsCodeThenWithLittleScratch) {
  const std::vector<std::string> plans =
      plansFor(shortOf(Lack::Sram, 12000), {});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0],
            std::string("|") + any + ",stages=1,stage-rows=1,code=12000");
  EXPECT_EQ(plans[1], std::string("|") + none +
                          ",stages=1,stage-rows=1,code=12000,little-scratch");
}

TEST(NextPlanTest, muchCodeGoesOnSeveralRegions) {
  Outcome outcome = shortOf(Lack::Sram, 20000);
  std::vector<std::string> plans = plansFor(outcome, {});
  // Two to six, for each of which one region came of it, then numbers.
  ASSERT_EQ(plans.size(), 10u);
  EXPECT_EQ(plans[2], std::string("kernels on several regions: it lacks|") +
                          any +
                          ",stages=2,stage-rows=1,code=20000,spread-code,"
                          "little-scratch");
  // With more room for code where there were two.
  outcome.regions = outcome.abreast = 2;
  Constraints plan = firstPlan({});
  plan.spreadCode = true;
  plan.code = plan.codeOfOne = 20000;
  plan.stages = 2;
  EXPECT_EQ(nextPlan(plan, outcome, {})->plan.code, 25000);
}

Outcome shortOfScratch(std::vector<ScratchShortage> scratch) {
  Outcome outcome = shortOf(Lack::Sram, 12000);
  outcome.shortages[0].scratch = std::move(scratch);
  return outcome;
}

TEST(NextPlanTest, aKernelWithoutRoomTakesLessScratchFirst) {
  const Outcome outcome = shortOfScratch(
      {{"attention a 0", 4000, 9000, 1000}, {"matmul m 1", 300, 400, 300}});
  const Step step = *nextPlan(firstPlan({}), outcome, {});
  EXPECT_EQ(step.plan.code, 0);
  EXPECT_EQ(textOf(step.plan).substr(textOf(step.plan).find("scratch")),
            "scratch=4000:attention a 0,scratch=300:matmul m 1");
  // Where that was not enough, it is not asked for again.
  EXPECT_EQ(nextPlan(step.plan, outcome, {})->plan.code, 12000);
  // With less room it takes less than before, and never more.
  EXPECT_EQ(nextPlan(step.plan,
                     shortOfScratch({{"attention a 0", 3000, 9000, 1000}}), {})
                ->plan.scratch.at("attention a 0"),
            3000);
  EXPECT_EQ(nextPlan(step.plan,
                     shortOfScratch({{"attention a 0", 5000, 9000, 1000}}), {})
                ->plan.scratch.at("attention a 0"),
            4000);
}

TEST(NextPlanTest, codeComesFirstWhereTheLeastScratchHasNoRoom) {
  const Outcome outcome = shortOfScratch({{"attention a 0", 4000, 9000, 5000}});
  const std::vector<std::string> plans = plansFor(outcome, {});
  ASSERT_GE(plans.size(), 3u);
  EXPECT_NE(plans[0].find("code=12000"), std::string::npos);
  EXPECT_EQ(plans[0].find("scratch="), std::string::npos);
  EXPECT_NE(plans[1].find("scratch=5000:attention a 0"), std::string::npos);
  EXPECT_NE(plans[2].find("little-scratch"), std::string::npos);
}

TEST(NextPlanTest, limitsWhoseCodeLeavesNoRoomGiveWayToRoomForTheLaunch) {
  Outcome outcome = shortOf(Lack::Sram, 41000);
  outcome.shortages[0].launch = 9000;
  Constraints plan = firstPlan({});
  plan.scratch["matmul up 0"] = 8000;
  const Step step = *nextPlan(plan, outcome, {});
  EXPECT_EQ(step.plan.code, 31000);
  EXPECT_TRUE(step.plan.scratch.empty());
  // There is nothing to give way without limits, nor where there is room.
  EXPECT_NE(nextPlan(firstPlan({}), outcome, {})->plan.code, 31000);
  outcome.shortages[0].code = 39000;
  EXPECT_NE(nextPlan(plan, outcome, {})->plan.code, 31000);
}

TEST(NextPlanTest, aKernelThatTakesTheLeastIsNotAskedForLess) {
  const std::vector<std::string> plans =
      plansFor(shortOfScratch({{"layer_norm n 0", 100, 200, 200}}), {});
  ASSERT_GE(plans.size(), 2u);
  for (const std::string &plan : plans)
    EXPECT_EQ(plan.find("scratch="), std::string::npos) << plan;
}

TEST(NextPlanTest, whereWeightsStayKernelsAreNotAskedForLessScratch) {
  Asked asked;
  asked.resident = true;
  const Outcome outcome = shortOfScratch({{"attention a 0", 4000, 9000, 1000}});
  EXPECT_TRUE(nextPlan(firstPlan(asked), outcome, asked)->plan.scratch.empty());
}

TEST(NextPlanTest, scratchIsReadBackAsItIsWritten) {
  Constraints plan;
  plan.scratch = {{"matmul a=b:c 1", 12}, {"store s 0", 0}};
  Constraints read;
  EXPECT_EQ(parse(textOf(plan), read), "");
  EXPECT_EQ(read.scratch, plan.scratch);
  EXPECT_NE(parse("scratch=12", read), "");
  EXPECT_NE(parse("scratch=some:matmul a 0", read), "");
  EXPECT_NE(parse("scratch=-5:matmul a 0", read), "");
  EXPECT_EQ(read.scratch, plan.scratch);
  // The least of one kernel counts.
  EXPECT_EQ(parse("scratch=5:store s 1,scratch=9:store s 1", read), "");
  EXPECT_EQ(read.scratch.at("store s 1"), 5);
}

TEST(NextPlanTest, codeOfATrialStaysOnOneRegion) {
  Asked asked;
  asked.codeTogether = true;
  const auto plans = plansFor(shortOf(Lack::Sram, 20000), asked);
  ASSERT_EQ(plans.size(), 5u);
  for (const std::string &plan : plans)
    EXPECT_EQ(plan.find("spread-code"), std::string::npos) << plan;
}

TEST(NextPlanTest, launchesCarryNumbersAtLast) {
  Outcome outcome = shortOf(Lack::Sram, 20000);
  Asked asked;
  asked.region = true;
  const std::vector<std::string> plans = plansFor(outcome, asked);
  // With the room and the scratch of the first plan, then with less again.
  ASSERT_EQ(plans.size(), 5u);
  EXPECT_NE(plans[2].find("code=0,carry-numbers"), std::string::npos)
      << plans[2];
  EXPECT_NE(plans[4].find("little-scratch,carry-numbers"), std::string::npos)
      << plans[4];
  // After several regions on one again; these are not tried once more.
  const std::vector<std::string> later = plansFor(outcome, {});
  for (size_t i = 7; i < later.size(); ++i) {
    EXPECT_NE(later[i].find("carry-numbers"), std::string::npos) << later[i];
    EXPECT_EQ(later[i].find("spread-code"), std::string::npos) << later[i];
  }
  // Not of much more code than a PE holds, of little, or of entries.
  EXPECT_EQ(plansFor(shortOf(Lack::Sram, 80000), asked).size(), 1u);
  EXPECT_EQ(plansFor(shortOf(Lack::Sram, 13333), asked).size(), 2u);
  outcome.hasEntries = true;
  EXPECT_EQ(plansFor(outcome, asked).size(), 2u);
}

TEST(NextPlanTest, codeThatNoPlanHoldsEndsTheSearch) {
  const std::vector<std::string> plans =
      plansFor(shortOf(Lack::Sram, 6 * 40000), {});
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_NE(plans[0].find("little-scratch"), std::string::npos);
  // What six hold is spread over two first.
  EXPECT_GT(plansFor(shortOf(Lack::Sram, 6 * 40000 - 1), {}).size(), 3u);
}

TEST(NextPlanTest, regionsDoNotHelpALaunchThatTakesAllOfAPE) {
  Outcome outcome = shortOf(Lack::Sram, 20000);
  outcome.shortages[0].launch = 37000; // beside a sixth of the code
  EXPECT_EQ(plansFor(outcome, {}).size(), 5u);
  outcome.shortages[0].launch = 36000;
  EXPECT_EQ(plansFor(outcome, {}).size(), 10u);
}

TEST(NextPlanTest, entriesStayOnOneRegion) {
  Outcome outcome = shortOf(Lack::Sram, 20000);
  outcome.hasEntries = true;
  EXPECT_EQ(plansFor(outcome, {}).size(), 2u);
}

TEST(NextPlanTest, weightsOfEntriesStayOrAreRefused) {
  Asked asked;
  asked.resident = asked.stages = true;
  Outcome outcome = shortOf(Lack::Sram, 20000);
  outcome.hasEntries = true;
  const std::vector<std::string> plans = plansFor(outcome, asked);
  EXPECT_GT(plans.size(), 2u);
  for (const std::string &plan : plans)
    EXPECT_NE(plan.find("keep-weights"), std::string::npos) << plan;
}

TEST(NextPlanTest, aPipelineHasFewerStagesThenStreams) {
  Asked asked;
  asked.resident = asked.stages = true;
  Outcome outcome = shortOf(Lack::Colors);
  outcome.regions = outcome.abreast = 4;
  const Step fewer = *nextPlan(firstPlan(asked), outcome, asked);
  EXPECT_EQ(fewer.plan.stages, 3);
  EXPECT_EQ(fewer.note, "fewer than 4 stages: it lacks");
  // In two rows first in one.
  outcome.abreast = 2;
  const Step inOneRow = *nextPlan(firstPlan(asked), outcome, asked);
  EXPECT_EQ(inOneRow.plan.stageRows, 1);
  EXPECT_EQ(inOneRow.plan.stages, firstPlan(asked).stages);
  Outcome full = shortOf(Lack::Sram);
  full.regions = full.abreast = 4;
  Constraints plan = firstPlan(asked);
  plan.code = 32768;
  const Step streams = *nextPlan(plan, full, asked);
  EXPECT_FALSE(streams.plan.keepWeights);
  EXPECT_EQ(streams.note, "weights do not stay on the wafer: it lacks");
}

TEST(NextPlanTest, constraintsAreReadAsTheyArePrinted) {
  Constraints plan = firstPlan({});
  plan.region = "8x4";
  plan.code = 9000;
  plan.fewColors = plan.whereFaster = true;
  Constraints read;
  EXPECT_EQ(parse(textOf(plan), read), "");
  EXPECT_EQ(textOf(read), textOf(plan));
  EXPECT_EQ(parse("stages=x", read).substr(0, 31),
            "'stages=x' is no constraint: re");
  EXPECT_NE(parse("few-colors=1", read), "");
  EXPECT_NE(parse("fewer", read), "");
}

} // namespace
