// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/machine/Machine.h"
#include "tools/estimate/Report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

using namespace wsec::estimate;
using wsec::presets::presetNamed;
using wsec::presets::workloadOf;

namespace {
const Efficiency measured{measuredEta, idealBeta}, ideal{idealEta, idealBeta};

Step stepOf(int64_t systems, int64_t batch) {
  Step step;
  step.systems = systems;
  step.batch = batch;
  return step;
}
} // namespace

#define EXPECT_WITHIN(actual, expected, fraction)                              \
  EXPECT_NEAR(actual, expected, std::abs(expected) * (fraction))

//===----------------------------------------------------------------------===//
// What others measured or published
//===----------------------------------------------------------------------===//

/// Without attention the tokens that hide a pass do not depend on the model:
/// the vendor's advice for GPT-3 13B, more than 24 sequences of 2048 per wafer,
/// is the same number.
TEST(EstimateTest, BreakEvenIsTheVendorsAdvice) {
  Workload work = workloadOf(presetNamed("gpt3-13b"));
  work.attentionFlops = 0;
  EXPECT_WITHIN(breakEven(work, {}, {}, ideal), 50000.0, 1e-9);
  EXPECT_WITHIN(breakEven(work, {}, {}, measured), 11000.0, 1e-9);
  EXPECT_WITHIN(breakEven(work, {}, {}, {measuredEta, measuredBeta}), 16667.0,
                1e-4);
  EXPECT_WITHIN(breakEven(work, {}, {}, ideal), 24.0 * 2048, 0.02);
}

/// Llama-2-7B with 8 sequences of 1024 on one wafer: 58.7 samples a second in
/// evaluation (beta is fitted to this), 0.36 to 0.53 s a step in training.
TEST(EstimateTest, SmallBatchesAreBoundByTheLink) {
  Workload work = workloadOf(presetNamed("llama-7b"), 1024);
  work.productParameters = work.parameters;
  work.productFlops = 2.0 * double(work.parameters);
  Step step = stepOf(1, 8);
  step.mode = Step::Mode::Eval;
  Cluster wafer3;
  wafer3.peakFlops = 15e15;
  const Estimate eval = estimateStep(work, wafer3, step, {0.23, measuredBeta});
  EXPECT_WITHIN(eval.step, 0.136, 0.01);
  EXPECT_EQ(eval.regime, Regime::Stream);
  // Two passes down and the gradients up, one after the other.
  const double serialized = 2 * eval.weightsDown + eval.weightsDown;
  EXPECT_WITHIN(serialized, 0.408, 0.01);
  EXPECT_GT(serialized, 0.36);
  EXPECT_LT(serialized, 0.53);
  // Against 3.47 PF/s of the same wafer where compute is the limit.
  Workload plain = work;
  plain.attentionFlops = 0;
  const double needed = breakEven(plain, wafer3, step, {0.23, measuredBeta});
  EXPECT_WITHIN(needed, 34.8e3, 0.01);
  EXPECT_WITHIN(8192 / needed, 0.90 / 3.47, 0.11);
}

/// Activations limit the batch: sequences per wafer of the vendor's own
/// configurations, within 20 %.
TEST(EstimateTest, SequencesPerWaferAreThoseOfTheVendor) {
  const struct {
    const char *name;
    int64_t predicted;
    double low, high;
  } rows[] = {{"gpt3-xl", 142, 121, 132},
              {"gptj-6b", 68, 65, 65},
              {"gpt3-6.7b", 67, 65, 65},
              {"gpt3-13b", 51, 60, 60},
              {"neox-20b", 41, 45, 50}};
  for (const auto &row : rows) {
    const int64_t sequences =
        memoryOf(workloadOf(presetNamed(row.name)), {}, stepOf(1, 1))
            .sequencesPerWafer;
    EXPECT_EQ(sequences, row.predicted) << row.name;
    EXPECT_GE(double(sequences), 0.8 * row.low) << row.name;
    EXPECT_LE(double(sequences), 1.2 * row.high) << row.name;
  }
  EXPECT_EQ(memoryOf(workloadOf(presetNamed("gpt2-xl")), {}, stepOf(1, 1))
                .sequencesPerWafer,
            316);
}

