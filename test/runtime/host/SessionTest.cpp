// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Report.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wsec::runtime {
namespace {

using namespace test;

std::shared_ptr<const LoadedProgram> negation() {
  std::vector<float> bundle = countUp(4);
  ProgramBuilder builder = makeNegation(4, bundle);
  addTensor(builder, "same", program::TensorRole::Output, {4}).alias = 0;
  return LoadedProgram::fromBytes(makeFile(builder, bundle));
}

HostTensor floats(std::vector<float> values) {
  HostTensor tensor{DataType::Float32, {int64_t(values.size())}, {}};
  tensor.bytes.resize(values.size() * 4);
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::unique_ptr<Session> open() { return Session::open(negation()).value(); }

/// The message of a BadTensor.
template <typename Result>
std::string refusal(const Result &result) {
  absl::Status status;
  if constexpr (std::is_same_v<Result, absl::Status>)
    status = result;
  else
    status = result.status();
  EXPECT_EQ(errorClassOf(status), ErrorClass::BadTensor);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST(SessionTest, RunsAndRunsAgain) {
  const auto session = open();
  for (float first : {1.f, 5.f}) {
    ASSERT_TRUE(session->bind("x", floats({first, 2, 3, 4})).ok());
    SessionRun run = session->run().value();
    EXPECT_GT(run.result.cycles, 0);
    EXPECT_EQ(run.streamedWeightBytes, 16u);
    HostTensor y = session->output("y").value();
    EXPECT_EQ(y.number(0), -first);
    EXPECT_EQ(y.number(3), -7);
    EXPECT_EQ(session->output("same")->number(0), first);
  }
}

TEST(SessionTest, ACallThatFailsLeavesOutputsAsTheyWere) {
  const auto session = open();
  ASSERT_TRUE(session->bind("x", floats({1, 2, 3, 4})).ok());
  EngineOptions options;
  options.workLimit = 1;
  const auto fails = [&] {
    EXPECT_EQ(errorClassOf(session->run(options).status()),
              ErrorClass::WorkLimit);
  };
  fails();
  EXPECT_EQ(refusal(session->output("y")),
            "BadTensor: output 'y' is known after a run only");
  ASSERT_TRUE(session->run().ok());
  ASSERT_TRUE(session->bind("x", floats({5, 6, 7, 8})).ok());
  fails();
  EXPECT_EQ(session->output("y")->number(3), -7);
  EXPECT_EQ(session->written(), (std::vector<std::string>{"y", "same"}));
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(session->output("y")->number(3), -11);
}

TEST(SessionTest, AnOutputIsWhatPassesThroughTheStore) {
  std::vector<float> bundle = countUp(4);
  ProgramBuilder builder = makeNegation(4, bundle);
  builder.source.tensors[2]->role = program::TensorRole::Intermediate;
  addTensor(builder, "result", program::TensorRole::Output, {4}).alias = 2;
  const auto session =
      Session::open(LoadedProgram::fromBytes(makeFile(builder, bundle)))
          .value();
  ASSERT_TRUE(session->bind("x", floats({1, 2, 3, 4})).ok());
  EXPECT_NE(refusal(session->output("result")).find("after a run only"),
            std::string::npos);
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(session->output("result")->number(3), -7);
}

TEST(SessionTest, EnginesGiveTheSame) {
  const auto session = open();
  ASSERT_TRUE(session->bind("x", floats({1, 2, 3, 4})).ok());
  for (const char *name : {"burst", "strips", "wavelet"}) {
    SessionRun run =
        session->run({}, nullptr, engineNamed(name).value()).value();
    EXPECT_GT(run.result.cycles, 0) << name;
    EXPECT_EQ(session->output("y")->number(1), -3) << name;
  }
  EXPECT_FALSE(engineNamed("bursts"));
}

/// Values are replayed, and cycles are those of wavelet.
TEST(SessionTest, BurstReplaysWithTheCyclesOfWavelet) {
  const auto session = open();
  ASSERT_TRUE(session->bind("x", floats({1, 2, 3, 4})).ok());
  const RunResult wavelet =
      session->run({}, nullptr, Engine::Wavelet).value().result;
  const RunResult strips =
      session->run({}, nullptr, Engine::Strips).value().result;
  EXPECT_NE(wavelet.cycles, strips.cycles);
  EngineOptions options;
  options.replay = true;
  for (float first : {1.f, 5.f}) {
    ASSERT_TRUE(session->bind("x", floats({first, 2, 3, 4})).ok());
    const RunResult run = session->run(options).value().result;
    EXPECT_EQ(run.replayed, first > 1);
    EXPECT_EQ(run.cycles, wavelet.cycles);
    EXPECT_EQ(run.launches.at(0).end, wavelet.launches.at(0).end);
    EXPECT_EQ(session->output("y")->number(0), -first);
  }
  const RunResult again =
      session->run(options, nullptr, Engine::Strips).value().result;
  EXPECT_EQ(again.cycles, strips.cycles);
}

/// Long runs, and those on many PEs, are left to strips; what the compiler
/// predicted plays no part.
TEST(SessionTest, BurstIsChosenByTheProgram) {
  auto engine = [](int width, uint32_t launches) {
    ProgramBuilder builder = makeNegation(4, countUp(4));
    builder.source.machine->width = width;
    builder.source.classes.at(0)->rects = {{0, width, 1, 0, 1, 1}};
    while (builder.source.entries[0]->launches.size() < launches)
      builder.launch(0, {});
    const program::Program &program = builder.finish();
    EXPECT_LE(countSteps(Call(program)), 16.0 * width * launches);
    EXPECT_GE(countSteps(Call(program)), 4.0 * width * launches);
    return resolveEngine(Engine::Burst, Call(program));
  };
  EXPECT_EQ(engine(256, 1), Engine::Wavelet);
  EXPECT_EQ(engine(256, 1 << 13), Engine::Strips);
  EXPECT_EQ(engine(257, 1), Engine::Strips);
}

/// Sends words of one color, then of another, to who takes them in the other
/// order: more than a queue holds never get there.
ProgramBuilder twoColors(int width, int words, bool bothAtOnce) {
  using program::Port;
  ProgramBuilder builder(width, 1);
  for (int color : {1, 2}) {
    builder.route(color, 0, 1, 0, 1, Port::Ramp, {Port::East});
    builder.route(color, 1, 2, 0, 1, Port::West, {Port::Ramp});
  }
  ClassBuilder sends = builder.addClass("sends", 0, 1, 0, 1);
  ClassBuilder takes = builder.addClass("takes", 1, 2, 0, 1);
  const uint16_t taken = takes.buffer("v", uint32_t(words));
  BodyBuilder sender = sends.routine(0), taker = takes.routine(0);
  for (int color : {1, 2}) {
    sender
        .add(program::Opcode::Mov, {words}, fabric(bothAtOnce ? 1 : color),
             immediate(1))
        .thread = int8_t(bothAtOnce ? color : -1);
    taker.add(program::Opcode::Mov, {words}, memory(taken, {1}),
              fabric(bothAtOnce ? 1 : 3 - color));
  }
  if (bothAtOnce)
    sender.await(1 << 1 | 1 << 2);
  builder.launch(0);
  stateCodeBytes(builder);
  return builder;
}

/// Nobody knows full queues there.
TEST(SessionTest, StripsRunsWhatIsKnownToEnd) {
  const auto run = [](int width, int words, Engine engine) {
    ProgramBuilder builder = twoColors(width, words, false);
    const auto session =
        Session::open(LoadedProgram::fromBytes(makeFile(builder))).value();
    return session->run({}, nullptr, engine).status();
  };
  {
    ProgramBuilder builder = twoColors(2, 100, false);
    VectorHost host;
    EXPECT_GT(StripsEngine(builder.finish()).run(host).cycles, 0);
  }
  EXPECT_TRUE(run(2, 2, Engine::Strips).ok());
  EXPECT_TRUE(run(257, 2, Engine::Burst).ok());
  for (const auto &[width, engine] : {std::pair(2, Engine::Strips),
                                      {2, Engine::Wavelet},
                                      {257, Engine::Burst}})
    EXPECT_EQ(errorClassOf(run(width, 100, engine)), ErrorClass::Deadlock);
}

/// Which of two threads sends first is not known: engines that step know.
TEST(SessionTest, BurstStepsWhatIsUndecided) {
  ProgramBuilder builder = twoColors(257, 8, true);
  const Call call(builder.finish());
  EXPECT_EQ(resolveEngine(Engine::Burst, call), Engine::Strips);
  EXPECT_EQ(chooseEngine(Engine::Burst, call, {}), Engine::Wavelet);
  try {
    chooseEngine(Engine::Strips, call, {});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::BadProgram);
    EXPECT_NE(error.message().find("color 1, which two threads of a PE use at "
                                   "a time; take --engine=wavelet"),
              std::string::npos)
        << error.message();
  }
  // Words that nobody wants to wait for are undecided, too.
  ProgramBuilder many = twoColors(257, 8000, false);
  EngineOptions little;
  little.workLimit = 4;
  EXPECT_EQ(chooseEngine(Engine::Burst, Call(many.finish()), little),
            Engine::Wavelet);
}

TEST(SessionTest, NamesWhatDoesNotFit) {
  const auto session = open();
  EXPECT_EQ(refusal(session->bind("z", floats({1}))),
            "BadTensor: the program has no input 'z'; there is 'x'");
  EXPECT_EQ(refusal(session->bind("x", floats({1}))),
            "BadTensor: input 'x': expected float32[4], found float32[1]; the "
            "shape is fixed when the model is compiled");
  HostTensor square{DataType::Float32, {2, 2}, std::vector<uint8_t>(16)};
  EXPECT_EQ(refusal(session->bind("x", square)),
            "BadTensor: input 'x': expected float32[4], found float32[2, 2]; "
            "reshape it");
  HostTensor whole{DataType::Int64, {4}, std::vector<uint8_t>(32)};
  EXPECT_EQ(
      refusal(session->bind("x", whole)),
      "BadTensor: input 'x': expected float32[4], found int64[4]; convert "
      "it to float32");
  EXPECT_EQ(refusal(session->run()),
            "BadTensor: no tensor is given for 'x' (float32[4])");
  EXPECT_EQ(refusal(session->output("y")),
            "BadTensor: output 'y' is known after a run only");
  EXPECT_EQ(refusal(session->output("q")),
            "BadTensor: the program has no output 'q'; there is 'y', 'same'");
}

TEST(SessionTest, StatusesNameTheClass) {
  const absl::Status missing = Session::open("missing.wafer").status();
  EXPECT_EQ(errorClassOf(missing), ErrorClass::IoError);
  EXPECT_EQ(missing.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(missing.message().substr(0, 9), "IoError: ");
  EXPECT_EQ(errorClassOf(absl::OkStatus()), std::nullopt);

  const auto session = open();
  ASSERT_TRUE(session->bind("x", floats({1, 2, 3, 4})).ok());
  EngineOptions options;
  options.workLimit = 1;
  const absl::Status limited = session->run(options).status();
  EXPECT_EQ(errorClassOf(limited), ErrorClass::WorkLimit);
  EXPECT_TRUE(absl::IsResourceExhausted(limited));

  const absl::Status memory = asStatus([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.message(), "out of memory");
  EXPECT_EQ(errorClassOf(memory), std::nullopt);
}

TEST(SessionTest, AcceptsWhatCanBeBound) {
  const auto session = open();
  EXPECT_TRUE(session->accepts("x", DataType::Float32, {4}).ok());
  EXPECT_EQ(refusal(session->accepts("x", DataType::Float32, {1 << 30})),
            "BadTensor: input 'x': expected float32[4], found "
            "float32[1073741824]; the shape is fixed when the model is "
            "compiled");
  EXPECT_EQ(refusal(session->bind("x", {DataType::Float32, {4}, {1, 2}})),
            "BadTensor: input 'x': float32[4] takes 16 bytes, found 2");
}

TEST(ReportTest, HasTheSchema) {
  const auto session = open();
  ASSERT_TRUE(session->bind("x", floats({1, 2, 3, 4})).ok());
  RunReport report =
      makeReport(Call(session->program()), {session->run().value()});
  auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["model"]["name"], "negation");
  EXPECT_EQ(json["machine"]["clock_ghz"], 0.85);
  EXPECT_EQ(json["cycles"]["per_kernel"].size(), 1u);
  EXPECT_EQ(json["cycles"]["total"], json["kernels"][0]["cycles"]);
  EXPECT_EQ(json["pes"]["used"], 1);
  EXPECT_EQ(json["sram"]["limit_bytes"], 49152);
  EXPECT_GT(json["sram"]["peak_bytes"], 4176);
  EXPECT_EQ(json["sram"]["owner"], "sum");
  EXPECT_EQ(json["weights"]["streamed_bytes"], 16);
  EXPECT_NE(report.text().find("negation on test, 1x1 PEs"), std::string::npos);
}

} // namespace
} // namespace wsec::runtime
