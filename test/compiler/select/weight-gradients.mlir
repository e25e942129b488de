// RUN: wse-opt %s --wse-select-kernels="mesh=750x994 region=750x994" -split-input-file | FileCheck %s
// RUN: wse-opt %s --wse-select-kernels="mesh=64x64" -split-input-file | FileCheck %s --check-prefix=SMALL

// What leaves the wafer as the gradient of a weight is summed up along the columns, the operand with fewer features multicast: nothing
// of it goes through the store, which would take more than twice as long, or, of many tokens in a row, a sixth longer.

// CHECK-LABEL: program @main
// SMALL-LABEL: program @main
// CHECK: %[[X:.*]] = softmax
// CHECK: %[[DY:.*]] = softmax
// CHECK: weight_gradient %[[DY]] by %[[X]] to "dw" on @r {nodes = ["dw"], wse.two_lanes}
// CHECK-NOT: store
// SMALL: weight_gradient
// SMALL-NOT: store
func.func @main(%a: tensor<1024x768xf32> {onnx.name = "a"}, %b: tensor<1024x3072xf32> {onnx.name = "b"}) -> (tensor<768x3072xf32> {onnx.name = "dw"}) {
  %x = onnx.softmax %a {node = "x"} : tensor<1024x768xf32>
  %dy = onnx.softmax %b {node = "dy"} : tensor<1024x3072xf32>
  %t = onnx.transpose %x {node = "dw", perm = array<i64: 1, 0>} : tensor<1024x768xf32> -> tensor<768x1024xf32>
  %dw = onnx.batch_matmul %t, %dy {node = "dw"} : (tensor<768x1024xf32>, tensor<1024x3072xf32>) -> tensor<768x3072xf32>
  return %dw : tensor<768x3072xf32>
}

// -----

// Of what the host has, the transposed matrix is a view.

// CHECK-LABEL: program @main
// SMALL-LABEL: program @main
// CHECK: load @a strides [98304, 1, 768]
// CHECK: matmul
// CHECK: store {{.*}} to "dw"
func.func @main(%a: tensor<128x768xf32> {onnx.name = "a"}, %b: tensor<128x3072xf32> {onnx.name = "b"}) -> (tensor<768x3072xf32> {onnx.name = "dw"}) {
  %x = onnx.reshape %a {node = "x"} : tensor<128x768xf32> -> tensor<128x768xf32>
  %dy = onnx.softmax %b {node = "dy"} : tensor<128x3072xf32>
  %t = onnx.transpose %x {node = "dw", perm = array<i64: 1, 0>} : tensor<128x768xf32> -> tensor<768x128xf32>
  %dw = onnx.batch_matmul %t, %dy {node = "dw"} : (tensor<768x128xf32>, tensor<128x3072xf32>) -> tensor<768x3072xf32>
  return %dw : tensor<768x3072xf32>
}

// -----

// Of few tokens that saves less than half, and is taken where many columns share a channel.

// CHECK-LABEL: program @main
// CHECK: weight_gradient
// CHECK-NOT: store
// SMALL-LABEL: program @main
// SMALL-NOT: weight_gradient
// SMALL: store {{.*}} to "dw"
func.func @main(%a: tensor<128x768xf32> {onnx.name = "a"}, %b: tensor<128x3072xf32> {onnx.name = "b"}) -> (tensor<768x3072xf32> {onnx.name = "dw"}) {
  %x = onnx.softmax %a {node = "x"} : tensor<128x768xf32>
  %dy = onnx.softmax %b {node = "dy"} : tensor<128x3072xf32>
  %t = onnx.transpose %x {node = "dw", perm = array<i64: 1, 0>} : tensor<128x768xf32> -> tensor<768x128xf32>
  %dw = onnx.batch_matmul %t, %dy {node = "dw"} : (tensor<768x128xf32>, tensor<128x3072xf32>) -> tensor<768x3072xf32>
  return %dw : tensor<768x3072xf32>
}