/// Model FLOPs of runs on one CS-2 with 6 to 7 billion parameters: 20.5 to
/// 23.9 % of the peak.
TEST(EstimateTest, TheMeasuredFractionIsThatOfRealRuns) {
  const struct {
    const char *name;
    double samplesPerSecond, fraction;
  } runs[] = {{"gptj-6b", 19.81, 0.205}, {"llama-7b", 20.45, 0.239}};
  for (const auto &run : runs) {
    const Workload work = workloadOf(presetNamed(run.name));
    const double fraction = run.samplesPerSecond * 2048 * 3 *
                            work.forwardFlops() / Cluster().peakFlops;
    EXPECT_WITHIN(fraction, run.fraction, 0.01) << run.name;
    EXPECT_WITHIN(measuredEta, fraction, 0.1) << run.name;
  }
}

//===----------------------------------------------------------------------===//
// Worked examples
//===----------------------------------------------------------------------===//

/// Strong scaling of three models; two numbers are those of eta 0.22 and 1.
TEST(EstimateTest, WorkedExamples) {
  using R = Regime;
  const struct {
    const char *model;
    int64_t batch, systems;
    double tokens;
    int64_t microbatches;
    double compute, stream;
    R regime[2];
    double step[2], rate[2], scaling[2];
  } rows[] = {
      {"gpt3-xl",
       528,
       1,
       270336,
       4,
       .496,
       .0175,
       {R::Compute, R::Compute},
       {5.948, 1.310},
       {181.8e3, 825e3},
       {1, 1}},
      {"gpt3-xl",
       528,
       16,
       67584,
       1,
       .124,
       .0175,
       {R::Compute, R::Compute},
       {.3736, .0838},
       {2.894e6, 12.9e6},
       {.995, .978}},
      {"gpt3-xl",
       528,
       192,
       5632,
       1,
       .0103,
       .0175,
       {R::Stream, R::Stream},
       {.0401, .0370},
       {26.9e6, 29.3e6},
       {.772, .185}},
      {"neox-20b",
       1536,
       1,
       82782,
       38,
       2.142,
       .270,
       {R::Compute, R::Compute},
       {244.2, 53.74},
       {12.88e3, 58.5e3},
       {1, 1}},
      {"neox-20b",
       1536,
       16,
       65536,
       3,
       1.696,
       .270,
       {R::Compute, R::Compute},
       {15.28, 3.375},
       {205.9e3, 932e3},
       {.999, .995}},
      {"neox-20b",
       1536,
       192,
       16384,
       1,
       .424,
       .270,
       {R::Compute, R::Stream},
       {1.290, .5575},
       {2.44e6, 5.64e6},
       {.986, .502}},
      {"gpt3-175b",
       1472,
       1,
       34651,
       87,
       7.535,
       2.328,
       {R::Compute, R::Memory},
       {1966.7, 491.0},
       {1533, 6140},
       {1, 1}},
      {"gpt3-175b",
       1472,
       16,
       31403,
       6,
       6.828,
       2.328,
       {R::Compute, R::Memory},
       {122.98, 32.06},
       {24.5e3, 94.0e3},
       {.999, .957}},
      {"gpt3-175b",
       1472,
       192,
       15701,
       1,
       3.414,
       2.328,
       {R::Compute, R::Stream},
       {10.31, 4.726},
       {292e3, 638e3},
       {.993, .541}},
  };
  for (const auto &row : rows)
    for (int i : {0, 1}) {
      const Estimate e =
          estimateStep(workloadOf(presetNamed(row.model)), {},
                       stepOf(row.systems, row.batch), i ? ideal : measured);
      const std::string what =
          std::string(row.model) + " on " + std::to_string(row.systems);
      EXPECT_WITHIN(e.tokensPerWafer, row.tokens, 0.01) << what;
      EXPECT_EQ(e.microbatches, row.microbatches) << what;
      if (i == 0)
        EXPECT_WITHIN(e.forwardCompute, row.compute, 0.01) << what;
      EXPECT_WITHIN(e.weightsDown, row.stream, 0.01) << what;
      EXPECT_EQ(e.regime, row.regime[i]) << what << " " << e.reason;
      EXPECT_WITHIN(e.step, row.step[i], 0.01) << what;
      EXPECT_WITHIN(e.tokensPerSecond, row.rate[i], 0.01) << what;
      EXPECT_WITHIN(e.scaling, row.scaling[i], 0.01) << what;
    }
}

