// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that replays make once: equal to those of replays that make them each
// time.
#include "runtime/strips/ConstantWords.h"
#include "runtime/strips/Replay.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace wsec::runtime {
namespace {

/// Two words on each of two channels, of streams that bring others.
class Weights : public HostPort {
public:
  static constexpr size_t length = 2;
  uint64_t words(uint32_t, uint32_t) override { return length; }
  WordView next(uint32_t stream, uint32_t channel, size_t) override {
    ++taken;
    WordView view{all[stream][channel].data(), 1, length, length, nullptr};
    view.constant = constant;
    return view;
  }
  void store(uint32_t, uint32_t, const WordView &words) override {
    for (size_t i = 0; i < words.words(); ++i)
      stored.push_back(words.word(i));
  }
  void countDelivered(uint32_t, uint32_t, uint64_t words) override {
    known += words;
  }

  std::array<std::array<std::array<float, length>, 2>, 3> all{
      {{{{1, 2}, {3, 4}}}, {{{5, 6}, {7, 8}}}, {{{9, 10}, {11, 12}}}}};
  bool constant = true;
  size_t taken = 0, known = 0;
  std::vector<float> stored;
};

/// Words of two channels side by side, to each of which a word is added.
class ConstantWordsTest : public testing::Test {
protected:
  ConstantWordsTest() { recording.passing.resize(4); }

  void record() {
    views = {takeView(0), takeView(1)};
    interleave();
    Nest nest;
    nest.op = program::Opcode::Add;
    nest.dimensions = 1;
    nest.extent[0] = 4;
    nest.dst = {sums, {1}};
    nest.a = {side, {1}};
    nest.b = {&added, {0}};
    const Recording::BufferId sum = recording.addSram(sums, 4);
    recording.compute(0, nest, sum, scratch, recording.addSram(&added, 1));
    recording.store(0, 3, 0, {sums, 1, 4, 4, nullptr}, sum);
  }

  Recording::BufferId takeView(uint32_t channel) {
    const WordView view = host.next(0, channel, 2);
    sources.push_back(view.data);
    return recording.addView(0, 0, channel, 2, view);
  }

  void interleave() {
    const InterleaveProblem problem{1, 2, 2, 0, 0, 1};
    wsec::runtime::interleave(problem, side, sources.data());
    recording.interleave(0, problem, side, scratch, sources, views);
  }

  /// What a replay stores; `streams` are those it takes in place of the first.
  std::vector<float> run(Replay &replay, uint32_t stream = 0) {
    host.stored.clear();
    const Replay::Shift shift{stream, {stream, 1, 2, 3}};
    replay.run(host, nullptr, stream ? &shift : nullptr);
    return host.stored;
  }

  Weights host;
  WorkerPool pool{1};
  Recording recording{1 << 20};
  float side[4], sums[4], added = 0.5f;
  const Recording::BufferId scratch = recording.addScratch(side, 4);
  std::vector<Recording::BufferId> views;
  std::vector<const float *> sources;
};

using Floats = std::vector<float>;

TEST_F(ConstantWordsTest, AreMadeOnceForTheirStreams) {
  record();
  MemoryRoom room(1 << 20);
  Replay replay(recording, pool, {}, &room);
  host.taken = 0;
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(run(replay), Floats({1.5, 3.5, 2.5, 4.5}));
    EXPECT_EQ(run(replay, 1), Floats({5.5, 7.5, 6.5, 8.5}));
    EXPECT_EQ(host.taken, 4u);
    EXPECT_EQ(host.known, size_t(turn) * 8);
  }
  added = 1; // What is computed with them is computed each time.
  EXPECT_EQ(run(replay), Floats({2, 4, 3, 5}));
}

TEST_F(ConstantWordsTest, AreMadeAnewWhereThereIsNoRoom) {
  record();
  MemoryRoom room(64); // for one
  {
    Replay replay(recording, pool, {}, &room);
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_EQ(run(replay), Floats({1.5, 3.5, 2.5, 4.5}));
      EXPECT_EQ(run(replay, 1), Floats({5.5, 7.5, 6.5, 8.5}));
      EXPECT_EQ(run(replay, 2), Floats({9.5, 11.5, 10.5, 12.5}));
    }
    EXPECT_EQ(host.known, 0u);
  }
  EXPECT_TRUE(room.take(64)); // It was given back, once.
  EXPECT_FALSE(room.take(1));
  Replay without(recording, pool, {}, &room);
  EXPECT_EQ(run(without, 1), Floats({5.5, 7.5, 6.5, 8.5}));
}

TEST_F(ConstantWordsTest, AreOfWordsThatTheHostGivesInAllRuns) {
  host.constant = false;
  record();
  MemoryRoom room(1 << 20);
  Replay replay(recording, pool, {}, &room);
  EXPECT_EQ(run(replay), Floats({1.5, 3.5, 2.5, 4.5}));
  host.all[0][1] = {-3, -4};
  EXPECT_EQ(run(replay), Floats({1.5, -2.5, 2.5, -3.5}));
}

TEST_F(ConstantWordsTest, AreNotMadeInTwoPlacesNorOfWhatPasses) {
  record();
  const ConstantWords first(recording, {});
  EXPECT_TRUE(first.buffers[scratch]);
  EXPECT_FALSE(ConstantWords(recording, {scratch}).buffers[scratch]);
  recording.passing[0] = {0}; // The store gets it in the same call.
  EXPECT_FALSE(ConstantWords(recording, {}).buffers[scratch]);
  recording.passing[0] = {};
  EXPECT_TRUE(ConstantWords(recording, {}).buffers[scratch]);
  interleave(); // It was read before.
  EXPECT_FALSE(ConstantWords(recording, {}).buffers[scratch]);
}

TEST_F(ConstantWordsTest, ChannelsThatBringOthersTooAreTaken) {
  record();
  float copy[2];
  const Recording::BufferId view = takeView(1);
  recording.copy(0, 1, 2, {copy, {0, 1}}, recording.addSram(copy, 2),
                 {sources.back(), {0, 1}}, view);
  const ConstantWords its(recording, {});
  std::vector<bool> taken; // once
  for (size_t i = 0; i < recording.operations.size(); ++i)
    if (recording.operations[i].kind == Recording::Operation::Kind::Next)
      taken.push_back(its.operations[i]);
  EXPECT_EQ(taken, std::vector<bool>({true, false, false}));
}

} // namespace
} // namespace wsec::runtime
