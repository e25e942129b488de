// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines as JSON: presets, files of users, descriptions in programs.

#include "compiler/InputText.h"
#include "compiler/machine/Machine.h"
#include "compiler/machine/Presets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>

using namespace wsec;

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
  visit("channels", machine.channels, 1);
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
  visit("fmac_rate_mixed", machine.fmacRateMixed, 0);
  visit("bf16", machine.bf16, 0);
  visit("reduce_rate", machine.reduceRate, 0);
  visit("dot_rate", machine.dotRate, 0);
  visit("stride_elements", machine.strideElements, 0);
  visit("copy_setup", machine.copySetup, 0);
  visit("axpy_setup", machine.axpySetup, 0);
  visit("dot_setup", machine.dotSetup, 0);
  visit("scalar_cycles", machine.scalarCycles, 0);
  visit("load_cycles", machine.loadCycles, 0);
  visit("store_cycles", machine.storeCycles, 0);
  visit("branch_taken", machine.branchTaken, 0);
  visit("branch_not_taken", machine.branchNotTaken, 0);
  visit("async_issue", machine.asyncIssue, 0);
  visit("clock_cycles", machine.clockCycles, 0);
  visit("turn_cycles", machine.turnCycles, 0);
  visit("router_buffer_words", machine.routerBufferWords, 1);
  visit("switch_positions", machine.switchPositions, 1);
  visit("control_commands", machine.controlCommands, 1);
  visit("local_tasks", machine.localTasks, 1);
  visit("control_tasks", machine.controlTasks, 1);
  visit("microthreads_queue", machine.microthreadsQueue, 0);
  visit("descriptors", machine.descriptors, 3);
  visit("reserved_input_queues", machine.reservedInputQueues, 0);
}

// The same for the lists of the machine: at least `count` elements, each at
// least `minimum`.
template <typename MachineT, typename Visit>
static void visitLists(MachineT &machine, Visit visit) {
  visit("input_queue_words", machine.inputQueueWords, 1, 1);
  visit("output_queue_words", machine.outputQueueWords, 1, 1);
  visit("reserved_tasks", machine.reservedTasks, 0, 0);
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

/// "keep_outs": [[x, y, width, height], ...]
static bool readKeepOuts(const llvm::json::Value &value,
                         std::vector<PeRectangle> &keepOuts) {
  const llvm::json::Array *array = value.getAsArray();
  keepOuts.clear();
  for (size_t i = 0; array && i < array->size(); ++i) {
    std::vector<int> its;
    if (!readList((*array)[i], its) || its.size() != 4)
      return false;
    keepOuts.push_back({its[0], its[1], its[2], its[3]});
  }
  return array;
}

/// What makes a list of keep-outs none of this machine, or nothing.
static std::optional<std::string> keepOutProblem(const Machine &machine) {
  for (const PeRectangle &its : machine.keepOuts)
    if (its.x < 0 || its.y < 0 || its.width < 1 || its.height < 1 ||
        its.width > machine.width - its.x ||
        its.height > machine.height - its.y)
      return "keep-out of " + std::to_string(its.width) + "x" +
             std::to_string(its.height) + " at (" + std::to_string(its.x) +
             "," + std::to_string(its.y) + ") leaves the mesh of " +
             std::to_string(machine.width) + "x" +
             std::to_string(machine.height);
  return std::nullopt;
}

std::optional<std::string> Machine::check() const {
  std::optional<std::string> problem;
  visitFields(*this, [&](const char *field, auto value, int minimum) {
    if (!problem && value < minimum)
      problem = std::string(field) + " is " + std::to_string(value) +
                ", expected at least " + std::to_string(minimum);
  });
  visitLists(*this, [&](const char *field, const std::vector<int> &list,
                        size_t count, int minimum) {
    if (!problem && (list.size() < count ||
                     (!list.empty() && *llvm::min_element(list) < minimum)))
      problem = std::string(field) + " needs at least " +
                std::to_string(count) + " numbers, each at least " +
                std::to_string(minimum);
  });
  if (problem)
    return problem;
  for (double rate :
       {clockGhz, copyRate, addRate, fmacRate, copyRate16, addRate16,
        fmacRate16, fmacRateMixed, reduceRate, dotRate})
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
  return keepOutProblem(*this);
}

/// "wse1, wse2 or wse3".
static std::string presetNames(llvm::StringRef lastWord) {
  std::string names;
  llvm::ArrayRef<PresetText> texts = presetTexts();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0)
      names += i + 1 == texts.size() ? " " + lastWord.str() + " " : ", ";
    names += texts[i].name;
  }
  return names;
}

