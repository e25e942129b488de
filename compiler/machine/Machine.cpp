// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/machine/Machine.h"

#include "compiler/machine/Tiling.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace wsec;

// What is published for the second generation. Costs of software functions and
// of divides, words in a router and 16-bit copies are our assumption: nothing
// is published. So are scalar instructions one by one; their sum, 7 cycles from
// memory to memory, is published, as are the sums of setup and result latency
// (copy 8, element-wise 9, axpy 13, dot 20), all of the third generation.
static Machine secondGeneration() {
  Machine machine;
  machine.name = "wse2";
  machine.fabricWidth = 757;
  machine.fabricHeight = 996;
  machine.width = 750;
  machine.height = 994;
  machine.clockGhz = 0.85;
  machine.sramBytes = 49152;
  machine.runtimeBytes = 4176;
  machine.colors = 24;
  machine.reservedColors = 3;
  machine.microthreads = 8;
  machine.lanes = 44;
  machine.hopCycles = 1;
  machine.rampCycles = 2;
  machine.storeLatencyCycles = 1700;
  machine.copyRate = 2;
  machine.addRate = 1;
  machine.fmacRate = 0.467;
  machine.vectorSetup = 6;
  machine.mapOverhead = 7.4;
  machine.loopOverhead = 9;
  machine.taskOverhead = 3;
  machine.functionCycles = 40;
  machine.divideCycles = 20;
  machine.resultLatency = 3;
  machine.copyRate16 = 4;
  machine.addRate16 = 4;
  machine.fmacRate16 = 4;
  machine.reduceRate = 0.5;
  machine.copySetup = 5;
  machine.axpySetup = 10;
  machine.dotSetup = 17;
  machine.scalarCycles = 1;
  machine.loadCycles = 4;
  machine.storeCycles = 2;
  machine.branchTaken = 6;
  machine.branchNotTaken = 3;
  machine.asyncIssue = 1;
  machine.turnCycles = 0;
  machine.routerBufferWords = 2;
  machine.inputQueueWords = {6, 6, 4, 4, 2, 2, 2, 2};
  machine.outputQueueWords = {2, 2, 6, 6, 2, 2};
  machine.switchPositions = 4;
  machine.controlCommands = 8;
  machine.localTasks = 31;
  machine.controlTasks = 64;
  return machine;
}

