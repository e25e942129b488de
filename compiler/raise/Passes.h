// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_RAISE_PASSES_H
#define COMPILER_RAISE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::raise {

#define GEN_PASS_DECL
#include "compiler/raise/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/raise/Passes.h.inc"

} // namespace wsec::raise

#endif // COMPILER_RAISE_PASSES_H
