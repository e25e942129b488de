// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routines that are equal but for where their buffers lie become one, whose
// launches carry what differs:
//
//   routine @a { vector mov @tensor_4288[0, ..] = @scratch_4800[0, ..] .. }
//   routine @b { vector mov @tensor_4352[0, ..] = @scratch_4800[0, ..] .. }
//   launch @a, launch @b
//
//   routine @a(%to) { vector mov @tensor_4288_and_more[%to * 16, ..] = .. }
//   launch @a(0), launch @a(1)
//
// So do those that differ in other numbers, where launches may carry these.
// Where a statement differs in scalars of the PE, an argument says which one
// runs:
//
//   routine @a { for %i < 26 { .. } vector mov @x[0, ..] = 0.0 over (%size) }
//   routine @b { for %i < 6 { .. } vector mov @x[0, ..] = 0.0 over (%other) }
//
//   routine @a(%turns, %isB) {
//     for %i < %turns * 20 + 6 { .. }
//     if %isB { .. over (%other) } else { .. over (%size) }
//   }
//   launch @a(1, 0), launch @a(0, 1)

#ifndef COMPILER_KERNELS_CODE_ADDRESSARGUMENTS_H
#define COMPILER_KERNELS_CODE_ADDRESSARGUMENTS_H

#include "compiler/kernels/code/RoutineText.h"

#include "llvm/ADT/DenseMap.h"

namespace wsec {

/// One kernel's routine, in each class that takes part.
using RoutineParts = llvm::SmallVector<pe::RoutineOp, 1>;

/// Whether they have equal instructions on equal buffers with equal scalars.
bool doTheSame(pe::RoutineOp a, pe::RoutineOp b);

/// Equal for routines that do the same, different for nearly all others.
llvm::hash_code hashOf(pe::RoutineOp routine);

/// What a launch starts, and the numbers that it carries behind the arguments
/// of its entry.
struct RoutineCall {
  mlir::StringAttr routine;
  llvm::SmallVector<int64_t, 2> carried;
};

/// By the name of a routine that was merged into another, or has become it.
/// Looked up only.
using RoutineCalls = llvm::DenseMap<mlir::StringAttr, RoutineCall>;

/// What those of a scheduled program do.
Carried carriedIn(wse::ProgramOp source);

/// Merges those of `routines` that are equal but for what launches may carry.
/// It is one cycle a launch for each argument, and one for each operand or
/// extent that it changes, each time an instruction runs. Numbers that differ
/// in proportion are one argument. The first of those that are equal stays, the
/// others are erased; `routines` lists what is left. Where numbers are carried,
/// what a routine repeats becomes a loop, in those that nothing is merged with,
/// too.
RoutineCalls mergeRoutines(wse::ProgramOp source, ClassSet &classes,
                           std::vector<RoutineParts> &routines,
                           Carried carried);

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_ADDRESSARGUMENTS_H
