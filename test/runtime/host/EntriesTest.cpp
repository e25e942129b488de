// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache of rows that is called by entries with arguments, and outlives calls.
#include "runtime/host/Session.h"
#include "runtime/program/Errors.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <malloc.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;
using program::ScalarOp;

constexpr int height = 4, rows = 8, width = 4 * height;
constexpr int in = 1, out = 2;

/// Argument `index` of a routine.
Value argument(uint16_t index, int32_t scale = 1) {
  Value value;
  value.terms.push_back({program::TermKind::Local, index, scale});
  return value;
}

program::EntryT &addEntry(ProgramBuilder &builder, const std::string &name,
                          int from = 0, int to = -1) {
  auto entry = std::make_unique<program::EntryT>();
  entry->name = name;
  if (from <= to) {
    auto argument = std::make_unique<program::ArgumentT>();
    argument->name = "row";
    argument->from = from;
    argument->to = to;
    entry->arguments.push_back(std::move(argument));
    entry->scalars.push_back({ScalarOp::Argument, 0, 0, 0});
  }
  builder.source.entries.push_back(std::move(entry));
  return *builder.source.entries.back();
}

program::LaunchT &addLaunch(program::EntryT &entry, uint32_t routine,
                            uint32_t stream) {
  auto launch = std::make_unique<program::LaunchT>();
  launch->routine = routine;
  launch->kernel = routine;
  launch->streams = {stream};
  if (!entry.arguments.empty())
    launch->arguments = {0};
  entry.launches.push_back(std::move(launch));
  return *entry.launches.back();
}

/// Each PE of a column keeps four numbers of each row: `load` fills the first
/// two of them from a weight, `append` writes row `row` of x, `attend` sums up
/// the first `row`.
ProgramBuilder makeCache(const std::vector<float> &bundle, bool called) {
  ProgramBuilder builder(1, height);
  if (called) {
    builder.source.launch_color = 255;
    builder.source.routes.clear();
  }
  builder.source.model = "cache";
  builder.route(in, 0, 1, 0, 1, Port::West, {Port::Ramp, Port::South});
  builder.route(in, 0, 1, 1, height - 1, Port::North,
                {Port::Ramp, Port::South});
  builder.route(in, 0, 1, height - 1, height, Port::North, {Port::Ramp});
  builder.route(out, 0, 1, 0, height, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("pes", 0, 1, 0, height);
  const Scalar first =
      pes.scalar(ScalarOp::Mul, pes.py().index, pes.constant(4).index);
  const uint16_t cache = pes.buffer("cache", rows * 4);
  pes.source->buffers[cache]->persistent = true;
  const uint16_t sum = pes.buffer("sum", 4);
  pes.routine(0).add(Opcode::Mov, {2, 4}, memory(cache, {4, 1}),
                     fabric(in, 2).window(first, width));
  pes.routine(1).add(Opcode::Mov, {4}, memory(cache, {1}, argument(0, 4)),
                     fabric(in).window(first, width));
  BodyBuilder reduce = pes.routine(2);
  reduce.add(Opcode::Mov, {4}, memory(sum, {1}), immediate(0));
  reduce.add(Opcode::Add, {argument(0), 4}, memory(sum, {0, 1}),
             memory(sum, {0, 1}), memory(cache, {4, 1}));
  reduce.add(Opcode::Mov, {4}, fabric(out), memory(sum, {1}));
  for (int routine : {1, 2})
    pes.source->routines[size_t(routine)]->arguments = 1;

  addBundle(builder, bundle);
  addWeight(builder, "past", {2, width});
  addTensor(builder, "x", program::TensorRole::Input, {rows, width});
  addTensor(builder, "y", program::TensorRole::Output, {width});
  const uint32_t loaded = builder.stream("loaded", Direction::In, in, {0});
  const uint32_t appended = builder.stream("appended", Direction::In, in, {0});
  const uint32_t attended = builder.stream("attended", Direction::Out, out, {});
  auto &streams = builder.source.streams;
  streams[loaded]->segments.push_back(
      makeSegment(0, 2, width, {width}, {1}, 0));
  const Scalar row = addScalar(*streams[appended], ScalarOp::Argument, 0);
  streams[appended]->segments.push_back(
      makeSegment(1, 1, 0, {width}, {1}, Value(row).times(width)));
  for (int y = 0; y < height; ++y)
    streams[attended]->channels.push_back({y, y, y + 1});
  const Scalar py = addScalar(*streams[attended], ScalarOp::Py);
  streams[attended]->segments.push_back(
      makeSegment(2, 1, 0, {4}, {1}, Value(py).times(4)));

  for (const char *name : {"fill", "write", "reduce"}) {
    auto kernel = std::make_unique<program::KernelT>();
    kernel->name = name;
    builder.source.kernels.push_back(std::move(kernel));
  }
  builder.source.entries.clear();
  addLaunch(addEntry(builder, "load"), 0, loaded);
  addLaunch(addEntry(builder, "append", 0, rows - 1), 1, appended);
  addLaunch(addEntry(builder, "attend", 1, rows), 2, attended);
  stateCodeBytes(builder);
  return builder;
}

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
                         testing::Values(std::pair(true, Engine::Streams),
                                         std::pair(true, Engine::Wavelet),
                                         std::pair(false, Engine::Streams),
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
  for (Engine engine : {Engine::Streams, Engine::Wavelet, Engine::Strips})
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

// ------------------------------------------------------------------ checker

class EntryChecks : public testing::Test {
protected:
  program::EntryT &entry(size_t index) {
    return *builder.source.entries[index];
  }
  program::PEClassT &peClass() { return *builder.source.classes[0]; }
  void expectRefused(const std::string &message) {
    try {
      checkProgram(builder.finish());
      FAIL() << "accepted; expected " << message;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), "BadProgram: " + message);
    }
  }
  ProgramBuilder builder = makeCache(countUp(2 * width), true);
};

