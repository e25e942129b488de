// RUN: wse-opt %s --split-input-file --onnx-fuse-attention | FileCheck %s

// Masks of a call are rows of a table, of which a query sees its own chunk up to itself.
// CHECK-LABEL: func.func @chunks(
// CHECK: onnx.cached_attention {{.*}}chunked, {{.*}}sliding_window = 4 : i64
func.func @chunks(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 5>}, %positions: tensor<1x1xi64> {onnx.positions}, %past: tensor<1x6x16xf32> {onnx.state = "past"})
    -> (tensor<1x2x1x8xf32>, tensor<1x6x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 1, 5>} {
  %table = onnx.constant dense<[[0.0, -65504.0, -65504.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, -65504.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, 0.0, -65504.0, -65504.0], [-65504.0, -65504.0, -65504.0, -65504.0, 0.0, -65504.0], [-65504.0, -65504.0, -65504.0, -65504.0, 0.0, 0.0]]> : tensor<6x6xf32>
  %row = onnx.reshape %positions : tensor<1x1xi64> -> tensor<1xi64>
  %rows = onnx.gather %table, %row : (tensor<6x6xf32>, tensor<1xi64>) -> tensor<1x6xf32>
  %mask = onnx.reshape %rows : tensor<1x6xf32> -> tensor<1x1x1x6xf32>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %present = onnx.update %past, %new at %at : (tensor<1x6x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x6x16xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x6x16xf32> -> tensor<1x6x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x6x2x8xf32> -> tensor<1x2x8x6xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x6x2x8xf32> -> tensor<1x2x6x8xf32>
  %product = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x6xf32>) -> tensor<1x2x1x6xf32>
  %scaled = onnx.binary mul %product, %half : (tensor<1x2x1x6xf32>, tensor<f32>) -> tensor<1x2x1x6xf32>
  %scores = onnx.binary add %scaled, %mask : (tensor<1x2x1x6xf32>, tensor<1x1x1x6xf32>) -> tensor<1x2x1x6xf32>
  %weights = onnx.softmax %scores : tensor<1x2x1x6xf32>
  %y = onnx.node "MatMul"(%weights, %vh) {node = "attend"} : (tensor<1x2x1x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x1x8xf32>
  return %y, %present : tensor<1x2x1x8xf32>, tensor<1x6x16xf32>
}

// -----

// The last four keys: the first row that hides a key has more than one left.
// CHECK-LABEL: func.func @window(
// CHECK: onnx.cached_attention {{.*}}onnx.absorbed = ["scores"], scale = 5.000000e-01 : f32, sliding_window = 4 : i64
func.func @window(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 5>}, %positions: tensor<1x1xi64> {onnx.positions}, %past: tensor<1x6x16xf32> {onnx.state = "past"})
    -> (tensor<1x2x1x8xf32>, tensor<1x6x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 1, 5>} {
  %table = onnx.constant dense<[[0.0, -65504.0, -65504.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, -65504.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, 0.0, -65504.0, -65504.0], [-65504.0, 0.0, 0.0, 0.0, 0.0, -65504.0], [-65504.0, -65504.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<6x6xf32>
  %row = onnx.reshape %positions : tensor<1x1xi64> -> tensor<1xi64>
  %rows = onnx.gather %table, %row : (tensor<6x6xf32>, tensor<1xi64>) -> tensor<1x6xf32>
  %mask = onnx.reshape %rows : tensor<1x6xf32> -> tensor<1x1x1x6xf32>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %present = onnx.update %past, %new at %at : (tensor<1x6x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x6x16xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x6x16xf32> -> tensor<1x6x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x6x2x8xf32> -> tensor<1x2x8x6xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x6x2x8xf32> -> tensor<1x2x6x8xf32>
  %product = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x6xf32>) -> tensor<1x2x1x6xf32>
  %scaled = onnx.binary mul %product, %half : (tensor<1x2x1x6xf32>, tensor<f32>) -> tensor<1x2x1x6xf32>
  %scores = onnx.binary add %scaled, %mask : (tensor<1x2x1x6xf32>, tensor<1x1x1x6xf32>) -> tensor<1x2x1x6xf32>
  %weights = onnx.softmax %scores : tensor<1x2x1x6xf32>
  %y = onnx.node "MatMul"(%weights, %vh) {node = "attend"} : (tensor<1x2x1x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x1x8xf32>
  return %y, %present : tensor<1x2x1x8xf32>, tensor<1x6x16xf32>
}

// -----

// The last chunk begins late.
// CHECK-LABEL: func.func @neither(
// CHECK-NOT: onnx.cached_attention
// CHECK: onnx.attention {{.*}}onnx.reason = "attends to a state, and has a mask or bias besides causality and windows; leave --kv-capacity and --states out"
func.func @neither(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 5>}, %positions: tensor<1x1xi64> {onnx.positions}, %past: tensor<1x6x16xf32> {onnx.state = "past"})
    -> (tensor<1x2x1x8xf32>, tensor<1x6x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 1, 5>} {
  %table = onnx.constant dense<[[0.0, -65504.0, -65504.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, -65504.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, 0.0, -65504.0, -65504.0], [-65504.0, -65504.0, -65504.0, -65504.0, 0.0, -65504.0], [-65504.0, -65504.0, -65504.0, -65504.0, -65504.0, 0.0]]> : tensor<6x6xf32>
  %row = onnx.reshape %positions : tensor<1x1xi64> -> tensor<1xi64>
  %rows = onnx.gather %table, %row : (tensor<6x6xf32>, tensor<1xi64>) -> tensor<1x6xf32>
  %mask = onnx.reshape %rows : tensor<1x6xf32> -> tensor<1x1x1x6xf32>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %present = onnx.update %past, %new at %at : (tensor<1x6x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x6x16xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x6x16xf32> -> tensor<1x6x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x6x2x8xf32> -> tensor<1x2x8x6xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x6x2x8xf32> -> tensor<1x2x6x8xf32>
  %product = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x6xf32>) -> tensor<1x2x1x6xf32>
  %scaled = onnx.binary mul %product, %half : (tensor<1x2x1x6xf32>, tensor<f32>) -> tensor<1x2x1x6xf32>
  %scores = onnx.binary add %scaled, %mask : (tensor<1x2x1x6xf32>, tensor<1x1x1x6xf32>) -> tensor<1x2x1x6xf32>
  %weights = onnx.softmax %scores : tensor<1x2x1x6xf32>
  %y = onnx.node "MatMul"(%weights, %vh) {node = "attend"} : (tensor<1x2x1x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x1x8xf32>
  return %y, %present : tensor<1x2x1x8xf32>, tensor<1x6x16xf32>
}
