// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/presets/ModelShape.h"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace wsec::presets;

/// Parameters, those of products, and 10^9 operations of training per token
/// (per sample where there are two sequences), from the models' own papers and
/// checkpoints.
TEST(PresetsTest, CountsAreThoseOfThePublishedModels) {
  const struct {
    const char *name;
    int64_t parameters, products;
    double work;
  } published[] = {
      {"smollm2-135m", 134515008, 134479872, 2.51},
      {"gpt2-s", 124439808, 123532032, 0.85},
      {"gpt2-m", 354823168, 353453056, 2.42},
      {"gpt2-l", 774030080, 772117760, 5.20},
      {"gpt2-xl", 1557611200, 1554971200, 10.3},
      {"gpt3-xl", 1315723264, 1310885888, 9.07},
      {"gpt3-6.7b", 6658404352, 6648303616, 43.1},
      {"gptj-6b", 6049711185, 5842997248, 37.9},
      {"gpt3-13b", 12853386240, 12840227840, 82.1},
      {"neox-20b", 20552663040, 20240234496, 128},
      {"gpt3-175b", 174604259328, 174563733504, 1076},
      {"megatron-1t", 1008038758400, 1007943680000, 6128},
      {"llama-7b", 6738415616, 6607077376, 42.9},
      {"llama2-70b", 68976648192, 68713185280, 444},
      {"llama3-8b", 8030261248, 7504658432, 57.9},
      {"llama3-70b", 70553706496, 69501714432, 481},
      {"mistral-7b", 7241732096, 7110393856, 94.2},
      {"bert-base", 110106428, 84934656, 0.57},
      {"bert-large", 336226108, 301989888, 1.97},
      {"cerebras-gpt-111m", 111050496, 109376256, 0.845},
  };
  for (const auto &row : published) {
    const Workload work = workloadOf(presetNamed(row.name));
    EXPECT_EQ(work.parameters, row.parameters) << row.name;
    EXPECT_EQ(work.productParameters, row.products) << row.name;
    EXPECT_NEAR(3 * work.forwardFlops() / 1e9, row.work, 0.01 * row.work)
        << row.name;
  }
}

TEST(PresetsTest, EncoderDecodersCountEachStackOnItsOwnTokens) {
  const struct {
    const char *name;
    int64_t parameters;
    double workPerSample;
  } published[] = {{"t5-base", 222806016, 426e9},
                   {"t5-3b", 2851468288, 5.7e12},
                   {"t5-11b", 11307191296, 2.28e13}};
  for (const auto &row : published) {
    const Workload work = workloadOf(presetNamed(row.name));
    EXPECT_EQ(work.parameters, row.parameters) << row.name;
    EXPECT_NEAR(3 * work.forwardFlops() * double(work.sequence),
                row.workPerSample, 0.01 * row.workPerSample)
        << row.name;
  }
}

TEST(PresetsTest, ATokenMeetsSomeExperts) {
  const Workload work = workloadOf(presetNamed("mixtral-8x7b"));
  EXPECT_EQ(work.parameters, 46702792704);
  EXPECT_EQ(work.productParameters, 46571454464);
  EXPECT_EQ(work.productFlops,
            2.0 * 12748587008); // 12.9 billion with the table
  ModelShape shape = presetNamed("mixtral-8x7b");
  shape.expertsPerToken = 9;
  EXPECT_EQ(check(shape), "experts_per_token is 9, expected 1 to experts, 8");
  shape = presetNamed("gpt2-s");
  shape.experts = 4;
  shape.expertsPerToken = 2;
  EXPECT_EQ(check(shape),
            "experts of gelu, with biases, expected swiglu or relu, without");
}

TEST(PresetsTest, EveryPresetIsATransformer) {
  for (const ModelShape &shape : allPresets())
    EXPECT_EQ(check(shape), std::nullopt) << shape.name;
}

TEST(PresetsTest, LongerSequencesChangeAttentionOnly) {
  const ModelShape &shape = presetNamed("gpt2-s");
  const Workload at1k = workloadOf(shape), at2k = workloadOf(shape, 2048);
  EXPECT_EQ(at1k.productFlops, at2k.productFlops);
  EXPECT_EQ(2 * at1k.attentionFlops, at2k.attentionFlops);
  EXPECT_NEAR(3 * at2k.forwardFlops() / 1e9, 0.97, 0.01);
}

TEST(PresetsTest, UnknownNamesGetTheNearest) {
  try {
    presetNamed("gpt3-176b");
    FAIL();
  } catch (const std::runtime_error &error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("there is no preset 'gpt3-176b'; nearest: 'gpt3-175b'"),
              what.npos)
        << what;
    EXPECT_NE(what.find("megatron-1t"), what.npos) << what;
  }
}

TEST(PresetsTest, BadShapesAreNamed) {
  ModelShape shape = presetNamed("tiny-llama");
  shape.keyValueHeads = 3;
  EXPECT_EQ(check(shape), "heads, 4, is no multiple of kv_heads, 3");
  shape.keyValueHeads = 2;
  shape.rotaryFeatures = 5;
  EXPECT_EQ(check(shape), "rotary_features is 5, expected an even number up to "
                          "head_size, 16");
  shape.rotaryFeatures = 16;
  shape.layers = 0;
  EXPECT_EQ(check(shape), "layers is 0, expected 1 to 16777216");
}
