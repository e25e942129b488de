// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=none" --onnx-common-subexpressions | FileCheck %s

// What a slice leaves out has zeros for gradients, also between its steps.
// CHECK-LABEL: func.func @main
// CHECK: %[[BACK:.*]] = onnx.slice %{{.*}} {node = "s/backward", starts = array<i64: 0, 2>, steps = array<i64: 1, -1>} : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK: %[[ONE:.*]] = onnx.reshape %[[BACK]] {{.*}} -> tensor<2x3x1xf32>
// CHECK: %[[ZEROS:.*]] = onnx.constant dense<0.000000e+00> {{.*}} -> tensor<2x3x2xf32>
// CHECK: %[[APART:.*]] = onnx.concat %[[ONE]], %[[ZEROS]] {axis = 2 : i64
// CHECK: %[[ROWS:.*]] = onnx.reshape %[[APART]] {{.*}} -> tensor<2x9xf32>
// CHECK: %[[TAKEN:.*]] = onnx.slice %[[ROWS]] {{.*}} -> tensor<2x7xf32>
// CHECK: onnx.concat %[[END:.*]], %[[TAKEN]], %[[END]] {axis = 1 : i64{{.*}} -> tensor<2x9xf32>
func.func @main(%x: tensor<2x9xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
  %y = onnx.slice %x {starts = array<i64: 0, 7>, steps = array<i64: 1, -3>, node = "s"} : tensor<2x9xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// Of heads side by side, features of each.
// CHECK-LABEL: func.func @main
// CHECK: %[[HEADS:.*]] = onnx.reshape %{{.*}} : tensor<1x5x6xf32> -> tensor<1x5x3x2xf32>
// CHECK: %[[ALL:.*]] = onnx.concat %[[ZERO:.*]], %[[HEADS]], %[[ZERO]] {axis = 3 : i64{{.*}} -> tensor<1x5x3x4xf32>
// CHECK: onnx.reshape %[[ALL]] {{.*}} -> tensor<1x5x12xf32>
func.func @main(%x: tensor<1x5x12xf32> {onnx.name = "x"}) -> (tensor<1x5x6xf32> {onnx.name = "y"}) {
  %y = onnx.slice_heads %x {num_heads = 3 : i64, start = 1 : i64, node = "s"} : tensor<1x5x12xf32> -> tensor<1x5x6xf32>
  return %y : tensor<1x5x6xf32>
}

// -----

// Equal ones that are largest share.
// CHECK-LABEL: func.func @main
// CHECK: %[[IS:.*]] = onnx.binary equal %arg0, %{{.*}} {node = "m/backward"}
// CHECK: %[[ONES:.*]] = onnx.cast %[[IS]]
// CHECK: %[[COUNT:.*]] = onnx.reduce sum %[[ONES]] {axes = array<i64: 1>
// CHECK: %[[SHARE:.*]] = onnx.binary div %{{.*}}, %[[COUNT]] {node = "m/backward"}
// CHECK: onnx.binary mul %[[ONES]], %[[SHARE]] {node = "m/backward"}
func.func @main(%x: tensor<2x9xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
  %y = onnx.reduce max %x {axes = array<i64: 1>, keepdims = false, node = "m"} : tensor<2x9xf32> -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// A transpose turns back, parts of what was joined are slices.
// CHECK-LABEL: func.func @main
// CHECK: %[[BACK:.*]] = onnx.transpose %{{.*}} {node = "t/backward", perm = array<i64: 1, 2, 0>}
// CHECK: %[[FIRST:.*]] = onnx.slice %[[BACK]] {node = "c/backward", starts = array<i64: 0, 0, 0>
// CHECK: %[[SECOND:.*]] = onnx.slice %[[BACK]] {node = "c/backward", starts = array<i64: 0, 9, 0>
// CHECK: onnx.binary add %[[FIRST]], %[[SECOND]]
func.func @main(%x: tensor<2x9x4xf32> {onnx.name = "x"}) -> (tensor<4x2x18xf32> {onnx.name = "y"}) {
  %c = onnx.concat %x, %x {axis = 1 : i64, node = "c"} : (tensor<2x9x4xf32>, tensor<2x9x4xf32>) -> tensor<2x18x4xf32>
  %y = onnx.transpose %c {perm = array<i64: 2, 0, 1>, node = "t"} : tensor<2x18x4xf32> -> tensor<4x2x18xf32>
  return %y : tensor<4x2x18xf32>
}
