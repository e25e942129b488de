// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/swarmx/Gradients.h"
#include "test/runtime/swarmx/LocalLink.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace wsec::runtime {
namespace {

using namespace test;

constexpr size_t words = gradientWords;
constexpr unsigned streams = gradientStreams;

struct Reduced {
  std::vector<std::vector<float>> sums;
  std::vector<uint64_t> edges;
};

/// Every system in a thread of its own.
Reduced reduce(unsigned systems, uint64_t samples, ReduceOrder order) {
  const Tree tree(systems);
  Reduced result{std::vector<std::vector<float>>(streams), {}};
  Reduction reduction(tree, order, samples,
                      [&](unsigned stream, std::vector<float> sum) {
                        result.sums[stream] = std::move(sum);
                      });
  std::vector<std::thread> threads;
  for (unsigned system = 0; system < systems; ++system)
    threads.emplace_back([&, system] {
      const SampleRange range = samplesOf(system, systems, samples);
      for (unsigned stream = 0; stream < streams; ++stream) {
        SystemSum sum(order, samples);
        for (uint64_t i = range.begin; i < range.end; ++i)
          sum.add(i, gradient(i, stream));
        reduction.send(system, stream, sum.take());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (unsigned member = 0; member < tree.members(); ++member)
    result.edges.push_back(reduction.edgeBytes(member));
  return result;
}

bool sameBits(const Reduced &a, const Reduced &b) {
  for (unsigned stream = 0; stream < streams; ++stream)
    if (a.sums[stream].size() != words || b.sums[stream].size() != words ||
        std::memcmp(a.sums[stream].data(), b.sums[stream].data(), words * 4))
      return false;
  return true;
}

/// The same order, written as its definition.
std::vector<float> sumOf(uint64_t first, uint64_t count, uint64_t samples,
                         unsigned stream) {
  if (count == 1)
    return gradient(first, stream);
  std::vector<float> sum = sumOf(first, count / 2, samples, stream);
  if (first + count / 2 < samples) {
    const auto right = sumOf(first + count / 2, count / 2, samples, stream);
    for (size_t i = 0; i < words; ++i)
      sum[i] += right[i];
  }
  return sum;
}

TEST(ReductionTest, CanonicalSumsDoNotDependOnTheNumberOfSystems) {
  for (uint64_t samples : {1, 2, 3, 16, 191, 192, 200, 528}) {
    const Reduced one = reduce(1, samples, ReduceOrder::Canonical);
    uint64_t whole = 1;
    while (whole < samples)
      whole *= 2;
    for (unsigned stream = 0; stream < streams; ++stream)
      EXPECT_EQ(one.sums[stream], sumOf(0, whole, samples, stream)) << samples;
    for (unsigned systems : {2, 3, 4, 5, 16, 192})
      EXPECT_TRUE(
          sameBits(reduce(systems, samples, ReduceOrder::Canonical), one))
          << systems << " systems, " << samples << " samples";
  }
}

TEST(ReductionTest, TreeSumsAreStableForANumberOfSystemsAndNearTheOthers) {
  constexpr uint64_t samples = 200;
  const Reduced one = reduce(1, samples, ReduceOrder::Canonical);
  bool differs = false;
  for (unsigned systems : {1, 2, 3, 4, 5, 16, 192}) {
    const Reduced tree = reduce(systems, samples, ReduceOrder::Tree);
    EXPECT_TRUE(sameBits(tree, reduce(systems, samples, ReduceOrder::Tree)));
    differs |= !sameBits(tree, one);
    for (size_t i = 0; i < words; ++i) {
      float magnitude = 0;
      for (uint64_t s = 0; s < samples; ++s)
        magnitude += std::abs(gradient(s, 0)[i]);
      EXPECT_NEAR(tree.sums[0][i], one.sums[0][i], 1e-6 * magnitude);
    }
  }
  EXPECT_TRUE(differs);
}

TEST(ReductionTest, AlignedRangesTakeOnePartialAnEdge) {
  for (unsigned systems : {1, 2, 4, 16, 64}) {
    const Reduced reduced = reduce(systems, 128, ReduceOrder::Canonical);
    for (uint64_t bytes : reduced.edges)
      EXPECT_EQ(bytes, streams * words * 4) << systems;
  }
}

TEST(ReductionTest, OtherRangesTakeFewPartialsAndOneLeavesTheTop) {
  constexpr uint64_t samples = 200; // subtrees have up to eight levels
  for (unsigned systems : {3, 5, 192}) {
    const Tree tree(systems);
    const Reduced canonical = reduce(systems, samples, ReduceOrder::Canonical);
    const Reduced plain = reduce(systems, samples, ReduceOrder::Tree);
    for (unsigned system = 0; system < systems; ++system) {
      const uint64_t partials = CanonicalSum::partialsOf(
          samplesOf(system, systems, samples), samples);
      EXPECT_EQ(canonical.edges[system], partials * streams * words * 4);
      EXPECT_LE(partials, 16u);
    }
    for (uint64_t bytes : plain.edges)
      EXPECT_EQ(bytes, streams * words * 4);
    EXPECT_EQ(canonical.edges[tree.top()], streams * words * 4);
  }
}

TEST(ReductionTest, SystemsMayBeWithoutSamples) {
  const Reduced reduced = reduce(16, 3, ReduceOrder::Canonical);
  EXPECT_TRUE(sameBits(reduced, reduce(1, 3, ReduceOrder::Canonical)));
  EXPECT_EQ(reduced.edges[2], streams * words * 4);
  EXPECT_EQ(reduced.edges[3], 0u);
  EXPECT_TRUE(sameBits(reduce(16, 3, ReduceOrder::Tree),
                       reduce(3, 3, ReduceOrder::Tree)));
}

TEST(ReductionTest, ProcessesGiveTheSums) {
  constexpr uint64_t samples = 200;
  for (ReduceOrder order : {ReduceOrder::Canonical, ReduceOrder::Tree})
    for (const auto &[processes, systems] :
         {std::pair(2u, 5u), {7u, 16u}, {40u, 192u}}) {
      Mailboxes mailboxes(processes);
      std::vector<std::thread> others;
      for (unsigned process = 1; process < processes; ++process)
        others.emplace_back([&, process] {
          LocalLink link(mailboxes, process);
          reduceOver(link, systems, samples, order);
        });
      LocalLink link(mailboxes, 0);
      const Sums sums = reduceOver(link, systems, samples, order);
      for (std::thread &other : others)
        other.join();
      EXPECT_EQ(sums, reduce(systems, samples, order).sums) << processes;
    }
}

TEST(SamplesOfTest, DiffersByAtMostOne) {
  EXPECT_EQ(samplesOf(0, 3, 8).size(), 3u);
  EXPECT_EQ(samplesOf(1, 3, 8).begin, 3u);
  EXPECT_EQ(samplesOf(2, 3, 8).size(), 2u);
  EXPECT_EQ(samplesOf(2, 3, 8).end, 8u);
  EXPECT_EQ(samplesOf(191, 192, 528).size(), 2u);
}

} // namespace
} // namespace wsec::runtime
