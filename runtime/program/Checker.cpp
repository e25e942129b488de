// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/CodeChecker.h"
#include "runtime/program/HostChecker.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/Where.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

namespace {

std::string peName(std::pair<int32_t, int32_t> pe) {
  return "PE (" + std::to_string(pe.first) + ", " + std::to_string(pe.second) +
         ")";
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
  for (double rate : {machine.clock_ghz(), machine.copy_rate(),
                      machine.add_rate(), machine.fmac_rate()})
    require(std::isfinite(rate) && rate > 0, "a rate is not positive");
  for (double cycles : {machine.vector_setup(), machine.map_overhead(),
                        machine.loop_overhead(), machine.task_overhead(),
                        machine.function_cycles(), machine.divide_cycles()})
    require(std::isfinite(cycles) && cycles >= 0, "a cost is negative");
}

void checkRect(const program::Rect &rect, const program::Machine &machine,
               const Where &where) {
  if (!validRect(rect, machine.width(), machine.height()))
    throw badProgram(where, "the rectangle " + describeRect(rect) +
                                " is empty or leaves the " +
                                std::to_string(machine.width()) + "x" +
                                std::to_string(machine.height()) + " mesh");
}

void checkRule(const program::RouteRule &rule, const program::Machine &machine,
               const Where &where) {
  int usable = machine.colors() - machine.reserved_colors();
  if (rule.color() >= usable)
    throw badProgram(where, "color " + std::to_string(rule.color()) +
                                " is reserved or does not exist, usable "
                                "colors are 0.." +
                                std::to_string(usable - 1));
  checkRect(*rule.rect(), machine, where);
  if (rule.receive() > program::Port::MAX)
    throw badProgram(where, "receives on an unknown port");
  if (rule.transmit() == 0 || rule.transmit() >= 1 << 5)
    throw badProgram(where, "transmits on no port or an unknown one");
  // What came from a neighbour is never sent back to it; the ramp may loop.
  if (rule.receive() != program::Port::Ramp &&
      rule.transmit() >> unsigned(rule.receive()) & 1)
    throw badProgram(where, "sends back where it receives from");
}

/// A color of a PE has one receive port.
void checkRoutes(const program::Program &program) {
  const program::Machine &machine = *program.machine();
  std::vector<std::vector<const program::RouteRule *>> byColor(256);
  int64_t index = 0;
  for (const program::RouteRule *rule : *program.routes()) {
    checkRule(*rule, machine, {nullptr, "route rule", index++});
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

void checkClasses(const program::Program &program) {
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
      checkCode(*peClass, machine);
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
  if (program.command_color() >= machine.colors() - machine.reserved_colors())
    throw badProgram({nullptr, "program"},
                     "the command color is reserved or does not exist");
  checkRoutes(program);
  checkClasses(program);
  checkTensors(program);
  checkStreams(program);
  checkKernels(program);
  checkLaunches(program);
}

} // namespace wsec::runtime
