// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/machine/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace wsec;

TEST(MachineTest, SecondGenerationHasItsPublishedNumbers) {
  std::optional<Machine> machine = machinePreset("wse2");
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->fabricWidth, 757);
  EXPECT_EQ(machine->fabricHeight, 996);
  EXPECT_EQ(machine->peCount(), 745500);
  EXPECT_EQ(machine->sramBytes, 49152);
  EXPECT_EQ(machine->usableBytes(), 44976);
  EXPECT_EQ(machine->usableColors(), 21);
  EXPECT_EQ(machine->channels, 44);
  EXPECT_EQ(machine->hopCycles, 1);
  EXPECT_EQ(machine->rampCycles, 2);
  EXPECT_DOUBLE_EQ(machine->fmacRate, 0.467);
  EXPECT_DOUBLE_EQ(machine->fmacRate16, 4);
  EXPECT_DOUBLE_EQ(machine->fmacRateMixed, 2);
  EXPECT_DOUBLE_EQ(machine->clockGhz, 0.85);
  // What a vector instruction takes alone, without its elements.
  EXPECT_DOUBLE_EQ(machine->copySetup + machine->resultLatency, 8);
  EXPECT_DOUBLE_EQ(machine->vectorSetup + machine->resultLatency, 9);
  EXPECT_DOUBLE_EQ(machine->axpySetup + machine->resultLatency, 13);
  EXPECT_DOUBLE_EQ(machine->dotSetup + machine->resultLatency, 20);
  // A scalar operation from memory to memory.
  EXPECT_DOUBLE_EQ(
      machine->loadCycles + machine->scalarCycles + machine->storeCycles, 7);
  EXPECT_EQ(machine->inputQueueWords,
            (std::vector<int>{6, 6, 4, 4, 2, 2, 2, 2}));
  EXPECT_EQ(machine->outputQueueWords, (std::vector<int>{2, 2, 6, 6, 2, 2}));
  EXPECT_EQ(machine->switchPositions, 4);
}

TEST(MachineTest, FirstAndThirdGenerationDifferWherePublished) {
  std::optional<Machine> first = machinePreset("wse1");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->width, 626);
  EXPECT_EQ(first->height, 631);
  std::optional<Machine> third = machinePreset("wse3");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->peCount(), 883350);
  EXPECT_EQ(third->hopCycles, 2);
  EXPECT_EQ(third->rampCycles, 2);
  EXPECT_EQ(third->microthreadsQueue, 1);
  EXPECT_DOUBLE_EQ(third->copyRate, 4);
  EXPECT_DOUBLE_EQ(third->mapOverhead, 7.1);
  EXPECT_DOUBLE_EQ(third->copyRate16, 8);
  EXPECT_EQ(third->turnCycles, 33);
  EXPECT_EQ(third->inputQueueWords[7], 4);
  EXPECT_FALSE(machinePreset("wse4"));
}

TEST(MachineTest, PresetsAreMachines) {
  EXPECT_EQ(machinePresets(),
            (std::vector<std::string>{"wse1", "wse2", "wse3", "wse3-silicon"}));
  for (const std::string &name : machinePresets()) {
    std::optional<Machine> machine = machinePreset(name);
    ASSERT_TRUE(machine) << name;
    EXPECT_EQ(machine->name, name);
    EXPECT_EQ(machine->check(), std::nullopt) << name;
  }
}

static llvm::json::Object presetFile(const std::string &name) {
  auto file = llvm::MemoryBuffer::getFile(WSEC_SOURCE_DIR "/compiler/machine/" +
                                          name + ".json");
  return *llvm::cantFail(llvm::json::parse((*file)->getBuffer())).getAsObject();
}

/// A number or, in the README without brackets, a list.
static llvm::json::Value fromTable(llvm::StringRef cell) {
  llvm::json::Array list =
      *llvm::cantFail(llvm::json::parse("[" + cell.str() + "]")).getAsArray();
  if (list.size() == 1)
    return list[0];
  return list;
}

TEST(MachineTest, ReadmeSaysWhatThePresetsSay) {
  auto readme = llvm::MemoryBuffer::getFile(WSEC_SOURCE_DIR
                                            "/compiler/machine/README.md");
  ASSERT_TRUE(readme);
  llvm::json::Object second = presetFile("wse2"), third = presetFile("wse3");
  size_t rows = 0;
  llvm::SmallVector<llvm::StringRef> lines, cells;
  (*readme)->getBuffer().split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("| `"))
      continue;
    cells.clear();
    line.split(cells, " | ");
    ASSERT_EQ(cells.size(), 5u) << line.str();
    const std::string name = cells[0].drop_back().str();
    ++rows;
    ASSERT_TRUE(second.get(name)) << name;
    EXPECT_EQ(fromTable(cells[2]), *second.get(name)) << name;
    const llvm::json::Value *other = third.get(name);
    if (other)
      EXPECT_EQ(fromTable(cells[3]), *other) << name;
    else
      EXPECT_EQ(cells[3].str(), "=") << name;
  }
  EXPECT_EQ(rows, second.size() - 1); // all but the name
}

