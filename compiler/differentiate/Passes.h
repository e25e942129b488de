// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_DIFFERENTIATE_PASSES_H
#define COMPILER_DIFFERENTIATE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::differentiate {

#define GEN_PASS_DECL
#include "compiler/differentiate/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/differentiate/Passes.h.inc"

/// Gives operators of the onnx dialect the rules of their gradients.
void registerGradients(mlir::DialectRegistry &registry);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_PASSES_H
