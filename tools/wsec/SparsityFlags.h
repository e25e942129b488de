// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_SPARSITYFLAGS_H
#define TOOLS_WSEC_SPARSITYFLAGS_H

#include "runtime/train/Sparsity.h"
#include "tools/wsec/TrainingProgram.h"

namespace wsec::tools {

/// What the flags of --sparsity say of a run of so many steps. Throws
/// UsageError.
runtime::SparsityOptions sparsityOptions(uint64_t steps);

/// Says it of the program, which has room for the weights of the first step.
void readSparsity(TrainingProgram &training);

} // namespace wsec::tools

#endif // TOOLS_WSEC_SPARSITYFLAGS_H
