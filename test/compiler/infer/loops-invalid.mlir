// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold | FileCheck %s

// How often a Loop goes is computed, its condition is, or ONNX and onnxruntime differ about it.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "Loop"{{.*}} {node = "trips"{{.*}}onnx.reason = "its number of trips is computed in each run; state the input that decides, --bind n=VALUE"
// CHECK-NOT: node "Neg"
// CHECK: onnx.node "Loop"{{.*}} {node = "condition"{{.*}}onnx.reason = "its condition is computed in each run; export the model with its loop unrolled"
// CHECK: onnx.node "Loop"{{.*}} {node = "left_out"{{.*}}onnx.reason = "its condition is left out and computed in its body, of which ONNX and onnxruntime think differently; state it"
// CHECK: onnx.node "Loop"{{.*}} {node = "float"{{.*}}onnx.reason = "its number of trips is not one int64"
// CHECK: onnx.node "Loop"{{.*}} {node = "numbers"{{.*}}onnx.reason = "its condition is not one truth value"
// CHECK: onnx.node "Loop"{{.*}} {node = "operands"{{.*}}onnx.reason = "its body takes 3 values, it gives 2"
// CHECK: onnx.node "Loop"{{.*}} {node = "results"{{.*}}onnx.reason = "its body has 2 results, for 1 values that it carries and 2 results of the node"
// CHECK: onnx.node "Loop"{{.*}} {node = "behind"{{.*}}onnx.reason = "an operand
func.func @main(%x: tensor<8xf32>, %n: tensor<i64> {onnx.name = "n"}) -> (!onnx.unknown, !onnx.unknown) {
  %two = onnx.constant dense<2> : tensor<i64>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %yes = onnx.constant dense<true> : tensor<i1>
  %none = onnx.none
  %a = onnx.node "Loop"(%n, %none, %x) with {body = @body, captured = 0 : i64} {node = "trips"} : (tensor<i64>, none, tensor<8xf32>) -> !onnx.unknown
  %b = onnx.node "Loop"(%two, %yes, %x) with {body = @ends, captured = 0 : i64} {node = "condition"} : (tensor<i64>, tensor<i1>, tensor<8xf32>) -> !onnx.unknown
  %c = onnx.node "Loop"(%two, %none, %x) with {body = @stops, captured = 0 : i64} {node = "left_out"} : (tensor<i64>, none, tensor<8xf32>) -> !onnx.unknown
  %d = onnx.node "Loop"(%half, %none, %x) with {body = @body, captured = 0 : i64} {node = "float"} : (tensor<f32>, none, tensor<8xf32>) -> !onnx.unknown
  %e = onnx.node "Loop"(%two, %two, %x) with {body = @body, captured = 0 : i64} {node = "numbers"} : (tensor<i64>, tensor<i64>, tensor<8xf32>) -> !onnx.unknown
  %f = onnx.node "Loop"(%two, %yes) with {body = @body, captured = 0 : i64} {node = "operands"} : (tensor<i64>, tensor<i1>) -> !onnx.unknown
  %g:2 = onnx.node "Loop"(%two, %yes, %x) with {body = @body, captured = 0 : i64} {node = "results"} : (tensor<i64>, tensor<i1>, tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown)
  %h = onnx.node "Loop"(%two, %yes, %a) with {body = @body, captured = 0 : i64} {node = "behind"} : (tensor<i64>, tensor<i1>, !onnx.unknown) -> !onnx.unknown
  return %a, %h : !onnx.unknown, !onnx.unknown
}
func.func private @body(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  %r = onnx.node "Neg"(%h) : (!onnx.unknown) -> !onnx.unknown
  return %c, %r : !onnx.unknown, !onnx.unknown
}
func.func private @ends(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  %s = onnx.node "ReduceSum"(%h) with {keepdims = 0 : i64} : (!onnx.unknown) -> !onnx.unknown
  %z = onnx.constant dense<0.0> : tensor<f32>
  %m = onnx.node "Greater"(%s, %z) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  return %m, %h : !onnx.unknown, !onnx.unknown
}
func.func private @stops(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (tensor<i1>, !onnx.unknown) {
  %m = onnx.constant dense<false> : tensor<i1>
  return %m, %h : tensor<i1>, !onnx.unknown
}
}

// -----

// Too many trips of no node.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "Loop"{{.*}} {node = "empty"{{.*}}onnx.reason = "trip 65537 of 0 nodes makes more than the 65536 nodes that loops may unroll to; take fewer trips in a call"
func.func @main(%x: tensor<8xf32>) -> !onnx.unknown {
  %many = onnx.constant dense<1000000> : tensor<i64>
  %none = onnx.none
  %a = onnx.node "Loop"(%many, %none, %x) with {body = @empty, captured = 0 : i64} {node = "empty"} : (tensor<i64>, none, tensor<8xf32>) -> !onnx.unknown
  return %a : !onnx.unknown
}
func.func private @empty(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  return %c, %h : !onnx.unknown, !onnx.unknown
}
}

// -----

