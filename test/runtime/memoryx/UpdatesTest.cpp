// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Update rules against numbers of PyTorch and `transformers`, which
// make_updates.py writes.
#include "test/runtime/memoryx/StoreNumbers.h"

#include <functional>

namespace wsec::runtime {
namespace {

using namespace test;

struct Case {
  const char *name;
  UpdatePtr update;
  /// Of step t, from 0.
  std::function<double(uint64_t)> rate;
  double clip = 0;
};

std::function<double(uint64_t)> falling(double rate) {
  return [rate](uint64_t t) { return rate * (1 - double(t) / 200); };
}

std::vector<Case> cases() {
  AdafactorOptions withFirst;
  withFirst.beta1 = 0.9;
  AdafactorOptions fixed;
  fixed.scaleParameter = fixed.relativeStep = false;
  fixed.clipThreshold = 0.7;
  fixed.beta1 = 0.5;
  fixed.weightDecay = 0.1;
  return {
      {"adamw", adamW({0.9, 0.95, 1e-8, 0.1}), falling(1e-2)},
      {"adamw_clip", adamW({0.9, 0.95, 1e-8, 0.1}), falling(1e-2), 1},
      {"adamw_beta", adamW({0.8, 0.999, 1e-6, 0}), falling(1e-3)},
      {"sgd_clip", sgd(), falling(1e-2), 1},
      {"sgd_momentum", sgd({0.9, 0.1}), falling(1e-2)},
      {"sgd_nesterov", sgd({0.8, 0, true}), falling(1e-2), 1},
      {"adafactor_torch", adafactor(), falling(1e-2)},
      {"adafactor_relative", adafactor(), [](uint64_t) { return 1e-2; }, 1},
      {"adafactor_warmup", adafactor(withFirst),
       [](uint64_t t) { return 1e-6 * double(t + 1); }},
      {"adafactor_fixed", adafactor(fixed), falling(1e-2)},
  };
}

/// After 100 steps; `eager`: all parameters are updated in each, else one of
/// them, before the others.
std::unique_ptr<ParameterStore> trained(const Case &its, bool eager,
                                        StoreOptions options = {}) {
  options.update = its.update;
  options.clipNorm = its.clip;
  auto store = std::make_unique<ParameterStore>(options);
  addParameters(*store);
  for (uint64_t step = 0; step < 100; ++step) {
    EXPECT_TRUE(takeStep(*store, step, its.rate(step)).applied);
    if (eager)
      store->settle();
    else
      store->weights(step % store->size());
  }
  EXPECT_EQ(store->steps(), 100u);
  return store;
}

TEST(UpdatesTest, HundredStepsFollowPyTorch) {
  const SafetensorsModel golden = SafetensorsModel::open(WSEC_UPDATES);
  double largest = 0;
  for (const Case &its : cases()) {
    auto store = trained(its, true);
    for (size_t k = 0; k < store->size(); ++k) {
      const FileTensor &tensor =
          golden.at(std::string(its.name) + "." + std::to_string(k));
      ASSERT_EQ(tensor.shape, shapes[k]);
      const Floats weights = store->weights(k);
      Floats expected(weights.size());
      std::memcpy(expected.data(), tensor.data, tensor.bytes);
      for (size_t i = 0; i < weights.size(); ++i) {
        const double error = std::abs(double(weights[i]) - expected[i]);
        largest = std::max(largest, error);
        EXPECT_LE(error, 1e-6) << its.name << " " << k << " " << i;
      }
    }
  }
  RecordProperty("largest_error", std::to_string(largest));
  std::printf("largest difference %.2e\n", largest);
}

TEST(UpdatesTest, LateUpdatesAreTheSameBits) {
  for (const Case &its : cases())
    EXPECT_EQ(allWeights(*trained(its, true)), allWeights(*trained(its, false)))
        << its.name;
}

TEST(UpdatesTest, StateInFilesIsTheSameBits) {
  Folder folder;
  StoreOptions inFiles;
  inFiles.folder = folder.path;
  inFiles.residentBytes = 5000; // less than the first parameter
  for (const Case &its : cases())
    EXPECT_EQ(allWeights(*trained(its, true)),
              allWeights(*trained(its, false, inFiles)))
        << its.name;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(UpdatesTest, AdafactorKeepsRowsAndColumns) {
  const auto moments = adafactor()->moments({3, 16, 24});
  ASSERT_EQ(moments.size(), 2u);
  EXPECT_EQ(moments[0].shape, (std::vector<uint64_t>{3, 16}));
  EXPECT_EQ(moments[1].shape, (std::vector<uint64_t>{3, 24}));
  EXPECT_EQ(adafactor()->moments({24})[0].shape, (std::vector<uint64_t>{24}));
}

} // namespace
} // namespace wsec::runtime