TEST(MachineTest, KeepOutsAreReadCutToTheMeshAndLeaveRoom) {
  std::string error;
  std::optional<Machine> machine = machineFromJson(
      R"({"keep_outs": [[3, 1, 2, 9], [700, 900, 1, 1]]})", error);
  ASSERT_TRUE(machine) << error;
  ASSERT_FALSE(machine->setMesh(8, 4));
  EXPECT_EQ(machine->keepOuts, (std::vector<PeRectangle>{{3, 1, 2, 3}}));
  EXPECT_TRUE(machine->roomFor(3, 4));
  EXPECT_FALSE(machine->roomFor(4, 4));
  EXPECT_TRUE(machine->roomFor(8, 1));
  EXPECT_FALSE(machine->roomFor(8, 2));
  EXPECT_FALSE(machineFromJson(R"({"keep_outs": [[1, 2, 3]]})", error));
  EXPECT_EQ(error, "machine parameter 'keep_outs' is not a list of [x, y, "
                   "width, height]");
  error.clear();
  EXPECT_FALSE(machineFromJson(R"({"keep_outs": [[749, 0, 2, 1]]})", error));
  EXPECT_EQ(error, "keep-out of 2x1 at (749,0) leaves the mesh of 750x994");
}

TEST(MachineTest, ChannelsAreSpreadOverRowsAndColumns) {
  Machine machine = *machinePreset("wse2");
  ASSERT_FALSE(machine.setMesh(8, 4));
  EXPECT_EQ(machine.channelsInUse(), 4);
  std::vector<ChannelPosition> west = {
      {0, 0, 2}, {1, 2, 4}, {2, 4, 6}, {3, 6, 8}};
  EXPECT_EQ(machine.westChannels(), west);
  std::vector<ChannelPosition> east = {
      {0, 0, 1}, {1, 1, 2}, {2, 2, 3}, {3, 3, 4}};
  EXPECT_EQ(machine.eastChannels(), east);
}

// Channels of the mesh on rows 0, 23, 46, 69, ...
TEST(MachineTest, RegionsHaveTheChannelsOfTheirRows) {
  Machine machine = machinePreset("wse2")->region(5, 23, 9, 50);
  EXPECT_EQ(machine.width, 9);
  EXPECT_EQ(machine.channelsOfMesh(), 44);
  EXPECT_EQ(machine.firstChannel(), 1);
  EXPECT_EQ(machine.channelsInUse(), 3);
  std::vector<ChannelPosition> west = {{0, 0, 3}, {23, 3, 6}, {46, 6, 9}};
  EXPECT_EQ(machine.westChannels(), west);
  std::vector<ChannelPosition> east = {{0, 0, 23}, {23, 23, 46}, {46, 46, 50}};
  EXPECT_EQ(machine.eastChannels(), east);
  EXPECT_EQ(machinePreset("wse2")->region(0, 24, 1, 22).channelsInUse(), 0);
  Machine whole = machinePreset("wse2")->region(0, 0, 750, 994);
  EXPECT_EQ(whole.westChannels(), machinePreset("wse2")->westChannels());
  EXPECT_EQ(whole.eastChannels(), machinePreset("wse2")->eastChannels());
}

// Of those on rows 0, 23, 46, 69, ...; what leaves has all that the rows have.
TEST(MachineTest, RegionsShareOutTheChannelsOfTheWestEdge) {
  Machine machine = machinePreset("wse2")->region(5, 23, 9, 50).withShare(1, 2);
  EXPECT_EQ(machine.westCount(), 2);
  EXPECT_EQ(machine.firstWest(), 2);
  std::vector<ChannelPosition> west = {{23, 0, 5}, {46, 5, 9}};
  EXPECT_EQ(machine.westChannels(), west);
  EXPECT_EQ(machine.eastChannels().size(), 3u);
}

TEST(MachineTest, FullWaferUsesAllItsChannels) {
  Machine machine = *machinePreset("wse2");
  std::vector<ChannelPosition> channels = machine.westChannels();
  ASSERT_EQ(channels.size(), 44u);
  EXPECT_EQ(channels.front().begin, 0);
  EXPECT_EQ(channels.back().end, 750);
  EXPECT_EQ(channels[1].row, 23);
}

TEST(MachineTest, MeshMustFitWhatAProgramMayUse) {
  Machine machine = *machinePreset("wse2");
  EXPECT_EQ(machine.setMesh(751, 4),
            "mesh 751x4 is larger than the 750x994 PEs a program may use on "
            "wse2");
  EXPECT_TRUE(machine.setMesh(0, 4));
}

