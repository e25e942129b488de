// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are joined, against the same nests one by one.
#include "runtime/strips/NestExecutor.h"
#include "runtime/strips/Replay.h"
#include "test/runtime/ProgramBuilder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <tuple>

namespace wsec::runtime {
namespace {

using program::Opcode;

/// c[n][l] = a[k][n] * b[k][l] + c[n][l] for k < depth, the first of them
/// written: lines of weights that come one after the other.
struct Sums {
  size_t depth, features, lanes;
  bool same;      ///< weights of all lanes, else of each
  bool inOneGo;   ///< the lines behind the first are one nest
  size_t gap = 0; ///< between lines of weights behind the second one
};

class JoinedSums : public testing::TestWithParam<Sums> {
protected:
  Sums sums = GetParam();
  std::mt19937 random{1};
  std::vector<float> weights, x;

  void SetUp() override {
    const size_t width = sums.same ? 1 : sums.lanes;
    weights = floats((sums.depth * sums.features + sums.gap) * width);
    x = floats(sums.depth * sums.lanes);
  }
  /// Zeros of both signs among them, whose products are zeros of both.
  std::vector<float> floats(size_t n) {
    std::vector<float> result(n);
    for (float &value : result) {
      value = float(int(random() % 64)) / 16 - 2;
      if (random() % 4 == 0)
        value = random() % 2 ? 0.f : -0.f;
    }
    return result;
  }
  std::vector<Nest> nests(float *c) const {
    const ptrdiff_t width = sums.same ? 1 : ptrdiff_t(sums.lanes);
    const auto line = ptrdiff_t(sums.features) * width,
               lanes = ptrdiff_t(sums.lanes);
    std::vector<Nest> result;
    for (size_t k = 0; k < sums.depth;) {
      const bool all = sums.inOneGo && k == 1;
      Nest nest;
      nest.op = k == 0 ? Opcode::Mul : Opcode::Fmac;
      nest.dimensions = 3;
      nest.extent[0] = all ? sums.depth - 1 : 1;
      nest.extent[1] = sums.features;
      nest.extent[2] = sums.lanes;
      const size_t gap = k > 1 ? sums.gap : 0;
      nest.dst = {c, {0, lanes, 1}};
      nest.a = {weights.data() + ptrdiff_t(k) * line + ptrdiff_t(gap),
                {line, width, sums.same ? 0 : 1}};
      nest.b = {x.data() + ptrdiff_t(k) * lanes, {lanes, 0, 1}};
      result.push_back(nest);
      k += nest.extent[0];
    }
    return result;
  }
};

TEST_P(JoinedSums, HaveTheBitsOfTheirNests) {
  std::vector<float> joined(sums.features * sums.lanes, 7), recorded = joined,
                                                            alone = joined;
  for (const Nest &nest : nests(alone.data()))
    execute(nest);
  auto run = [&](std::vector<float> &c, Recording *recording) {
    NestMemory memory;
    if (recording) {
      memory.dst = recording->addSram(c.data(), c.size());
      memory.a = recording->addScratch(weights.data(), weights.size());
      memory.b = recording->addScratch(x.data(), x.size());
    }
    NestExecutor executor;
    executor.reset(recording, 0);
    for (const Nest &nest : nests(c.data()))
      executor.run(nest, memory);
    executor.flush();
  };
  run(joined, nullptr);
  EXPECT_EQ(std::memcmp(joined.data(), alone.data(), 4 * alone.size()), 0);
  Recording recording(1 << 20);
  run(recorded, &recording);
  EXPECT_EQ(std::memcmp(recorded.data(), alone.data(), 4 * alone.size()), 0);
  // Sums of a vector that is the same for all of it are a product; others
  // begin with what leaves the bits of the first term.
  EXPECT_EQ(recording.operations.size(),
            size_t((sums.same ? 1 : 2) + (sums.gap ? 1 : 0)));
  EXPECT_EQ(recording.nests.front().isProduct(), sums.same);
}

INSTANTIATE_TEST_SUITE_P(
    NestExecutorTest, JoinedSums,
    testing::Values(Sums{2, 3, 1, true, false}, Sums{9, 5, 32, true, false},
                    Sums{9, 5, 33, true, true}, Sums{200, 13, 70, true, true},
                    Sums{6, 4, 20, false, false}, Sums{6, 4, 20, false, true},
                    Sums{6, 4, 20, true, false, 3}));

/// c[n][l] = value, then c[n][l] += w[k][n] * x[k][l]: sums that begin with it,
/// whatever its sign, if all of them do.
TEST(NestExecutorTest, SumsBeginWithWhatFillsThem) {
  constexpr size_t depth = 5, features = 4, lanes = 19;
  const std::vector<float> weights(depth * features, 0.f),
      x(depth * lanes, -1.f);
  for (bool all : {true, false})
    for (float value : {0.f, -0.f, 3.f}) {
      std::vector<float> c(features * lanes, 7), expected = c;
      auto nests = [&](float *at) {
        Nest fill, sums;
        fill.op = Opcode::Mov;
        fill.dimensions = 2;
        fill.extent[0] = all ? features : features - 1;
        fill.extent[1] = lanes;
        fill.dst = {at, {lanes, 1}};
        fill.a = {&value, {}};
        sums.op = Opcode::Fmac;
        sums.dimensions = 3;
        sums.extent[0] = features;
        sums.extent[1] = depth;
        sums.extent[2] = lanes;
        sums.dst = {at, {lanes, 0, 1}};
        sums.a = {weights.data(), {1, features, 0}};
        sums.b = {x.data(), {0, lanes, 1}};
        return std::array{fill, sums};
      };
      for (const Nest &nest : nests(expected.data()))
        execute(nest);
      Recording recording(1 << 20);
      NestMemory memory;
      memory.dst = recording.addSram(c.data(), c.size());
      memory.b = recording.addScratch(x.data(), x.size());
      NestExecutor executor;
      executor.reset(&recording, 0);
      auto [fill, sums] = nests(c.data());
      memory.constant = true;
      std::tie(memory.a, fill.a.data) = recording.addConstant(value);
      executor.run(fill, memory);
      memory.constant = false;
      memory.a = recording.addScratch(weights.data(), weights.size());
      executor.run(sums, memory);
      executor.flush();
      EXPECT_EQ(std::memcmp(c.data(), expected.data(), 4 * c.size()), 0);
      EXPECT_EQ(recording.operations.size(), all ? 1u : 2u);
    }
}

/// Lines of a product that views bring, one after the other in memory as it is
/// written down, run one by one where a replay has them apart: the first begins
/// with the constant that filled the accumulators, too.
TEST(NestExecutorTest, PartsOfSumsBeginWithWhatFillsThem) {
  constexpr size_t depth = 3, lanes = 19;
  std::shared_ptr<float[]> weights(new float[depth]{1, 2, 3});
  std::vector<float> x(depth * lanes, 1), c(lanes, 7);
  Recording recording(1 << 20);
  recording.passing.resize(1);
  NestMemory memory;
  memory.dst = recording.addSram(c.data(), c.size());
  const auto lines = recording.addSram(x.data(), x.size());
  NestExecutor executor;
  executor.reset(&recording, 0);
  Nest fill;
  fill.op = Opcode::Mov;
  fill.dimensions = 1;
  fill.extent[0] = lanes;
  fill.dst = {c.data(), {1}};
  memory.constant = true;
  std::tie(memory.a, fill.a.data) = recording.addConstant(0.5f);
  executor.run(fill, memory);
  memory.constant = false;
  for (size_t k = 0; k < depth; ++k) {
    WordView view;
    view.data = &weights[k];
    view.rows = view.length = view.stride = 1;
    view.owner = weights;
    Nest sum;
    sum.op = Opcode::Fmac;
    sum.dimensions = 2;
    sum.extent[0] = 1;
    sum.extent[1] = lanes;
    sum.dst = {c.data(), {0, 1}};
    sum.a = {view.data, {0, 0}};
    sum.b = {x.data() + k * lanes, {0, 1}};
    memory.a = recording.addView(0, 0, 0, 1, view);
    memory.b = lines;
    memory.aOwner = weights;
    executor.run(sum, memory);
  }
  executor.flush();
  WorkerPool pool(1);
  Replay replay(recording, pool, {});
  for (bool apart : {false, true}) {
    std::fill(c.begin(), c.end(), 1000.f);
    test::VectorHost host;
    host.feed(0, 0, {1, 2, 3});
    host.inputs.at({0, 0}).apart = apart;
    replay.run(host, nullptr);
    EXPECT_EQ(c, std::vector<float>(lanes, 6.5f)) << apart;
  }
}

/// c[n][l] += w[k][n] * x[k][l], where lines of x come from several senders: a
/// nest of each, three lines at most, of one product.
TEST(NestExecutorTest, LinesOfSeveralSendersAreOneProduct) {
  constexpr size_t depth = 11, most = 3, features = 5, lanes = 33;
  std::mt19937 random{2};
  auto floats = [&](size_t n) {
    std::vector<float> result(n);
    for (float &value : result)
      value = std::uniform_real_distribution<float>(-1, 1)(random);
    return result;
  };
  const std::vector<float> weights = floats(depth * features),
                           old = floats(features * lanes);
  std::vector<std::vector<float>> x;
  for (size_t k = 0; k < depth; k += most)
    x.push_back(floats(most * lanes));
  std::vector<float> c = old;
  std::vector<Nest> nests;
  for (size_t k = 0; k < depth; ++k) {
    Nest nest;
    nest.op = Opcode::Fmac;
    nest.dimensions = 2;
    nest.extent[0] = features;
    nest.extent[1] = lanes;
    nest.dst = {c.data(), {lanes, 1}};
    nest.a = {weights.data() + k * features, {1, 0}};
    nest.b = {x[k / most].data() + k % most * lanes, {0, 1}};
    nests.push_back(nest);
  }
  auto alone = [&] {
    c = old;
    for (const Nest &nest : nests)
      execute(nest);
    return c;
  };
  auto isRight = [&](const std::vector<float> &expected) {
    EXPECT_EQ(std::memcmp(c.data(), expected.data(), 4 * c.size()), 0);
  };
  Recording recording(1 << 20);
  NestMemory memory;
  memory.dst = recording.addSram(c.data(), c.size());
  memory.a = recording.addSram(weights.data(), weights.size());
  std::vector<Recording::BufferId> buffers;
  for (const std::vector<float> &its : x)
    buffers.push_back(recording.addSram(its.data(), its.size()));
  for (Recording *into : {static_cast<Recording *>(nullptr), &recording}) {
    const std::vector<float> expected = alone();
    c = old;
    NestExecutor executor;
    executor.reset(into, 0);
    for (size_t k = 0; k < depth; ++k) {
      memory.b = into ? buffers[k / most] : Recording::nothing;
      executor.run(nests[k], memory);
    }
    executor.flush();
    isRight(expected);
  }
  ASSERT_EQ(recording.operations.size(), x.size());
  for (size_t i = 0; i + 2 < x.size(); ++i)
    EXPECT_EQ(recording.operations[i].index, recording.operations[i + 1].index);
  EXPECT_EQ(makeTasks(recording, 2).size(), 1u);

  for (unsigned workers : {1u, 2u}) {
    WorkerPool pool(workers);
    Replay replay(recording, pool, {});
    for (std::vector<float> &its : x)
      std::ranges::copy(floats(its.size()), its.begin());
    const std::vector<float> expected = alone();
    c = old;
    test::VectorHost host;
    replay.run(host, nullptr);
    isRight(expected);
  }
}

} // namespace
} // namespace wsec::runtime