std::optional<Machine> wsec::machinePreset(std::string_view name) {
  Machine machine = secondGeneration();
  machine.name = std::string(name);
  if (name == "wse2")
    return machine;
  if (name == "wse1") {
    machine.fabricWidth = 633;
    machine.fabricHeight = 633;
    machine.width = 626;
    machine.height = 631;
    return machine;
  }
  if (name == "wse3") {
    machine.fabricWidth = 762;
    machine.fabricHeight = 1172;
    machine.width = 755;
    machine.height = 1170;
    machine.hopCycles = 2;
    machine.rampCycles = 3;
    machine.copyRate = 4;
    machine.addRate = 2;
    machine.fmacRate = 0.5;
    machine.mapOverhead = 7.1;
    machine.copyRate16 = 8;
    machine.turnCycles = 33;
    machine.routerBufferWords = 4;
    machine.inputQueueWords = {8, 8, 4, 4, 4, 4, 4, 4};
    machine.outputQueueWords = {8, 8, 8, 8, 8, 8, 8, 8};
    return machine;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Lanes and mesh
//===----------------------------------------------------------------------===//

static std::vector<LanePosition> spreadLanes(int lanes, int rows, int served) {
  std::vector<LanePosition> positions;
  for (int lane = 0; lane < lanes; ++lane)
    positions.push_back({int(tileStart(rows, lanes, lane)),
                         int(tileStart(served, lanes, lane)),
                         int(tileStart(served, lanes, lane + 1))});
  return positions;
}

std::vector<LanePosition> Machine::westLanes() const {
  return spreadLanes(lanesInUse(), height, width);
}

std::vector<LanePosition> Machine::eastLanes() const {
  return spreadLanes(lanesInUse(), height, height);
}

std::optional<std::string> Machine::setMesh(int newWidth, int newHeight) {
  if (newWidth < 1 || newHeight < 1)
    return "a mesh needs at least one column and one row";
  if (newWidth > width || newHeight > height)
    return "mesh " + std::to_string(newWidth) + "x" +
           std::to_string(newHeight) + " is larger than the " +
           std::to_string(width) + "x" + std::to_string(height) +
           " PEs a program may use on " + name;
  width = newWidth;
  height = newHeight;
  return std::nullopt;
}

std::optional<std::pair<int, int>> wsec::parseMesh(std::string_view text) {
  llvm::StringRef width, height;
  std::tie(width, height) = llvm::StringRef(text).split('x');
  std::pair<int, int> mesh;
  if (width.getAsInteger(10, mesh.first) ||
      height.getAsInteger(10, mesh.second) || mesh.first < 1 || mesh.second < 1)
    return std::nullopt;
  return mesh;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

// Calls `visit(name, field, minimum)` for every number of the machine: the one
// list that reading, writing and checking share.
template <typename MachineT, typename Visit>
static void visitFields(MachineT &machine, Visit visit) {
  visit("fabric_width", machine.fabricWidth, 1);
  visit("fabric_height", machine.fabricHeight, 1);
  visit("width", machine.width, 1);
  visit("height", machine.height, 1);
  visit("clock_ghz", machine.clockGhz, 0);
  visit("sram_bytes", machine.sramBytes, 1);
  visit("runtime_bytes", machine.runtimeBytes, 0);
  visit("colors", machine.colors, 1);
  visit("reserved_colors", machine.reservedColors, 0);
  visit("microthreads", machine.microthreads, 1);
  visit("lanes", machine.lanes, 1);
  visit("hop_cycles", machine.hopCycles, 0);
  visit("ramp_cycles", machine.rampCycles, 0);
  visit("store_latency_cycles", machine.storeLatencyCycles, 0);
  visit("copy_rate", machine.copyRate, 0);
  visit("add_rate", machine.addRate, 0);
  visit("fmac_rate", machine.fmacRate, 0);
  visit("vector_setup", machine.vectorSetup, 0);
  visit("map_overhead", machine.mapOverhead, 0);
  visit("loop_overhead", machine.loopOverhead, 0);
  visit("task_overhead", machine.taskOverhead, 0);
  visit("function_cycles", machine.functionCycles, 0);
  visit("divide_cycles", machine.divideCycles, 0);
  visit("result_latency", machine.resultLatency, 0);
  visit("copy_rate_16", machine.copyRate16, 0);
  visit("add_rate_16", machine.addRate16, 0);
  visit("fmac_rate_16", machine.fmacRate16, 0);
  visit("reduce_rate", machine.reduceRate, 0);
  visit("copy_setup", machine.copySetup, 0);
  visit("axpy_setup", machine.axpySetup, 0);
  visit("dot_setup", machine.dotSetup, 0);
  visit("scalar_cycles", machine.scalarCycles, 0);
  visit("load_cycles", machine.loadCycles, 0);
  visit("store_cycles", machine.storeCycles, 0);
  visit("branch_taken", machine.branchTaken, 0);
  visit("branch_not_taken", machine.branchNotTaken, 0);
  visit("async_issue", machine.asyncIssue, 0);
  visit("turn_cycles", machine.turnCycles, 0);
  visit("router_buffer_words", machine.routerBufferWords, 1);
  visit("switch_positions", machine.switchPositions, 1);
  visit("control_commands", machine.controlCommands, 1);
  visit("local_tasks", machine.localTasks, 1);
  visit("control_tasks", machine.controlTasks, 1);
}

// The same for the lists of the machine, whose elements are at least 1.
template <typename MachineT, typename Visit>
static void visitLists(MachineT &machine, Visit visit) {
  visit("input_queue_words", machine.inputQueueWords);
  visit("output_queue_words", machine.outputQueueWords);
}

static bool readNumber(const llvm::json::Value &value, int &field) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number != int(*number))
    return false;
  field = int(*number);
  return true;
}

static bool readNumber(const llvm::json::Value &value, double &field) {
  std::optional<double> number = value.getAsNumber();
  if (!number || !std::isfinite(*number))
    return false;
  field = *number;
  return true;
}

static bool readList(const llvm::json::Value &value, std::vector<int> &field) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return false;
  field.resize(array->size());
  for (size_t i = 0; i < array->size(); ++i)
    if (!readNumber((*array)[i], field[i]))
      return false;
  return true;
}

