// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_SENDCHECKER_H
#define RUNTIME_PROGRAM_CHECK_SENDCHECKER_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Where a PE sends on a color, a position of its router's route of that color
/// receives from the ramp. As far as scalars say which PEs send; and not in
/// classes that set routes by code. Rules and classes must have been checked.
/// Throws MissingRoute.
void checkSends(const program::Program &program);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_SENDCHECKER_H
