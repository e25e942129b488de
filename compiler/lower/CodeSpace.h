// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_COMPILER_LOWER_CODESPACE_H
#define WSEC_COMPILER_LOWER_CODESPACE_H

#include "dialects/pe/Pe.h"

namespace wsec {
struct Machine;
} // namespace wsec

namespace wsec::lower {

/// Erases scalars that no code depends on.
void eraseUnusedScalars(mlir::Block &block);

/// Makes room for the code: the schedule places buffers before anybody knows
/// how much code there is. Moves all of them up when they start too low, and
/// fails when there is no room.
llvm::LogicalResult makeRoomForCode(pe::ClassOp op, const Machine &machine);

} // namespace wsec::lower

#endif // WSEC_COMPILER_LOWER_CODESPACE_H
