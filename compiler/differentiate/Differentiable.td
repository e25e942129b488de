// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_DIFFERENTIATE_DIFFERENTIABLE_TD
#define COMPILER_DIFFERENTIATE_DIFFERENTIABLE_TD

include "mlir/IR/OpBase.td"

def Differentiable : OpInterface<"Differentiable"> {
  let description = [{
    An operator of one result with a rule for the gradients of its operands.
    Operators of the onnx dialect have it as external models, one file a family
    in `compiler/differentiate`.
  }];
  let cppNamespace = "::wsec::differentiate";
  let methods = [
    InterfaceMethod<[{
        Adds to the gradients of those operands that `n` wants, given `dy`, the
        gradient of the result, of its shape. What it cannot, it refuses.
      }],
      "void", "addGradients",
      (ins "::mlir::Value":$dy, "::wsec::differentiate::Backward &":$n)>
  ];
}

#endif // COMPILER_DIFFERENTIATE_DIFFERENTIABLE_TD
