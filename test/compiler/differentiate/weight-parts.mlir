// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square room=576" --onnx-common-subexpressions | FileCheck %s

// The gradient of a weight that would take more than an eighth of the wafer is made four columns at a time; each leaves.
// CHECK-LABEL: func.func @main
// CHECK: %[[XT:.*]] = onnx.transpose %{{.*}} {{.*}} -> tensor<16x4xf32>
// CHECK: %[[DY:.*]] = onnx.slice %[[ALL:.*]] {{.*}} -> tensor<4x4xf32>
// CHECK: %[[DW:.*]] = onnx.batch_matmul %[[XT]], %[[DY]] {{.*}} -> tensor<16x4xf32>
// CHECK: onnx.gradient %[[DW]] of @w view offset 0 strides [16, 1]
// CHECK: onnx.gradient %{{.*}} of @w view offset 4 strides [16, 1]
// CHECK: onnx.gradient %{{.*}} of @w view offset 8 strides [16, 1]
// CHECK: onnx.gradient %{{.*}} of @w view offset 12 strides [16, 1]
// CHECK-NOT: onnx.gradient
onnx.parameter @w = dense<0.5> : tensor<16x16xf32> trainable
func.func @main(%x: tensor<4x16xf32> {onnx.name = "x"}) -> (tensor<4x16xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<16x16xf32>> -> tensor<16x16xf32>
  %y = onnx.matmul %x, %w {node = "y"} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// A smaller one, at once.
// CHECK-LABEL: func.func @main
// CHECK: onnx.gradient %{{.*}} of @w {
// CHECK-NOT: onnx.gradient
onnx.parameter @w = dense<0.5> : tensor<16x4xf32> trainable
func.func @main(%x: tensor<4x16xf32> {onnx.name = "x"}) -> (tensor<4x4xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<16x4xf32>> -> tensor<16x4xf32>
  %y = onnx.matmul %x, %w {node = "y"} : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Of 13 columns five at a time, and the last three; logits, which are all there at a time, are another matter.
// CHECK-LABEL: func.func @main
// CHECK: onnx.gradient %{{.*}} of @w view offset 0 strides [13, 1] {{.*}}tensor<16x5xf32>
// CHECK: onnx.gradient %{{.*}} of @w view offset 5 strides [13, 1] {{.*}}tensor<16x5xf32>
// CHECK: onnx.gradient %{{.*}} of @w view offset 10 strides [13, 1] {{.*}}tensor<16x3xf32>
// CHECK-NOT: onnx.gradient
onnx.parameter @w = dense<0.5> : tensor<16x13xf32> trainable
func.func @main(%x: tensor<4x16xf32> {onnx.name = "x"}) -> (tensor<4x13xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<16x13xf32>> -> tensor<16x13xf32>
  %y = onnx.matmul %x, %w {node = "y"} : (tensor<4x16xf32>, tensor<16x13xf32>) -> tensor<4x13xf32>
  return %y : tensor<4x13xf32>
}
