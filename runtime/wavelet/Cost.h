// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a vector instruction costs a PE, from the machine's parameters.
#ifndef RUNTIME_WAVELET_COST_H
#define RUNTIME_WAVELET_COST_H

#include "runtime/engine/Code.h"

namespace wsec::runtime::wavelet {

/// `setup` once; then for each step `work` cycles of the datapath and
/// `overhead` more before the thread's next step. A step is one index of the
/// extents that fabric operands advance over, or all of the instruction if it
/// has none.
struct Cost {
  double setup = 0;
  double work = 0;
  double overhead = 0;
};

Cost costOf(const program::Machine &machine, const InstructionCode &code,
            const int64_t *extents, int stepDepth);

/// How long an asynchronous instruction holds the code that issues it.
double issueCycles(const program::Machine &machine);

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_COST_H
