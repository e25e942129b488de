// RUN: split-file %s %t
// RUN: wse-opt %t/valid.mlir --onnx-infer-and-fold --onnx-legalize-nodes | FileCheck %t/valid.mlir
// RUN: not wse-opt %t/invalid.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=INVALID

// INVALID-DAG: Resize: a scale that makes 5 elements no whole number, of which ONNX and onnxruntime think differently: node 'corners'; state sizes
// INVALID-DAG: Resize: {{[0-9]+}} elements times a scale of {{.*}}, expected 1 to {{[0-9]+}} elements: node 'least'
// INVALID-DAG: Resize: a size of -3: node 'size'
// INVALID-DAG: Resize: sizes has 1 elements, expected 3: node 'count'
// INVALID-DAG: Resize: needs elements, and either scales or sizes: node 'none'
// INVALID-DAG: Resize: crops without a region (roi): node 'crop'
// INVALID-DAG: Resize: an axis outside of rank 3: node 'axis'
// INVALID-DAG: Resize: mode is 'sinc', expected one of nearest, linear, cubic: node 'mode'
// INVALID-DAG: Resize: nearest_mode is 'up', expected one of round_prefer_floor, round_prefer_ceil, floor, ceil: node 'nearest'
// INVALID-DAG: Resize: coordinate_transformation_mode is 'polar', expected one of half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, tf_crop_and_resize: node 'place'
// INVALID-DAG: Resize: interpolates integers: node 'integers'; cast to float first
// INVALID-DAG: Resize: {{[0-9]+}} elements for each of the result, at most 4096: node 'taps'
// INVALID-DAG: Resize: keep_aspect_ratio_policy is 'crop', expected one of stretch, not_larger, not_smaller: node 'policy'

//--- valid.mlir
module attributes {onnx.opset = 19 : i64} {
// Elements as they are.
// CHECK-LABEL: func.func @nearest
// CHECK-NOT: onnx.binary
// CHECK: onnx.gather
// CHECK-NOT: onnx.binary
// CHECK: return {{.*}} : tensor<1x2x10xf32>
func.func @nearest(%x: tensor<1x2x5xf32>) -> !onnx.unknown {
  %none = onnx.none
  %s = onnx.constant dense<[1.0, 1.0, 2.0]> : tensor<3xf32>
  %y = onnx.node "Resize"(%x, %none, %s) : (tensor<1x2x5xf32>, none, tensor<3xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Two neighbours, weighted.
// CHECK-LABEL: func.func @linear
// CHECK: %[[A:.*]] = onnx.binary mul
// CHECK: %[[B:.*]] = onnx.binary mul
// CHECK: onnx.binary add %[[A]], %[[B]] {{.*}} -> tensor<1x2x10xf32>
func.func @linear(%x: tensor<1x2x5xf32>) -> !onnx.unknown {
  %none = onnx.none
  %s = onnx.constant dense<[1, 2, 10]> : tensor<3xi64>
  %y = onnx.node "Resize"(%x, %none, %none, %s) with {mode = "linear"} : (tensor<1x2x5xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

//--- invalid.mlir
module attributes {onnx.opset = 19 : i64} {
func.func @main(%x: tensor<1x2x5xf32>, %i: tensor<1x2x5xi32>, %long: tensor<1x1x9000xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %none = onnx.none
  %half = onnx.constant dense<[1.0, 1.0, 0.5]> : tensor<3xf32>
  %tiny = onnx.constant dense<[1.0, 1.0, 0.1]> : tensor<3xf32>
  %twice = onnx.constant dense<[1, 2, 10]> : tensor<3xi64>
  %below = onnx.constant dense<[1, 2, -3]> : tensor<3xi64>
  %one = onnx.constant dense<[3]> : tensor<1xi64>
  %few = onnx.constant dense<[1, 1, 2]> : tensor<3xi64>
  %a = onnx.node "Resize"(%x, %none, %half) with {coordinate_transformation_mode = "align_corners"} {node = "corners"} : (tensor<1x2x5xf32>, none, tensor<3xf32>) -> !onnx.unknown
  %b = onnx.node "Resize"(%x, %none, %tiny) {node = "least"} : (tensor<1x2x5xf32>, none, tensor<3xf32>) -> !onnx.unknown
  %c = onnx.node "Resize"(%x, %none, %none, %below) {node = "size"} : (tensor<1x2x5xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  %d = onnx.node "Resize"(%x, %none, %none, %one) {node = "count"} : (tensor<1x2x5xf32>, none, none, tensor<1xi64>) -> !onnx.unknown
  %e = onnx.node "Resize"(%x) {node = "none"} : (tensor<1x2x5xf32>) -> !onnx.unknown
  %f = onnx.node "Resize"(%x, %none, %none, %twice) with {coordinate_transformation_mode = "tf_crop_and_resize"} {node = "crop"} : (tensor<1x2x5xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  %g = onnx.node "Resize"(%x, %none, %none, %one) with {axes = [3]} {node = "axis"} : (tensor<1x2x5xf32>, none, none, tensor<1xi64>) -> !onnx.unknown
  %h = onnx.node "Resize"(%x, %none, %none, %twice) with {mode = "sinc"} {node = "mode"} : (tensor<1x2x5xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  %j = onnx.node "Resize"(%x, %none, %none, %twice) with {nearest_mode = "up"} {node = "nearest"} : (tensor<1x2x5xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  %k = onnx.node "Resize"(%x, %none, %none, %twice) with {coordinate_transformation_mode = "polar"} {node = "place"} : (tensor<1x2x5xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  %l = onnx.node "Resize"(%i, %none, %none, %twice) with {mode = "linear"} {node = "integers"} : (tensor<1x2x5xi32>, none, none, tensor<3xi64>) -> !onnx.unknown
  %m = onnx.node "Resize"(%long, %none, %none, %few) with {mode = "linear", antialias = 1 : i64} {node = "taps"} : (tensor<1x1x9000xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  %n = onnx.node "Resize"(%x, %none, %none, %twice) with {keep_aspect_ratio_policy = "crop"} {node = "policy"} : (tensor<1x2x5xf32>, none, none, tensor<3xi64>) -> !onnx.unknown
  return %a, %b, %c, %d, %e, %f, %g, %h, %j, %k, %l, %m, %n : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
