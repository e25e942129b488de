// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/CodeChecker.h"
#include "runtime/program/HostChecker.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/StatementChecker.h"
#include "runtime/program/Where.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

namespace {

std::string peName(std::pair<int32_t, int32_t> pe) {
  return "PE (" + std::to_string(pe.first) + ", " + std::to_string(pe.second) +
         ")";
}

/// Numbers that say how much a PE or router holds.
void checkLimits(const program::Machine &machine) {
  Where where{nullptr, "machine"};
  auto require = [&](bool holds, const char *what) {
    if (!holds)
      throw badProgram(where, what);
  };
  constexpr int largest = 1 << 16;
  auto sensible = [&](int number) { return number >= 1 && number <= largest; };
  require(sensible(machine.router_buffer_words()),
          "routers buffer an impossible number of words");
  for (const auto *queues :
       {machine.input_queue_words(), machine.output_queue_words()}) {
    require(queues && queues->size() >= 1 && queues->size() <= 256,
            "a PE has an impossible number of queues");
    for (int words : *queues)
      require(sensible(words), "a queue has an impossible size");
  }
  require(machine.switch_positions() >= 1 && machine.switch_positions() <= 256,
          "switches have an impossible number of positions");
  require(sensible(machine.control_commands()),
          "control wavelets hold an impossible number of commands");
  require(machine.local_tasks() >= 1 && machine.local_tasks() <= 256 &&
              machine.control_tasks() >= 1 && machine.control_tasks() <= 256,
          "a PE has an impossible number of tasks");
}

void checkMachine(const program::Machine &machine) {
  Where where{nullptr, "machine"};
  auto require = [&](bool holds, const char *what) {
    if (!holds)
      throw badProgram(where, what);
  };
  require(machine.width() >= 1 && machine.width() <= largestMeshSide &&
              machine.height() >= 1 && machine.height() <= largestMeshSide &&
              int64_t(machine.width()) * machine.height() <= largestMeshPEs,
          "the mesh has an impossible size");
  require(machine.width() <= machine.fabric_width() &&
              machine.height() <= machine.fabric_height(),
          "the mesh is larger than the fabric");
  require(machine.sram_bytes() > 0 && machine.runtime_bytes() >= 0,
          "the SRAM has an impossible size");
  require(machine.colors() >= 1 && machine.colors() <= 256 &&
              machine.reserved_colors() >= 0 &&
              machine.reserved_colors() < machine.colors(),
          "no color is usable");
  require(machine.microthreads() >= 0 && machine.microthreads() <= 8,
          "a PE has 0 to 8 microthreads");
  require(machine.lanes() >= 1, "there are no lanes");
  require(machine.hop_cycles() >= 0 && machine.ramp_cycles() >= 0 &&
              machine.store_latency_cycles() >= 0,
          "a latency is negative");
  for (double rate :
       {machine.clock_ghz(), machine.copy_rate(), machine.add_rate(),
        machine.fmac_rate(), machine.copy_rate_16(), machine.add_rate_16(),
        machine.fmac_rate_16(), machine.reduce_rate()})
    require(std::isfinite(rate) && rate > 0, "a rate is not positive");
  for (double cycles :
       {machine.vector_setup(), machine.copy_setup(), machine.axpy_setup(),
        machine.dot_setup(), machine.result_latency(), machine.map_overhead(),
        machine.loop_overhead(), machine.task_overhead(),
        machine.function_cycles(), machine.divide_cycles(),
        machine.scalar_cycles(), machine.load_cycles(), machine.store_cycles(),
        machine.branch_taken(), machine.branch_not_taken(),
        machine.async_issue(), double(machine.turn_cycles())})
    require(std::isfinite(cycles) && cycles >= 0, "a cost is negative");
  checkLimits(machine);
}

void checkRect(const program::Rect &rect, const program::Machine &machine,
               const Where &where) {
  if (!validRect(rect, machine.width(), machine.height()))
    throw badProgram(where, "the rectangle " + describeRect(rect) +
                                " is empty or leaves the " +
                                std::to_string(machine.width()) + "x" +
                                std::to_string(machine.height()) + " mesh");
}

/// The further positions of a rule's switch.
void checkSwitch(const program::RouteRule &rule,
                 const program::Machine &machine, bool remoteCalls,
                 const Where &where) {
  size_t positions =
      1 + (rule.positions() ? size_t(rule.positions()->size()) : 0);
  if (rule.pop() > program::PopMode::MAX)
    throw badProgram(where, "pops commands in an unknown way");
  if (rule.initial() >= positions)
    throw badProgram(where, "starts in position " +
                                std::to_string(rule.initial()) + " of " +
                                std::to_string(positions));
  if (positions == 1 && rule.pop() == program::PopMode::Never)
    return;
  if (!remoteCalls)
    throw badProgram(where, "has a switch, which needs remote calls");
  if (int64_t(positions) > machine.switch_positions())
    throw badProgram(where, "has " + std::to_string(positions) +
                                " positions, a switch has at most " +
                                std::to_string(machine.switch_positions()));
  for (size_t i = 1; i < positions; ++i) {
    const program::SwitchPosition &position =
        *rule.positions()->Get(flatbuffers::uoffset_t(i - 1));
    Where here{&where, "position", int64_t(i)};
    bool receives = position.receive() >= 0;
    if (receives == (position.transmit() != 0))
      throw badProgram(here, "replaces not exactly one of the receive port and "
                             "the transmit ports");
    checkPorts(receives ? program::Port(position.receive()) : rule.receive(),
               receives ? rule.transmit() : position.transmit(), here);
  }
}

void checkRule(const program::RouteRule &rule, const program::Machine &machine,
               bool remoteCalls, const Where &where) {
  int usable = machine.colors() - machine.reserved_colors();
  if (rule.color() >= usable)
    throw badProgram(where, "color " + std::to_string(rule.color()) +
                                " is reserved or does not exist, usable "
                                "colors are 0.." +
                                std::to_string(usable - 1));
  checkRect(*rule.rect(), machine, where);
  checkPorts(rule.receive(), rule.transmit(), where);
  checkSwitch(rule, machine, remoteCalls, where);
}

/// A color of a PE has one receive port.
void checkRoutes(const program::Program &program, bool remoteCalls) {
  const program::Machine &machine = *program.machine();
  std::vector<std::vector<const program::RouteRule *>> byColor(256);
  int64_t index = 0;
  for (const program::RouteRule *rule : *program.routes()) {
    checkRule(*rule, machine, remoteCalls, {nullptr, "route rule", index++});
    byColor[rule->color()].push_back(rule);
  }
  for (const auto &rules : byColor) {
    if (rules.empty())
      continue;
    RectSet routed(machine.width(), machine.height());
    for (const program::RouteRule *rule : rules)
      if (auto pe = routed.add(*rule->rect()))
        throw Error(ErrorClass::RouteConflict,
                    "color " + std::to_string(rule->color()) +
                        " has two rules in " + peName(*pe) +
                        ", one of them for " + describeRect(*rule->rect()));
  }
}

void checkClasses(const program::Program &program, bool remoteCalls) {
  const program::Machine &machine = *program.machine();
  RectSet taken(machine.width(), machine.height());
  for (const program::PEClass *peClass : *program.classes()) {
    Where where{nullptr, "class", -1, peClass->name()};
    for (const program::Rect *rect : *peClass->rects()) {
      checkRect(*rect, machine, where);
      if (auto pe = taken.add(*rect))
        throw badProgram(where, peName(*pe) + " is in two rectangles");
    }
    if (peClass->rects()->size() > 0)
      checkCode(*peClass, machine, remoteCalls);
    else
      throw badProgram(where, "has no PEs");
  }
}

void checkKernels(const program::Program &program) {
  if (!program.kernels())
    return;
  for (const program::Kernel *kernel : *program.kernels())
    if (kernel->region())
      checkRect(*kernel->region(), *program.machine(),
                {nullptr, "kernel", -1, kernel->name()});
}

/// Every launch starts a routine that some class has.
void checkLaunches(const program::Program &program) {
  std::vector<uint32_t> routines;
  for (const program::PEClass *peClass : *program.classes())
    if (peClass->routines())
      for (const program::Routine *routine : *peClass->routines())
        routines.push_back(routine->id());
  std::sort(routines.begin(), routines.end());
  size_t kernels = program.kernels() ? program.kernels()->size() : 0;
  size_t streams = program.streams() ? program.streams()->size() : 0;
  int64_t index = 0;
  for (const program::Launch *launch : *program.launches()) {
    Where where{nullptr, "launch", index++};
    if (!std::binary_search(routines.begin(), routines.end(),
                            launch->routine()))
      throw badProgram(where, "no class has routine " +
                                  std::to_string(launch->routine()));
    if (launch->kernel() >= kernels)
      throw badProgram(where, "belongs to kernel " +
                                  std::to_string(launch->kernel()) +
                                  ", which does not exist");
    if (!launch->streams())
      continue;
    for (uint32_t stream : *launch->streams())
      if (stream >= streams)
        throw badProgram(where, "feeds on stream " + std::to_string(stream) +
                                    ", which does not exist");
  }
}

} // namespace

void checkProgram(const program::Program &program) {
  checkMachine(*program.machine());
  const program::Machine &machine = *program.machine();
  bool remoteCalls = program.command_color() == noCommandColor;
  if (!remoteCalls &&
      program.command_color() >= machine.colors() - machine.reserved_colors())
    throw badProgram({nullptr, "program"},
                     "the command color is reserved or does not exist");
  checkRoutes(program, remoteCalls);
  checkClasses(program, remoteCalls);
  checkTensors(program);
  checkStreams(program);
  checkCopies(program, remoteCalls);
  checkKernels(program);
  checkLaunches(program);
}

} // namespace wsec::runtime
