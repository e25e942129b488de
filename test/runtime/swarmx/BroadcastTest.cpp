// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/Broadcast.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace wsec::runtime {
namespace {

constexpr unsigned channelCount = 3, blockCount = 40;

/// Blocks of the numbers channel * 1e5 + 0, 1, 2, ...; counts what it gives.
struct CountingSource {
  std::vector<unsigned> next = std::vector<unsigned>(channelCount);
  uint64_t words = 0;

  static size_t length(unsigned channel, unsigned block) {
    return 1 + (channel * 7 + block * 5) % 11;
  }
  WordView operator()(unsigned channel) {
    const size_t count = length(channel, next[channel]++);
    std::shared_ptr<float[]> data(new float[count]);
    for (size_t i = 0; i < count; ++i)
      data[i] = float(channel * 1000 + next[channel] - 1);
    words += count;
    return {data.get(), 1, count, count, data};
  }
};

/// Takes all blocks, channels in a random order; false if one is not the next.
bool takeAll(Broadcast &broadcast, unsigned system, unsigned seed,
             std::counting_semaphore<> *slots) {
  std::mt19937 random(seed);
  std::vector<unsigned> next(channelCount);
  bool right = true;
  for (unsigned i = 0; i < channelCount * blockCount; ++i) {
    unsigned channel = random() % channelCount;
    while (next[channel] == blockCount)
      channel = (channel + 1) % channelCount;
    const WordView block = broadcast.take(system, channel, slots);
    right &= block.words() == CountingSource::length(channel, next[channel]) &&
             block.word(0) == float(channel * 1000 + next[channel]);
    ++next[channel];
  }
  broadcast.leave(system);
  return right;
}

TEST(BroadcastTest, GivesEverySystemEveryBlockAndAsksTheStoreOnce) {
  uint64_t rootBytes = 0;
  for (unsigned systems : {1, 2, 3, 4, 5, 16, 23, 192}) {
    const Tree tree(systems);
    CountingSource source;
    // A window of a few words: orders differ, so systems wait for one another.
    Broadcast broadcast(tree, channelCount, std::ref(source), nullptr, 20);
    std::counting_semaphore<> slots(3);
    std::atomic<unsigned> right = 0;
    std::vector<std::thread> threads;
    for (unsigned system = 0; system < systems; ++system)
      threads.emplace_back([&, system] {
        slots.acquire();
        right += takeAll(broadcast, system, system, &slots);
        slots.release();
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(right, systems);
    if (systems == 1)
      rootBytes = source.words * 4;
    for (unsigned member = 0; member < tree.members(); ++member)
      EXPECT_EQ(broadcast.edgeBytes(member), rootBytes) << tree.name(member);
    EXPECT_EQ(source.words * 4, rootBytes);
  }
}

TEST(BroadcastTest, KeepsAWindowOfWords) {
  // One system takes as much as it can while its sibling takes nothing.
  CountingSource source;
  constexpr size_t window = 64;
  Broadcast broadcast(Tree(2), channelCount, std::ref(source), nullptr, window);
  std::thread ahead([&] {
    for (unsigned block = 0; block < blockCount; ++block)
      broadcast.take(0, 0);
    broadcast.leave(0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(broadcast.edgeBytes(0) / 4, window);
  EXPECT_LE(broadcast.edgeBytes(0) / 4, window + 11);
  for (unsigned block = 0; block < blockCount; ++block)
    EXPECT_EQ(broadcast.take(1, 0).word(0), float(block));
  ahead.join();
}

TEST(BroadcastTest, NobodyWaitsForASystemThatHasLeft) {
  CountingSource source;
  const Tree tree(5);
  Broadcast broadcast(tree, channelCount, std::ref(source), nullptr, 8);
  broadcast.leave(1);
  broadcast.leave(4); // and with it node 1.1
  for (unsigned block = 0; block < blockCount; ++block)
    for (unsigned system : {0, 2, 3})
      EXPECT_EQ(broadcast.take(system, 2).word(0), float(2000 + block));
  EXPECT_EQ(broadcast.edgeBytes(1), 0u);
  EXPECT_EQ(broadcast.edgeBytes(6), 0u);
  EXPECT_EQ(broadcast.edgeBytes(tree.top()), source.words * 4);
}

TEST(BroadcastTest, AFailureEndsAllWaiting) {
  const auto broken = [](unsigned) -> WordView {
    throw std::runtime_error("the disk is gone");
  };
  Broadcast broadcast(Tree(6), channelCount, broken);
  EXPECT_THROW(broadcast.take(5, 0), std::runtime_error);
  EXPECT_THROW(broadcast.take(0, 1), std::runtime_error);
}

} // namespace
} // namespace wsec::runtime
