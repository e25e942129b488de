// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_INSPECT_MACHINETEXT_H
#define TOOLS_WSE_INSPECT_MACHINETEXT_H

#include "runtime/program/program_generated.h"

#include <string>

namespace wsec::inspect {

/// What stands behind `machine` in a pe.program: the name of a preset, or JSON
/// of what differs from one.
std::string machineText(const program::Machine &machine);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_MACHINETEXT_H
