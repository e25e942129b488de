// RUN: wse-opt %s --split-input-file --onnx-fuse-attention --onnx-common-subexpressions | FileCheck %s

// One more score of each head, the same for all queries, whose weight is cut
// off: a sink of attention to states, whether the largest is subtracted first
// (here) or not (@plain).
// CHECK-LABEL: func.func @sinks
// CHECK: %[[SINKS:.*]] = onnx.constant {{.*}} : tensor<1x2x1x1xf32>
// CHECK: %[[EACH:[a-z0-9_]+]] = onnx.reshape %[[SINKS]] {{.*}} -> tensor<2xf32>
// CHECK: onnx.cached_attention %arg0, %{{.*}}, %{{.*}} at %arg2 sinks %[[EACH]] {kv_heads = 2 : i64, {{.*}}num_heads = 2 : i64, {{.*}}scale = 5.000000e-01 : f32}
// CHECK-NOT: onnx.softmax
func.func @sinks(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %past: tensor<1x24x16xf32> {onnx.state = "past"}) -> (tensor<1x2x1x8xf32>, tensor<1x24x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 23, 1>} {
  %half = onnx.constant dense<0.5> : tensor<f32>
  %sinks = onnx.constant dense<[[[[0.25]], [[-1.5]]]]> : tensor<1x2x1x1xf32>
  %present = onnx.update %past, %new at %at : (tensor<1x24x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x24x16xf32> -> tensor<1x24x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x24x2x8xf32> -> tensor<1x2x8x24xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x8xf32> -> tensor<1x2x24x8xf32>
  %product = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x24xf32>) -> tensor<1x2x1x24xf32>
  %scores = onnx.binary mul %product, %half : (tensor<1x2x1x24xf32>, tensor<f32>) -> tensor<1x2x1x24xf32>
  %all = onnx.concat %scores, %sinks {axis = 3 : i64} : (tensor<1x2x1x24xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x25xf32>
  %most = onnx.reduce max %all {axes = array<i64: 3>, keepdims = true} : tensor<1x2x1x25xf32> -> tensor<1x2x1x1xf32>
  %less = onnx.binary sub %all, %most : (tensor<1x2x1x25xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x25xf32>
  %weights = onnx.softmax %less : tensor<1x2x1x25xf32>
  %own = onnx.slice %weights {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x1x25xf32> -> tensor<1x2x1x24xf32>
  %y = onnx.node "MatMul"(%own, %vh) {node = "attend"} : (tensor<1x2x1x24xf32>, tensor<1x2x24x8xf32>) -> tensor<1x2x1x8xf32>
  return %y, %present : tensor<1x2x1x8xf32>, tensor<1x24x16xf32>
}

// -----

// The weight that is left out is a key's, the first: no sink.
// CHECK-LABEL: func.func @first
// CHECK: onnx.softmax
// CHECK-NOT: onnx.cached_attention
func.func @first(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %past: tensor<1x24x16xf32> {onnx.state = "past"}) -> (tensor<1x2x1x8xf32>, tensor<1x24x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 23, 1>} {
  %sinks = onnx.constant dense<[[[[0.25]], [[-1.5]]]]> : tensor<1x2x1x1xf32>
  %present = onnx.update %past, %new at %at : (tensor<1x24x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x24x16xf32> -> tensor<1x24x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x24x2x8xf32> -> tensor<1x2x8x24xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x8xf32> -> tensor<1x2x24x8xf32>
  %scores = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x24xf32>) -> tensor<1x2x1x24xf32>
  %all = onnx.concat %scores, %sinks {axis = 3 : i64} : (tensor<1x2x1x24xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x25xf32>
  %weights = onnx.softmax %all : tensor<1x2x1x25xf32>
  %own = onnx.slice %weights {starts = array<i64: 0, 0, 0, 1>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x1x25xf32> -> tensor<1x2x1x24xf32>
  %y = onnx.node "MatMul"(%own, %vh) {node = "attend"} : (tensor<1x2x1x24xf32>, tensor<1x2x24x8xf32>) -> tensor<1x2x1x8xf32>
  return %y, %present : tensor<1x2x1x8xf32>, tensor<1x24x16xf32>
}

// -----

// Nothing is subtracted first.
// CHECK-LABEL: func.func @plain
// CHECK: onnx.cached_attention %arg0, %{{.*}}, %{{.*}} at %arg2 sinks %{{.*}} {kv_heads = 2 : i64, {{.*}}num_heads = 2 : i64, {{.*}}scale = 1.000000e+00 : f32}
// CHECK-NOT: onnx.softmax
func.func @plain(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %past: tensor<1x24x16xf32> {onnx.state = "past"}) -> (tensor<1x2x1x8xf32>, tensor<1x24x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 23, 1>} {
  %sinks = onnx.constant dense<[[[[0.25]], [[-1.5]]]]> : tensor<1x2x1x1xf32>
  %present = onnx.update %past, %new at %at : (tensor<1x24x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x24x16xf32> -> tensor<1x24x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x24x2x8xf32> -> tensor<1x2x8x24xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x8xf32> -> tensor<1x2x24x8xf32>
  %scores = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x24xf32>) -> tensor<1x2x1x24xf32>
  %all = onnx.concat %scores, %sinks {axis = 3 : i64} : (tensor<1x2x1x24xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x25xf32>
  %weights = onnx.softmax %all : tensor<1x2x1x25xf32>
  %own = onnx.slice %weights {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x1x25xf32> -> tensor<1x2x1x24xf32>
  %y = onnx.node "MatMul"(%own, %vh) {node = "attend"} : (tensor<1x2x1x24xf32>, tensor<1x2x24x8xf32>) -> tensor<1x2x1x8xf32>
  return %y, %present : tensor<1x2x1x8xf32>, tensor<1x24x16xf32>
}

// -----

// No weight is left out: the last one has a value.
// CHECK-LABEL: func.func @none_left
// CHECK: onnx.softmax
// CHECK-NOT: onnx.cached_attention
func.func @none_left(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %past: tensor<1x24x16xf32> {onnx.state = "past"}) -> (tensor<1x2x1x8xf32>, tensor<1x24x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 23, 1>} {
  %sinks = onnx.constant dense<[[[[0.25]], [[-1.5]]]]> : tensor<1x2x1x1xf32>
  %present = onnx.update %past, %new at %at : (tensor<1x24x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x24x16xf32> -> tensor<1x24x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x24x2x8xf32> -> tensor<1x2x8x24xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x8xf32> -> tensor<1x2x24x8xf32>
  %scores = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x24xf32>) -> tensor<1x2x1x24xf32>
  %all = onnx.concat %scores, %sinks {axis = 3 : i64} : (tensor<1x2x1x24xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x25xf32>
  %weights = onnx.softmax %all : tensor<1x2x1x25xf32>
  %more = onnx.constant dense<1.0> : tensor<1x2x1x8xf32>
  %longer = onnx.concat %vh, %more {axis = 2 : i64} : (tensor<1x2x24x8xf32>, tensor<1x2x1x8xf32>) -> tensor<1x2x25x8xf32>
  %own = onnx.slice %weights {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x1x25xf32> -> tensor<1x2x1x25xf32>
  %y = onnx.node "MatMul"(%own, %longer) {node = "attend"} : (tensor<1x2x1x25xf32>, tensor<1x2x25x8xf32>) -> tensor<1x2x1x8xf32>
  return %y, %present : tensor<1x2x1x8xf32>, tensor<1x24x16xf32>
}

// -----

// A sink for each query, not for each head.
// CHECK-LABEL: func.func @by_query
// CHECK: onnx.softmax
// CHECK-NOT: onnx.cached_attention
func.func @by_query(%q: tensor<1x2x16xf32>, %new: tensor<1x2x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 22>}, %past: tensor<1x24x16xf32> {onnx.state = "past"}) -> (tensor<1x2x2x8xf32>, tensor<1x24x16xf32> {onnx.state = "past"}) attributes {onnx.call = array<i64: 22, 2>} {
  %sinks = onnx.constant dense<[[[[0.25], [0.5]], [[-1.5], [0.75]]]]> : tensor<1x2x2x1xf32>
  %present = onnx.update %past, %new at %at : (tensor<1x24x16xf32>, tensor<1x2x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %qs = onnx.reshape %q : tensor<1x2x16xf32> -> tensor<1x2x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x2x2x8xf32> -> tensor<1x2x2x8xf32>
  %ks = onnx.reshape %present : tensor<1x24x16xf32> -> tensor<1x24x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x24x2x8xf32> -> tensor<1x2x8x24xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x8xf32> -> tensor<1x2x24x8xf32>
  %scores = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x2x8xf32>, tensor<1x2x8x24xf32>) -> tensor<1x2x2x24xf32>
  %all = onnx.concat %scores, %sinks {axis = 3 : i64} : (tensor<1x2x2x24xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x2x25xf32>
  %weights = onnx.softmax %all : tensor<1x2x2x25xf32>
  %own = onnx.slice %weights {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x2x25xf32> -> tensor<1x2x2x24xf32>
  %y = onnx.node "MatMul"(%own, %vh) {node = "attend"} : (tensor<1x2x2x24xf32>, tensor<1x2x24x8xf32>) -> tensor<1x2x2x8xf32>
  return %y, %present : tensor<1x2x2x8xf32>, tensor<1x24x16xf32>
}

// -----

// Keys and values are no states: attention to those has no sinks.
// CHECK-LABEL: func.func @no_state
// CHECK: onnx.softmax
// CHECK-NOT: onnx.cached_attention
func.func @no_state(%q: tensor<1x1x16xf32>, %new: tensor<1x1x16xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %present: tensor<1x24x16xf32>) -> tensor<1x2x1x8xf32> {
  %sinks = onnx.constant dense<[[[[0.25]], [[-1.5]]]]> : tensor<1x2x1x1xf32>
  %qs = onnx.reshape %q : tensor<1x1x16xf32> -> tensor<1x1x2x8xf32>
  %qh = onnx.transpose %qs {perm = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x8xf32> -> tensor<1x2x1x8xf32>
  %ks = onnx.reshape %present : tensor<1x24x16xf32> -> tensor<1x24x2x8xf32>
  %kh = onnx.transpose %ks {perm = array<i64: 0, 2, 3, 1>} : tensor<1x24x2x8xf32> -> tensor<1x2x8x24xf32>
  %vh = onnx.transpose %ks {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x8xf32> -> tensor<1x2x24x8xf32>
  %scores = onnx.node "MatMul"(%qh, %kh) {node = "scores"} : (tensor<1x2x1x8xf32>, tensor<1x2x8x24xf32>) -> tensor<1x2x1x24xf32>
  %all = onnx.concat %scores, %sinks {axis = 3 : i64} : (tensor<1x2x1x24xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x25xf32>
  %weights = onnx.softmax %all : tensor<1x2x1x25xf32>
  %own = onnx.slice %weights {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x1x25xf32> -> tensor<1x2x1x24xf32>
  %y = onnx.node "MatMul"(%own, %vh) {node = "attend"} : (tensor<1x2x1x24xf32>, tensor<1x2x24x8xf32>) -> tensor<1x2x1x8xf32>
  return %y : tensor<1x2x1x8xf32>
}
