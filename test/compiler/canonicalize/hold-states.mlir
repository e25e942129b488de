// RUN: wse-opt %s --split-input-file --onnx-hold-states | FileCheck %s

// What a call returns as the present is what the next one reads; a position says where sequences begin.
// CHECK-LABEL: func.func @recurrence(
// CHECK-SAME: %arg1: tensor<2x4x8xf32> {onnx.state = "h", onnx.whole}
// CHECK-SAME: %arg2: tensor<2xi64> {onnx.argument = array<i64: 0, 2147483647>, onnx.name = "position"}
// CHECK-NEXT: %[[SUM:.*]] = onnx.binary add %arg0, %arg1
// CHECK-NEXT: return %[[SUM]]
func.func @recurrence(%x: tensor<2x4x8xf32> {onnx.name = "x"}, %h: tensor<2x4x8xf32> {onnx.state = "h"}) -> (tensor<2x4x8xf32> {onnx.state = "h"}) {
  %sum = onnx.binary add %x, %h : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %sum : tensor<2x4x8xf32>
}

// -----

// A call that does not read what others do begins.
// CHECK-LABEL: func.func @unread(
// CHECK-SAME: %arg1: tensor<1x4x8xf32> {onnx.state = "h", onnx.whole}
// CHECK-SAME: %arg2: tensor<1xi64> {onnx.argument = array<i64: 0, 0>, onnx.name = "at"}
// CHECK-LABEL: func.func @reads(
module {
func.func @unread(%x: tensor<1x4x8xf32> {onnx.name = "x"}, %h: tensor<1x4x8xf32> {onnx.state = "h"}, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 9>, onnx.name = "at"}) -> (tensor<1x4x8xf32> {onnx.state = "h"}) {
  return %x : tensor<1x4x8xf32>
}
func.func @reads(%x: tensor<1x4x8xf32> {onnx.name = "reads.x"}, %h: tensor<1x4x8xf32> {onnx.state = "h"}) -> (tensor<1x4x8xf32> {onnx.state = "h"}) {
  %sum = onnx.binary add %x, %h : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %sum : tensor<1x4x8xf32>
}
}

// -----

// What nobody reads keeps no call from going on.
// CHECK-LABEL: func.func @never_read(
// CHECK-SAME: %arg1: tensor<1x4x8xf32> {onnx.state = "h", onnx.whole}
// CHECK-SAME: %arg2: tensor<1xi64> {onnx.argument = array<i64: 0, 9>, onnx.name = "at"}
func.func @never_read(%x: tensor<1x4x8xf32> {onnx.name = "x"}, %h: tensor<1x4x8xf32> {onnx.state = "h"}, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 9>, onnx.name = "at"}) -> (tensor<1x4x8xf32> {onnx.state = "h"}) {
  return %x : tensor<1x4x8xf32>
}

// -----

// Batched products are nodes here.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %arg1: tensor<1x4x4xf32> {onnx.state = "s", onnx.whole}
func.func @product(%x: tensor<1x4x4xf32> {onnx.name = "x"}, %s: tensor<1x4x4xf32> {onnx.state = "s"}) -> (tensor<1x4x4xf32> {onnx.state = "s"}) {
  %y = onnx.node "MatMul"(%x, %s) {node = "y"} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %y : tensor<1x4x4xf32>
}

// -----

// Text without what is left of a state is left alone.
// CHECK-LABEL: func.func @nothing_left(
// CHECK-SAME: %arg1: tensor<1x8x2xf32> {onnx.state = "c", onnx.whole}
func.func @nothing_left(%x: tensor<1x8x1xf32> {onnx.name = "x"}, %c: tensor<1x8x2xf32> {onnx.state = "c", onnx.whole}) -> tensor<1x8x3xf32> {
  %all = onnx.concat %c, %x {axis = 2 : i64} : (tensor<1x8x2xf32>, tensor<1x8x1xf32>) -> tensor<1x8x3xf32>
  return %all : tensor<1x8x3xf32>
}

// -----

// Tokens at a position are no whole state.
// CHECK-LABEL: func.func @tokens(
// CHECK-SAME: %arg1: tensor<1x64x8xf32> {onnx.state = "k"}, %arg2: tensor<1xi64> {onnx.argument = array<i64: 0, 63>})
func.func @tokens(%x: tensor<1x1x8xf32>, %k: tensor<1x64x8xf32> {onnx.state = "k"}, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 63>}) -> (tensor<1x64x8xf32> {onnx.state = "k"}) {
  %y = onnx.update %k, %x at %at : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  return %y : tensor<1x64x8xf32>
}

// -----

// What is read along the last axis alone is a state for each place; entries agree on them.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %arg1: tensor<1xi64> {onnx.argument = array<i64: 0, 2147483647>, onnx.name = "decode.position"}
// CHECK-SAME: %arg2: tensor<1x1x8xf32> {onnx.state = "c/0", onnx.whole}, %arg3: tensor<1x1x8xf32> {onnx.state = "c/1", onnx.whole}
// CHECK-SAME: -> (tensor<1x1x8xf32> {onnx.state = "c/0"}, tensor<1x1x8xf32> {onnx.state = "c/1"})
// CHECK-DAG: %[[A:.*]] = onnx.reshape %arg2 {{.*}} -> tensor<1x8x1xf32>
// CHECK-DAG: %[[B:.*]] = onnx.reshape %arg3 {{.*}} -> tensor<1x8x1xf32>
// CHECK: onnx.concat %[[A]], %[[B]] {axis = 2
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: {onnx.state = "c/0", onnx.whole}, %arg3: tensor<1x1x8xf32> {onnx.state = "c/1", onnx.whole}
module {
func.func @decode(%x: tensor<1x8x1xf32> {onnx.name = "decode.x"}, %c: tensor<1x8x2xf32> {onnx.state = "c"}) -> (tensor<1x8x2xf32> {onnx.state = "c"}) {
  %all = onnx.concat %c, %x {axis = 2 : i64} : (tensor<1x8x2xf32>, tensor<1x8x1xf32>) -> tensor<1x8x3xf32>
  %y = onnx.slice %all {starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 1>} : tensor<1x8x3xf32> -> tensor<1x8x2xf32>
  return %y : tensor<1x8x2xf32>
}
func.func @prefill(%x: tensor<1x8x1xf32> {onnx.name = "prefill.x"}, %c: tensor<1x8x2xf32> {onnx.state = "c"}) -> (tensor<1x8x2xf32> {onnx.state = "c"}) {
  %last = onnx.slice %c {starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 1>} : tensor<1x8x2xf32> -> tensor<1x8x1xf32>
  %y = onnx.concat %last, %x {axis = 2 : i64} : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x2xf32>
  return %y : tensor<1x8x2xf32>
}
}

// -----

// One that an entry reads otherwise stays one.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %arg1: tensor<1x8x2xf32> {onnx.state = "c", onnx.whole}
func.func @whole(%x: tensor<1x8x2xf32> {onnx.name = "x"}, %c: tensor<1x8x2xf32> {onnx.state = "c"}) -> (tensor<1x8x2xf32> {onnx.state = "c"}, tensor<1x8x1xf32> {onnx.name = "y"}) {
  %last = onnx.slice %c {starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 1>} : tensor<1x8x2xf32> -> tensor<1x8x1xf32>
  %sum = onnx.binary add %x, %c : (tensor<1x8x2xf32>, tensor<1x8x2xf32>) -> tensor<1x8x2xf32>
  return %sum, %last : tensor<1x8x2xf32>, tensor<1x8x1xf32>
}
