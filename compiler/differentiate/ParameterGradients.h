// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of views of parameters as gradients of the parameters.
#ifndef COMPILER_DIFFERENTIATE_PARAMETERGRADIENTS_H
#define COMPILER_DIFFERENTIATE_PARAMETERGRADIENTS_H

#include "compiler/differentiate/Backward.h"

namespace wsec::differentiate {

/// Makes the onnx.gradient of what `view` takes of `parameter`, in the
/// parameter's own order; of a table whose rows are looked up one for each
/// lookup. None if the loss does not depend on it.
void streamOut(onnx::ParameterOp parameter, onnx::ConstantOp view, Backward &n);

/// `gradient`, that of `view`, among zeros in the shape of the parameter; null
/// where that takes more than transposing and spreading.
mlir::Value wholeOf(onnx::ParameterOp parameter, onnx::ConstantOp view,
                    mlir::Value gradient, Backward &n);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_PARAMETERGRADIENTS_H
