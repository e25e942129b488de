// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From scheduled kernels to routines, and how much code these are.

#ifndef COMPILER_KERNELS_ROUTINESET_H
#define COMPILER_KERNELS_ROUTINESET_H

#include "compiler/kernels/RoutineBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace wsec {

/// The routines of one class of PEs. Kernels that do the same share one: equal
/// instructions on equal buffers with equal scalars. Layers of a transformer
/// differ only in the words the host streams, which no routine mentions.
class RoutineSet {
public:
  /// Writes what `kernel` is on every PE with `code`, and what the host sends
  /// and receives meanwhile. The routine that does it: an earlier one, or the
  /// one of `code`. Fails, with the reason, where the kernel can't be lowered.
  mlir::FailureOr<pe::RoutineOp> write(wse::KernelOp kernel,
                                       RoutineBuilder &code);

private:
  pe::RoutineOp findOrInsert(pe::RoutineOp routine);

  /// By hash, so that few are compared. Looked up only.
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<pe::RoutineOp, 1>> routines;
};

/// The kernels of a scheduled program in the order of their slots. Fails if one
/// lacks what lowering needs: its slot, its streams, or the place of its
/// region.
mlir::FailureOr<llvm::SmallVector<wse::KernelOp>>
kernelsInOrder(wse::ProgramOp scheduled);

/// Bytes of code of each PE that runs the kernels of a scheduled program. They
/// stay the same if all addresses move by one distance. Lowers all kernels and
/// drops what that writes; fails where one cannot be lowered.
mlir::FailureOr<int64_t> codeBytes(wse::ProgramOp scheduled);

} // namespace wsec

#endif // COMPILER_KERNELS_ROUTINESET_H
