// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/MachineChecker.h"
#include "runtime/program/Checker.h"
#include "runtime/program/check/Where.h"

#include <cmath>
#include <limits>
#include <sstream>

namespace wsec::runtime {

namespace {

constexpr int32_t most = std::numeric_limits<int32_t>::max();

/// Costs beyond these are of no machine, and sums of smaller ones are exact
/// cycle counts for as long as anybody would wait.
constexpr double mostCycles = 1e6, leastRate = 1e-6, mostRate = 1e6;

const Where place{nullptr, "machine"};

template <class Number>
std::string text(Number number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

struct Parameter {
  const char *name;
  int64_t value, least, most;
};

struct RealParameter {
  const char *name;
  double value;
};

template <class Number>
void requireBetween(const std::string &name, Number value, Number least,
                    Number most) {
  // A NaN is in no range.
  if (!(value >= least && value <= most))
    throw badProgram(place, name + " is " + text(value) +
                                ", expected a number from " + text(least) +
                                " to " + text(most));
}

void checkSizes(const program::Machine &machine) {
  const Parameter parameters[] = {
      {"width", machine.width(), 1, largestMeshSide},
      {"height", machine.height(), 1, largestMeshSide},
      {"fabric_width", machine.fabric_width(), machine.width(), most},
      {"fabric_height", machine.fabric_height(), machine.height(), most},
      {"sram_bytes", machine.sram_bytes(), 1, most},
      {"runtime_bytes", machine.runtime_bytes(), 0, most},
      {"colors", machine.colors(), 1, 256},
      {"reserved_colors", machine.reserved_colors(), 0,
       int64_t(machine.colors()) - 1},
      {"microthreads", machine.microthreads(), 0, 8},
      {"channels", machine.channels(), 1, most},
      {"router_buffer_words", machine.router_buffer_words(), 1, 1 << 16},
      {"switch_positions", machine.switch_positions(), 1, 256},
      {"control_commands", machine.control_commands(), 1, 1 << 16},
      {"local_tasks", machine.local_tasks(), 1, 256},
      {"control_tasks", machine.control_tasks(), 1, 256},
      {"descriptors", machine.descriptors(), 3, most},
  };
  for (const Parameter &parameter : parameters)
    requireBetween(parameter.name, parameter.value, parameter.least,
                   parameter.most);
  if (int64_t(machine.width()) * machine.height() > largestMeshPEs)
    throw badProgram(place,
                     "the mesh has " + std::to_string(machine.width()) + "x" +
                         std::to_string(machine.height()) + " PEs, at most " +
                         std::to_string(largestMeshPEs) + " are supported");
}

void checkQueues(const std::string &name,
                 const flatbuffers::Vector<int32_t> *words) {
  const int64_t queues = words ? words->size() : 0;
  requireBetween<int64_t>("the number of " + name, queues, 1, 256);
  for (flatbuffers::uoffset_t i = 0; i < queues; ++i)
    requireBetween<int64_t>(name + "[" + std::to_string(i) + "]", words->Get(i),
                            1, 1 << 16);
}

/// What belongs to the host runtime leaves something for programs.
void checkReserved(const program::Machine &machine) {
  requireBetween<int64_t>("reserved_input_queues",
                          machine.reserved_input_queues(), 0,
                          int64_t(machine.input_queue_words()->size()) - 1);
  if (const auto *tasks = machine.reserved_tasks())
    for (flatbuffers::uoffset_t i = 0; i < tasks->size(); ++i)
      requireBetween<int64_t>("reserved_tasks[" + std::to_string(i) + "]",
                              tasks->Get(i), 0, machine.local_tasks() - 1);
}

void checkRates(const program::Machine &machine) {
  const RealParameter rates[] = {
      {"clock_ghz", machine.clock_ghz()},
      {"copy_rate", machine.copy_rate()},
      {"add_rate", machine.add_rate()},
      {"fmac_rate", machine.fmac_rate()},
      {"copy_rate_16", machine.copy_rate_16()},
      {"add_rate_16", machine.add_rate_16()},
      {"fmac_rate_16", machine.fmac_rate_16()},
      {"fmac_rate_mixed", machine.fmac_rate_mixed()},
      {"reduce_rate", machine.reduce_rate()},
      {"dot_rate", machine.dot_rate()},
  };
  for (const RealParameter &rate : rates)
    requireBetween(rate.name, rate.value, leastRate, mostRate);
}

void checkCosts(const program::Machine &machine) {
  const RealParameter costs[] = {
      {"hop_cycles", double(machine.hop_cycles())},
      {"ramp_cycles", double(machine.ramp_cycles())},
      {"turn_cycles", double(machine.turn_cycles())},
      {"store_latency_cycles", double(machine.store_latency_cycles())},
      {"vector_setup", machine.vector_setup()},
      {"copy_setup", machine.copy_setup()},
      {"axpy_setup", machine.axpy_setup()},
      {"dot_setup", machine.dot_setup()},
      {"result_latency", machine.result_latency()},
      {"map_overhead", machine.map_overhead()},
      {"loop_overhead", machine.loop_overhead()},
      {"task_overhead", machine.task_overhead()},
      {"function_cycles", machine.function_cycles()},
      {"divide_cycles", machine.divide_cycles()},
      {"scalar_cycles", machine.scalar_cycles()},
      {"load_cycles", machine.load_cycles()},
      {"store_cycles", machine.store_cycles()},
      {"branch_taken", machine.branch_taken()},
      {"branch_not_taken", machine.branch_not_taken()},
      {"async_issue", machine.async_issue()},
      {"clock_cycles", machine.clock_cycles()},
      {"stride_elements", machine.stride_elements()},
  };
  for (const RealParameter &cost : costs)
    requireBetween(cost.name, cost.value, 0.0, mostCycles);
}

} // namespace

void checkMachine(const program::Machine &machine) {
  checkSizes(machine);
  checkQueues("input_queue_words", machine.input_queue_words());
  checkQueues("output_queue_words", machine.output_queue_words());
  checkReserved(machine);
  checkRates(machine);
  checkCosts(machine);
}

void checkUsableColor(const program::Machine &machine, int color,
                      const Where &where, const char *what) {
  const int usable = machine.colors() - machine.reserved_colors();
  if (color >= usable)
    throw badProgram(where, std::string(what) + " " + std::to_string(color) +
                                " is reserved or does not exist, usable "
                                "colors are 0.." +
                                std::to_string(usable - 1));
}

} // namespace wsec::runtime
