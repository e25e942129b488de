// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_MACHINECHECKER_H
#define RUNTIME_PROGRAM_MACHINECHECKER_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Whether a machine's parameters are numbers that an emulator can count with.
/// Throws BadProgram with the parameter, its value and its limits.
void checkMachine(const program::Machine &machine);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_MACHINECHECKER_H
