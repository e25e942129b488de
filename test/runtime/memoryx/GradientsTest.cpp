// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outputs that are added to gradients, and parameters that a store gives their
// elements.
#include "runtime/memoryx/Gradients.h"
#include "runtime/memoryx/GradientCollector.h"
#include "runtime/memoryx/ParameterStore.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>
#include <span>

namespace wsec::runtime {
namespace {

using namespace test;
using program::ElementType;
using program::TensorRole;
using Floats = std::vector<float>;

/// A parameter of 4 x 3 that trains, and outputs that are added to it.
class GradientsTest : public testing::Test {
protected:
  GradientsTest() : builder(1, 1) {
    builder.addClass("all", 0, 1, 0, 1).routine(0);
    addBundle(builder, countUp(12));
    addWeight(builder, "table", {4, 3}).parameter = "w";
    addTensor(builder, "rows", TensorRole::Input, {3}, ElementType::I64);
    builder.launch(0, {});
  }

  void load() {
    stateCodeBytes(builder);
    store = std::make_unique<TensorStore>(
        LoadedProgram::fromBytes(makeFile(builder, countUp(12))));
    store->clearOutputs();
  }

  program::GradientT &addGradient(std::vector<int64_t> shape) {
    program::TensorT &output =
        addTensor(builder, "g" + std::to_string(outputs.size()),
                  TensorRole::Output, std::move(shape));
    outputs.insert(uint32_t(builder.source.tensors.size() - 1));
    output.gradient = std::make_unique<program::GradientT>();
    output.gradient->parameter = "w";
    return *output.gradient;
  }

  void write(uint32_t output, const Floats &values) {
    std::memcpy(store->outputElements(output), values.data(),
                values.size() * sizeof(float));
  }

  void bindRows(std::vector<int64_t> rows) {
    auto held = std::make_shared<std::vector<int64_t>>(std::move(rows));
    store->bindInput(1, reinterpret_cast<const uint8_t *>(held->data()), held);
  }

  ProgramBuilder builder;
  std::set<uint32_t> outputs;
  std::unique_ptr<TensorStore> store;
};

TEST_F(GradientsTest, ViewsOfOneParameterAddUp) {
  addGradient({12});
  program::GradientT &transposed = addGradient({2, 4});
  transposed.offset = 1;
  transposed.strides = {1, 3};
  load();
  write(2, countUp(12));
  write(3, {100, 200, 300, 400, 1000, 2000, 3000, 4000});
  EXPECT_EQ(gradientsOf(*store, outputs).at("w"),
            (Floats{0, 101, 1002, 3, 204, 2005, 6, 307, 3008, 9, 410, 4011}));
}

TEST_F(GradientsTest, OnlyWhatWasWrittenCounts) {
  addGradient({12});
  load();
  EXPECT_TRUE(gradientsOf(*store, {}).empty());
}

TEST_F(GradientsTest, RowsAddOneAfterTheOther) {
  addGradient({3, 3}).rows = 1;
  load();
  // (1 + 2^24) + 1 is another number than (1 + 1) + 2^24.
  write(2, {1, 2, 3, 16777216, 5, 6, 1, 8, 9});
  bindRows({2, -2, 2});
  Floats expected(12);
  expected[6] = (1.0f + 16777216.0f) + 1.0f;
  expected[7] = 15;
  expected[8] = 18;
  EXPECT_EQ(gradientsOf(*store, outputs).at("w"), expected);
}

TEST_F(GradientsTest, RowThatIsNotThere) {
  addGradient({3, 3}).rows = 1;
  load();
  bindRows({0, 1, 4});
  try {
    gradientsOf(*store, outputs);
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "BadTensor: 'rows' names row 4 (element 2) of "
                               "parameter 'w', which has 4 rows");
  }
}

TEST_F(GradientsTest, WhatIsAllOfOneIsShownWhereItLies) {
  addGradient({4, 3}).strides = {3, 1};
  load();
  write(2, countUp(12));
  const float *there = reinterpret_cast<float *>(store->outputElements(2));
  int shown = 0;
  GradientCollector collector(
      *store, {{2, 12}},
      [&](const program::Tensor &parameter, std::span<const float> gradient) {
        EXPECT_EQ(parameter.parameter()->str(), "w");
        EXPECT_EQ(gradient.data(), there);
        EXPECT_EQ(gradient.size(), 12u);
        ++shown;
      });
  collector.arrived(2, 11);
  EXPECT_EQ(shown, 0);
  collector.arrived(2, 1);
  collector.finish();
  EXPECT_EQ(shown, 1);
  EXPECT_EQ(store->outputElements(2), nullptr);
}

TEST_F(GradientsTest, PartsAreAddedInTheOrderOfTheProgram) {
  addGradient({12});
  program::GradientT &transposed = addGradient({3, 4});
  transposed.strides = {1, 3};
  load();
  write(2, countUp(12));
  write(3, Floats(12, 100));
  Floats sum;
  GradientCollector collector(
      *store, {{2, 12}, {3, 12}},
      [&](const program::Tensor &, std::span<const float> gradient) {
        sum.assign(gradient.begin(), gradient.end());
      });
  collector.arrived(3, 12);
  EXPECT_NE(store->outputElements(3), nullptr);
  collector.arrived(2, 12);
  Floats expected = countUp(12);
  for (float &x : expected)
    x += 100;
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(store->outputElements(2), nullptr);
  EXPECT_EQ(store->outputElements(3), nullptr);
}

TEST_F(GradientsTest, ParametersAreThoseOfTheStore) {
  load();
  const auto first = [&] {
    return reinterpret_cast<const float *>(store->elements(0))[1];
  };
  EXPECT_EQ(first(), 1); // as it was compiled
  StoreOptions options;
  options.update = sgd();
  ParameterStore parameters(options);
  const size_t w = parameters.add("w", {4, 3});
  parameters.write(w, ElementType::F32, Floats(12, 5).data());
  store->bindParameters(parameters);
  EXPECT_EQ(first(), 5);
  parameters.accumulate(w, Floats(12, 2).data());
  parameters.endStep(0.5);
  store->bindParameters(parameters);
  EXPECT_EQ(first(), 4);
}

TEST_F(GradientsTest, HalvesAreRounded) {
  builder.source.tensors[0]->type = ElementType::F16;
  builder.source.tensors[0]->bytes = 24;
  load();
  ParameterStore parameters({});
  parameters.add("w", {4, 3});
  parameters.write(0, ElementType::F32, Floats(12, 1.0f / 3).data());
  store->bindParameters(parameters);
  uint16_t half;
  std::memcpy(&half, store->elements(0), 2);
  EXPECT_EQ(half, 0x3555);
}

TEST_F(GradientsTest, AnotherModelsStore) {
  load();
  ParameterStore parameters({});
  parameters.add("w", {5, 3});
  try {
    store->bindParameters(parameters);
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "BadCall: parameter 'w' has 15 elements, 12 are "
                               "asked for");
  }
}

} // namespace
} // namespace wsec::runtime