// Too many nodes, a node of a body that is not supported, results of several shapes, a body that is its own.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "Loop"{{.*}} {node = "long"{{.*}}onnx.reason = "trip 65537 of 1 nodes makes more than the 65536 nodes that loops may unroll to; take fewer trips in a call"
func.func @main(%x: tensor<8xf32>) -> !onnx.unknown {
  %many = onnx.constant dense<1000000> : tensor<i64>
  %none = onnx.none
  %a = onnx.node "Loop"(%many, %none, %x) with {body = @body, captured = 0 : i64} {node = "long"} : (tensor<i64>, none, tensor<8xf32>) -> !onnx.unknown
  return %a : !onnx.unknown
}
func.func private @body(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  %r = onnx.node "Neg"(%h) : (!onnx.unknown) -> !onnx.unknown
  return %c, %r : !onnx.unknown, !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "Unique"{{.*}} {node = "inner/0/unique"{{.*}}onnx.reason = "the operator is not supported
// CHECK-NOT: inner/1
// CHECK: onnx.node "Loop"{{.*}} {node = "inner"{{.*}}onnx.reason = "an operand comes from a node that is not supported"
// CHECK: onnx.node "Loop"{{.*}} {node = "grows"{{.*}}onnx.reason = "result 2 of its body is 16 first and 32 in trip 2"
// CHECK: onnx.node "Loop"{{.*}}onnx.reason = "inside of 16 others, the most that are supported"
func.func @main(%x: tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %two = onnx.constant dense<2> : tensor<i64>
  %none = onnx.none
  %a = onnx.node "Loop"(%two, %none, %x) with {body = @unique, captured = 0 : i64} {node = "inner"} : (tensor<i64>, none, tensor<8xf32>) -> !onnx.unknown
  %b:2 = onnx.node "Loop"(%two, %none, %x) with {body = @grow, captured = 0 : i64} {node = "grows"} : (tensor<i64>, none, tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown)
  %c = onnx.node "Loop"(%two, %none, %x, %two) with {body = @self, captured = 1 : i64} {node = "self"} : (tensor<i64>, none, tensor<8xf32>, tensor<i64>) -> !onnx.unknown
  return %a, %b#1, %c : !onnx.unknown, !onnx.unknown, !onnx.unknown
}
func.func private @unique(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  %r = onnx.node "Unique"(%h) {node = "unique"} : (!onnx.unknown) -> !onnx.unknown
  return %c, %r : !onnx.unknown, !onnx.unknown
}
func.func private @grow(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %r = onnx.node "Concat"(%h, %h) with {axis = 0 : i64} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %c, %r, %r : !onnx.unknown, !onnx.unknown, !onnx.unknown
}
func.func private @self(%i: !onnx.unknown, %c: !onnx.unknown, %h: !onnx.unknown, %two: tensor<i64>) -> (!onnx.unknown, !onnx.unknown) {
  %none = onnx.none
  %r = onnx.node "Loop"(%two, %none, %h, %two) with {body = @self, captured = 1 : i64} {node = "self"} : (tensor<i64>, none, !onnx.unknown, tensor<i64>) -> !onnx.unknown
  return %c, %r : !onnx.unknown, !onnx.unknown
}
}

// -----

// What a Scan states.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: {node = "many"{{.*}}onnx.reason = "attribute 'num_scan_inputs' is not from 1 to its 2 operands"
// CHECK: {node = "list"{{.*}}onnx.reason = "attribute 'scan_input_axes' is no list of 1 integers"
// CHECK: {node = "axis"{{.*}}onnx.reason = "a scanned operand of shape 4x2 has no axis 2"
// CHECK: {node = "way"{{.*}}onnx.reason = "a direction is 2, not 0 or 1"
// CHECK: {node = "out"{{.*}}onnx.reason = "a result of rank 2 has no axis -3"
// CHECK: {node = "lengths"{{.*}}onnx.reason = "it scans operands of 4 and of 2 elements"
func.func @main(%s: tensor<4xf32>, %x: tensor<4x2xf32>) -> !onnx.unknown {
  %a:2 = onnx.node "Scan"(%s, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 3 : i64} {node = "many"} : (tensor<4xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  %b:2 = onnx.node "Scan"(%s, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 1 : i64, scan_input_axes = array<i64: 0, 1>} {node = "list"} : (tensor<4xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  %c:2 = onnx.node "Scan"(%s, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 1 : i64, scan_input_axes = array<i64: 2>} {node = "axis"} : (tensor<4xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  %d:2 = onnx.node "Scan"(%s, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 1 : i64, scan_input_directions = array<i64: 2>} {node = "way"} : (tensor<4xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  %e:2 = onnx.node "Scan"(%s, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 1 : i64, scan_input_axes = array<i64: 1>, scan_output_axes = array<i64: -3>} {node = "out"} : (tensor<4xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  %f:2 = onnx.node "Scan"(%x, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 2 : i64, scan_input_axes = array<i64: 0, 1>} {node = "lengths"} : (tensor<4x2xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %f#0 : !onnx.unknown
}
func.func private @body(%s: !onnx.unknown, %x: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  %a = onnx.node "Add"(%s, %x) {node = "add"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %a, %a : !onnx.unknown, !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 8 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.reason = "before opset 9 it scans each sample of a batch; convert the model to opset 9 or later"
func.func @main(%s: tensor<4xf32>, %x: tensor<4x2xf32>) -> !onnx.unknown {
  %none = onnx.none
  %a:2 = onnx.node "Scan"(%none, %s, %x) with {body = @body, captured = 0 : i64, num_scan_inputs = 1 : i64} {node = "old"} : (none, tensor<4xf32>, tensor<4x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %a#0 : !onnx.unknown
}
func.func private @body(%s: !onnx.unknown, %x: !onnx.unknown) -> (!onnx.unknown, !onnx.unknown) {
  return %s, %x : !onnx.unknown, !onnx.unknown
}
}
