// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a PE has a limited number of, and instructions hold while they are in
// flight: queues between PE and router, and descriptor registers. README.md
// has the rule.
#ifndef RUNTIME_PROGRAM_CHECK_INFLIGHT_H
#define RUNTIME_PROGRAM_CHECK_INFLIGHT_H

#include "runtime/program/check/CheckerWork.h"
#include "runtime/program/check/StatementChecker.h"

#include <bitset>
#include <string>

namespace wsec::runtime {

using ColorSet = std::bitset<256>;

/// What the PEs of a class have for instructions in flight.
struct PeResources {
  int inputQueues = 0, outputQueues = 0, descriptors = 0;
  /// Colors that hold a queue all the time: they are bound to one, start a data
  /// task, or bring launches.
  ColorSet heldInputs, heldOutputs;

  PeResources() = default;
  PeResources(const program::PEClass &peClass, const program::Machine &machine,
              uint8_t launchColor);
};

/// What is held at one time.
struct InFlight {
  ColorSet inputs, outputs;
  int descriptors = 0;

  /// What is too much, in words, or nothing.
  std::string excess(const PeResources &resources) const;
};

/// Throws MachineLimit where instructions that run in every PE of the class
/// hold more than it has. What depends on guards, branches and tasks is for
/// engines to see.
void checkInFlight(const CodeContext &context, CheckerWork &work,
                   const Where &where);

/// Whether code of the class might hold more than its PEs have, guards and
/// branches as they may be.
bool mayExceed(const program::PEClass &peClass, const program::Machine &machine,
               uint8_t launchColor);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_INFLIGHT_H
