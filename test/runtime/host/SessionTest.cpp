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

template <typename Call>
std::string refusal(Call call) {
  try {
    call();
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST(SessionTest, RunsAndRunsAgain) {
  Session session(negation());
  for (float first : {1.f, 5.f}) {
    session.bind("x", floats({first, 2, 3, 4}));
    SessionRun run = session.run();
    EXPECT_GT(run.result.cycles, 0);
    EXPECT_EQ(run.streamedWeightBytes, 16u);
    HostTensor y = session.output("y");
    EXPECT_EQ(y.number(0), -first);
    EXPECT_EQ(y.number(3), -7);
    EXPECT_EQ(session.output("same").number(0), first);
  }
}

TEST(SessionTest, EnginesGiveTheSame) {
  Session session(negation());
  session.bind("x", floats({1, 2, 3, 4}));
  for (const char *name : {"burst", "streams", "strips", "wavelet"}) {
    SessionRun run = session.run({}, nullptr, engineNamed(name).value());
    EXPECT_GT(run.result.cycles, 0) << name;
    EXPECT_EQ(session.output("y").number(1), -3) << name;
  }
  EXPECT_FALSE(engineNamed("bursts"));
}

/// Values are replayed, and cycles are those of streams.
TEST(SessionTest, BurstReplaysWithTheCyclesOfStreams) {
  Session session(negation());
  session.bind("x", floats({1, 2, 3, 4}));
  const RunResult streams = session.run({}, nullptr, Engine::Streams).result;
  const RunResult strips = session.run({}, nullptr, Engine::Strips).result;
  EXPECT_NE(streams.cycles, strips.cycles);
  EngineOptions options;
  options.replay = true;
  for (float first : {1.f, 5.f}) {
    session.bind("x", floats({first, 2, 3, 4}));
    const RunResult run = session.run(options).result;
    EXPECT_EQ(run.replayed, first > 1);
    EXPECT_EQ(run.cycles, streams.cycles);
    EXPECT_EQ(run.launches.at(0).end, streams.launches.at(0).end);
    EXPECT_EQ(session.output("y").number(0), -first);
  }
  const RunResult again = session.run(options, nullptr, Engine::Strips).result;
  EXPECT_EQ(again.cycles, strips.cycles);
}

/// Long runs, and those on many PEs, are left to strips; what the compiler
/// predicted plays no part.
TEST(SessionTest, BurstIsChosenByTheProgram) {
  auto engine = [](int width, uint32_t launches) {
    ProgramBuilder builder = makeNegation(4, countUp(4));
    builder.source.machine->width = width;
    builder.source.classes.at(0)->rects = {{0, width, 1, 0, 1, 1}};
    while (builder.source.launches.size() < launches)
      builder.launch(0, {});
    const program::Program &program = builder.finish();
    EXPECT_LE(countSteps(program), 16.0 * width * launches);
    EXPECT_GE(countSteps(program), 4.0 * width * launches);
    return resolveEngine(Engine::Burst, program);
  };
  EXPECT_EQ(engine(256, 1), Engine::Streams);
  EXPECT_EQ(engine(256, 1 << 13), Engine::Strips);
  EXPECT_EQ(engine(257, 1), Engine::Strips);
}

TEST(SessionTest, NamesWhatDoesNotFit) {
  Session session(negation());
  EXPECT_EQ(refusal([&] { session.bind("z", floats({1})); }),
            "BadTensor: the program has no input 'z'; there is 'x'");
  EXPECT_EQ(refusal([&] { session.bind("x", floats({1})); }),
            "BadTensor: input 'x': expected float32[4], found float32[1]; the "
            "shape is fixed when the model is compiled");
  HostTensor square{DataType::Float32, {2, 2}, std::vector<uint8_t>(16)};
  EXPECT_EQ(refusal([&] { session.bind("x", square); }),
            "BadTensor: input 'x': expected float32[4], found float32[2, 2]; "
            "reshape it");
  HostTensor whole{DataType::Int64, {4}, std::vector<uint8_t>(32)};
  EXPECT_EQ(
      refusal([&] { session.bind("x", whole); }),
      "BadTensor: input 'x': expected float32[4], found int64[4]; convert "
      "it to float32");
  EXPECT_EQ(refusal([&] { session.run(); }),
            "BadTensor: no tensor is given for 'x' (float32[4])");
  EXPECT_EQ(refusal([&] { session.output("y"); }),
            "BadTensor: output 'y' is known after a run only");
  EXPECT_EQ(refusal([&] { session.output("q"); }),
            "BadTensor: the program has no output 'q'; there is 'y', 'same'");
}

TEST(ReportTest, HasTheSchema) {
  Session session(negation());
  session.bind("x", floats({1, 2, 3, 4}));
  RunReport report = makeReport(session.program(), {session.run()});
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
