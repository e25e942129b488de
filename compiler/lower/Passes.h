// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_LOWER_PASSES_H
#define WSEC_COMPILER_LOWER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::lower {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/lower/Passes.h.inc"

} // namespace wsec::lower

#endif // WSEC_COMPILER_LOWER_PASSES_H
