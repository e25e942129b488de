// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions of PEs with launches of their own at the same time, and words from
// one to the next: what is proved by phases, held against the stepping engine.
#include "runtime/program/Checker.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/wavelet/RunError.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace wsec::runtime {
namespace {

using namespace test;
using namespace program;

/// Regions side by side, each a class of two columns. Words go from the left
/// column of a region to its right one, and from there to the left column of
/// the next region, and back.
class Regions {
public:
  Regions(int count, int64_t words, int height = 2, bool wavelets = true)
      : builder(2 * count, height), words(words) {
    if (!wavelets) {
      builder.source.launch_color = noLaunchColor;
      builder.source.routes.clear();
    }
    for (int i = 0; i < count; ++i) {
      const int x = 2 * i;
      ClassBuilder region =
          builder.addClass("region" + std::to_string(i), x, x + 2, 0, height);
      region.source->code_bytes = 4096;
      region.nextAddress = 12288;
      const Scalar px = region.px();
      isLeft = region.equal(px, x);
      isRight = region.equal(px, x + 1);
      region.buffer("v", uint32_t(words));
      regions.push_back(region);
      link(inner(i), x, Port::East, height);
      if (i + 1 == count)
        continue;
      link(onward(i), x + 1, Port::East, height);
      link(back(i), x + 2, Port::West, height);
    }
  }

  /// A routine that only this region has; what follows is its code.
  uint32_t routine(int region) {
    const uint32_t id = routines++;
    regions[size_t(region)].routine(id);
    return id;
  }
  BodyBuilder body(int region) {
    return BodyBuilder(regions[size_t(region)].source->routines.back()->body);
  }
  void work(int region) {
    send(region, inner(region), isLeft);
    receive(region, inner(region), isRight);
  }
  void give(int region, int thread = -1) {
    send(region, onward(region), isRight).thread = int8_t(thread);
  }
  void take(int region) { receive(region, onward(region - 1), isLeft); }
  void giveBack(int region, int thread = -1) {
    send(region, back(region - 1), isLeft).thread = int8_t(thread);
  }
  void takeBack(int region) { receive(region, back(region), isRight); }

  void launch(std::initializer_list<uint32_t> ids) {
    for (uint32_t id : ids)
      builder.launch(id);
  }
  DeadlockProof phases() {
    const Program &program = builder.finish();
    checkProgram(program);
    return provePhases(program);
  }
  std::string run() { return runError(builder.finish()); }

  ProgramBuilder builder;
  std::vector<ClassBuilder> regions;

private:
  static int onward(int region) { return 1 + region; }
  static int back(int region) { return 5 + region; }
  static int inner(int region) { return 9 + region; }

  /// From the PEs of column x to their neighbours.
  void link(int color, int x, Port to, int height) {
    const int next = to == Port::East ? x + 1 : x - 1;
    builder.route(color, x, x + 1, 0, height, Port::Ramp, {to});
    builder.route(color, next, next + 1, 0, height,
                  to == Port::East ? Port::West : Port::East, {Port::Ramp});
  }
  InstructionT &send(int region, int color, Scalar guard) {
    InstructionT &op =
        body(region).add(Opcode::Mov, {words}, fabric(color), immediate(1));
    op.guard = int16_t(guard.index);
    return op;
  }
  void receive(int region, int color, Scalar guard) {
    body(region)
        .add(Opcode::Mov, {words}, memory(0, {1}), fabric(color))
        .guard = int16_t(guard.index);
  }

