// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=cross-entropy most-logits=24" --onnx-legalize-losses="most-logits=24" --onnx-common-subexpressions | FileCheck %s

// Ten classes of four tokens, five at a time: a tile has columns of the weight, which get their gradients. All logits are made
// again, of what the store kept, by gradients.
// CHECK-LABEL: func.func @main
// CHECK: %[[H:.*]] = onnx.unary tanh
// CHECK: %[[W0:.*]] = onnx.constant #onnx.parameter<@w : tensor<8x10xf32>> view offset 0 strides [10, 1] -> tensor<8x5xf32>
// CHECK: onnx.matmul %[[H]], %[[W0]] {{.*}} -> tensor<4x5xf32>
// CHECK: %[[W1:.*]] = onnx.constant #onnx.parameter<@w : tensor<8x10xf32>> view offset 5 strides [10, 1] -> tensor<8x5xf32>
// CHECK: onnx.matmul %[[H]], %[[W1]]
// CHECK: %[[AGAIN:.*]] = onnx.keep %[[H]]
// CHECK: onnx.matmul %[[AGAIN]], %[[W0]]
// CHECK: onnx.gradient %{{.*}} of @w view offset 0 strides [10, 1]
// CHECK: onnx.matmul %[[AGAIN]], %[[W1]]
// CHECK: onnx.gradient %{{.*}} of @w view offset 5 strides [10, 1]
onnx.parameter @w = dense<0.5> : tensor<8x10xf32> trainable
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<4x10xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<8x10xf32>> -> tensor<8x10xf32>
  %h = onnx.unary tanh %x {node = "h"} : tensor<4x8xf32>
  %y = onnx.matmul %h, %w {node = "y"} : (tensor<4x8xf32>, tensor<8x10xf32>) -> tensor<4x10xf32>
  return %y : tensor<4x10xf32>
}

// -----

// Few are there at once.
// CHECK-LABEL: func.func @main
// CHECK: onnx.softmax %{{.*}} : tensor<4x6xf32>
// CHECK-NOT: onnx.keep
// CHECK: onnx.gradient %{{.*}} of @w {
onnx.parameter @w = dense<0.5> : tensor<8x6xf32> trainable
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<4x6xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<8x6xf32>> -> tensor<8x6xf32>
  %y = onnx.matmul %x, %w {node = "y"} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
