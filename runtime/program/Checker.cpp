// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/Ports.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/check/CodeChecker.h"
#include "runtime/program/check/EntryChecker.h"
#include "runtime/program/check/HostChecker.h"
#include "runtime/program/check/MachineChecker.h"
#include "runtime/program/check/SendChecker.h"
#include "runtime/program/check/StatementChecker.h"
#include "runtime/program/check/Where.h"

#include <algorithm>
#include <set>

namespace wsec::runtime {

namespace {

std::string peName(std::pair<int32_t, int32_t> pe) {
  return "PE (" + std::to_string(pe.first) + ", " + std::to_string(pe.second) +
         ")";
}

void checkRect(const program::Rect &rect, const program::Machine &machine,
               const Where &where) {
  if (!validRect(rect, machine.width(), machine.height()))
    throw badProgram(
        where, "the rectangle " + describeRect(rect) +
                   " is none: " + rectRule(machine.width(), machine.height()));
}

/// The further positions of a rule's switch.
void checkSwitch(const program::RouteRule &rule,
                 const program::Machine &machine, const Where &where) {
  const size_t positions = 1 + furtherPositions(rule);
  if (rule.pop() > program::PopMode::MAX)
    throw badProgram(where, "pops commands in an unknown way");
  if (rule.initial() >= positions)
    throw badProgram(where, "starts in position " +
                                std::to_string(rule.initial()) + " of " +
                                std::to_string(positions));
  if (int64_t(positions) > machine.switch_positions())
    throw badProgram(where, "has " + std::to_string(positions) +
                                " positions, a switch has at most " +
                                std::to_string(machine.switch_positions()));
  for (unsigned i = 1; i < positions; ++i) {
    const program::SwitchPosition &position = *rule.positions()->Get(i - 1);
    Where here{&where, "position", int64_t(i)};
    if ((position.receive() >= 0) == (position.transmit() != 0))
      throw badProgram(here, "replaces not exactly one of the receive port and "
                             "the transmit ports");
    const RoutePorts ports = portsAt(rule, i);
    checkPorts(ports.receive, ports.transmit, here);
  }
}

void checkRule(const program::RouteRule &rule, const program::Machine &machine,
               const Where &where) {
  checkUsableColor(machine, rule.color(), where);
  checkRect(*rule.rect(), machine, where);
  checkPorts(rule.receive(), rule.transmit(), where);
  checkSwitch(rule, machine, where);
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

void checkClasses(const program::Program &program, const CarriedRanges &carried,
                  CheckerWork &work) {
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
      checkCode(*peClass, machine, program.launch_color(), carried, work);
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

} // namespace

void checkProgram(const program::Program &program) {
  checkMachine(*program.machine());
  const program::Machine &machine = *program.machine();
  if (program.launch_color() != noLaunchColor)
    checkUsableColor(machine, program.launch_color(), {nullptr, "program"},
                     "launch color");
  checkRoutes(program);
  CheckerWork work;
  checkTensors(program);
  const CarriedRanges carried = checkEntries(program, work);
  checkClasses(program, carried, work);
  checkStreams(program, carried, work);
  checkIntermediates(program);
  checkCopies(program, work);
  checkKernels(program);
  checkSends(program);
  checkValues(program, work);
}

} // namespace wsec::runtime
