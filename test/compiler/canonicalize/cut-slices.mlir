// RUN: wse-opt %s --onnx-fuse-matmul --onnx-common-subexpressions | FileCheck %s

// Of a convolution along tokens, as a sum of slices, one token is computed where one is read.
// CHECK-LABEL: func.func @convolution
// CHECK-DAG: %[[B:.*]] = onnx.binary mul %arg1, %arg4
// CHECK-DAG: %[[C:.*]] = onnx.binary mul %arg2, %arg5
// CHECK: %[[SUM:.*]] = onnx.binary add %[[B]], %[[C]] {{.*}} -> tensor<1x1x8xf32>
func.func @convolution(%a: tensor<1x1x8xf32>, %b: tensor<1x1x8xf32>, %c: tensor<1x1x8xf32>, %d: tensor<1x1x8xf32>, %w: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<1x8x1xf32> {
  %0 = onnx.reshape %a : tensor<1x1x8xf32> -> tensor<1x8x1xf32>
  %1 = onnx.reshape %b : tensor<1x1x8xf32> -> tensor<1x8x1xf32>
  %2 = onnx.reshape %c : tensor<1x1x8xf32> -> tensor<1x8x1xf32>
  %past = onnx.concat %0, %1 {axis = 2 : i64} : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x2xf32>
  %all = onnx.concat %past, %2 {axis = 2 : i64} : (tensor<1x8x2xf32>, tensor<1x8x1xf32>) -> tensor<1x8x3xf32>
  %t = onnx.transpose %all {perm = array<i64: 0, 2, 1>} : tensor<1x8x3xf32> -> tensor<1x3x8xf32>
  %s = onnx.slice %t {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<1x3x8xf32> -> tensor<1x2x8xf32>
  %r = onnx.slice %t {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>} : tensor<1x3x8xf32> -> tensor<1x2x8xf32>
  %sw = onnx.binary mul %s, %w : (tensor<1x2x8xf32>, tensor<8xf32>) -> tensor<1x2x8xf32>
  %rv = onnx.binary mul %r, %v : (tensor<1x2x8xf32>, tensor<8xf32>) -> tensor<1x2x8xf32>
  %sum = onnx.binary add %sw, %rv : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %back = onnx.transpose %sum {perm = array<i64: 0, 2, 1>} : tensor<1x2x8xf32> -> tensor<1x8x2xf32>
  %y = onnx.slice %back {starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 1>} : tensor<1x8x2xf32> -> tensor<1x8x1xf32>
  return %y : tensor<1x8x1xf32>
}

// Channels in front of one token are features.
// CHECK-LABEL: func.func @channels
// CHECK-NEXT: %[[X:.*]] = onnx.slice %arg0 {starts = array<i64: 0, 0, 3>, steps = array<i64: 1, 1, 1>} : tensor<1x1x8xf32> -> tensor<1x1x5xf32>
// CHECK-NEXT: onnx.reshape %[[X]] : tensor<1x1x5xf32> -> tensor<1x5x1xf32>
func.func @channels(%x: tensor<1x1x8xf32>) -> tensor<1x5x1xf32> {
  %t = onnx.reshape %x : tensor<1x1x8xf32> -> tensor<1x8x1xf32>
  %y = onnx.slice %t {starts = array<i64: 0, 3, 0>, steps = array<i64: 1, 1, 1>} : tensor<1x8x1xf32> -> tensor<1x5x1xf32>
  return %y : tensor<1x5x1xf32>
}

// Others that read the sum want all of it.
// CHECK-LABEL: func.func @shared
// CHECK: onnx.binary add {{.*}} -> tensor<1x2x8xf32>
func.func @shared(%t: tensor<1x3x8xf32>, %w: tensor<8xf32>) -> (tensor<1x1x8xf32>, tensor<1x2x8xf32>) {
  %s = onnx.slice %t {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<1x3x8xf32> -> tensor<1x2x8xf32>
  %sum = onnx.binary add %s, %w : (tensor<1x2x8xf32>, tensor<8xf32>) -> tensor<1x2x8xf32>
  %y = onnx.slice %sum {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>} : tensor<1x2x8xf32> -> tensor<1x1x8xf32>
  return %y, %sum : tensor<1x1x8xf32>, tensor<1x2x8xf32>
}
