// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Elements.h"
#include "runtime/memoryx/WeightStream.h"
#include "test/runtime/NoMoreThreads.h"
#include "test/runtime/memoryx/StoreNumbers.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace wsec::runtime {
namespace {

using namespace test;
using program::ElementType;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The sum along the tree, by its definition.
Floats treeSum(uint64_t first, uint64_t size, uint64_t samples, size_t count) {
  if (size == 1)
    return numbers(first, count, 1);
  Floats left = treeSum(first, size / 2, samples, count);
  if (first + size / 2 >= samples)
    return left;
  const Floats right = treeSum(first + size / 2, size / 2, samples, count);
  for (size_t i = 0; i < count; ++i)
    left[i] += right[i];
  return left;
}

TEST(GradientSumTest, IsTheSameForAnyDivisionOfTheBatch) {
  constexpr size_t count = 5000;
  for (uint64_t samples : {1, 2, 3, 5, 8, 13, 16}) {
    uint64_t whole = 1;
    while (whole < samples)
      whole *= 2;
    const Floats expected = treeSum(0, whole, samples, count);
    for (uint64_t part = 1; part <= whole; part *= 2) {
      GradientSum sum(count, "");
      for (uint64_t first = 0; first < samples; first += part) {
        const uint64_t its = std::min(part, samples - first);
        sum.add(ElementType::F32, treeSum(first, part, samples, count).data(),
                first, its);
        EXPECT_LE(sum.bytes(), (2 + std::log2(whole)) * count * 4);
      }
      EXPECT_EQ(sum.samples(), samples);
      EXPECT_EQ(Floats(sum.total(), sum.total() + count), expected)
          << samples << " by " << part;
    }
  }
}

TEST(GradientSumTest, RefusesWhatIsNoSubtree) {
  const Floats ones(4, 1);
  auto add = [&](GradientSum &sum, uint64_t first, uint64_t samples) {
    sum.add(ElementType::F32, ones.data(), first, samples);
  };
  GradientSum sum(4, "");
  auto fails = [&](const char *part, uint64_t first, uint64_t samples) {
    expectError(ErrorClass::BadCall, part, [&] { add(sum, first, samples); });
  };
  fails("sample 0 comes next", 1, 1);
  fails("has no samples", 0, 0);
  add(sum, 0, 2);
  fails("sample 2 comes next", 0, 2);
  fails("no multiple of 4", 2, 4);
  add(sum, 2, 1);
  add(sum, 3, 1);
  add(sum, 4, 3); // of a batch of seven
  fails("after the end of the batch", 7, 1);
  EXPECT_EQ(sum.samples(), 7u);
  sum.clear();
  EXPECT_EQ(sum.total(), nullptr);
  add(sum, 0, 1);
  EXPECT_EQ(sum.total()[3], 1);
}

ParameterStore::StepResult stepOf(ParameterStore &store, const Floats &gradient,
                                  double divisor = 1) {
  store.accumulate(0, gradient.data());
  return store.endStep(0.1, divisor);
}

std::unique_ptr<ParameterStore> single(StoreOptions options, size_t count) {
  auto store = std::make_unique<ParameterStore>(std::move(options));
  store->add("w", {count});
  store->write(0, ElementType::F32, numbers(1, count, 1).data());
  return store;
}

TEST(ParameterStoreTest, GradientsAreDividedOnce) {
  StoreOptions clipped;
  clipped.clipNorm = 1;
  auto scaled = single(clipped, 1000), plain = single(clipped, 1000);
  Floats gradient = numbers(2, 1000, 1);
  const auto a = stepOf(*plain, gradient);
  for (float &value : gradient)
    value *= 1024;
  const auto b = stepOf(*scaled, gradient, 1024);
  EXPECT_EQ(a.gradientNorm, b.gradientNorm);
  EXPECT_EQ(scaled->weights(0), plain->weights(0));
}

TEST(ParameterStoreTest, NormIsOfAllGradients) {
  StoreOptions options;
  options.update = sgd();
  ParameterStore store(options);
  store.add("a", {1});
  store.add("b", {2, 1});
  store.accumulate(0, Floats{3}.data());
  store.accumulate(1, Floats{0, -4}.data());
  EXPECT_EQ(store.endStep(0.5).gradientNorm, 5);
  EXPECT_EQ(store.weights(1), (Floats{0, 2}));
}

TEST(ParameterStoreTest, MasksKeepWeightsAndMomentsAtZero) {
  StoreOptions options;
  options.update = adamW();
  auto store = single(options, 4), other = single(options, 4);
  const Floats gradient = numbers(2, 4, 1);
  stepOf(*store, gradient);
  stepOf(*other, gradient);
  store->setMask(0, {1, 0, 1, 1});
  EXPECT_EQ(store->weights(0)[1], 0);
  EXPECT_EQ(store->weights(0)[2], other->weights(0)[2]);
  // The norm is of what is left; who asks before sees all.
  store->accumulate(0, Floats{3, 100, 0, 4}.data());
  EXPECT_EQ(store->gradient(0)[1], 100);
  EXPECT_EQ(store->endStep(0.1).gradientNorm, 5);
  EXPECT_EQ(store->weights(0)[1], 0);
  // As of a parameter that begins at 0, but for the steps that count.
  store->setMask(0, {0, 1, 1, 1});
  store->accumulate(0, Floats{5, 12, 0, 0}.data());
  EXPECT_EQ(store->endStep(0.1).gradientNorm, 12);
  EXPECT_EQ(store->weights(0)[0], 0);
  EXPECT_LT(store->weights(0)[1], 0);
  expectError(ErrorClass::BadCall, "a mask of 2 elements for parameter 'w'",
              [&] { store->setMask(0, {1, 0}); });
  const size_t frozen = store->add("frozen", {1}, false);
  expectError(ErrorClass::BadCall, "is frozen",
              [&] { store->setMask(frozen, {1}); });
}

TEST(ParameterStoreTest, HalvesOfGradientsAreExact) {
  for (ElementType type : {ElementType::F16, ElementType::BF16}) {
    const Floats gradient = numbers(2, 1000, 1);
    std::vector<uint16_t> halves(1000);
    writeElements(type, reinterpret_cast<uint8_t *>(halves.data()), 0, 1, 1000,
                  gradient.data());
    Floats rounded(1000);
    readElements(type, reinterpret_cast<uint8_t *>(halves.data()), 0, 1, 1000,
                 rounded.data());
    auto store = single({}, 1000), other = single({}, 1000);
    store->accumulate(0, type, halves.data(), 0, 1);
    store->endStep(0.1);
    stepOf(*other, rounded);
    EXPECT_EQ(store->weights(0), other->weights(0));
  }
}

TEST(ParameterStoreTest, StepsThatAreNotFiniteChangeNothing) {
  StoreOptions options;
  options.lossScale.emplace();
  auto disturbed = single(options, 100), calm = single({}, 100);
  for (uint64_t step = 0; step < 3; ++step) {
    for (float bad : {infinity, std::nanf("")}) {
      Floats gradient = numbers(7, 100, 1);
      gradient[5] = bad;
      const double before = disturbed->lossScale();
      const auto result = stepOf(*disturbed, gradient);
      EXPECT_FALSE(result.applied);
      EXPECT_FALSE(std::isfinite(result.gradientNorm));
      EXPECT_EQ(disturbed->lossScale(), before / 2);
    }
    Floats gradient = numbers(2 + step, 100, 1);
    EXPECT_TRUE(stepOf(*calm, gradient).applied);
    for (float &value : gradient)
      value *= float(disturbed->lossScale());
    EXPECT_TRUE(stepOf(*disturbed, gradient).applied);
  }
  EXPECT_EQ(disturbed->weights(0), calm->weights(0));
  EXPECT_EQ(disturbed->steps(), 3u);
}

TEST(LossScaleTest, FollowsItsRule) {
  LossScale scale;
  EXPECT_EQ(scale.scale, 32768);
  scale.afterStep(true);
  EXPECT_EQ(scale.scale, 16384);
  for (int i = 0; i < 2000; ++i)
    scale.afterStep(false);
  EXPECT_EQ(scale.scale, 16384) << "more than 2000 clean steps";
  scale.afterStep(false);
  EXPECT_EQ(scale.scale, 32768);
  for (int i = 0; i < 2001; ++i)
    scale.afterStep(false);
  EXPECT_EQ(scale.scale, 32768) << "its upper bound";
  for (int i = 0; i < 100; ++i)
    scale.afterStep(true);
  EXPECT_EQ(scale.scale, std::ldexp(1.0, -14)) << "its lower bound";
  for (int i = 0; i < 1500; ++i)
    scale.afterStep(false);
  scale.afterStep(true); // counts from the beginning
  for (int i = 0; i < 2000; ++i)
    scale.afterStep(false);
  EXPECT_EQ(scale.scale, std::ldexp(1.0, -14));
}

TEST(LossScaleTest, IsOfThePrecision) {
  EXPECT_FALSE(LossScale::of("f32"));
  EXPECT_FALSE(LossScale::of("bf16"));
  EXPECT_EQ(LossScale::of("f16")->scale, std::ldexp(1.0, 15));
  LossScale its = *LossScale::of("cb16");
  EXPECT_EQ(its.scale, std::ldexp(1.0, 31));
  its.afterStep(true);
  for (int i = 0; i < 3 * 2001; ++i)
    its.afterStep(false);
  EXPECT_EQ(its.scale, std::ldexp(1.0, 31)) << "its upper bound";
}

TEST(ParameterStoreTest, StreamsRoundToNearestEven) {
  ParameterStore store({});
  // Halfway between two of bf16, below and above, and of f16.
  const Floats weights = {1 + 0x1p-8F,      1 + 3 * 0x1p-8F, 1 + 0x1p-11F,
                          1 + 3 * 0x1p-11F, 70000,           -0x1p-25F};
  store.add("w", {weights.size()});
  store.write(0, ElementType::F32, weights.data());
  std::vector<uint16_t> halves(6);
  store.read(0, ElementType::BF16, 0, 6, halves.data());
  EXPECT_EQ(halves[0], 0x3f80);
  EXPECT_EQ(halves[1], 0x3f82);
  store.read(0, ElementType::F16, 0, 6, halves.data());
  EXPECT_EQ(halves[2], 0x3c00);
  EXPECT_EQ(halves[3], 0x3c02);
  EXPECT_EQ(halves[4], 0x7c00);
  EXPECT_EQ(halves[5], 0x8000);
  Floats part(2);
  store.read(0, ElementType::F32, 1, 2, part.data());
  EXPECT_EQ(part, (Floats{weights[1], weights[2]}));
}

TEST(ParameterStoreTest, FrozenParametersStay) {
  ParameterStore store({});
  store.add("w", {2});
  store.add("frozen", {2}, false);
  const Floats ones(2, 1);
  store.write(1, ElementType::F32, ones.data());
  EXPECT_EQ(store.bytes(), 2 * 4 * 3 + 2 * 4u);
  store.accumulate(0, ones.data());
  EXPECT_TRUE(store.endStep(1).applied);
  EXPECT_EQ(store.weights(1), ones);
  EXPECT_LT(store.weights(0)[0], 0);
  expectError(ErrorClass::BadCall, "'frozen' is frozen",
              [&] { store.accumulate(1, ones.data()); });
}

TEST(ParameterStoreTest, CallsThatDoNotFitAreRefused) {
  ParameterStore store({});
  store.add("weight", {2, 2});
  store.add("bias", {2});
  const Floats ones(4, 1);
  auto refused = [](const char *part, const auto &call) {
    expectError(ErrorClass::BadCall, part, call);
  };
  refused("there is a parameter 'bias'", [&] { store.add("bias", {3}); });
  for (const std::vector<uint64_t> &shape :
       {std::vector<uint64_t>{uint64_t(1) << 62},
        {uint64_t(1) << 32, uint64_t(1) << 32}})
    refused("parameter 'huge' has more than 2305843009213693951 elements",
            [&] { store.add("huge", shape); });
  refused("no parameter 2 of 2", [&] { store.weights(2); });
  refused("no parameter 'wieght'; there is 'weight'",
          [&] { store.find("wieght"); });
  refused("not I32",
          [&] { store.accumulate(0, ElementType::I32, ones.data(), 0, 1); });
  refused("elements [2, 5) of parameter 'weight', which has 4", [&] {
    Floats to(4);
    store.read(0, ElementType::F32, 2, 3, to.data());
  });
  refused("'weight' has those of 0, 'weight' of 0", [&] { store.endStep(1); });
  store.accumulate(0, ones.data());
  refused("'weight' has those of 1, 'bias' of 0", [&] { store.endStep(1); });
  store.accumulate(1, ElementType::F32, ones.data(), 0, 2);
  refused("'weight' has those of 1, 'bias' of 2", [&] { store.endStep(1); });
  store.accumulate(0, ones.data());
  EXPECT_TRUE(store.endStep(1).applied);
  refused("'weight' has those of 0", [&] { store.endStep(1); });
}

TEST(ParameterStoreTest, ARoomlessDiskIsToldAtOnce) {
  StoreOptions options;
  options.folder = "/nowhere";
  ParameterStore store(options);
  expectError(ErrorClass::IoError, "'/nowhere'", [&] { store.add("w", {4}); });
  Folder folder;
  options.folder = folder.path;
  ParameterStore large(options);
  expectError(ErrorClass::IoError, "bytes for the state of parameters in",
              [&] { large.add("w", {uint64_t(1) << 42}); });
}

class WeightStreamTest : public testing::Test {
protected:
  WeightStreamTest() : store({}) { addParameters(store); }