TEST_F(EntryChecks, AcceptTheCache) {
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}
TEST_F(EntryChecks, NoEntry) {
  builder.source.entries.clear();
  expectRefused("program: has 0 entries, expected 1 to 256");
}
TEST_F(EntryChecks, TwoOfOneName) {
  entry(1).name = "load";
  expectRefused("entry 'load': has the name of another one");
}
TEST_F(EntryChecks, EmptyRange) {
  entry(2).arguments[0]->from = 9;
  expectRefused("entry 'attend', argument 'row': has no value from 9 to 8");
}
TEST_F(EntryChecks, NameThatIsNoIdentifier) {
  entry(2).arguments[0]->name = "a b";
  expectRefused("entry 'attend', argument 'a b': has a name that is no "
                "identifier: letters, digits and _");
}
TEST_F(EntryChecks, CoordinateInAnEntry) {
  entry(2).scalars[0] = {ScalarOp::Px, 0, 0, 0};
  expectRefused("entry 'attend': scalar 0 is a coordinate of a PE; an entry is "
                "called for all of them");
}
TEST_F(EntryChecks, ArgumentThatTheEntryDoesNotHave) {
  entry(2).scalars[0] = {ScalarOp::Argument, 1, 0, 0};
  expectRefused("entry 'attend': scalar 0 is argument 1 of 1");
}
TEST_F(EntryChecks, ArgumentInAClass) {
  peClass().scalars[0] = {ScalarOp::Argument, 0, 0, 0};
  expectRefused("class 'pes': scalar 0 is argument 0 of 0");
}
TEST_F(EntryChecks, ArgumentThatAStreamsLaunchDoesNotCarry) {
  builder.source.streams[1]->scalars[0] = {ScalarOp::Argument, 1, 0, 0};
  expectRefused("stream 'appended': scalar 0 is argument 1 of 1");
}
TEST_F(EntryChecks, OneStreamOfTwoLaunchesWithTheSameArguments) {
  addLaunch(entry(1), 1, 1);
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}
TEST_F(EntryChecks, OneStreamOfTwoLaunchesWithOtherArguments) {
  entry(1).scalars.push_back({ScalarOp::Constant, 3, 0, 0});
  addLaunch(entry(1), 1, 1).arguments = {1};
  expectRefused("entry 'append', launch 1: feeds on stream 1, which has "
                "arguments, and carries others than an earlier launch that "
                "does; give it a stream of its own");
}
TEST_F(EntryChecks, OtherNumberThanTheRoutineTakes) {
  entry(2).launches[0]->arguments = {0, 0};
  expectRefused("entry 'attend', launch 0: carries 2 arguments, routine 2 "
                "takes 1");
}
TEST_F(EntryChecks, ScalarThatDoesNotExist) {
  entry(2).launches[0]->arguments = {7};
  expectRefused(
      "entry 'attend', launch 0: carries scalar 7 of its entry, which "
      "does not exist");
}
TEST_F(EntryChecks, MoreThanAWaveletHolds) {
  entry(2).scalars.push_back({ScalarOp::Constant, INT32_MAX, 0, 0});
  entry(2).scalars.push_back({ScalarOp::Add, 0, 1, 0});
  entry(2).launches[0]->arguments = {2};
  expectRefused("entry 'attend', launch 0: carries scalar 2, which may be "
                "2147483648 to 2147483655: a wavelet has 32 bits");
}
TEST_F(EntryChecks, DivisionByAnArgumentThatMayBeZero) {
  entry(1).scalars.push_back({ScalarOp::Div, 0, 0, 0});
  expectRefused("entry 'append': scalar 1 may divide by zero, or tile over no "
                "parts, for some arguments");
}
TEST_F(EntryChecks, LocalThatHoldsAnArgument) {
  program::LoadT load;
  load.local = 0;
  load.buffer = 1;
  load.offset = Value(0).build();
  auto statement = std::make_unique<program::StatementT>();
  statement->kind.Set(std::move(load));
  peClass().routines[1]->body.push_back(std::move(statement));
  stateCodeBytes(builder);
  expectRefused(
      "class 'pes', routine 1, statement 1: sets local 0, which holds "
      "an argument");
}
TEST_F(EntryChecks, PersistentBufferThatSharesBytes) {
  peClass().buffers[1]->address = peClass().buffers[0]->address + 4;
  expectRefused("class 'pes', buffer 'cache': is persistent, and shares bytes "
                "with buffer 'sum' at " +
                std::to_string(peClass().buffers[1]->address) +
                "; a persistent buffer has its own");
}

