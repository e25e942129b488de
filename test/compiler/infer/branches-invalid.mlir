// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold | FileCheck %s

// Conditions that are computed. One input may decide, which can be stated.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "If"{{.*}} {node = "input"{{.*}}onnx.reason = "its condition is computed in each run; state the input that decides, --bind use_cache=true or false"
// CHECK: onnx.node "If"{{.*}} {node = "derived"{{.*}}onnx.reason = "its condition is computed in each run; state the input that decides, --bind use_cache=VALUE"
// CHECK: onnx.node "If"{{.*}} {node = "both"{{.*}}onnx.reason = "its condition is computed in each run; export the model with the branch that it is to take"
// CHECK: onnx.node "If"{{.*}} {node = "integer"{{.*}}onnx.reason = "its condition is not one truth value"
// CHECK: onnx.node "If"{{.*}} {node = "behind"{{.*}}onnx.reason = "an operand
func.func @main(%c: tensor<i1> {onnx.name = "use_cache"}, %d: tensor<i1> {onnx.name = "d"}) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %two = onnx.constant dense<2> : tensor<i64>
  %i = onnx.node "If"(%c) with {then_branch = @one, else_branch = @one} {node = "input"} : (tensor<i1>) -> !onnx.unknown
  %not = onnx.node "Not"(%c) : (tensor<i1>) -> !onnx.unknown
  %n = onnx.node "If"(%not) with {then_branch = @one, else_branch = @one} {node = "derived"} : (!onnx.unknown) -> !onnx.unknown
  %and = onnx.node "And"(%c, %d) : (tensor<i1>, tensor<i1>) -> !onnx.unknown
  %b = onnx.node "If"(%and) with {then_branch = @one, else_branch = @one} {node = "both"} : (!onnx.unknown) -> !onnx.unknown
  %t = onnx.node "If"(%two) with {then_branch = @one, else_branch = @one} {node = "integer"} : (tensor<i64>) -> !onnx.unknown
  %e = onnx.node "If"(%i) with {then_branch = @one, else_branch = @one} {node = "behind"} : (!onnx.unknown) -> !onnx.unknown
  return %i, %n, %b, %t, %e : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
func.func private @one() -> tensor<i1> {
  %one = onnx.constant dense<true> : tensor<i1>
  return %one : tensor<i1>
}
}
