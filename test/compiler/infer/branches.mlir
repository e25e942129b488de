// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold | FileCheck %s

// The branch of a condition that shapes decide, as older exporters write around
// a Squeeze, and the If inside of it. The other branch need not make sense.
module attributes {onnx.opset = 13 : i64} {
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<8xf32>, tensor<1x8xf32>)
// CHECK: %[[S:.*]] = onnx.node "Squeeze"(%arg0{{.*}} {node = "squeeze"
// CHECK-NEXT: %[[R:.*]] = onnx.node "Relu"(%[[S]]) {node = "relu", onnx.values = {{\[\[\["r"}}, {{.*}}["z"{{.*}}["y", {{.*}} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %[[R]], %arg0
// CHECK-NOT: func.func
func.func @main(%x: tensor<1x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %one = onnx.constant dense<1> : tensor<i64>
  %zero = onnx.constant dense<0> : tensor<i64>
  %shape = onnx.node "Shape"(%x) : (tensor<1x8xf32>) -> !onnx.unknown
  %rows = onnx.node "Gather"(%shape, %zero) : (!onnx.unknown, tensor<i64>) -> !onnx.unknown
  %c = onnx.node "Equal"(%rows, %one) : (!onnx.unknown, tensor<i64>) -> !onnx.unknown
  %y:2 = onnx.node "If"(%c, %x, %c) with {then_branch = @then, else_branch = @else} {node = "outer", onnx.values = [["y"], []]} : (!onnx.unknown, tensor<1x8xf32>, !onnx.unknown) -> (!onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}
func.func private @then(%x: tensor<1x8xf32>, %c: !onnx.unknown) -> (!onnx.unknown, tensor<1x8xf32>) {
  %s = onnx.node "Squeeze"(%x) {node = "squeeze"} : (tensor<1x8xf32>) -> !onnx.unknown
  %z = onnx.node "If"(%c, %s) with {then_branch = @inner, else_branch = @else} {node = "inner", onnx.values = [["z"]]} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %z, %x : !onnx.unknown, tensor<1x8xf32>
}
func.func private @inner(%s: !onnx.unknown) -> !onnx.unknown {
  %r = onnx.node "Relu"(%s) {node = "relu", onnx.values = [["r"]]} : (!onnx.unknown) -> !onnx.unknown
  return %r : !onnx.unknown
}
func.func private @else(%x: tensor<1x8xf32>, %c: !onnx.unknown) -> !onnx.unknown {
  %m = onnx.node "MatMul"(%x, %x) : (tensor<1x8xf32>, tensor<1x8xf32>) -> !onnx.unknown
  return %m : !onnx.unknown
}
}
