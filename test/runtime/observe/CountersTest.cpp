// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that can be told by hand. That engines agree on whole programs is
// held by the tests that run them on both (CountersAgree.h).
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"
#include "test/runtime/observe/CountersAgree.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wsec::runtime::test {
namespace {

using program::Opcode;
using program::Port;

/// PE (0, 1) sends eight words to the PE east of it, or, if that works on
/// something else first, more than the queues between them hold. The rows
/// around them do nothing.
struct Pair {
  explicit Pair(bool busy = false) : program(3, 3) {
    const int words = busy ? 60 : 8;
    program.route(1, 0, 1, 1, 2, Port::Ramp, {Port::East});
    program.route(1, 1, 2, 1, 2, Port::West, {Port::Ramp});
    TaskClass sender = program.pes("sender", 0, 1, 1, 2);
    sender.body(0).add(Opcode::Mov, {words}, fabric(1), immediate(2));
    TaskClass receiver = program.pes("receiver", 1, 2, 1, 2);
    const uint16_t v = receiver.buffer("v", 400);
    TaskBody body = receiver.body(0);
    if (busy)
      body.add(Opcode::Mov, {400}, memory(v, {1}), immediate(1));
    body.add(Opcode::Mov, {words}, memory(v, {1}), fabric(1));
    program.launch(0);
  }

  std::map<std::string, std::vector<double>> count() {
    const program::Program &finished = program.finish();
    Counters counters(finished);
    EngineOptions options;
    options.observer = &counters;
    TensorHost host;
    WaveletEngine(finished, options).run(host);
    json = nlohmann::json::parse(counters.json());
    return mapsByName(counters);
  }

  TaskProgram program;
  nlohmann::json json;
};

TEST(CountersTest, WordsOfAPair) {
  auto maps = Pair().count();
  using Row = std::vector<double>;
  EXPECT_EQ(maps["words_sent"], (Row{0, 0, 0, 8, 0, 0, 0, 0, 0}));
  EXPECT_EQ(maps["words_received"], (Row{0, 0, 0, 0, 8, 0, 0, 0, 0}));
  EXPECT_EQ(maps["link_words_east"], maps["words_sent"]);
  EXPECT_EQ(maps["link_words_ramp"], maps["words_received"]);
  EXPECT_EQ(maps["link_peak_east"], maps["words_sent"]);
  EXPECT_EQ(total(maps["link_words_west"]), 0);
  EXPECT_EQ(maps["instructions"], (Row{0, 0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_GT(maps["waits_to_receive_cycles"][4], 0);
  EXPECT_EQ(maps["waits_to_send_cycles"][3], 0);
  EXPECT_EQ(maps["waits_to_receive_cycles"][3], 0);
}

TEST(CountersTest, ABusyReceiverMakesTheSenderWait) {
  auto maps = Pair(true).count();
  EXPECT_GT(maps["waits_to_send_cycles"][3], 20);
  EXPECT_LT(maps["waits_to_receive_cycles"][4], 5);
  EXPECT_GT(maps["busy_cycles"][4], maps["busy_cycles"][3]);
}

TEST(CountersTest, JsonHasEqualRowsOnce) {
  Pair pair;
  pair.count();
  const auto &sent = pair.json["maps"]["words_sent"];
  EXPECT_EQ(sent["total"], 8);
  EXPECT_EQ(sent["max_at"], nlohmann::json({0, 1}));
  ASSERT_EQ(sent["rows"].size(), 3u);
  EXPECT_EQ(sent["rows"][1]["y"], nlohmann::json({1, 2}));
  EXPECT_EQ(sent["rows"][1]["runs"], nlohmann::json({{8, 1}, {0, 2}}));
  EXPECT_EQ(pair.json["maps"]["link_words_north"]["rows"].size(), 1u);
}

TEST(CountersPeakTest, IsTheFullestWindow) {
  Pair pair;
  Counters counters(pair.program.finish());
  constexpr double window = Counters::windowCycles;
  counters.passed(0, Port::South, 1, 1024, 0, window - 1);
  counters.passed(0, Port::South, 1, 10, window, 2 * window - 1);
  // A word in every other cycle over two windows.
  counters.passed(1, Port::South, 1, 1024, 0, 2 * window - 2);
  auto maps = mapsByName(counters);
  EXPECT_EQ(maps["link_words_south"][0], 1034);
  EXPECT_EQ(maps["link_peak_south"][0], 1024);
  EXPECT_EQ(maps["link_peak_south"][1], 512);
}

} // namespace
} // namespace wsec::runtime::test
