// RUN: wse-opt %s --onnx-infer-and-fold --onnx-legalize-nodes | FileCheck %s

// Integers of 4 and 8 bits that are constants stay integers; others become f32.

// CHECK-LABEL: func.func @blocks
// CHECK: onnx.constant #onnx.quantized<{{.*}} : tensor<4x2xi4> scales {{.*}} : tensor<2x2xf32> zeros {{.*}} : tensor<2x2xi4> block 2> -> tensor<4x2xf32>
func.func @blocks() -> !onnx.unknown {
  %w = onnx.constant dense<[[1, 2], [3, -8], [7, 0], [1, 1]]> : tensor<4x2xi4>
  %s = onnx.constant dense<[[1.0, 2.0], [0.5, 0.25]]> : tensor<2x2xf32>
  %z = onnx.constant dense<[[1, 2], [0, 0]]> : tensor<2x2xi4>
  %y = onnx.node "DequantizeLinear"(%w, %s, %z) with {axis = 0 : i64, block_size = 2 : i64} : (tensor<4x2xi4>, tensor<2x2xf32>, tensor<2x2xi4>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @axis
// CHECK: scales {{.*}} : tensor<1x2xf32> block 1> -> tensor<2x2xf32>
func.func @axis() -> !onnx.unknown {
  %w = onnx.constant dense<[[1, 2], [3, -8]]> : tensor<2x2xi8>
  %s = onnx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = onnx.node "DequantizeLinear"(%w, %s) : (tensor<2x2xi8>, tensor<2xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A scale over 2^12 has to be a number, and not lose bits.
// CHECK-LABEL: func.func @tiny
// CHECK: onnx.constant dense<{{.*}}> : tensor<2xf32>
func.func @tiny() -> !onnx.unknown {
  %w = onnx.constant dense<[1, 2]> : tensor<2xi8>
  %s = onnx.constant dense<1.0e-36> : tensor<f32>
  %y = onnx.node "DequantizeLinear"(%w, %s) : (tensor<2xi8>, tensor<f32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
