// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_DIFFERENTIATE_PASSES_H
#define COMPILER_DIFFERENTIATE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace wsec::differentiate {

#define GEN_PASS_DECL
#include "compiler/differentiate/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/differentiate/Passes.h.inc"

/// The reason why a frozen parameter does not train, if that was found out; see
/// WhatTrains.h.
inline constexpr llvm::StringLiteral whyAttrName = "onnx.why";

/// The parameters of a module that was differentiated, each as [name, why it
/// does not train or ""].
inline constexpr llvm::StringLiteral whatTrainsAttrName = "onnx.what_trains";

/// Sentences for the report of such a module: what an exporter has made of
/// parameters, and what the loss does not do at once.
inline constexpr llvm::StringLiteral notesAttrName = "onnx.notes";

/// How such a module is cut: pieces, and of the longest run of layers
/// that are alike how many pieces one has and how many there are, as integers.
inline constexpr llvm::StringLiteral piecesAttrName = "onnx.pieces";

/// Freezes the parameters of `module` that are frozen in `copy`, and says why.
void freezeAlike(mlir::ModuleOp copy, mlir::ModuleOp module);

/// Gives operators of the onnx dialect the rules of their gradients.
void registerGradients(mlir::DialectRegistry &registry);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_PASSES_H