  const int64_t words;
  uint32_t routines = 0;
  Scalar isLeft, isRight;
};

/// A, B and C: each works on a tile and gives it to the next.
struct Pipeline : Regions {
  explicit Pipeline(int count, bool asynchronous = false) : Regions(count, 40) {
    for (int i = 0; i < count; ++i) {
      routine(i);
      if (i > 0)
        take(i);
      work(i);
      if (i + 1 == count)
        continue;
      if (asynchronous)
        body(i).await(1);
      give(i, asynchronous ? 0 : -1);
    }
  }
  /// Waits for what a region still gives.
  uint32_t finish(int region) {
    const uint32_t id = routine(region);
    body(region).await(1);
    return id;
  }
};

constexpr uint32_t A = 0, B = 1, C = 2;

TEST(Regions, TwoInTurns) {
  Pipeline pipeline(2);
  pipeline.launch({A, B, A, B, A, B});
  const DeadlockProof proof = pipeline.phases();
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  EXPECT_EQ(pipeline.run(), "");
}

TEST(Regions, ThreeInTurns) {
  Pipeline pipeline(3);
  pipeline.launch({A, B, C, A, B, C});
  const DeadlockProof proof = pipeline.phases();
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  EXPECT_EQ(pipeline.run(), "");
}

/// A works on the next tile while B works on what A has given it.
TEST(Regions, Overlapping) {
  Pipeline pipeline(3, /*asynchronous=*/true);
  const uint32_t lastOfA = pipeline.finish(0), lastOfB = pipeline.finish(1);
  pipeline.launch({A, A, B, A, B, C, lastOfA, B, C, lastOfB, C});
  const DeadlockProof proof = pipeline.phases();
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  EXPECT_EQ(pipeline.run(), "");
}

TEST(Regions, ProofDoesNotGrowWithPes) {
  int64_t steps[2];
  for (int large : {0, 1}) {
    Regions regions(2, 40, large ? 512 : 4);
    const uint32_t a = regions.routine(0);
    regions.work(0);
    regions.give(0);
    const uint32_t b = regions.routine(1);
    regions.take(1);
    regions.launch({a, b, a, b});
    const DeadlockProof proof = regions.phases();
    EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
    steps[large] = proof.steps;
  }
  // Rows are counted, but not followed.
  EXPECT_LT(steps[1], steps[0] + 512 * 100);
}

/// B answers, and A waits for it in a launch that comes long before B's.
TEST(Regions, D9LaunchesInTheWrongOrder) {
  for (bool right : {true, false}) {
    Regions regions(2, 40);
    const uint32_t ask = regions.routine(0);
    regions.give(0);
    const uint32_t wait = regions.routine(0);
    regions.takeBack(0);
    const uint32_t other = regions.routine(0);
    regions.work(0);
    const uint32_t answer = regions.routine(1);
    regions.take(1);
    regions.giveBack(1);
    regions.launch({ask});
    if (right)
      regions.launch({answer, wait});
    else
      regions.launch({wait});
    for (int i = 0; i < 20; ++i)
      regions.launch({other});
    if (!right)
      regions.launch({answer});
    const DeadlockProof proof = regions.phases();
    EXPECT_EQ(proof.verdict, right ? Verdict::Free : Verdict::Undecided);
    if (right)
      EXPECT_EQ(proof.reason, "");
    else
      EXPECT_THAT(proof.reason, testing::HasSubstr("launch wavelet"));
    EXPECT_EQ(regions.run(), right ? "" : "Deadlock");
    EXPECT_EQ(proveDeadlockFree(regions.builder.finish()).verdict,
              right ? Verdict::Free : Verdict::Deadlock);
  }
}

/// Both regions ask before they answer.
TEST(Regions, BothGiveFirst) {
  Regions regions(2, 40);
  const uint32_t a = regions.routine(0);
  regions.give(0);
  regions.takeBack(0);
  const uint32_t b = regions.routine(1);
  regions.giveBack(1);
  regions.take(1);
  regions.launch({a, b});
  const DeadlockProof proof = regions.phases();
  EXPECT_EQ(proof.verdict, Verdict::Undecided);
  EXPECT_THAT(proof.reason, testing::HasSubstr("in a cycle"));
  EXPECT_EQ(regions.run(), "Deadlock");
}

/// Calls of the host do not overlap.
TEST(Regions, CalledByTheHost) {
  Regions regions(2, 40, 2, /*wavelets=*/false);
  const uint32_t a = regions.routine(0);
  regions.give(0);
  const uint32_t b = regions.routine(1);
  regions.take(1);
  regions.launch({a, b});
  EXPECT_EQ(regions.phases().verdict, Verdict::Undecided);
  EXPECT_EQ(regions.run(), "Deadlock");
  // As one launch they run together.
  regions.regions[1].source->routines[0]->id = a;
  regions.builder.source.entries[0]->launches.pop_back();
  const DeadlockProof proof = regions.phases();
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  EXPECT_EQ(regions.run(), "");
}

/// Any order of launches, some of them sound.
class RandomRegions : public Regions {
public:
  explicit RandomRegions(uint32_t seed)
      : RandomRegions(seed, std::mt19937(seed)) {}

private:
  RandomRegions(uint32_t seed, std::mt19937 random)
      : Regions(2 + int(seed % 2), seed % 3 ? 40 : 3), random(random) {
    builder.source.machine->microthreads_queue = below(2);
    const int count = int(regions.size());
    std::vector<std::vector<uint32_t>> ids(regions.size());
    for (int i = 0; i < count; ++i)
      for (int tile = below(3) ? 2 : 3; tile > 0; --tile)
        ids[size_t(i)].push_back(fill(i));
    // Each region's in order, but now and then.
    std::vector<size_t> next(regions.size());
    while (true) {
      std::vector<size_t> left;
      for (size_t i = 0; i < ids.size(); ++i)
        if (next[i] < ids[i].size())
          left.push_back(i);
      if (left.empty())
        break;
      const size_t i =
          below(3) ? left[0] : left[size_t(below(int(left.size())))];
      for (int times = below(24) ? 1 : 9; times > 0; --times)
        launch({ids[i][next[i]]});
      ++next[i];
    }
  }

  int below(int count) { return int(random() % unsigned(count)); }

  /// Gives and takes, mostly once each and in an order that may work.
  uint32_t fill(int region) {
    const uint32_t id = routine(region);
    const bool last = region + 1 == int(regions.size());
    const int thread = below(3) ? -1 : below(2);
    std::vector<int> steps{1, 0, 2};
    if (below(4) == 0)
      steps = {2, 0, 1};
    if (seedsBack)
      steps.push_back(below(2) ? 3 : 4);
    for (int step : steps) {
      if (below(25) == 0)
        continue;
      switch (step) {
      case 0:
        work(region);
        break;
      case 1:
        if (region > 0)
          take(region);
        break;
      case 2:
        if (!last)
          give(region, thread);
        break;
      case 3:
      case 4:
        if (!last && step == 3)
          takeBack(region);
        else if (region > 0)
          giveBack(region);
        break;
      }
    }
    if (thread >= 0 && below(8))
      body(region).await(uint8_t(1 << thread));
    return id;
  }

  std::mt19937 random;
  const bool seedsBack = random() % 3 == 0;
};

TEST(Regions, NoneThatIsFreeHangs) {
  VerdictTally tally;
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    RandomRegions regions(seed);
    const bool proved = regions.phases().verdict == Verdict::Free;
    tally.add(proved, seed, [&] { return regions.run(); });
  }
  tally.expectEnough();
}

} // namespace
} // namespace wsec::runtime
