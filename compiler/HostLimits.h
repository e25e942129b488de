// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_HOSTLIMITS_H
#define COMPILER_HOSTLIMITS_H

#include "llvm/ADT/StringRef.h"

namespace wsec {

/// From now on memory that runs out, and standard output that cannot be
/// written as the process ends, is an error of this tool, which is said, and
/// exit code 1. LLVM has internal errors for both, with a trace of the stack;
/// of the second where it destroys streams, with what --help and --version
/// left there. Called once, before options are read.
void reportHostLimits(llvm::StringRef tool);

} // namespace wsec

#endif // COMPILER_HOSTLIMITS_H
