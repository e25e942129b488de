// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor that one launch hands to the store and a later one takes from it.
#include "runtime/host/Session.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;

/// passing = -(x + w), then y = -(reversed passing + w).
ProgramBuilder makePassing(const std::vector<float> &bundle) {
  const int words = int(bundle.size());
  ProgramBuilder builder = makeNegation(words, bundle);
  auto &streams = builder.source.streams;
  const uint32_t passing =
      uint32_t(builder.source.tensors.size()); // after x, w and y
  addTensor(builder, "passing", program::TensorRole::Intermediate, {words});
  const uint32_t feed = builder.stream("again", program::Direction::In, 0, {0});
  const uint32_t drain =
      builder.stream("result", program::Direction::Out, 1, {0});
  streams[1]->segments[0]->tensor = passing;
  streams[feed]->segments.push_back(
      makeSegment(passing, 1, 0, {words}, {-1}, words - 1));
  streams[feed]->segments.push_back(makeSegment(1, 1, 0, {words}, {1}, 0));
  streams[drain]->segments.push_back(makeSegment(2, 1, 0, {words}, {1}, 0));
  builder.launch(0, {feed, drain}, "negate again");
  return builder;
}

class Intermediates : public testing::Test {
protected:
  std::vector<float> bundle = {1, 10, 100};
  ProgramBuilder builder = makePassing(bundle);

  program::LaunchT &launch(size_t index) {
    return *builder.source.entries[0]->launches[index];
  }
  std::string refusal() {
    try {
      LoadedProgram::fromBytes(makeFile(builder, bundle));
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }
};

TEST_F(Intermediates, ComeBackInAnotherOrder) {
  for (const char *engine : {"burst", "strips", "wavelet"}) {
    auto session =
        Session::open(LoadedProgram::fromBytes(makeFile(builder, bundle)))
            .value();
    HostTensor x{DataType::Float32, {3}, {}};
    x.bytes.resize(3 * sizeof(float));
    std::memcpy(x.bytes.data(), countUp(3).data(), x.bytes.size());
    ASSERT_TRUE(session->bind("x", x).ok());
    ASSERT_TRUE(session->run({}, nullptr, engineNamed(engine).value()).ok());
    const std::vector<float> sums = countUp(3);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(session->output("y")->number(i),
                sums[2 - i] + bundle[2 - i] - bundle[i])
          << engine << ", element " << i;
  }
}

TEST_F(Intermediates, ReadBeforeTheyAreWritten) {
  std::swap(launch(0).streams, launch(1).streams);
  EXPECT_EQ(refusal(), "BadProgram: entry 'main', launch 0: reads intermediate "
                       "'passing', which no launch before it writes");
}

TEST_F(Intermediates, ReadByTheLaunchThatWritesThem) {
  launch(1).streams = {2, 1};
  launch(0).streams = {2, 1};
  EXPECT_EQ(refusal(), "BadProgram: entry 'main', launch 0: reads intermediate "
                       "'passing', which no launch before it writes");
}

TEST_F(Intermediates, WrittenAfterTheyAreRead) {
  auto third = std::make_unique<program::LaunchT>(launch(0));
  builder.source.entries[0]->launches.push_back(std::move(third));
  EXPECT_EQ(refusal(),
            "BadProgram: entry 'main', launch 2: writes intermediate "
            "'passing', which is read before: all launches that write it come "
            "before those that read it");
}

} // namespace
} // namespace wsec::runtime