TEST(MachineTest, JsonStartsFromItsBase) {
  std::string error;
  std::optional<Machine> machine = machineFromJson(
      R"({"base": "wse3", "name": "mine", "sram_bytes": 65536})", error);
  ASSERT_TRUE(machine) << error;
  EXPECT_EQ(machine->name, "mine");
  EXPECT_EQ(machine->sramBytes, 65536);
  EXPECT_EQ(machine->hopCycles, 2);
}

TEST(MachineTest, JsonMistakesAreNamed) {
  auto errorOf = [](const char *text) {
    std::string error;
    EXPECT_FALSE(machineFromJson(text, error));
    return error;
  };
  EXPECT_EQ(errorOf("[1]"), "expected a JSON object of machine parameters");
  EXPECT_EQ(errorOf(R"({"sram": 1})"), "unknown machine parameter 'sram'");
  EXPECT_EQ(errorOf(R"({"colors": "many"})"),
            "machine parameter 'colors' is not a number of its type");
  EXPECT_EQ(errorOf(R"({"colors": 2.5})"),
            "machine parameter 'colors' is not a number of its type");
  EXPECT_EQ(errorOf(R"({"input_queue_words": 4})"),
            "machine parameter 'input_queue_words' is not a list of numbers");
  EXPECT_EQ(errorOf(R"({"output_queue_words": [2, "many"]})"),
            "machine parameter 'output_queue_words' is not a list of numbers");
  EXPECT_EQ(errorOf(R"({"output_queue_words": [2, 0]})"),
            "output_queue_words needs at least 1 numbers, each at least 1");
  EXPECT_EQ(errorOf(R"({"reserved_tasks": [-1]})"),
            "reserved_tasks needs at least 0 numbers, each at least 0");
  EXPECT_EQ(errorOf(R"({"reduce_rate": 0})"),
            "clock_ghz and the rates must be positive");
  EXPECT_EQ(errorOf(R"({"colors": 3})"), "all 3 colors are reserved");
  EXPECT_EQ(errorOf(R"({"channels": 0})"),
            "channels is 0, expected at least 1");
  EXPECT_EQ(errorOf(R"({"fabric_width": 10})"),
            "the mesh of 750x994 PEs is larger than the fabric of 10x996");
  EXPECT_EQ(errorOf(R"({"base": "wse9"})"),
            "unknown base machine 'wse9'; expected wse1, wse2, wse3 or "
            "wse3-silicon");
}

TEST(MachineTest, DescriptionsReadBack) {
  Machine preset = *machinePreset("wse3");
  ASSERT_FALSE(preset.setMesh(8, 8));
  EXPECT_EQ(describeMachine(preset), "wse3");
  std::string error;
  std::optional<Machine> custom = machineFromJson(
      R"({"name": "mine", "channels": 4, "clock_ghz": 1.5})", error);
  ASSERT_TRUE(custom) << error;
  std::string description = describeMachine(*custom);
  EXPECT_EQ(description, R"({"channels":4,"clock_ghz":1.5,"name":"mine"})");
  std::optional<Machine> again = machineFromDescription(description, error);
  ASSERT_TRUE(again) << error;
  EXPECT_EQ(again->channels, 4);
  EXPECT_DOUBLE_EQ(again->clockGhz, 1.5);
  EXPECT_EQ(again->name, "mine");
}

TEST(MachineTest, ListsReadBack) {
  std::string error;
  std::optional<Machine> custom = machineFromJson(
      R"({"base": "wse2", "name": "wse2", "input_queue_words": [3, 1]})",
      error);
  ASSERT_TRUE(custom) << error;
  std::string description = describeMachine(*custom);
  EXPECT_EQ(description,
            R"({"base":"wse2","input_queue_words":[3,1],"name":"wse2"})");
  EXPECT_EQ(machineFromDescription(description, error)->inputQueueWords,
            (std::vector<int>{3, 1}));
}

// What a real third-generation wafer differs in from its simulator.
TEST(MachineTest, SiliconOverlayIsAMachine) {
  std::optional<Machine> silicon = machinePreset("wse3-silicon");
  ASSERT_TRUE(silicon);
  EXPECT_EQ(silicon->name, "wse3-silicon");
  EXPECT_DOUBLE_EQ(silicon->copyRate16, 4.82);
  EXPECT_EQ(silicon->turnCycles, 20);
  EXPECT_EQ(silicon->hopCycles, machinePreset("wse3")->hopCycles);
}

TEST(MachineTest, MeshesAreReadAsColumnsTimesRows) {
  EXPECT_EQ(parseMesh("32x16"), std::make_pair(32, 16));
  for (const char *wrong : {"", "8", "8x", "0x8", "8x-1", "8x8x8", "axb"})
    EXPECT_FALSE(parseMesh(wrong)) << wrong;
}
