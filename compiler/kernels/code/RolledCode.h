// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that a routine repeats, equal but for numbers and awaits, become
// the body of a loop, which awaits at each place what any turn does there: no
// turn waits for less than before. One may wait for a thread that it let go on,
// and the proof says if that could last for ever. Where a turn differs in
// scalars of the PE, a branch leads to its statement:
//
//   vector mov @a[0, ..] = fabric(4) over (%mine)   for %i < 2 {
//   vector exp @a[0, ..] = @a[0, ..]                  await [1]
//   await [1]                                         if %i {
//   vector mov @a[9, ..] = fabric(4) over (%other)      vector mov @a[%i * 9,
//   vector exp @a[9, ..] = @a[9, ..]                  } else { .. }
//                                                     vector exp @a[%i * 9, ..
//                                                   }

#ifndef COMPILER_KERNELS_CODE_ROLLEDCODE_H
#define COMPILER_KERNELS_CODE_ROLLEDCODE_H

#include "compiler/kernels/code/RoutineText.h"

namespace wsec {

/// Rolls repeats in the routines of a class where that is less code, those
/// first whose loop lowers words of code times cycles most: each turn takes
/// cycles of the loop, one for each number that differs, and those of branches.
void rollRepeats(wse::ProgramOp source, ClassBuilder &its);

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_ROLLEDCODE_H
