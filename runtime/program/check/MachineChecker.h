// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_MACHINECHECKER_H
#define RUNTIME_PROGRAM_CHECK_MACHINECHECKER_H

#include "runtime/program/check/Where.h"
#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Whether a machine's parameters are numbers that an emulator can count with.
/// Throws BadProgram with the parameter, its value and its limits.
void checkMachine(const program::Machine &machine);

/// Throws BadProgram, with the colors there are, if programs of the machine
/// cannot have this one. `what` is what the message calls it.
void checkUsableColor(const program::Machine &machine, int color,
                      const Where &where, const char *what = "color");

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_MACHINECHECKER_H