std::optional<std::string> Machine::check() const {
  std::optional<std::string> problem;
  visitFields(*this, [&](const char *field, auto value, int minimum) {
    if (!problem && value < minimum)
      problem = std::string(field) + " is " + std::to_string(value) +
                ", expected at least " + std::to_string(minimum);
  });
  visitLists(*this, [&](const char *field, const std::vector<int> &list) {
    if (!problem && (list.empty() || *llvm::min_element(list) < 1))
      problem = std::string(field) + " needs at least one queue, each of at "
                                     "least one word";
  });
  if (problem)
    return problem;
  for (double rate : {clockGhz, copyRate, addRate, fmacRate, copyRate16,
                      addRate16, fmacRate16, reduceRate})
    if (rate <= 0)
      return "clock_ghz and the rates must be positive";
  if (width > fabricWidth || height > fabricHeight)
    return "the mesh of " + std::to_string(width) + "x" +
           std::to_string(height) + " PEs is larger than the fabric of " +
           std::to_string(fabricWidth) + "x" + std::to_string(fabricHeight);
  if (runtimeBytes >= sramBytes)
    return "the host runtime takes all " + std::to_string(sramBytes) +
           " bytes of SRAM";
  if (reservedColors >= colors)
    return "all " + std::to_string(colors) + " colors are reserved";
  return std::nullopt;
}

std::optional<Machine> wsec::machineFromJson(std::string_view text,
                                             std::string &error) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) {
    error = "not JSON: " + llvm::toString(parsed.takeError());
    return std::nullopt;
  }
  llvm::json::Object *object = parsed->getAsObject();
  if (!object) {
    error = "expected a JSON object of machine parameters";
    return std::nullopt;
  }
  llvm::StringRef base = object->getString("base").value_or("wse2");
  std::optional<Machine> machine = machinePreset(base);
  if (!machine) {
    error = "unknown base machine '" + base.str() +
            "'; expected wse1, wse2 or wse3";
    return std::nullopt;
  }
  machine->name = object->getString("name").value_or("custom").str();
  object->erase("base");
  object->erase("name");
  visitFields(*machine, [&](const char *name, auto &field, int) {
    if (const llvm::json::Value *value = object->get(name)) {
      if (!readNumber(*value, field) && error.empty())
        error = "machine parameter '" + std::string(name) +
                "' is not a number of its type";
      object->erase(name);
    }
  });
  visitLists(*machine, [&](const char *name, std::vector<int> &field) {
    if (const llvm::json::Value *value = object->get(name)) {
      if (!readList(*value, field) && error.empty())
        error = "machine parameter '" + std::string(name) +
                "' is not a list of numbers";
      object->erase(name);
    }
  });
  std::string unknown;
  for (const auto &entry : *object)
    if (unknown.empty() || std::string(entry.first.str()) < unknown)
      unknown = entry.first.str();
  if (error.empty() && !unknown.empty())
    error = "unknown machine parameter '" + unknown + "'";
  if (error.empty())
    error = machine->check().value_or("");
  if (!error.empty())
    return std::nullopt;
  return machine;
}

std::optional<Machine> wsec::readMachine(std::string_view nameOrPath,
                                         std::string &error) {
  if (std::optional<Machine> preset = machinePreset(nameOrPath))
    return preset;
  auto buffer = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
  if (!buffer) {
    error = "machine '" + std::string(nameOrPath) +
            "' is neither wse1, wse2, wse3 nor a readable JSON file";
    return std::nullopt;
  }
  std::optional<Machine> machine =
      machineFromJson((*buffer)->getBuffer(), error);
  if (!machine)
    error = std::string(nameOrPath) + ": " + error;
  return machine;
}

std::string wsec::describeMachine(const Machine &machine) {
  std::optional<Machine> preset = machinePreset(machine.name);
  Machine base = preset.value_or(secondGeneration());
  llvm::json::Object object;
  if (preset)
    object["base"] = machine.name;
  object["name"] = machine.name;
  std::vector<std::pair<const char *, double>> fields;
  visitFields(base, [&](const char *name, auto value, int) {
    fields.push_back({name, double(value)});
  });
  size_t next = 0;
  bool differs = false;
  visitFields(machine, [&](const char *name, auto value, int) {
    if (double(value) == fields[next++].second)
      return;
    object[name] = value;
    // A preset with another mesh is still that preset.
    llvm::StringRef field = name;
    differs |= field != "width" && field != "height";
  });
  std::vector<std::vector<int>> lists;
  visitLists(base, [&](const char *, const std::vector<int> &list) {
    lists.push_back(list);
  });
  next = 0;
  visitLists(machine, [&](const char *name, const std::vector<int> &list) {
    if (list == lists[next++])
      return;
    object[name] = llvm::json::Array(list);
    differs = true;
  });
  if (preset && !differs)
    return machine.name;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

std::optional<Machine>
wsec::machineFromDescription(std::string_view description, std::string &error) {
  if (!description.empty() && description.front() == '{')
    return machineFromJson(description, error);
  if (std::optional<Machine> preset = machinePreset(description))
    return preset;
  error = "unknown machine '" + std::string(description) +
          "'; expected wse1, wse2, wse3 or JSON text";
  return std::nullopt;
}
