// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square inputs=x,s,b gradients-as-results recompute=none" --onnx-common-subexpressions | FileCheck %s

// The scale gets what the gradient of its result times the normalized values sums up to, the bias that gradient.
// CHECK-LABEL: func.func @main
// CHECK: %[[DX:.*]], %[[NORMAL:.*]] = onnx.norm_gradient %arg0, %arg1, %[[DY:.*]] {centred, epsilon = 5.000000e-01 : f32, node = "n/backward"}
// CHECK: %[[OF_SCALE:.*]] = onnx.binary mul %[[DY]], %[[NORMAL]]
// CHECK: onnx.reduce sum %[[OF_SCALE]] {axes = array<i64: 0>
// CHECK: onnx.reduce sum %[[DY]] {axes = array<i64: 0>
// CHECK: return %{{.*}}, %[[DX]], %{{.*}}, %{{.*}}
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}, %s: tensor<8xf32> {onnx.name = "s"}, %b: tensor<8xf32> {onnx.name = "b"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  %y = onnx.layer_norm %x, %s bias %b {epsilon = 0.5 : f32, node = "n"} : (tensor<3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: onnx.norm_gradient %arg0, %arg1, %{{.*}} {epsilon = 5.000000e-01 : f32, node = "n/backward"}
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}, %s: tensor<8xf32> {onnx.name = "s"}, %b: tensor<8xf32> {onnx.name = "b"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  %y = onnx.rms_norm %x, %s {epsilon = 0.5 : f32, node = "n"} : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// Norms by head are composed.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = onnx.reshape %arg0 {{.*}} -> tensor<3x2x4xf32>
// CHECK: %[[RMS:.*]] = onnx.unary rsqrt %{{.*}} {node = "n/backward"} : tensor<3x2x1xf32>
// CHECK: %[[NORMAL:.*]] = onnx.binary mul %[[X]], %[[RMS]]
// CHECK: %[[SCALE:.*]] = onnx.reshape %arg1 {{.*}} -> tensor<2x4xf32>
// CHECK: %[[G:.*]] = onnx.binary mul %{{.*}}, %[[SCALE]]
// CHECK: %[[GX:.*]] = onnx.binary mul %[[G]], %[[NORMAL]]
// CHECK: %[[MEAN:.*]] = onnx.reduce mean %[[GX]] {axes = array<i64: 2>
// CHECK: %[[ALONG:.*]] = onnx.binary mul %[[NORMAL]], %[[MEAN]]
// CHECK: %[[REST:.*]] = onnx.binary sub %[[G]], %[[ALONG]]
// CHECK: onnx.binary mul %[[REST]], %[[RMS]]
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}, %s: tensor<8xf32> {onnx.name = "s"}, %b: tensor<8xf32> {onnx.name = "b"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  %y = onnx.rms_norm %x, %s {epsilon = 0.5 : f32, num_heads = 2 : i64, node = "n"} : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = onnx.softmax %arg0
// CHECK: %[[SUM:.*]] = onnx.reduce sum %{{.*}} {axes = array<i64: 1>, keepdims = true, node = "p/backward"}
// CHECK: %[[REST:.*]] = onnx.binary sub %{{.*}}, %[[SUM]]
// CHECK: onnx.binary mul %[[P]], %[[REST]]
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}, %s: tensor<8xf32> {onnx.name = "s"}, %b: tensor<8xf32> {onnx.name = "b"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  %y = onnx.softmax %x {node = "p"} : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
