// RUN: wse-opt %s --onnx-infer-and-fold --onnx-legalize-nodes | FileCheck %s

// What newer opsets have as operands, older ones state as attributes.
module attributes {onnx.opset = 9 : i64} {

// CHECK-LABEL: func.func @slice
// CHECK: onnx.slice %arg0 {{.*}} : tensor<4x8xf32> -> tensor<4x3xf32>
func.func @slice(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %y = onnx.node "Slice"(%x) with {starts = [-5], ends = [6], axes = [1]} : (tensor<4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @pad
// CHECK: onnx.constant dense<1.500000e+00>
// CHECK: onnx.concat {{.*}} -> tensor<4x11xf32>
func.func @pad(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %y = onnx.node "Pad"(%x) with {pads = [0, 1, 0, 2], value = 1.5 : f32} : (tensor<4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @clip
// CHECK-NOT: onnx.binary max
// CHECK: onnx.binary min %arg0
func.func @clip(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %y = onnx.node "Clip"(%x) with {max = 6.0 : f32} : (tensor<4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @topk
// CHECK-SAME: -> (tensor<4x3xf32>, tensor<4x3xi64>)
func.func @topk(%x: tensor<4x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %v, %i = onnx.node "TopK"(%x) with {k = 3 : i64} : (tensor<4x8xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %v, %i : !onnx.unknown, !onnx.unknown
}
}
