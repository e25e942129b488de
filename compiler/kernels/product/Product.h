// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of a model that are products of a tensor on the wafer and one that
// streams in. Dense and sparse products build themselves for these.

#ifndef WSEC_COMPILER_KERNELS_PRODUCT_PRODUCT_H
#define WSEC_COMPILER_KERNELS_PRODUCT_PRODUCT_H

#include "compiler/kernels/Kernel.h"
#include "compiler/kernels/Selection.h"

namespace wsec {

/// Whether `op` is a product of two tensors, whose weights a #wse.sparsity
/// thins out or not.
Match matchProduct(mlir::Operation *op, bool sparse);

/// Whether `op` sums up features, or makes a mean of them: a product with a
/// column of ones.
bool sumsFeatures(onnx::ReduceOp op);

/// The outputs that `value` is, if it goes nowhere else.
llvm::SmallVector<mlir::OpOperand *> onlyOutputs(mlir::Value value);

/// Creates the kernel of one product, whose result is distributed as `tiling`.
using MakeProduct = llvm::function_ref<mlir::Value(
    mlir::Value input, wse::WeightAttr weight, wse::WeightAttr bias,
    wse::TokenTiling tiling, wse::EntryAttr entry)>;

/// Builds an operator that matchProduct or sumsFeatures takes, for `kernel`.
mlir::Value buildProduct(mlir::Operation *op, const Kernel &kernel,
                         Selection &selection, MakeProduct make);

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_PRODUCT_PRODUCT_H
