// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_RAISE_PASSES_TD
#define COMPILER_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseLinalg : Pass<"onnx-raise-linalg", "::mlir::ModuleOp"> {
  let summary = "Says a function of linalg on tensors in ONNX's operators.";
  let description = [{
    The module holds one function of static tensors, as torch-mlir writes it:
    `linalg` (named operations and generics), `tensor`, `arith` and `math`.
    It becomes @main as if imported from a model. What has no operator of the
    same meaning is refused, all of it in one error. A function of onnx
    operators stays as it is.

    ```mlir
    func.func @forward(%x: tensor<2x3xf32>, %zeros: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %w = arith.constant dense<1.0> : tensor<3x2xf32>
      %y = linalg.matmul ins(%x, %w : tensor<2x3xf32>, tensor<3x2xf32>) outs(%zeros : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    }
    ```
    becomes
    ```mlir
    module attributes {onnx.model = "<stdin>", onnx.opset = 21 : i64, onnx.parameters = 6 : i64, onnx.weight_bytes = 24 : i64} {
      func.func @main(%x: tensor<2x3xf32> {onnx.name = "arg0"}, %zeros: tensor<2x2xf32> {onnx.name = "arg1"})
          -> (!onnx.unknown {onnx.name = "result0"}) {
        %w = onnx.constant dense<1.0> : tensor<3x2xf32> {node = "constant_1"}
        %0 = onnx.node "MatMul"(%x, %w) {node = "matmul_2/MatMul"} : (tensor<2x3xf32>, tensor<3x2xf32>) -> !onnx.unknown
        %y = onnx.node "Add"(%0, %zeros) {node = "matmul_2/Add"} : (!onnx.unknown, tensor<2x2xf32>) -> !onnx.unknown
        return %y : !onnx.unknown
      }
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

#endif // COMPILER_RAISE_PASSES_TD
