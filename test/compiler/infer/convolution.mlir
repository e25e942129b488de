// RUN: wse-opt %s --onnx-infer-and-fold --onnx-legalize-nodes --onnx-common-subexpressions | FileCheck %s

module attributes {onnx.opset = 20 : i64} {

// Patches of an image: the filters are read as they lie, and nothing is copied.
// CHECK-LABEL: func.func @patches
// CHECK: %[[W:.*]] = onnx.constant external<"none.bin", 0, 384> view offset 0 strides [1, 12] : tensor<12x8xf32>
// CHECK: onnx.reshape %arg0 {{.*}} -> tensor<1x3x2x2x3x2xf32>
// CHECK: %[[T:.*]] = onnx.reshape {{.*}} -> tensor<1x2x3x12xf32>
// CHECK: onnx.matmul %[[T]], %[[W]] {{.*}} -> tensor<1x2x3x8xf32>
// CHECK: onnx.transpose {{.*}} -> tensor<1x8x2x3xf32>
func.func @patches(%x: tensor<1x3x4x6xf32>) -> !onnx.unknown {
  %w = onnx.constant external<"none.bin", 0, 384> : tensor<8x3x2x2xf32>
  %y = onnx.node "Conv"(%x, %w) with {strides = [2, 2]} : (tensor<1x3x4x6xf32>, tensor<8x3x2x2xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A slice for each element of the window, side by side as features.
// CHECK-LABEL: func.func @windows
// CHECK: onnx.concat {{.*}} -> tensor<1x8x4xf32>
// CHECK: onnx.slice {{.*}} : tensor<1x8x4xf32> -> tensor<1x3x4xf32>
// CHECK: onnx.slice {{.*}} : tensor<1x8x4xf32> -> tensor<1x3x4xf32>
// CHECK: onnx.slice {{.*}} : tensor<1x8x4xf32> -> tensor<1x3x4xf32>
// CHECK: onnx.concat {{.*}} -> tensor<1x3x12xf32>
// CHECK: onnx.matmul {{.*}} bias {{.*}} -> tensor<1x3x5xf32>
// CHECK: onnx.transpose {{.*}} -> tensor<1x5x3xf32>
func.func @windows(%x: tensor<1x4x6xf32>) -> !onnx.unknown {
  %w = onnx.constant dense<1.0> : tensor<5x4x3xf32>
  %b = onnx.constant dense<1.0> : tensor<5xf32>
  %y = onnx.node "Conv"(%x, %w, %b) with {strides = [2], pads = [1, 1]} : (tensor<1x4x6xf32>, tensor<5x4x3xf32>, tensor<5xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @groups
// CHECK-COUNT-2: onnx.matmul {{.*}} -> tensor<1x6x1xf32>
// CHECK: onnx.concat {{.*}} -> tensor<1x6x2xf32>
func.func @groups(%x: tensor<1x4x6xf32>) -> !onnx.unknown {
  %w = onnx.constant dense<1.0> : tensor<2x2x3xf32>
  %y = onnx.node "Conv"(%x, %w) with {group = 2 : i64, auto_pad = "SAME_UPPER"} : (tensor<1x4x6xf32>, tensor<2x2x3xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Every channel has a filter of its own: slices are scaled and added up.
// CHECK-LABEL: func.func @depthwise
// CHECK-NOT: onnx.matmul
// CHECK: %[[A:.*]] = onnx.slice {{.*}} -> tensor<1x5x20xf32>
// CHECK: onnx.binary mul %[[A]], {{.*}} : (tensor<1x5x20xf32>, tensor<1x20xf32>)
// CHECK: onnx.binary add {{.*}} -> tensor<1x5x20xf32>
// CHECK-NOT: onnx.matmul
// CHECK: return {{.*}} : tensor<1x20x5xf32>
func.func @depthwise(%x: tensor<1x20x6xf32>) -> !onnx.unknown {
  %w = onnx.constant dense<1.0> : tensor<20x1x2xf32>
  %y = onnx.node "Conv"(%x, %w) with {group = 20 : i64} : (tensor<1x20x6xf32>, tensor<20x1x2xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}
