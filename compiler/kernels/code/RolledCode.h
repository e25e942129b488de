// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that a routine repeats, equal but for numbers, become the body of
// a loop:
//
//   vector mov @a[0, ..] = fabric(4) over (%mine)   for %i < 2 {
//   await [1]                                         if %i {
//   vector mov @a[9, ..] = fabric(4) over (%other)      vector mov @a[%i * 9,
//   .. await [1]                                         } else { .. }
//                                                     await [1]
//                                                   }

#ifndef COMPILER_KERNELS_CODE_ROLLEDCODE_H
#define COMPILER_KERNELS_CODE_ROLLEDCODE_H

#include "compiler/kernels/code/RoutineText.h"

namespace wsec {

/// Rolls repeats in the routines of a class where that is less code. Each turn
/// takes cycles of the loop, and one for each number that differs.
void rollRepeats(wse::ProgramOp source, ClassBuilder &its);

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_ROLLEDCODE_H
