// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of a trace, and what it shows of large meshes. Traces of runs are
// checked by test/check_trace.py.
#include "runtime/observe/Trace.h"

#include "runtime/pe/Code.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

namespace wsec::runtime::test {
namespace {

using nlohmann::json;

/// A program of one class on all PEs of a mesh.
struct OneClass {
  OneClass(int width, int height) : builder(width, height) {
    builder.addClass("all", 0, width, 0, height);
    builder.launch(0, {}, "first");
    builder.launch(0, {}, "second");
  }
  ProgramBuilder builder;
};

std::set<std::string> tracks(const json &trace, const std::string &kind) {
  std::set<std::string> names;
  for (const json &event : trace["traceEvents"])
    if (event["name"] == kind)
      names.insert(event["args"]["name"].get<std::string>());
  return names;
}

void run(Trace &trace, int pe, size_t launch, double begin, double end) {
  InstructionCode code;
  trace.enter({&pe, 1}, launch, -1, begin);
  trace.instruction({&pe, 1}, {code, launch, begin, end, 5, 1, 2, 10});
  trace.leave({&pe, 1}, launch, end);
}

TEST(TraceTest, SlicesAreBounded) {
  OneClass program(2, 1);
  Trace trace(program.builder.finish());
  for (int i = 0; i < int(Trace::mostSlices) / 2 + 10; ++i)
    run(trace, 1, 0, 10.0 * i, 10.0 * i + 5);
  const json written = json::parse(trace.json());
  EXPECT_EQ(written["otherData"]["left_out_slices"], 20);
  size_t slices = 0;
  for (const json &event : written["traceEvents"])
    slices += event["ph"] == "X" && event["pid"] > 5;
  // What was entered and not recorded to its end is there once.
  EXPECT_EQ(slices, Trace::mostSlices + 1);
  // Sums know of all.
  for (const json &event : written["traceEvents"])
    if (event["args"].contains("executions")) {
      EXPECT_EQ(event["args"]["executions"], Trace::mostSlices / 2 + 10);
      EXPECT_EQ(event["args"]["waits_to_send_cycles"],
                2.0 * double(Trace::mostSlices / 2 + 10));
    }
}

TEST(TraceTest, LargeMeshesAreShownInColumnsAndSamples) {
  OneClass program(100, 70);
  Trace trace(program.builder.finish());
  for (int pe = 0; pe < 7000; ++pe)
    run(trace, pe, 0, 10, 20);
  trace.passed(0, program::Port::East, 1, 5, 10, 20);
  const json written = json::parse(trace.json());
  EXPECT_EQ(written["otherData"]["links_shown"], false);
  EXPECT_EQ(written["otherData"]["pes_shown"], 16);
  const auto groups = tracks(written, "process_name");
  EXPECT_TRUE(groups.count("PE 99,69, class all"));
  EXPECT_TRUE(groups.count("PE 33,23, class all"));
  EXPECT_FALSE(groups.count("links"));
  const auto classes = tracks(written, "thread_name");
  EXPECT_TRUE(classes.count("class all, columns 0 to 12"));
  EXPECT_TRUE(classes.count("class all, columns 88 to 99"));
  uint64_t entries = 0;
  for (const json &event : written["traceEvents"])
    if (event["ph"] == "X" && event["args"].contains("entries"))
      entries += event["args"]["entries"].get<uint64_t>();
  EXPECT_EQ(entries, 7000u);
}

TEST(TraceTest, WordsThatFollowOneAnotherAreOneSlice) {
  OneClass program(2, 1);
  Trace trace(program.builder.finish());
  for (double time : {10, 11, 12, 40, 41})
    trace.passed(0, program::Port::East, 3, 1, time, time);
  const json written = json::parse(trace.json());
  std::vector<json> slices;
  for (const json &event : written["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == 5)
      slices.push_back(event);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["name"], "color 3");
  EXPECT_EQ(slices[0]["ts"], 10);
  EXPECT_EQ(slices[0]["dur"], 3);
  EXPECT_EQ(slices[0]["args"]["words"], 3);
  EXPECT_EQ(slices[1]["args"]["words"], 2);
}

TEST(TraceTest, LaunchesThatOverlapTakeTwoTracks) {
  OneClass program(2, 1);
  Trace trace(program.builder.finish());
  run(trace, 0, 0, 10, 30);
  run(trace, 1, 1, 20, 40);
  const json written = json::parse(trace.json());
  std::set<int> used;
  for (const json &event : written["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == 1)
      used.insert(event["tid"].get<int>());
  EXPECT_EQ(used.size(), 2u);
}

} // namespace
} // namespace wsec::runtime::test
