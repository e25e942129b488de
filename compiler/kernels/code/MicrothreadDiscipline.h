// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What microthreads may be at work on while code is written, so that the code
// waits where the machine asks for it: a microthread is given work only when it
// has none, and nobody touches memory or a color that it still uses.

#ifndef COMPILER_KERNELS_CODE_MICROTHREADDISCIPLINE_H
#define COMPILER_KERNELS_CODE_MICROTHREADDISCIPLINE_H

#include "dialects/pe/Pe.h"

namespace wsec {

/// What an instruction uses: bytes of SRAM as half-open ranges, and colors.
struct InstructionUse {
  using Range = std::pair<int64_t, int64_t>;
  int thread = -1; ///< microthread; -1: the main thread
  llvm::SmallVector<Range, 3> reads;
  llvm::SmallVector<Range, 1> writes;
  llvm::SmallVector<pe::Affine, 2> receives, sends;
  llvm::SmallVector<mlir::Value, 2> guards; ///< all hold where it runs

  /// Whether this may not run while `other`, of a microthread, may be at work.
  bool mustWaitFor(const InstructionUse &other) const;
};

/// Follows a routine as it is written. Instructions count as run in one PE
/// unless their guards exclude one another; loops as run once or more, awaits
/// in loops that may not run as missing.
class MicrothreadDiscipline {
public:
  /// Threads, as bits, that have to be awaited before the instruction.
  unsigned threadsToAwait(const InstructionUse &use) const;
  void issue(const InstructionUse &use);
  void await(unsigned threads);
  /// Threads that may have work.
  unsigned threadsInUse() const;

  void enterLoop();
  /// Threads to be awaited where the body begins, because of what they do when
  /// it ends. `runs`: whether the body is known to run.
  unsigned leaveLoop(bool runs);

private:
  struct Loop {
    llvm::SmallVector<InstructionUse, 0> pendingBefore;
    /// What the body does, with the threads it has awaited by then.
    llvm::SmallVector<std::pair<InstructionUse, unsigned>, 0> uses;
    unsigned awaited = 0;
    /// What the loops around it had awaited, as it was entered.
    llvm::SmallVector<unsigned> awaitedAround;
  };
  llvm::SmallVector<InstructionUse, 0> pending;
  llvm::SmallVector<Loop, 0> loops;
};

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_MICROTHREADDISCIPLINE_H