  std::vector<uint8_t> take(std::vector<size_t> order,
                            WeightStream::Options options) {
    std::vector<uint8_t> bytes;
    WeightStream stream(store, order, options);
    while (auto piece = stream.next()) {
      pieces.push_back({piece->parameter, piece->first, piece->count});
      bytes.insert(bytes.end(), piece->bytes.begin(), piece->bytes.end());
    }
    return bytes;
  }
  ParameterStore store;
  std::vector<std::array<uint64_t, 3>> pieces;
};

TEST_F(WeightStreamTest, TakesWhatReadGives) {
  const std::vector<size_t> order = {0, 1, 3, 1};
  for (uint64_t ahead : {0, 100, 1 << 20}) {
    for (uint64_t piece : {1, 100, 1 << 20}) {
      takeStep(store, store.steps(), 1e-2); // updates happen in the stream
      for (ElementType type : {ElementType::BF16, ElementType::F32}) {
        const std::vector<uint8_t> streamed = take(order, {type, piece, ahead});
        std::vector<uint8_t> expected;
        for (size_t k : order) {
          std::vector<uint8_t> its(store.elements(k) *
                                   (type == ElementType::F32 ? 4 : 2));
          store.read(k, type, 0, store.elements(k), its.data());
          expected.insert(expected.end(), its.begin(), its.end());
        }
        EXPECT_EQ(streamed, expected);
      }
    }
  }
  pieces.clear();
  take({0}, {ElementType::F32, 200, 0});
  EXPECT_EQ(pieces,
            (std::vector<std::array<uint64_t, 3>>{{0, 0, 200}, {0, 200, 184}}));
}

TEST_F(WeightStreamTest, GradientsComeInWhileWeightsGoOut) {
  // Forward and backward of 20 steps, where each gradient arrives as soon as
  // its weights have left; against one thread alone.
  ParameterStore alone({});
  addParameters(alone);
  for (uint64_t step = 0; step < 20; ++step) {
    {
      WeightStream backward(store, {3, 2, 1, 0}, {ElementType::F16, 16, 64});
      std::optional<size_t> last;
      auto arrive = [&] {
        if (last)
          for (uint64_t first : {1000, 5000})
            store.accumulate(
                *last,
                gradient(first, step, *last, store.elements(*last)).data());
      };
      while (auto piece = backward.next()) {
        if (last != piece->parameter)
          arrive();
        last = piece->parameter;
      }
      arrive();
    }
    EXPECT_TRUE(store.endStep(1e-2).applied);
    takeStep(alone, step, 1e-2);
  }
  EXPECT_EQ(allWeights(store), allWeights(alone));
}

TEST_F(WeightStreamTest, StepsWaitForStreams) {
  for (size_t k = 0; k < store.size(); ++k)
    store.accumulate(k, gradient(1000, 0, k, store.elements(k)).data());
  {
    WeightStream stream(store, {0, 1}, {ElementType::F32, 10, 0});
    EXPECT_TRUE(stream.next());
    expectError(ErrorClass::BadCall, "still streamed",
                [&] { store.endStep(1); });
  } // given up
  EXPECT_TRUE(store.endStep(1).applied);
}

TEST_F(WeightStreamTest, WithoutAThreadTheStoreGoesOn) {
  for (size_t k = 0; k < store.size(); ++k)
    store.accumulate(k, gradient(1000, 0, k, store.elements(k)).data());
  {
    const test::NoMoreThreads here;
    expectError(ErrorClass::HostLimit, "thread",
                [&] { WeightStream(store, {0, 1}); });
  }
  EXPECT_TRUE(store.endStep(1).applied);
}

TEST_F(WeightStreamTest, ErrorsArriveInTheirPlace) {
  WeightStream stream(store, {3, 17});
  EXPECT_TRUE(stream.next());
  expectError(ErrorClass::BadCall, "no parameter 17", [&] { stream.next(); });
  EXPECT_FALSE(stream.next());
}

} // namespace
} // namespace wsec::runtime
