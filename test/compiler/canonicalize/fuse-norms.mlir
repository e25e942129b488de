// RUN: wse-opt %s --onnx-fuse-norms --onnx-common-subexpressions | FileCheck %s

// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8xf32>, %[[G:[a-z0-9]+]]: tensor<8xf32>, %[[B:[a-z0-9]+]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]] = onnx.layer_norm %[[X]], %[[G]] bias %[[B]] {epsilon = 9.99999974E-6 : f32, node = "add", onnx.absorbed = ["mean", "root"]}
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm(%x: tensor<2x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %e = onnx.constant dense<1.0e-5> : tensor<f32>
  %mean = onnx.reduce mean %x {axes = array<i64: 1>, keepdims = true, node = "mean"} : tensor<2x8xf32> -> tensor<2x1xf32>
  %d = onnx.binary sub %x, %mean : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %sq = onnx.binary mul %d, %d : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %var = onnx.reduce mean %sq {axes = array<i64: 1>, keepdims = true} : tensor<2x8xf32> -> tensor<2x1xf32>
  %sum = onnx.binary add %var, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %root = onnx.unary sqrt %sum {node = "root"} : tensor<2x1xf32>
  %n = onnx.binary div %d, %root : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %s = onnx.binary mul %n, %g : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %y = onnx.binary add %s, %b {node = "add"} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// Llama's form: the scale on the left, a reciprocal of the root.
// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT: %[[Y:.*]] = onnx.rms_norm
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
  %e = onnx.constant dense<1.0e-6> : tensor<f32>
  %sq = onnx.binary mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %var = onnx.reduce mean %sq {axes = array<i64: 1>, keepdims = true} : tensor<2x8xf32> -> tensor<2x1xf32>
  %sum = onnx.binary add %e, %var : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %root = onnx.unary sqrt %sum : tensor<2x1xf32>
  %inverse = onnx.unary reciprocal %root : tensor<2x1xf32>
  %n = onnx.binary mul %x, %inverse : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %y = onnx.binary mul %g, %n : (tensor<8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// An epsilon of 1e-8 is gone from a model in bf16.
// CHECK-LABEL: func.func @no_epsilon
// CHECK-NEXT: %[[Y:.*]] = onnx.rms_norm %{{.*}} {epsilon = 0.000000e+00 : f32}
// CHECK-NEXT: return %[[Y]]
func.func @no_epsilon(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
  %sq = onnx.binary mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %var = onnx.reduce mean %sq {axes = array<i64: 1>, keepdims = true} : tensor<2x8xf32> -> tensor<2x1xf32>
  %inverse = onnx.unary rsqrt %var : tensor<2x1xf32>
  %n = onnx.binary mul %x, %inverse : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %y = onnx.binary mul %n, %g : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// The mean over tokens is no norm of features.
// CHECK-LABEL: func.func @other_axis
// CHECK-NOT: rms_norm
// CHECK: onnx.unary rsqrt
func.func @other_axis(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %e = onnx.constant dense<1.0e-6> : tensor<f32>
  %sq = onnx.binary mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %var = onnx.reduce mean %sq {axes = array<i64: 0>, keepdims = true} : tensor<2x8xf32> -> tensor<1x8xf32>
  %sum = onnx.binary add %var, %e : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %root = onnx.unary rsqrt %sum : tensor<1x8xf32>
  %n = onnx.binary mul %x, %root : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  return %n : tensor<2x8xf32>
}
