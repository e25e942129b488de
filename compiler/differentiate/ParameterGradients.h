// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of views of parameters as gradients of the parameters.
#ifndef COMPILER_DIFFERENTIATE_PARAMETERGRADIENTS_H
#define COMPILER_DIFFERENTIATE_PARAMETERGRADIENTS_H

#include "compiler/differentiate/Backward.h"

namespace wsec::differentiate {

/// Makes the onnx.gradient of what `view` takes of its parameter, in the
/// parameter's own order, where `n` builds. With ids, `gradient` is of rows of
/// the view.
void streamOut(onnx::ConstantOp view, mlir::Value gradient, mlir::Value ids,
               Backward &n);

/// `gradient`, that of `view`, among zeros in the shape of the parameter; null
/// where that takes more than transposing and spreading.
mlir::Value wholeOf(onnx::ParameterOp parameter, onnx::ConstantOp view,
                    mlir::Value gradient, Backward &n);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_PARAMETERGRADIENTS_H
