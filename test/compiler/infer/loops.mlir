// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold | FileCheck %s

// A Loop stands there once a trip; its own constant is made once, its weights are counted once, and
// results of all trips follow one another. Names say which trip.
module attributes {onnx.opset = 17 : i64, onnx.parameters = 1 : i64, onnx.weight_bytes = 4 : i64} {
// CHECK: module attributes {{.*}}onnx.parameters = 9
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<8xf32>, tensor<2x8xf32>)
// CHECK: %[[W:.*]] = onnx.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK: %[[A:.*]] = onnx.node "Mul"(%arg0, %[[W]]) {node = "again/0/mul", onnx.values = {{\[\[}}"again/0/p"]]}
// CHECK-NOT: dense<2.000000e+00>
// CHECK: %[[B:.*]] = onnx.node "Mul"(%[[A]], %[[W]]) {node = "again/1/mul"
// CHECK: %[[RA:.*]] = onnx.node "Reshape"(%[[A]]
// CHECK: %[[RB:.*]] = onnx.node "Reshape"(%[[B]]
// CHECK: %[[ALL:.*]] = onnx.node "Concat"(%[[RA]], %[[RB]]) with {axis = 0 : i64}
// CHECK: return %[[B]], %[[ALL]]
// CHECK-NOT: func.func
func.func @main(%x: tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %two = onnx.constant dense<2> : tensor<i64>
  %none = onnx.none
  %y:2 = onnx.node "Loop"(%two, %none, %x) with {body = @body, captured = 0 : i64} {node = "again"} : (tensor<i64>, none, tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}
func.func private @body(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) attributes {onnx.parameters = 8 : i64, onnx.weight_bytes = 32 : i64} {
  %w = onnx.constant dense<2.0> : tensor<8xf32>
  %p = onnx.node "Mul"(%h, %w) {node = "mul", onnx.values = [["p"]]} : (!onnx.unknown, tensor<8xf32>) -> !onnx.unknown
  return %c, %p, %p : !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}

// -----

// The condition ends it, computed from the number of a trip, which is a tensor of one element as the
// body says; which branch is taken differs from trip to trip.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = onnx.node "Abs"(%arg0) {node = "again/0/abs"
// CHECK: %[[B:.*]] = onnx.node "Neg"(%[[A]]) {node = "again/1/neg"
// CHECK-NEXT: return %[[B]]
func.func @main(%x: tensor<8xf32>) -> !onnx.unknown {
  %ten = onnx.constant dense<10> : tensor<i64>
  %yes = onnx.constant dense<true> : tensor<i1>
  %one = onnx.constant dense<1> : tensor<i64>
  %y = onnx.node "Loop"(%ten, %yes, %x, %one) with {body = @body, captured = 1 : i64} {node = "again"} : (tensor<i64>, tensor<i1>, tensor<8xf32>, tensor<i64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func private @body(%i: tensor<1xi64>, %c: !onnx.unknown, %h: !onnx.unknown, %one: tensor<i64>) -> (!onnx.unknown, !onnx.unknown) {
  %less = onnx.node "Less"(%i, %one) : (tensor<1xi64>, tensor<i64>) -> !onnx.unknown
  %first = onnx.node "Equal"(%i, %one) : (tensor<1xi64>, tensor<i64>) -> !onnx.unknown
  %r = onnx.node "If"(%first, %h) with {then_branch = @neg, else_branch = @abs} {node = "choice"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %less, %r : !onnx.unknown, !onnx.unknown
}
func.func private @neg(%h: !onnx.unknown) -> !onnx.unknown {
  %r = onnx.node "Neg"(%h) {node = "neg"} : (!onnx.unknown) -> !onnx.unknown
  return %r : !onnx.unknown
}
func.func private @abs(%h: !onnx.unknown) -> !onnx.unknown {
  %r = onnx.node "Abs"(%h) {node = "abs"} : (!onnx.unknown) -> !onnx.unknown
  return %r : !onnx.unknown
}
}

// -----

// No trip: nothing of the body stays.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK-NOT: Neg
// CHECK: %[[NONE:.*]] = onnx.constant dense<> : tensor<0x8xf32>
// CHECK: return %arg0, %[[NONE]]
func.func @main(%x: tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %zero = onnx.constant dense<0> : tensor<i64>
  %none = onnx.none
  %y:2 = onnx.node "Loop"(%zero, %none, %x) with {body = @body, captured = 0 : i64} {node = "again"} : (tensor<i64>, none, tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}
func.func private @body(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %n = onnx.node "Neg"(%h) : (!onnx.unknown) -> !onnx.unknown
  return %c, %n, %n : !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}

// -----

// A Scan takes slices along an axis, the last one first, and puts results together in front.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4xf32>, tensor<4x2xf32>)
// CHECK: %[[ONE:.*]] = onnx.constant dense<1> : tensor<i64>
// CHECK: %[[S1:.*]] = onnx.node "Gather"(%arg1, %[[ONE]]) with {axis = 1 : i64}
// CHECK: %[[A:.*]] = onnx.node "Add"(%arg0, %[[S1]]) {node = "scan/0/add"
// CHECK: %[[ZERO:.*]] = onnx.constant dense<0> : tensor<i64>
// CHECK: %[[S0:.*]] = onnx.node "Gather"(%arg1, %[[ZERO]]) with {axis = 1 : i64}
// CHECK: %[[B:.*]] = onnx.node "Add"(%[[A]], %[[S0]]) {node = "scan/1/add"
// CHECK: %[[RB:.*]] = onnx.node "Reshape"(%[[B]]
// CHECK: %[[RA:.*]] = onnx.node "Reshape"(%[[A]]
// CHECK: %[[ALL:.*]] = onnx.node "Concat"(%[[RB]], %[[RA]]) with {axis = 1 : i64}
// CHECK: return %[[B]], %[[ALL]]
func.func @main(%s: tensor<4xf32>, %x: tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %y:2 = onnx.node "Scan"(%s, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 1 : i64, scan_input_axes = array<i64: -1>, scan_input_directions = array<i64: 1>, scan_output_axes = array<i64: -1>, scan_output_directions = array<i64: 1>} {node = "scan"} : (tensor<4xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}
func.func private @body(%s: !onnx.unknown, %x: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  %a = onnx.node "Add"(%s, %x) {node = "add"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %a, %a : !onnx.unknown, !onnx.unknown
}
}
