// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=cross-entropy most-logits=16" --onnx-legalize-losses="most-logits=16" --onnx-common-subexpressions | FileCheck %s

// Ten classes of four tokens, four or two at a time: two columns of the weight are a view of it, and get their gradients.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = onnx.constant #onnx.parameter<@w : tensor<8x5xf32>, 0, [10, 1]>
// CHECK: %[[X:.*]] = onnx.unary tanh
// CHECK: %[[KEPT:.*]] = onnx.keep %[[X]]
// CHECK: %[[Z:.*]] = onnx.matmul %[[X]], %[[W]]
// CHECK: return
onnx.parameter @w = dense<0.5> : tensor<8x10xf32> trainable
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<4x10xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<8x10xf32>> -> tensor<8x10xf32>
  %h = onnx.unary tanh %x {node = "h"} : tensor<4x8xf32>
  %y = onnx.matmul %h, %w {node = "y"} : (tensor<4x8xf32>, tensor<8x10xf32>) -> tensor<4x10xf32>
  return %y : tensor<4x10xf32>
}
