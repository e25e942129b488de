// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TASKS_TASKEMULATOR_H
#define RUNTIME_TASKS_TASKEMULATOR_H

#include "runtime/emulator/Code.h"
#include "runtime/emulator/Emulator.h"

#include <vector>

namespace wsec::runtime {

/// The `streams` engine: moves words as far as nothing can hold them up and
/// executes as many steps of an instruction as it has words for, PE by PE in
/// the order of simulated time. See README.md for what it counts and what it
/// does not.
///
/// Refuses what the machine would refuse by throwing `Error`. A program may be
/// run any number of times; every run starts with uninitialised SRAM.
class TaskEmulator {
public:
  /// `program` must outlive the emulator.
  explicit TaskEmulator(const program::Program &program,
                        EmulatorOptions options = {});

  RunResult run(HostPort &host);

private:
  const program::Program &program;
  EmulatorOptions options;
  std::vector<ClassCode> classes;
  std::vector<int> classOf; ///< by PE; -1: no code
};

} // namespace wsec::runtime

#endif // RUNTIME_TASKS_TASKEMULATOR_H
