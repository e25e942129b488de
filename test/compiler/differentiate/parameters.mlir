// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square" --onnx-common-subexpressions --verify-roundtrip | FileCheck %s

// Gradients leave in the parameter's own order: of a tied table its rows with
// their numbers, and what its use as a weight adds.
// CHECK-LABEL: onnx.parameter @wte
// CHECK-DAG: onnx.gradient %{{.*}} of @wte rows %arg0 {{.*}} : tensor<2x5x6xf32>, tensor<2x5xi64>
// CHECK-DAG: onnx.gradient %{{.*}} of @wte view offset 0 strides [1, 6] {{.*}} : tensor<6x11xf32>
onnx.parameter @wte = dense<0.5> : tensor<11x6xf32> trainable
func.func @main(%ids: tensor<2x5xi64> {onnx.name = "ids"}) -> (tensor<2x5x11xf32> {onnx.name = "y"}) {
  %table = onnx.constant #onnx.parameter<@wte : tensor<11x6xf32>> -> tensor<11x6xf32>
  %head = onnx.constant #onnx.parameter<@wte : tensor<11x6xf32>> view offset 0 strides [1, 6] -> tensor<6x11xf32>
  %x = onnx.gather %table, %ids : (tensor<11x6xf32>, tensor<2x5xi64>) -> tensor<2x5x6xf32>
  %y = onnx.matmul %x, %head : (tensor<2x5x6xf32>, tensor<6x11xf32>) -> tensor<2x5x11xf32>
  return %y : tensor<2x5x11xf32>
}

// -----

// A part of a fused weight, and a vector that repeats, which sums up; of a
// frozen one nothing is made.
// CHECK-LABEL: onnx.parameter @c_attn
// CHECK-NOT: of @frozen
// CHECK-DAG: onnx.gradient %{{.*}} of @c_attn view offset 4 strides [12, 1] {{.*}} : tensor<6x4xf32>
// CHECK-DAG: onnx.gradient %{{.*}} of @pos view offset 0 strides [0, 1] {{.*}} : tensor<1x4xf32>
// CHECK-NOT: of @frozen
onnx.parameter @c_attn = dense<0.5> : tensor<6x12xf32> trainable
onnx.parameter @pos = dense<0.5> : tensor<4xf32> trainable
onnx.parameter @frozen = dense<0.5> : tensor<4xf32> frozen
func.func @main(%x: tensor<3x6xf32> {onnx.name = "x"}) -> (tensor<3x4xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@c_attn : tensor<6x12xf32>> view offset 4 strides [12, 1] -> tensor<6x4xf32>
  %p = onnx.constant #onnx.parameter<@pos : tensor<4xf32>> view offset 0 strides [0, 1] -> tensor<3x4xf32>
  %f = onnx.constant #onnx.parameter<@frozen : tensor<4xf32>> -> tensor<4xf32>
  %m = onnx.matmul %x, %w bias %f : (tensor<3x6xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %y = onnx.binary add %m, %p : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