/// Takes the parameters that `object` names, and checks the whole.
static std::optional<Machine>
overlay(Machine machine, llvm::json::Object &object, std::string &error) {
  machine.name = object.getString("name").value_or("custom").str();
  object.erase("base");
  object.erase("name");
  visitFields(machine, [&](const char *name, auto &field, int) {
    if (const llvm::json::Value *value = object.get(name)) {
      if (!readNumber(*value, field) && error.empty())
        error = "machine parameter '" + std::string(name) +
                "' is not a number of its type";
      object.erase(name);
    }
  });
  visitLists(machine,
             [&](const char *name, std::vector<int> &field, size_t, int) {
               if (const llvm::json::Value *value = object.get(name)) {
                 if (!readList(*value, field) && error.empty())
                   error = "machine parameter '" + std::string(name) +
                           "' is not a list of numbers";
                 object.erase(name);
               }
             });
  if (const llvm::json::Value *value = object.get("keep_outs")) {
    if (!readKeepOuts(*value, machine.keepOuts) && error.empty())
      error = "machine parameter 'keep_outs' is not a list of [x, y, width, "
              "height]";
    object.erase("keep_outs");
  }
  std::string unknown;
  for (const auto &entry : object)
    if (unknown.empty() || std::string(entry.first.str()) < unknown)
      unknown = entry.first.str();
  if (error.empty() && !unknown.empty())
    error = "unknown machine parameter '" + unknown + "'";
  if (error.empty())
    error = machine.check().value_or("");
  if (!error.empty())
    return std::nullopt;
  return machine;
}

static std::optional<Machine> parsePreset(llvm::StringRef name);

/// Without "base" all parameters are those of `rootBase`, or, if that is empty,
/// the text must give them all.
static std::optional<Machine> parseMachine(std::string_view text,
                                           llvm::StringRef rootBase,
                                           std::string &error) {
  if (auto problem = nestingProblem(text, maxNestingOfJson)) {
    error = "not the JSON of a machine: " + *problem;
    return std::nullopt;
  }
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
  std::string base = object->getString("base").value_or(rootBase).str();
  if (base.empty())
    return overlay(Machine(), *object, error);
  std::optional<Machine> machine = parsePreset(base);
  if (!machine) {
    error =
        "unknown base machine '" + base + "'; expected " + presetNames("or");
    return std::nullopt;
  }
  return overlay(*machine, *object, error);
}

static std::optional<Machine> parsePreset(llvm::StringRef name) {
  std::string error;
  for (const PresetText &preset : presetTexts())
    if (preset.name == name)
      return parseMachine(preset.json, "", error);
  return std::nullopt;
}

std::optional<Machine> wsec::machinePreset(std::string_view name) {
  // Whoever looks at a kernel asks for its region's.
  static const auto presets = [] {
    std::map<std::string, Machine, std::less<>> parsed;
    for (const PresetText &preset : presetTexts())
      if (std::optional<Machine> its = parsePreset(preset.name))
        parsed.emplace(preset.name.str(), *its);
    return parsed;
  }();
  const auto found = presets.find(name);
  return found == presets.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> wsec::machinePresets() {
  std::vector<std::string> names;
  for (const PresetText &preset : presetTexts())
    names.push_back(preset.name.str());
  return names;
}

std::optional<Machine> wsec::machineFromJson(std::string_view text,
                                             std::string &error) {
  return parseMachine(text, defaultMachine, error);
}

std::optional<Machine> wsec::readMachine(std::string_view nameOrPath,
                                         std::string &error) {
  if (std::optional<Machine> preset = machinePreset(nameOrPath))
    return preset;
  auto buffer = readRegularFile(nameOrPath);
  if (!buffer) {
    error = "machine '" + std::string(nameOrPath) + "' is neither " +
            presetNames("nor") +
            " nor a JSON file: " + llvm::toString(buffer.takeError());
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
  Machine base = preset ? *preset : *machinePreset(defaultMachine);
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
  visitLists(base, [&](const char *, const std::vector<int> &list, size_t,
                       int) { lists.push_back(list); });
  next = 0;
  visitLists(machine,
             [&](const char *name, const std::vector<int> &list, size_t, int) {
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
  error = "unknown machine '" + std::string(description) + "'; expected " +
          presetNames("or") + ", or JSON text";
  return std::nullopt;
}
