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

#ifndef COMPILER_KERNELS_CODE_ADDRESSARGUMENTS_H
#define COMPILER_KERNELS_CODE_ADDRESSARGUMENTS_H

#include "compiler/kernels/code/ProgramBuilder.h"

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

/// Merges those of `routines` that are equal but for addresses, of states, or
/// with `all` of any buffers. An address is an argument that a launch carries:
/// one cycle a launch for each, and one for each operand that it places, each
/// time an instruction runs. Addresses that differ in proportion are one
/// argument. The first of those that are equal stays, the others are erased;
/// `routines` lists what is left.
RoutineCalls mergeByAddress(wse::ProgramOp source, ClassSet &classes,
                            std::vector<RoutineParts> &routines, bool all);

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_ADDRESSARGUMENTS_H