/// A second pass over the weights in backward costs nothing where compute is
/// the limit.
TEST(EstimateTest, SecondBackwardPass) {
  auto twice = [](const char *model, int64_t batch, Efficiency efficiency) {
    Step step = stepOf(192, batch);
    step.backwardPasses = 2;
    return estimateStep(workloadOf(presetNamed(model)), {}, step, efficiency)
        .step;
  };
  EXPECT_WITHIN(twice("gpt3-xl", 528, measured), .0544, 0.01);
  EXPECT_WITHIN(twice("neox-20b", 1536, measured), 1.290, 0.01);
  EXPECT_WITHIN(twice("neox-20b", 1536, ideal), .8274, 0.01);
  EXPECT_WITHIN(twice("gpt3-175b", 1472, ideal), 7.054, 0.01);
}

/// On 192 wafers with the measured link 175B is bound by the stream, by 3 %;
/// 20B is not.
TEST(EstimateTest, MeasuredLinkOn192) {
  const Efficiency both{measuredEta, measuredBeta};
  const Estimate large = estimateStep(workloadOf(presetNamed("gpt3-175b")), {},
                                      stepOf(192, 1472), both);
  EXPECT_EQ(large.regime, Regime::Stream);
  EXPECT_WITHIN(large.breakEvenForward, 16218.0, 0.01);
  const Estimate small = estimateStep(workloadOf(presetNamed("neox-20b")), {},
                                      stepOf(192, 1536), both);
  EXPECT_EQ(small.regime, Regime::Compute);
  EXPECT_WITHIN(small.breakEvenForward, 15802.0, 0.01);
}

/// Tokens per second of one wafer for 175B, whatever the number of wafers.
TEST(EstimateTest, ThePriceOfSmallBatches) {
  const Workload work = workloadOf(presetNamed("gpt3-175b"));
  const Cluster cluster;
  const struct {
    double tokens, rate, rateIdeal, fraction;
  } rows[] = {{1, .215, .215, 3.1e-5},  {256, 55.0, 55.0, .0079},
              {2048, 440, 440, .063},   {8192, 1391, 1760, .200},
              {10704, 1533, 2299, .22}, {34816, 1533, 6153, .22},
              {48653, 1533, 6968, .22}};
  for (const auto &row : rows) {
    const double rate =
        steadyTokensPerSecond(work, cluster, {}, measured, row.tokens);
    EXPECT_WITHIN(rate, row.rate, 0.01) << row.tokens;
    EXPECT_WITHIN(steadyTokensPerSecond(work, cluster, {}, ideal, row.tokens),
                  row.rateIdeal, 0.01)
        << row.tokens;
    EXPECT_WITHIN(rate * 3 * work.forwardFlops() / cluster.peakFlops,
                  row.fraction, 0.01)
        << row.tokens;
  }
  EXPECT_WITHIN(memoryOf(work, cluster, stepOf(1, 1)).tokensPerWaferMost,
                34816.0, 1e-9);
}

