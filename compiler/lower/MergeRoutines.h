// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_COMPILER_LOWER_MERGEROUTINES_H
#define WSEC_COMPILER_LOWER_MERGEROUTINES_H

#include "dialects/pe/Pe.h"

#include "llvm/ADT/DenseMap.h"

namespace wsec::lower {

/// Remembers routines and finds those that do the same: equal instructions on
/// equal buffers with equal scalars. Layers of a transformer differ only in the
/// words the host streams, which no routine mentions.
class RoutineSet {
public:
  /// The routine that does what `routine` does: an earlier one, or itself.
  pe::RoutineOp findOrInsert(pe::RoutineOp routine);

private:
  /// By hash, so that few are compared. Looked up only.
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<pe::RoutineOp, 1>> routines;
};

} // namespace wsec::lower

#endif // WSEC_COMPILER_LOWER_MERGEROUTINES_H
