// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=cross-entropy inputs=x gradients-as-results label-smoothing=0.25 reduction=sum targets=labels" --onnx-legalize-losses --onnx-common-subexpressions | FileCheck %s

// CHECK-LABEL: func.func @main(%arg0: tensor<3x8xf32> {onnx.name = "x"}, %arg1: tensor<3xi64> {onnx.name = "labels"})
// CHECK: %[[IS:.*]] = onnx.binary equal %{{.*}} : (tensor<3x1xi64>, tensor<8xi64>) -> tensor<3x8xi1>
// CHECK: %[[COUNTS:.*]] = onnx.unary not
// CHECK: %[[P:.*]] = onnx.softmax
// CHECK: %[[PICKED:.*]] = onnx.reduce sum %{{.*}} {axes = array<i64: 1>, keepdims = true, node = "loss"
// CHECK: %[[LOG:.*]] = onnx.unary log %[[P]]
// CHECK: onnx.reduce sum
// CHECK: onnx.where %[[COUNTS]], %{{.*}} {node = "loss"}
// CHECK-NOT: onnx.softmax
// CHECK: %[[LESS:.*]] = onnx.binary add %[[P]], %{{.*}} {node = "loss/backward"}
// CHECK: onnx.where %[[IS]], %[[LESS]], %[[P]] {node = "loss/backward"}
// CHECK: onnx.where %[[COUNTS]], %{{.*}} {node = "loss/backward"}
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  %y = onnx.unary tanh %x {node = "p"} : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
