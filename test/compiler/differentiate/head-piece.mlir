// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results" --onnx-common-subexpressions | FileCheck %s

// The residual stream ends before the norm of the head, which one operator
// reads: the head is a piece of its own, and the block before it is computed
// again.
// CHECK: onnx.pieces = array<i64: 3,
// CHECK-LABEL: func.func @main
// CHECK: %[[S0:.*]] = onnx.binary add {{.*}} {node = "s0"}
// CHECK: %[[KEPT:.*]] = onnx.keep %[[S0]] {node = "s0"}
// CHECK: %[[S1:.*]] = onnx.binary add {{.*}} {node = "s1"}
// CHECK-NOT: onnx.keep
// CHECK: onnx.layer_norm %[[S1]]
// CHECK-NOT: norm/recompute
// CHECK: onnx.unary tanh %[[KEPT]] {node = "f1/recompute"}
// CHECK: f0/recompute
func.func @main(%x: tensor<2x8xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
  %scale = onnx.constant dense<2.0> : tensor<8xf32>
  %w = onnx.constant dense<0.5> : tensor<8x3xf32>
  %f0 = onnx.unary tanh %x {node = "f0"} : tensor<2x8xf32>
  %s0 = onnx.binary add %x, %f0 {node = "s0"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f1 = onnx.unary tanh %s0 {node = "f1"} : tensor<2x8xf32>
  %s1 = onnx.binary add %s0, %f1 {node = "s1"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %n = onnx.layer_norm %s1, %scale {epsilon = 0.5 : f32, node = "norm"} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %y = onnx.matmul %n, %w {node = "head"} : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
