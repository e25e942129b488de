// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Trainer.h"
#include "runtime/program/Errors.h"
#include "runtime/train/ServeTraining.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/swarmx/LocalLink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

namespace wsec::runtime {
namespace {

using namespace test;

constexpr int words = 3;
constexpr unsigned calls = 11;

/// The gradient of w is -(x + w), whose first number stands for a loss.
std::string programFile() {
  static const std::string path = [] {
    ProgramBuilder builder = makeNegation(words, countUp(words));
    builder.source.tensors[1]->parameter = "w";
    auto gradient = std::make_unique<program::GradientT>();
    gradient->parameter = "w";
    builder.source.tensors[2]->gradient = std::move(gradient);
    stateCodeBytes(builder);
    const std::vector<uint8_t> bytes = makeFile(builder, countUp(words));
    std::string name = testing::TempDir() + "trainer.wafer";
    std::ofstream(name, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               std::streamsize(bytes.size()));
    return name;
  }();
  return path;
}

/// Numbers whose sums depend on their order.
HostTensor inputs(unsigned step) {
  HostTensor x{DataType::Float32, {int64_t(calls) * words}, {}};
  std::vector<float> values(calls * words);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 1.0f / float(i * 7 % 13 + step + 1);
  x.bytes.resize(values.size() * sizeof(float));
  std::memcpy(x.bytes.data(), values.data(), x.bytes.size());
  return x;
}

struct Outcome {
  std::vector<std::pair<uint64_t, double>> losses;
  std::vector<float> weights;
  uint64_t rootBytes = 0, weightBytes = 0;
  bool operator==(const Outcome &other) const {
    return losses == other.losses && weights == other.weights &&
           rootBytes == other.rootBytes && weightBytes == other.weightBytes;
  }
};

/// Three steps, each evaluated before it is made.
absl::StatusOr<Outcome> train(std::shared_ptr<Link> link, unsigned systems) {
  StoreOptions options;
  options.update = sgd({});
  auto trainer = Trainer::open(
      std::make_unique<Cluster>(Session::open(programFile()).value(), systems,
                                samplesOf(0, link->size(), systems)),
      options, "", "y", link);
  Cluster &wafers = (*trainer)->wafers();
  const Call call = wafers.session().callOf("", {}).value();
  Outcome outcome;
  for (unsigned step = 0; step < 3; ++step) {
    wafers.clearInputs();
    requireOk(wafers.bind("x", inputs(step)));
    const auto evaluated = (*trainer)->evaluate(call);
    if (!evaluated.ok())
      return evaluated.status();
    const BatchShare made = (*trainer)->makeGradients(call).value();
    EXPECT_EQ(made.losses, evaluated->losses);
    EXPECT_EQ(made.losses.size(), calls);
    outcome.losses.insert(outcome.losses.end(), made.losses.begin(),
                          made.losses.end());
    outcome.rootBytes += (*trainer)->gradientBytes().back();
    outcome.weightBytes += made.run.edgeBytes.back() / made.run.passes;
    requireOk((*trainer)->endStep(0.1, calls).status());
  }
  outcome.weights = (*trainer)->store().weights(0);
  return outcome;
}

absl::StatusOr<Outcome> trainIn(unsigned processes, unsigned systems,
                                const std::string &program) {
  Mailboxes mailboxes(processes);
  std::vector<std::thread> others;
  for (unsigned process = 1; process < processes; ++process)
    others.emplace_back([&, process] {
      LocalLink link(mailboxes, process);
      serveTraining(link, 1);
    });
  const auto link = std::make_shared<LocalLink>(mailboxes, 0);
  tellTraining(*link, {program, testing::TempDir(), "y", systems});
  absl::StatusOr<Outcome> outcome = train(link, systems);
  OtherProcesses(*link).end(outcome.ok());
  for (std::thread &other : others)
    other.join();
  return outcome;
}

TEST(TrainerTest, SystemsAndProcessesDoNotShow) {
  const Outcome one = train(std::make_shared<OneProcess>(), 1).value();
  EXPECT_EQ(one.rootBytes, 3 * words * sizeof(float));
  EXPECT_NE(one.weights, countUp(words));
  for (const unsigned systems : {2, 3, 7, 11})
    EXPECT_EQ(train(std::make_shared<OneProcess>(), systems).value(), one);
  // With more than five, weights pass through others.
  for (const auto &[processes, systems] :
       {std::pair(2u, 2u), {3u, 5u}, {4u, 11u}, {7u, 7u}})
    EXPECT_EQ(trainIn(processes, systems, programFile()).value(), one)
        << processes << " processes";
}

TEST(TrainerTest, AProcessThatCannotIsNamed) {
  const absl::StatusOr<Outcome> outcome = trainIn(2, 2, "/nowhere/p.wafer");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(std::string(outcome.status().message()),
              testing::AllOf(testing::HasSubstr("process 1: "),
                             testing::HasSubstr("/nowhere/p.wafer")));
}

} // namespace
} // namespace wsec::runtime
