// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds verdicts word by word against the stepping engine: random small
// programs, in which PEs send, receive and relay in random order, launched by
// calls and by wavelets. None that is free may hang; every one with a deadlock
// must.
#include "runtime/program/Checker.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/wavelet/RunError.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace wsec::runtime {
namespace {

using namespace test;
using namespace program;

/// A mesh in which every PE is a class of its own. Launches are calls, or
/// wavelets of the builder's launch color.
class Calls {
public:
  Calls(int width, int height, uint16_t words = 64, bool commands = false)
      : builder(width, height) {
    if (!commands) {
      builder.source.launch_color = noLaunchColor;
      builder.source.routes.clear();
    }
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        ClassBuilder pe = builder.addClass(
            "pe" + std::to_string(x) + std::to_string(y), x, x + 1, y, y + 1);
        pe.source->code_bytes = 2048;
        pe.nextAddress = 8192;
        pe.buffer("v", words);
        for (int color = 0; color < 8; ++color)
          pe.buffer("got" + std::to_string(color), words);
        pe.routine(0).add(Opcode::Mov, {words}, memory(0, {1}), immediate(1));
        pes.push_back(pe);
      }
    builder.launch(0);
  }

  /// Of the PE's last routine.
  BodyBuilder body(size_t pe) {
    return BodyBuilder(pes[pe].source->routines.back()->body);
  }
  InstructionT &send(size_t pe, int color, int64_t words) {
    return body(pe).add(Opcode::Mov, {words}, fabric(color), memory(0, {1}));
  }
  InstructionT &receive(size_t pe, int color, int64_t words) {
    return body(pe).add(Opcode::Mov, {words}, memory(uint16_t(1 + color), {1}),
                        fabric(color));
  }
  InstructionT &relay(size_t pe, int from, int to, int64_t words) {
    return body(pe).add(Opcode::Mov, {words}, fabric(to), fabric(from));
  }
  DeadlockProof prove() {
    const Program &program = builder.finish();
    checkProgram(program);
    return proveDeadlockFree(program);
  }
  std::string run() { return runError(builder.finish()); }

  ProgramBuilder builder;
  std::vector<ClassBuilder> pes;
};

// ------------------------------------------------------------------- by hand

/// Two PEs that send to each other on colors 1 and 2.
struct Pair : Calls {
  Pair() : Calls(2, 1) {
    builder.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East});
    builder.route(1, 1, 2, 0, 1, Port::West, {Port::Ramp});
    builder.route(2, 1, 2, 0, 1, Port::Ramp, {Port::West});
    builder.route(2, 0, 1, 0, 1, Port::East, {Port::Ramp});
  }
};

TEST(TokenRun, ExchangeInOrderIsFree) {
  Pair pair;
  pair.send(0, 1, 60);
  pair.receive(1, 1, 60);
  pair.send(1, 2, 60);
  pair.receive(0, 2, 60);
  EXPECT_EQ(pair.prove().verdict, Verdict::Free) << pair.prove().reason;
  EXPECT_EQ(pair.run(), "");
}

TEST(TokenRun, BothReceiveFirst) {
  Pair pair;
  pair.receive(0, 2, 1);
  pair.send(0, 1, 1);
  pair.receive(1, 1, 1);
  pair.send(1, 2, 1);
  DeadlockProof proof = pair.prove();
  EXPECT_EQ(proof.verdict, Verdict::Deadlock);
  EXPECT_EQ(proof.reason,
            "launch 0: PEs x 0, y 0 (class 'pe00'), where statement 1 of "
            "routine 0 waits for a word of color 2; from PEs x 1, y 0 (class "
            "'pe10'), where statement 1 of routine 0 waits for a word of color "
            "1; these wait for the ones above in a cycle, at PEs x 0, y 0 "
            "(class 'pe00')");
  EXPECT_EQ(pair.run(), "Deadlock");
}

TEST(TokenRun, BothSendMoreThanQueuesHold) {
  Pair pair;
  for (size_t pe : {0, 1}) {
    pair.send(pe, pe == 0 ? 1 : 2, 60);
    pair.receive(pe, pe == 0 ? 2 : 1, 60);
  }
  DeadlockProof proof = pair.prove();
  EXPECT_EQ(proof.verdict, Verdict::Deadlock);
  EXPECT_THAT(proof.reason, testing::HasSubstr("waits to send on color 1"));
  EXPECT_EQ(pair.run(), "Deadlock");
}

TEST(TokenRun, BothSendWhatQueuesHold) {
  Pair pair;
  for (size_t pe : {0, 1}) {
    pair.send(pe, pe == 0 ? 1 : 2, 3);
    pair.receive(pe, pe == 0 ? 2 : 1, 3);
  }
  EXPECT_EQ(pair.prove().verdict, Verdict::Free);
  EXPECT_EQ(pair.run(), "");
}