// -------------------------------------------------------------------- proofs

class EntryProofs : public EntryChecks {};

TEST_F(EntryProofs, AllEntriesAreFree) {
  const DeadlockProof proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Free) << proof.reason;
  EXPECT_TRUE(proof.ranks.empty());
}

/// Arguments that decide how many words flow are tried one by one.
TEST_F(EntryProofs, TriesTheArgumentsThatMatter) {
  auto &receive = *peClass().routines[1]->body[0]->kind.AsInstruction();
  receive.a->window_total.reset();
  receive.a->window_offset.reset();
  receive.dst->strides = {0};
  receive.dst->offset = Value(0).build();
  receive.extents[0] = argument(0, 4).build();
  auto &stream = *builder.source.streams[1];
  stream.segments[0]->extents[0] = Value(Scalar{0}).times(4).build();
  stream.segments[0]->offset = Value(0).build();
  EXPECT_EQ(proveDeadlockFree(builder.finish()).verdict,
            program::Verdict::Free);
  // One word short, for one of them.
  stream.scalars.push_back({ScalarOp::Constant, 7, 0, 0});
  stream.scalars.push_back({ScalarOp::Less, 0, 1, 0});
  stream.scalars.push_back({ScalarOp::Not, 2, 0, 0});
  stream.segments[0]->extents[0] =
      (Value(Scalar{0}).times(4) + Value(Scalar{3}).times(-1)).build();
  DeadlockProof proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Undecided);
  EXPECT_EQ(proof.reason.substr(0, 48),
            "entry 'append' with row = 7 ends in a deadlock: ");
  // Too many to be tried.
  stream.segments[0]->extents[0] = Value(Scalar{0}).times(4).build();
  entry(1).arguments[0]->to = 64;
  proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Undecided);
  EXPECT_EQ(proof.reason,
            "entry 'append': the words of its streams depend on arguments; its "
            "arguments have more values than the 64 that are tried");
}

} // namespace
} // namespace wsec::runtime
