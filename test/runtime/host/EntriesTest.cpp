// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache of rows that is called by entries with arguments, and outlives calls.
#include "runtime/host/Session.h"
#include "runtime/program/Errors.h"
#include "test/runtime/host/CacheProgram.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <malloc.h>

namespace wsec::runtime {
namespace {

using namespace test;

std::unique_ptr<Session> openCache(bool called) {
  const std::vector<float> bundle = countUp(2 * width);
  ProgramBuilder builder = makeCache(bundle, called);
  auto session =
      Session::open(LoadedProgram::fromBytes(makeFile(builder, bundle)));
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

HostTensor tokens() {
  HostTensor tensor{DataType::Float32, {rows, width}, {}};
  std::vector<float> values = countUp(rows * width);
  for (float &value : values)
    value = 100 - 3 * value;
  tensor.bytes.resize(values.size() * 4);
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

float token(int row, int column) {
  return 100 - 3 * countUp(rows * width)[size_t(row * width + column)];
}
float past(int row, int column) {
  return countUp(2 * width)[size_t(row * width + column)];
}

std::string messageOf(const absl::Status &status, ErrorClass expected) {
  EXPECT_EQ(errorClassOf(status), expected) << status;
  return std::string(status.message());
}

class Entries : public testing::TestWithParam<std::pair<bool, Engine>> {
protected:
  double call(Session &session, const std::string &entry,
              const NamedValues &arguments = {}) {
    auto run =
        session.call(entry, arguments, options, nullptr, GetParam().second);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? run->result.cycles : -1;
  }
  void expectSum(Session &session, int length) {
    call(session, "attend", {{"row", length}});
    const HostTensor y = session.output("y").value();
    for (int column = 0; column < width; ++column) {
      float sum = 0;
      for (int row = 0; row < length; ++row)
        sum += row < 2 ? past(row, column) : token(row, column);
      EXPECT_EQ(y.number(size_t(column)), sum) << length << ", " << column;
    }
  }

  std::unique_ptr<Session> session = openCache(GetParam().first);
  EngineOptions options;
};

TEST_P(Entries, StateOutlivesCalls) {
  call(*session, "load");
  expectSum(*session, 2);
  ASSERT_TRUE(session->bind("x", tokens()).ok());
  for (int row : {2, 3}) {
    call(*session, "append", {{"row", row}});
    expectSum(*session, row + 1);
  }
  expectSum(*session, 1);
  // Nothing has written row 4.
  auto run = session->call("attend", {{"row", 5}}, options, nullptr,
                           GetParam().second);
  EXPECT_NE(messageOf(run.status(), ErrorClass::UninitializedRead)
                .find("reads element 16 of buffer 'cache'"),
            std::string::npos)
      << run.status();
  expectSum(*session, 4);
  session->clearState();
  run = session->call("attend", {{"row", 1}}, options, nullptr,
                      GetParam().second);
  messageOf(run.status(), ErrorClass::UninitializedRead);
}

TEST_P(Entries, StateIsSavedAndRestored) {
  const std::string path = testing::TempDir() + "entries.state";
  call(*session, "load");
  ASSERT_TRUE(session->bind("x", tokens()).ok());
  call(*session, "append", {{"row", 2}});
  ASSERT_TRUE(session->saveState(path).ok());
  auto other = openCache(GetParam().first);
  ASSERT_TRUE(other->restoreState(path).ok());
  expectSum(*other, 3);
  std::filesystem::remove(path);
}

/// One begin, two ways to go on, in turn.
TEST_P(Entries, StateIsKeptAndGivenBack) {
  call(*session, "load");
  ASSERT_TRUE(session->bind("x", tokens()).ok());
  const Session::KeptState two = session->keptState();
  call(*session, "append", {{"row", 2}});
  const Session::KeptState three = session->keptState();
  session->clearState();
  ASSERT_TRUE(session->restoreState(three).ok());
  expectSum(*session, 3);
  ASSERT_TRUE(session->restoreState(two).ok());
  expectSum(*session, 2);
  call(*session, "append", {{"row", 2}});
  expectSum(*session, 3);
  Session::KeptState foreign = two;
  ++foreign.program;
  EXPECT_NE(messageOf(session->restoreState(foreign), ErrorClass::BadState)
                .find("what was kept is the state of another program"),
            std::string::npos);
}

/// The cycles of a recorded call do not change, its values do.
TEST_P(Entries, CallsAreRecordedByArguments) {
  options.replay = true;
  options.threads = 1;
  call(*session, "load");
  ASSERT_TRUE(session->bind("x", tokens()).ok());
  const double first = call(*session, "append", {{"row", 2}});
  call(*session, "append", {{"row", 3}});
  expectSum(*session, 3);
  expectSum(*session, 4);
  // From here on the same words are written as before.
  EXPECT_EQ(call(*session, "append", {{"row", 2}}), first);
  EXPECT_EQ(call(*session, "append", {{"row", 2}}), first);
  for (int length : {3, 4, 3, 4})
    expectSum(*session, length);
}

INSTANTIATE_TEST_SUITE_P(All, Entries,
                         testing::Values(std::pair(true, Engine::Wavelet),
                                         std::pair(false, Engine::Wavelet),
                                         std::pair(false, Engine::Strips),
                                         std::pair(false, Engine::Burst)));

/// Whoever has the values of the state: engines that take turns, replays, calls
/// that fail in between, files.
TEST(EntryStates, AreThoseOfAllCallsBefore) {
  const std::string path = testing::TempDir() + "turns.state";
  auto session = openCache(false);
  ASSERT_TRUE(session->call("load", {}).ok());
  std::vector<std::vector<float>> cache;
  for (int row = 0; row < 2; ++row) {
    cache.emplace_back();
    for (int column = 0; column < width; ++column)
      cache.back().push_back(past(row, column));
  }
  cache.resize(rows);
  uint32_t random = 1;
  const auto below = [&](uint32_t count) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % count;
  };
  int failed = 0, replayed = 0;
  uint32_t limit = 0; // Where it is low, calls end in their midst.
  for (int step = 0; step < 400; ++step) {
    constexpr Engine engines[] = {Engine::Strips, Engine::Strips,
                                  Engine::Strips, Engine::Wavelet,
                                  Engine::Burst};
    const Engine engine = engines[below(5)];
    EngineOptions options;
    options.threads = 1;
    options.replay = true;
    if (step % 40 == 0)
      limit = step % 80 == 0 ? 0 : 4 + below(24);
    options.workLimit = engine == Engine::Strips ? limit : 0;
    if (below(3) == 0) {
      const int row = int(below(rows));
      HostTensor x = tokens();
      std::vector<float> values(width);
      for (int column = 0; column < width; ++column) {
        values[size_t(column)] = float(below(1000));
        std::memcpy(&x.bytes[size_t(4 * (row * width + column))],
                    &values[size_t(column)], 4);
      }
      ASSERT_TRUE(session->bind("x", x).ok());
      const auto run =
          session->call("append", {{"row", row}}, options, nullptr, engine);
      if (!run.ok()) {
        messageOf(run.status(), ErrorClass::WorkLimit);
        ++failed;
        continue;
      }
      cache[size_t(row)] = values;
      replayed += run->result.replayed;
    } else if (below(40) == 0) {
      ASSERT_TRUE(session->saveState(path).ok());
      session->clearState();
      ASSERT_TRUE(session->restoreState(path).ok());
    } else {
      const int length = 1 + int(below(rows));
      const auto run =
          session->call("attend", {{"row", length}}, options, nullptr, engine);
      bool isWritten = true;
      for (int row = 0; row < length; ++row)
        isWritten &= !cache[size_t(row)].empty();
      ASSERT_TRUE(isWritten || !run.ok()) << step;
      if (!run.ok()) {
        if (isWritten)
          messageOf(run.status(), ErrorClass::WorkLimit);
        ++failed;
        continue;
      }
      replayed += run->result.replayed;
      const HostTensor y = session->output("y").value();
      for (int column = 0; column < width; ++column) {
        float sum = 0;
        for (int row = 0; row < length; ++row)
          sum += cache[size_t(row)][size_t(column)];
        ASSERT_EQ(y.number(size_t(column)), sum) << step << ", " << column;
      }
    }
  }
  EXPECT_GT(failed, 10);
  EXPECT_GT(replayed, 50);
  std::filesystem::remove(path);
}

/// Of calls that take more than they may to be recorded no state is kept.
TEST(EntryRecordings, KeepNoStateWithoutARecording) {
  const std::vector<float> bundle = countUp(2 * width);
  ProgramBuilder builder = makeCache(bundle, false);
  constexpr size_t bytes = 16 << 10; // of a PE
  builder.source.classes[0]->buffers[0]->bytes = bytes;
  stateCodeBytes(builder);
  auto session =
      Session::open(LoadedProgram::fromBytes(makeFile(builder, bundle)))
          .value();
  EngineOptions options;
  options.replay = true;
  options.threads = 1;
  options.recordingBytes = 1;
  const auto call = [&](const std::string &entry, const NamedValues &values) {
    const absl::Status status =
        session->call(entry, values, options, nullptr, Engine::Strips).status();
    EXPECT_TRUE(status.ok()) << status;
  };
  call("load", {});
  ASSERT_TRUE(session->bind("x", tokens()).ok());
  call("append", {{"row", 2}});
  const size_t before = ::mallinfo2().uordblks;
  for (int row = 3; row < rows; ++row)
    call("append", {{"row", row}});
  EXPECT_LT(::mallinfo2().uordblks - before, 2 * height * bytes);
}

/// Of `attend` over two rows. Without arguments these are known at load.
double cyclesOf(bool called, bool carries, Engine engine) {
  const std::vector<float> bundle = countUp(2 * width);
  ProgramBuilder builder = makeCache(bundle, called);
  program::RoutineT &reduce = *builder.source.classes[0]->routines[2];
  if (!carries) {
    reduce.body[1]->kind.AsInstruction()->extents[0] = Value(2).build();
    reduce.arguments = 0;
    builder.source.entries[2]->launches[0]->arguments.clear();
  }
  auto session =
      Session::open(LoadedProgram::fromBytes(makeFile(builder, bundle)))
          .value();
  EXPECT_TRUE(session->call("load", {}).ok());
  return session->call("attend", {{"row", 2}}, {}, nullptr, engine)
      .value()
      .result.cycles;
}

/// Launch wavelets carry their arguments, a word and a cycle each; calls of the
/// host load them. In the extent it costs what a local costs.
TEST(EntryCosts, AreThoseOfWordsAndLoads) {
  const ProgramBuilder builder(1, 1);
  const program::MachineT &machine = *builder.source.machine;
  for (Engine engine : {Engine::Wavelet, Engine::Strips})
    for (bool called : {false, true}) {
      if (called && engine == Engine::Strips)
        continue;
      EXPECT_EQ(cyclesOf(called, true, engine) -
                    cyclesOf(called, false, engine),
                (called ? machine.load_cycles : 1) + machine.scalar_cycles)
          << nameOf(engine) << ", " << called;
    }
}

TEST(EntryErrors, SayWhatCanBeCalled) {
  auto session = openCache(true);
  auto refusal = [&](const std::string &entry, const NamedValues &arguments) {
    return messageOf(session->call(entry, arguments).status(),
                     ErrorClass::BadCall);
  };
  EXPECT_EQ(refusal("", {}),
            "BadCall: the program has several entries, and none of them is "
            "'main'; choose one:\n  load\n  append(row from 0 to 7)\n  "
            "attend(row from 1 to 8)");
  EXPECT_EQ(refusal("atend", {}),
            "BadCall: the program has no entry 'atend'; there is 'attend', "
            "'append', 'load'");
  EXPECT_EQ(refusal("attend", {}),
            "BadCall: entry 'attend' lacks a value for 'row' (from 1 to 8)");
  EXPECT_EQ(refusal("attend", {{"row", 9}}),
            "BadCall: entry 'attend' takes 'row' from 1 to 8, found 9");
  EXPECT_EQ(refusal("attend", {{"row", 1}, {"row", 2}}),
            "BadCall: entry 'attend' is given argument 'row' twice");
  EXPECT_EQ(refusal("load", {{"row", 1}}).substr(0, 44),
            "BadCall: entry 'load' has no argument 'row';");
  EXPECT_EQ(messageOf(session->call("append", {{"row", 1}}).status(),
                      ErrorClass::BadTensor),
            "BadTensor: no tensor is given for 'x' (float32[8, 16])");
  EXPECT_EQ(messageOf(session->output("y").status(), ErrorClass::BadTensor),
            "BadTensor: output 'y' is known after a run only, of an entry that "
            "writes it");
}

TEST(EntryErrors, StateOfAnotherProgramOrDamaged) {
  const std::string path = testing::TempDir() + "damaged.state";
  auto session = openCache(true), other = openCache(false);
  ASSERT_TRUE(session->call("load", {}).ok());
  ASSERT_TRUE(session->saveState(path).ok());
  EXPECT_NE(messageOf(other->restoreState(path), ErrorClass::BadState)
                .find("is the state of another program, of digest "),
            std::string::npos);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40);
  file.put('!');
  file.close();
  EXPECT_NE(messageOf(session->restoreState(path), ErrorClass::BadState)
                .find("is damaged: its digest is another"),
            std::string::npos);
  std::ofstream(path) << "no state at all";
  EXPECT_NE(messageOf(session->restoreState(path), ErrorClass::BadState)
                .find("is no state of a program"),
            std::string::npos);
  std::filesystem::remove(path);
}

} // namespace
} // namespace wsec::runtime