/// Of a sparse model attention and its share stay: 1 / (a + (1 - a) density).
TEST(EstimateTest, SparseWeightsAreBoundByAttention) {
  const struct {
    const char *name;
    double speedup[4];
  } rows[] = {{"gpt3-xl", {1.77, 2.86, 4.55, 5.67}},
              {"neox-20b", {1.90, 3.46, 6.82, 10.1}},
              {"gpt3-175b", {1.95, 3.70, 8.05, 13.2}}};
  const double densities[] = {.5, .25, .1, .05};
  for (const auto &row : rows)
    for (int i = 0; i < 4; ++i) {
      const Workload work = workloadOf(presetNamed(row.name));
      Step sparse;
      sparse.density = densities[i];
      const double tokens = 1e9; // far from the link's limit
      EXPECT_WITHIN(steadyTokensPerSecond(work, {}, sparse, measured, tokens) /
                        steadyTokensPerSecond(work, {}, {}, measured, tokens),
                    row.speedup[i], 0.01)
          << row.name;
    }
}

/// A wafer of 10 x 4 PEs at 1 GHz that multiply and add once in two cycles,
/// behind 4 channels.
TEST(EstimateTest, EmulatedWafer) {
  wsec::Machine machine;
  machine.width = 10;
  machine.height = 4;
  machine.clockGhz = 1;
  machine.fmacRate = 0.5;
  machine.channels = 44;
  machine.sramBytes = 49152;
  machine.runtimeBytes = 4176;
  const Cluster wafer = waferOf(machine);
  EXPECT_EQ(wafer.peakFlops, 40e9);
  EXPECT_EQ(wafer.linkBytesPerSecond, 16e9);
  EXPECT_EQ(wafer.weightBytes, 4);
  EXPECT_EQ(wafer.activationBytes, 40 * 44976 / 2);
  // A pass over 10^6 weights: 10^6 / 4 channels, and half of the time of
  // 10^6 / 20 multiply-adds a nanosecond for each token, against all of it.
  Workload work;
  work.parameters = work.productParameters = 1000000;
  work.productFlops = 2e6;
  work.layers = work.width = work.sequence = 1;
  Step step = stepOf(1, 4);
  step.mode = Step::Mode::Eval;
  EXPECT_WITHIN(estimateStep(work, wafer, step, ideal).step, 350e-6, 1e-9);
  EXPECT_WITHIN(breakEven(work, wafer, step, ideal), 10, 1e-9);
  step.batch = 16;
  EXPECT_WITHIN(estimateStep(work, wafer, step, ideal).step, 800e-6, 1e-9);
}

//===----------------------------------------------------------------------===//
// Regimes, flags, refusals
//===----------------------------------------------------------------------===//

TEST(EstimateTest, RegimesFlipAtTheBreakEven) {
  for (const char *name : {"gpt3-xl", "neox-20b", "gpt3-175b", "llama2-70b"})
    for (const Efficiency &each : {measured, ideal}) {
      Workload work = workloadOf(presetNamed(name));
      Cluster roomy;
      roomy.activationBytes = 1e15;
      const double needed = breakEven(work, roomy, {}, each);
      // Sequences of one token, so that any number of them is possible.
      work.sequence = 1;
      for (double factor : {0.98, 1.02}) {
        const Estimate e = estimateStep(
            work, roomy, stepOf(1, int64_t(needed * factor)), each);
        EXPECT_EQ(e.regime, factor < 1 ? Regime::Stream : Regime::Compute)
            << name << ": " << e.reason;
        EXPECT_EQ(e.forward == e.weightsDown, factor < 1) << name;
      }
    }
}

static bool hasFlag(const Estimate &e, const std::string &name) {
  for (const Flag &flag : e.flags)
    if (flag.name == name)
      return true;
  return false;
}

