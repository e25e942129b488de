// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From scheduled kernels to routines, and how much code these are.

#ifndef COMPILER_KERNELS_CODE_ROUTINESET_H
#define COMPILER_KERNELS_CODE_ROUTINESET_H

#include "compiler/kernels/code/AddressArguments.h"
#include "compiler/kernels/code/RoutineBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace wsec {

/// The routines of a program. Kernels that do the same share one: equal
/// instructions on equal buffers with equal scalars, in all classes that take
/// part. Layers of a transformer differ only in the words the host streams,
/// which no routine mentions, and in the states that are their own.
class RoutineSet {
public:
  /// Writes what `kernel` is on the PEs of each class that takes part, with its
  /// builder of `code` (all of one name), and what the host sends and receives
  /// meanwhile. The symbol of the routine that does it: an earlier one, or the
  /// one of `code`. Fails, with the reason, where the kernel can't be lowered.
  mlir::FailureOr<mlir::StringAttr>
  write(wse::KernelOp kernel,
        llvm::ArrayRef<std::unique_ptr<RoutineBuilder>> code);

  /// Behind all writes: makes one of those that are equal but for what launches
  /// may carry, and, if these are numbers, loops of what any repeats. What
  /// launches of the routines that this concerns start in place of them.
  RoutineCalls merge(wse::ProgramOp source, ClassSet &classes, Carried carried);

private:
  RoutineParts findOrInsert(const RoutineParts &parts);

  std::vector<RoutineParts> routines;
  /// So that few are compared. Looked up only.
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<size_t, 1>> byHash;
};

/// Builders of the routine `name` of a kernel in all classes that take part.
llvm::SmallVector<std::unique_ptr<RoutineBuilder>>
routineBuilders(wse::KernelOp kernel, ClassSet &classes, llvm::StringRef name);

/// The kernels of an entry.
using EntryKernels = llvm::SmallVector<wse::KernelOp>;

/// The kernels of each entry of a scheduled program that has some, in the order
/// of their slots. Fails if one lacks what lowering needs: its slot, its
/// streams, or the place of its region.
mlir::FailureOr<llvm::SmallVector<EntryKernels>>
entriesInOrder(wse::ProgramOp scheduled);

/// Bytes of code of the PE that has most, of those that run the kernels of a
/// scheduled program. They stay the same if all addresses move by one distance.
struct CodeBytes {
  int64_t bytes = 0;
  std::optional<int64_t> carried; ///< with `address_arguments`, where known
};

/// Lowers kernels, of those that are alike one, and drops what that writes;
/// fails where one cannot be lowered.
mlir::FailureOr<CodeBytes> codeBytes(wse::ProgramOp scheduled);

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_ROUTINESET_H