TEST(TokenRun, BothSendWhatQueuesMayHold) {
  Pair pair;
  for (size_t pe : {0, 1}) {
    pair.send(pe, pe == 0 ? 1 : 2, 12);
    pair.receive(pe, pe == 0 ? 2 : 1, 12);
  }
  DeadlockProof proof = pair.prove();
  EXPECT_EQ(proof.verdict, Verdict::Undecided);
  EXPECT_THAT(proof.reason,
              testing::HasSubstr("word by word: whether it ends depends on how "
                                 "many words the queues hold"));
}

TEST(TokenRun, MicrothreadsExchange) {
  Pair pair;
  for (size_t pe : {0, 1}) {
    pair.send(pe, pe == 0 ? 1 : 2, 60).thread = 0;
    pair.receive(pe, pe == 0 ? 2 : 1, 60);
  }
  EXPECT_EQ(pair.prove().verdict, Verdict::Free) << pair.prove().reason;
  EXPECT_EQ(pair.run(), "");
}

/// The main thread waits until a microthread can take more work.
TEST(TokenRun, MicrothreadThatGetsWorkTwice) {
  for (bool queues : {false, true}) {
    Pair pair;
    pair.builder.source.machine->microthreads_queue = queues;
    pair.send(0, 1, 60).thread = 0;
    pair.send(0, 1, 1).thread = 0;
    pair.receive(0, 2, 60);
    pair.send(1, 2, 60);
    pair.receive(1, 1, 61);
    const DeadlockProof proof = pair.prove();
    EXPECT_EQ(proof.verdict, queues ? Verdict::Deadlock : Verdict::Undecided);
    EXPECT_THAT(proof.reason, testing::HasSubstr("waits to send on color 1"));
    EXPECT_EQ(pair.run(), queues ? "Deadlock" : "MicrothreadBusy");
  }
}

TEST(TokenRun, MicrothreadThatIsDoneGetsWorkAgain) {
  Pair pair;
  pair.builder.source.machine->microthreads_queue = true;
  pair.send(0, 1, 60).thread = 0;
  pair.send(0, 1, 1).thread = 0;
  pair.receive(0, 2, 60);
  pair.receive(1, 1, 61);
  pair.send(1, 2, 60);
  EXPECT_EQ(pair.prove().verdict, Verdict::Free) << pair.prove().reason;
  EXPECT_EQ(pair.run(), "");
}

TEST(TokenRun, TwoThreadsOnAColor) {
  Pair pair;
  pair.send(0, 1, 4).thread = 0;
  pair.send(0, 1, 4).thread = 1;
  pair.receive(1, 1, 8);
  EXPECT_THAT(
      pair.prove().reason,
      testing::HasSubstr(
          "word by word: color 1, which two threads of a PE use at a time"));
}

TEST(TokenRun, WordsThatAreLeft) {
  Pair pair;
  pair.send(0, 1, 2);
  pair.receive(1, 1, 1);
  EXPECT_THAT(
      pair.prove().reason,
      testing::HasSubstr(
          "word by word: words of color 1 that launch 0 leaves unread"));
}

/// A relay along a row of any length: few kinds of columns would do, but ends
/// are told apart from everywhere.
TEST(TokenRun, KindsNotPes) {
  constexpr int width = 64, height = 512;
  ProgramBuilder builder(width, height);
  builder.source.launch_color = noLaunchColor;
  builder.source.routes.clear();
  ClassBuilder first = builder.addClass("first", 0, 1, 0, height);
  ClassBuilder rest = builder.addClass("rest", 1, width, 0, height);
  builder.route(1, 0, 1, 0, height, Port::Ramp, {Port::East});
  builder.route(1, 1, width - 1, 0, height, Port::West,
                {Port::Ramp, Port::East});
  builder.route(1, width - 1, width, 0, height, Port::West, {Port::Ramp});
  for (ClassBuilder *pe : {&first, &rest}) {
    pe->source->code_bytes = 2048;
    pe->nextAddress = 8192;
    pe->buffer("v", 64);
  }
  first.routine(0).add(Opcode::Mov, {64}, fabric(1), memory(0, {1}));
  rest.routine(0).add(Opcode::Mov, {64}, memory(0, {1}), fabric(1));
  builder.launch(0);
  DeadlockProof proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  // All rows are one.
  EXPECT_LT(proof.steps, 64 * 1000);
}

// ----------------------------------------------------------------- at random

/// PEs of a row or a rectangle exchange words on a few colors.
class RandomCalls : public Calls {
public:
  explicit RandomCalls(uint32_t seed, bool commands = false)
      : RandomCalls(seed, commands, std::mt19937(seed)) {}

private:
  struct Step {
    int from = -1, to = -1; ///< colors
    int64_t words = 0;
  };