TEST(EstimateTest, FlagsNameWhatElseIsTooSlow) {
  const Workload work = workloadOf(presetNamed("gpt3-xl"));
  Cluster cluster;
  EXPECT_FALSE(hasFlag(estimateStep(work, cluster, stepOf(192, 528), measured),
                       "memoryx"));
  cluster.storeBytesPerSecond = 1.5e12;
  const Estimate slow = estimateStep(work, cluster, stepOf(192, 528), measured);
  EXPECT_TRUE(hasFlag(slow, "memoryx"));
  EXPECT_GT(slow.exposedOptimizer, 0);
  EXPECT_TRUE(hasFlag(slow, "imbalance"));
  EXPECT_WITHIN(memoryOf(work, cluster, stepOf(192, 528)).imbalance, 1.09,
                0.01);
  cluster.inputTokensPerSecond = 1e6;
  EXPECT_TRUE(hasFlag(estimateStep(work, cluster, stepOf(192, 528), measured),
                      "input"));
  EXPECT_TRUE(hasFlag(estimateStep(workloadOf(presetNamed("bert-large")), {},
                                   stepOf(1, 1024), measured),
                      "resident"));
}

TEST(EstimateTest, OffloadMakesRoomAndCostsBytes) {
  const Workload work = workloadOf(presetNamed("gpt3-175b"));
  Step step = stepOf(1, 1472);
  const double before = memoryOf(work, {}, step).tokensPerWaferMost;
  step.offload = true;
  EXPECT_GT(memoryOf(work, {}, step).tokensPerWaferMost, 2 * before);
  const Estimate e = estimateStep(work, {}, step, ideal);
  EXPECT_EQ(e.regime, Regime::Compute) << e.reason;
  EXPECT_GT(e.offload, 0);
}

TEST(EstimateTest, RecomputationIsInTheMeasuredFraction) {
  const Workload work = workloadOf(presetNamed("neox-20b"));
  Step step = stepOf(16, 1536);
  step.recompute = 1;
  const Estimate a = estimateStep(work, {}, step, measured);
  EXPECT_WITHIN(a.backwardCompute, 2 * a.forwardCompute, 1e-9);
  const Estimate b = estimateStep(work, {}, step, ideal);
  EXPECT_WITHIN(b.backwardCompute, 3 * b.forwardCompute, 1e-9);
}

TEST(EstimateTest, WhatCannotRunIsRefused) {
  const Workload work = workloadOf(presetNamed("gpt3-xl"));
  try {
    estimateStep(work, {}, stepOf(16, 8), measured);
    FAIL();
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(),
                 "a batch of 8 sequences does not reach 16 systems, which take "
                 "at least one each: raise --batch to 16, or lower the number "
                 "of systems");
  }
  EXPECT_THROW(estimateStep(work, {}, stepOf(0, 8), measured),
               std::invalid_argument);
  const Workload longer = workloadOf(presetNamed("megatron-1t"), 1 << 17);
  try {
    estimateStep(longer, {}, stepOf(1, 8), measured);
    FAIL();
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(),
                 "one sequence of 131072 tokens needs 266.2 GB for "
                 "activations, a wafer has 32.0 GB for them: shorten "
                 "--sequence, or use --offload");
  }
}

