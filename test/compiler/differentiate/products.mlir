// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square inputs=x,w,b gradients-as-results" --onnx-common-subexpressions | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x5x6xf32> {onnx.name = "x"}, %[[W:[a-z0-9]+]]: tensor<6x4xf32> {onnx.name = "w"}
// CHECK-SAME: tensor<2x5x4xf32> {onnx.name = "targets"}) -> (tensor<f32> {onnx.name = "loss"}, tensor<2x5x6xf32> {onnx.name = "x.grad"}, tensor<6x4xf32> {onnx.name = "w.grad"}, tensor<4xf32> {onnx.name = "b.grad"})
// CHECK: %[[DY:.*]] = onnx.binary add {{.*}} {node = "loss/backward"} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
// CHECK: %[[WT:.*]] = onnx.transpose %[[W]] {node = "fc/backward", perm = array<i64: 1, 0>}
// CHECK: %[[DX:.*]] = onnx.matmul %[[DY]], %[[WT]] {node = "fc/backward"}
// CHECK: %[[ROWS:.*]] = onnx.reshape %[[X]] {{.*}} -> tensor<10x6xf32>
// CHECK: %[[XT:.*]] = onnx.transpose %[[ROWS]] {{.*}} -> tensor<6x10xf32>
// CHECK: %[[DYROWS:.*]] = onnx.reshape %[[DY]] {{.*}} -> tensor<10x4xf32>
// CHECK: %[[DW:.*]] = onnx.batch_matmul %[[XT]], %[[DYROWS]] {{.*}} -> tensor<6x4xf32>
// CHECK: %[[SUM:.*]] = onnx.reduce sum %[[DYROWS]] {axes = array<i64: 0>, keepdims = true
// CHECK: %[[DB:.*]] = onnx.reshape %[[SUM]] {{.*}} -> tensor<4xf32>
// CHECK: return %{{.*}}, %[[DX]], %[[DW]], %[[DB]]
func.func @main(%x: tensor<2x5x6xf32> {onnx.name = "x"}, %w: tensor<6x4xf32> {onnx.name = "w"}, %b: tensor<4xf32> {onnx.name = "b"}) -> (tensor<2x5x4xf32> {onnx.name = "y"}) {
  %y = onnx.matmul %x, %w bias %b {node = "fc"} : (tensor<2x5x6xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32>
  return %y : tensor<2x5x4xf32>
}

// -----

// Matrices of one operand that the other repeats add up.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x3x5x6xf32>
// CHECK: %[[AT:.*]] = onnx.transpose %[[A]] {node = "scores/backward", perm = array<i64: 0, 1, 3, 2>}
// CHECK: %[[DB:.*]] = onnx.batch_matmul %[[AT]], %{{.*}} -> tensor<2x3x6x4xf32>
// CHECK: onnx.reduce sum %[[DB]] {axes = array<i64: 0>, keepdims = true, node = "scores/backward"}
func.func @main(%x: tensor<2x3x5x6xf32> {onnx.name = "x"}, %w: tensor<3x6x4xf32> {onnx.name = "w"}, %b: tensor<4xf32> {onnx.name = "b"}) -> (tensor<2x3x5x4xf32> {onnx.name = "y"}) {
  %y = onnx.batch_matmul %x, %w {node = "scores"} : (tensor<2x3x5x6xf32>, tensor<3x6x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// -----

// Of a transposed operand: dB^T = dY^T A, whose transpose is the gradient of what it was before.
// CHECK-LABEL: func.func @main
// CHECK: %[[DY:.*]] = onnx.transpose %{{.*}} {node = "p/backward", perm = array<i64: 0, 2, 1>} : tensor<2x3x5xf32> -> tensor<2x5x3xf32>
// CHECK: onnx.batch_matmul %[[DY]], %{{.*}} {node = "p/backward"} : (tensor<2x5x3xf32>, tensor<2x3x4xf32>) -> tensor<2x5x4xf32>
func.func @main(%a: tensor<2x3x4xf32> {onnx.name = "w"}, %x: tensor<2x5x4xf32> {onnx.name = "x"}, %b: tensor<4xf32> {onnx.name = "b"}) -> (tensor<2x3x5xf32> {onnx.name = "y"}) {
  %t = onnx.transpose %x {perm = array<i64: 0, 2, 1>, node = "t"} : tensor<2x5x4xf32> -> tensor<2x4x5xf32>
  %y = onnx.batch_matmul %a, %t {node = "p"} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %y : tensor<2x3x5xf32>
}