  RandomCalls(uint32_t seed, bool commands, std::mt19937 random)
      : Calls(seed % 2 ? 4 : 2, seed % 2 ? 1 : 2, 64, commands),
        random(random) {
    if (commands)
      launches = 1 + below(6);
    builder.source.machine->microthreads_queue = seed / 2 % 2;
    microthreads = 1 + seed / 4 % 8;
    const int width = seed % 2 ? 4 : 2, height = seed % 2 ? 1 : 2;
    steps.resize(pes.size());
    for (int color = 1; color <= 5; ++color)
      addColor(color, width, height);
    for (size_t pe = 0; pe < pes.size(); ++pe)
      write(pe);
    for (uint32_t routine : launched)
      builder.launch(routine);
  }

  int below(int count) { return int(random() % unsigned(count)); }

  /// A source, a direction, and who hears it.
  void addColor(int color, int width, int height) {
    const bool row = height == 1 || below(2);
    const int length = row ? width : height;
    const int across = below(row ? height : width);
    const bool forward = below(2);
    const int source = forward ? below(length - 1) : 1 + below(length - 1);
    const int reach =
        forward ? 1 + below(length - 1 - source) : 1 + below(source);
    const Port out = row ? (forward ? Port::East : Port::West)
                         : (forward ? Port::South : Port::North);
    const Port in = row ? (forward ? Port::West : Port::East)
                        : (forward ? Port::North : Port::South);
    const int64_t words = below(3) ? 1 + below(6) : 20 + below(30);
    for (int hop = 0; hop <= reach; ++hop) {
      const int at = forward ? source + hop : source - hop;
      const int x = row ? at : across, y = row ? across : at;
      const size_t pe = size_t(y * width + x);
      std::vector<Port> to;
      const bool hears = hop == reach || (hop > 0 && below(2));
      if (hears)
        to.push_back(Port::Ramp);
      if (hop < reach)
        to.push_back(out);
      builder.route(color, x, x + 1, y, y + 1, hop == 0 ? Port::Ramp : in, to);
      if (hop == 0)
        split({-1, color, words}, steps[pe]);
      else if (hears)
        split({color, -1, words}, steps[pe]);
    }
  }

  /// In one or two ops; now and then a word too many.
  void split(Step step, std::vector<Step> &into) {
    if (below(60) == 0)
      ++step.words;
    const int64_t first = below(2) ? step.words : 1 + below(int(step.words));
    into.push_back({step.from, step.to, first});
    if (first < step.words)
      into.push_back({step.from, step.to, step.words - first});
  }

  /// In random order; some relay what they receive.
  void write(size_t pe) {
    std::vector<Step> &list = steps[pe];
    if (below(3))
      std::shuffle(list.begin(), list.end(), random);
    for (size_t i = 0; i + 1 < list.size(); ++i)
      if (list[i].from >= 0 && list[i + 1].to >= 0 && list[i + 1].from < 0 &&
          list[i].words == list[i + 1].words && below(2)) {
        list[i].to = list[i + 1].to;
        list.erase(list.begin() + long(i) + 1);
      }
    const int asynchronous = below(8) ? below(64) : 0; // by color
    int routine = 0;
    for (const Step &step : list) {
      // Not every PE has something to do in every launch.
      while (routine + 1 < launches && below(3) == 0) {
        ++routine;
        if (below(3)) {
          pes[pe].routine(uint32_t(routine));
          launched.insert(uint32_t(routine));
        }
      }
      InstructionT &op = step.from < 0 ? send(pe, step.to, step.words)
                         : step.to < 0
                             ? receive(pe, step.from, step.words)
                             : relay(pe, step.from, step.to, step.words);
      const int color = std::max(step.from, step.to);
      if (asynchronous >> color & 1)
        op.thread = int8_t(unsigned(color) % microthreads);
      if (below(12) == 0)
        body(pe).await(uint8_t(below(256)));
    }
  }

  std::mt19937 random;
  std::vector<std::vector<Step>> steps;
  int launches = 1;
  unsigned microthreads = 8;   ///< few get work while they have some
  std::set<uint32_t> launched; ///< besides routine 0
};

static void holdVerdicts(bool commands) {
  int free = 0, deadlock = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    RandomCalls calls(seed, commands);
    DeadlockProof proof = calls.prove();
    if (proof.verdict == Verdict::Undecided)
      continue;
    std::string error = calls.run();
    bool hangs = error == "Deadlock";
    if (proof.verdict == Verdict::Free) {
      ++free;
      EXPECT_FALSE(hangs) << "seed " << seed;
    } else {
      ++deadlock;
      // Of commands, memory that a microthread still uses may be noticed first.
      EXPECT_TRUE(hangs || (commands && !error.empty()))
          << "seed " << seed << " ends with '" << error
          << "': " << proof.reason;
    }
  }
  EXPECT_GT(free, commands ? 1500 : 2000);
  EXPECT_GT(deadlock, 400);
}

TEST(TokenRun, VerdictsHold) { holdVerdicts(false); }

/// PEs of different classes, each with its own routines, work at launches that
/// overlap.
TEST(TokenRun, VerdictsHoldOfCommands) { holdVerdicts(true); }

} // namespace
} // namespace wsec::runtime
