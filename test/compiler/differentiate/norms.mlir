// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=false" --onnx-common-subexpressions | FileCheck %s

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
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}, %s: tensor<8xf32> {onnx.name = "s"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  %y = onnx.rms_norm %x, %s {epsilon = 0.5 : f32, num_heads = 2 : i64, node = "n"} : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = onnx.softmax %arg0
// CHECK: %[[SUM:.*]] = onnx.reduce sum %{{.*}} {axes = array<i64: 1>, keepdims = true, node = "p/backward"}
// CHECK: %[[REST:.*]] = onnx.binary sub %{{.*}}, %[[SUM]]
// CHECK: onnx.binary mul %[[P]], %[[REST]]
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  %y = onnx.softmax %x {node = "p"} : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
