// RUN: wse-opt %s --wsec-select="mesh=4x4" | FileCheck %s

// The store has it as soon as it is there, and what is computed of it later is
// computed of what comes back, not of what may still be on the wafer.
// CHECK: %[[X:.*]] = layer_norm
// CHECK: intermediate @[[KEPT:.*]] : tensor<1x6x8xf32>
// CHECK: store %[[X]] to "[[KEPT]]"
// CHECK: layer_norm %[[X]]
// CHECK: %[[BACK:.*]] = load @[[KEPT]]
// CHECK: softmax %[[BACK]]
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}, %g: tensor<8xf32> {onnx.name = "g"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}, tensor<1x6x8xf32> {onnx.name = "z"}) {
  %scale = onnx.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %n = onnx.layer_norm %x, %scale {epsilon = 0.5 : f32, node = "first"} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %kept = onnx.keep %n {node = "first"} : tensor<1x6x8xf32>
  %y = onnx.layer_norm %n, %scale {epsilon = 0.5 : f32, node = "second"} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %z = onnx.softmax %kept {node = "third"} : tensor<1x6x8xf32>
  return %y, %z : tensor<1x6x8xf32>, tensor<1x6x8xf32>
}
