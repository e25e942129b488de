// RUN: wse-opt %s --onnx-differentiate="loss=result loss-scale=scale" --onnx-common-subexpressions | FileCheck %s

// Gradients begin with the scale, of which there is one for each sample, and the
// loss without.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: tensor<2xf32> {onnx.name = "scale"}) -> (tensor<f32> {onnx.name = "loss"})
// CHECK: %[[LOSS:.*]] = onnx.reduce sum
// CHECK: %[[FIRST:.*]] = onnx.slice %[[SCALES]]
// CHECK: %[[SCALE:.*]] = onnx.reshape %[[FIRST]] {{.*}} -> tensor<f32>
// CHECK: %[[ALL:.*]] = onnx.reshape %[[SCALE]] {{.*}} -> tensor<1x1xf32>
// CHECK: %[[GRADIENT:.*]] = onnx.binary mul %[[ALL]]
// CHECK: onnx.gradient %[[GRADIENT]] of @w
// CHECK: return %[[LOSS]]
onnx.parameter @w = dense<0.5> : tensor<2x8xf32> trainable
func.func @main(%x: tensor<2x8xf32> {onnx.name = "x"}) -> (tensor<f32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<2x8xf32>> -> tensor<2x8xf32>
  %z = onnx.binary mul %x, %w {node = "scaled"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = onnx.reduce sum %z {axes = array<i64: 0, 1>, keepdims = false, node = "sum"} : tensor<2x8xf32> -> tensor<f32>
  return %y : tensor<f32>
}