/// What a processor holds and moves for 8 x 2048 tokens on 8 of them; by hand.
TEST(EstimateTest, OtherSchemes) {
  Workload work;
  work.name = "round";
  work.parameters = 1000000000;
  work.productParameters = 1000000000;
  work.firstLayerParameters = 100000000;
  work.layers = 10;
  work.width = 1000;
  work.sequence = 2048;
  const auto schemes = schemesOf(work, {}, stepOf(8, 8));
  const double activations = 34.0 * 1000 * 2048; // of a sequence and layer
  ASSERT_EQ(schemes.size(), 5u);
  EXPECT_WITHIN(schemes[0].memoryBytes, 16e9 + 10 * activations, 1e-9);
  EXPECT_WITHIN(schemes[0].trafficBytes, 2 * 2e9 * 7 / 8, 1e-9);
  EXPECT_WITHIN(schemes[1].memoryBytes, 2e9 + 2e8 + 10 * activations, 1e-9);
  EXPECT_WITHIN(schemes[1].trafficBytes, 6e9 * 7 / 8, 1e-9);
  EXPECT_WITHIN(schemes[2].memoryBytes, 2e9 + 80 * activations, 1e-9);
  EXPECT_WITHIN(schemes[2].trafficBytes, 8 * 10 * 2e3 * 2048 * 8 * 7 / 8, 1e-9);
  EXPECT_EQ(schemes[2].blockingEvents, 40);
  EXPECT_WITHIN(schemes[3].memoryBytes, 2e9 + 10. / 8 * activations * 8, 1e-9);
  // No term of weight streaming grows with the parameters but the traffic.
  work.parameters *= 2;
  const auto larger = schemesOf(work, {}, stepOf(8, 8));
  EXPECT_EQ(larger[4].memoryBytes, schemes[4].memoryBytes);
  EXPECT_WITHIN(schemes[4].trafficBytes, 2 * 2e9 + 2e9, 1e-9);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static const std::vector<Efficiency> all{{measuredEta, idealBeta},
                                         {measuredEta, measuredBeta},
                                         {idealEta, idealBeta},
                                         {idealEta, measuredBeta}};

TEST(EstimateTest, JsonHasTheNumbers) {
  const StepReport report = reportStep(workloadOf(presetNamed("gpt3-175b")), {},
                                       stepOf(16, 1472), all);
  const auto json = nlohmann::json::parse(jsonOf(report));
  EXPECT_EQ(json["model"]["parameters"], 174604259328);
  EXPECT_EQ(json["estimates"].size(), 4u);
  EXPECT_EQ(json["regime"], "compute");
  EXPECT_WITHIN(json["step_seconds"].get<double>(), 122.98, 0.01);
  EXPECT_EQ(json["step_seconds"], json["estimates"][0]["step_seconds"]);
  EXPECT_EQ(json["estimates"][2]["regime"], "memory");
  EXPECT_EQ(json["schemes"].size(), 5u);
}

TEST(EstimateTest, TextSaysThatItIsNoMeasurementAndShowsBothFractions) {
  const std::string text = textOf(reportStep(
      workloadOf(presetNamed("gpt3-175b")), {}, stepOf(16, 1472), all));
  EXPECT_NE(text.find("An estimate, not a measurement"), text.npos) << text;
  EXPECT_NE(text.find("eta 0.22, beta 1: compute"), text.npos) << text;
  EXPECT_NE(text.find("eta 1, beta 1: memory"), text.npos) << text;
}

TEST(EstimateTest, ScaleNamesAndromedaAndWhatDoesNotFit) {
  const ScaleReport report = reportScale(workloadOf(presetNamed("gptj-6b")), {},
                                         stepOf(1, 65), {1, 16, 192}, all);
  const auto json = nlohmann::json::parse(jsonOf(report));
  EXPECT_EQ(json["rows"][1]["note"], "Andromeda (2022)");
  EXPECT_FALSE(json["rows"][0].contains("problem"));
  EXPECT_TRUE(json["rows"][2].contains("problem"));
  const std::string text = textOf(report);
  EXPECT_NE(text.find("Andromeda"), text.npos) << text;
  EXPECT_NE(text.find("does not reach 192 systems"), text.npos) << text;
  EXPECT_THROW(reportScale(workloadOf(presetNamed("gptj-6b")), {},
                           stepOf(1, 65), {192}, all),
               std::invalid_argument);
}

TEST(EstimateTest, PicturesAreWhole) {
  const Workload work = workloadOf(presetNamed("gpt3-xl"));
  const std::string pictures[] = {
      regimeMap(reportStep(work, {}, stepOf(16, 528), all)),
      scaleChart(reportScale(work, {}, stepOf(1, 528), {1, 16, 192}, all))};
  for (const std::string &svg : pictures) {
    EXPECT_EQ(svg.rfind("<svg", 0), 0u);
    EXPECT_NE(svg.find("</svg>"), svg.npos);
    EXPECT_EQ(svg.find("nan"), svg.npos);
    EXPECT_NE(svg.find("not a measurement"), svg.npos);
  }
}
