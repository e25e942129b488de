// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TASKS_COST_H
#define RUNTIME_TASKS_COST_H

#include "runtime/emulator/Code.h"

namespace wsec::runtime::tasks {

/// `setup`, then `step` cycles for each step: one index of the extents that
/// fabric operands advance over, or the whole instruction if there are none.
/// `compute` is what a step takes without the overhead between vector calls.
struct Cost {
  double setup = 0;
  double step = 0;
  double compute = 0;
};

Cost costOf(const program::Machine &machine, const InstructionCode &code,
            const int64_t *extents, int stepDepth);

} // namespace wsec::runtime::tasks

#endif // RUNTIME_TASKS_COST_H
