// RUN: wse-opt %s --split-input-file --onnx-fuse-attention --onnx-common-subexpressions | FileCheck %s

// Keys of two heads are made of latents of 16 numbers and end with 4 that both
// have, values of latents: the queries go to one state of 20 numbers a token,
// and what they bring of it becomes values.
// CHECK-LABEL: func.func @latents
// CHECK-SAME: %arg4: tensor<1x1x24x20xf32> {onnx.state = "key"}) -> (tensor<1x1x10xf32>, tensor<1x1x24x20xf32> {onnx.state = "key"})
// CHECK: %[[OWN:.*]] = onnx.slice {{.*}} : tensor<1x2x1x12xf32> -> tensor<1x2x1x8xf32>
// CHECK: %[[ASKED:.*]] = onnx.batch_matmul %[[OWN]], %{{.*}} : (tensor<1x2x1x8xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x1x16xf32>
// CHECK: %[[REST:.*]] = onnx.slice {{.*}}starts = array<i64: 0, 0, 0, 8>{{.*}} -> tensor<1x2x1x4xf32>
// CHECK: onnx.concat %[[ASKED]], %[[REST]] {axis = 3 : i64} {{.*}} -> tensor<1x2x1x20xf32>
// CHECK: %[[NEW:.*]] = onnx.concat %arg1, %arg2 {axis = 2 : i64} {{.*}} -> tensor<1x1x20xf32>
// CHECK: %[[STATE:.*]] = onnx.update %arg4, %[[NEW]] at %arg3 {{.*}} -> tensor<1x24x20xf32>
// CHECK: %[[SEEN:.*]] = onnx.cached_attention %{{.*}}, %[[STATE]], %[[STATE]] at %arg3 {kv_heads = 1 : i64, num_heads = 2 : i64, scale = 5.000000e-01 : f32} {{.*}} -> tensor<1x1x40xf32>
// CHECK: onnx.batch_matmul %{{.*}} : (tensor<1x2x1x16xf32>, tensor<1x2x16x5xf32>) -> tensor<1x2x1x5xf32>
// CHECK-NOT: onnx.matmul
func.func @latents(%q: tensor<1x1x24xf32>, %c: tensor<1x1x16xf32>, %r: tensor<1x1x4xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %pc: tensor<1x1x24x16xf32> {onnx.state = "key"}, %pr: tensor<1x1x24x4xf32> {onnx.state = "value"}) -> (tensor<1x1x10xf32>, tensor<1x1x24x16xf32> {onnx.state = "key"}, tensor<1x1x24x4xf32> {onnx.state = "value"}) attributes {onnx.call = array<i64: 23, 1>} {
  %w = onnx.constant dense<0.5> : tensor<16x26xf32>
  %latents = onnx.update %pc, %c at %at : (tensor<1x1x24x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %shared = onnx.update %pr, %r at %at : (tensor<1x1x24x4xf32>, tensor<1x1x4xf32>, tensor<1xi64>) -> tensor<1x24x4xf32>
  %e = onnx.matmul %latents, %w : (tensor<1x24x16xf32>, tensor<16x26xf32>) -> tensor<1x24x26xf32>
  %h = onnx.reshape %e : tensor<1x24x26xf32> -> tensor<1x24x2x13xf32>
  %t = onnx.transpose %h {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x13xf32> -> tensor<1x2x24x13xf32>
  %own = onnx.slice %t {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x24x13xf32> -> tensor<1x2x24x8xf32>
  %one = onnx.reshape %shared : tensor<1x24x4xf32> -> tensor<1x1x24x4xf32>
  %all = onnx.expand %one : tensor<1x1x24x4xf32> -> tensor<1x2x24x4xf32>
  %keys = onnx.concat %own, %all {axis = 3 : i64} : (tensor<1x2x24x8xf32>, tensor<1x2x24x4xf32>) -> tensor<1x2x24x12xf32>
  %tokens = onnx.transpose %keys {perm = array<i64: 0, 2, 1, 3>} : tensor<1x2x24x12xf32> -> tensor<1x24x2x12xf32>
  %k = onnx.reshape %tokens : tensor<1x24x2x12xf32> -> tensor<1x24x24xf32>
  %v = onnx.slice_heads %e {num_heads = 2 : i64, start = 8 : i64} : tensor<1x24x26xf32> -> tensor<1x24x10xf32>
  %y = onnx.attention %q, %k, %v {num_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x24xf32>, tensor<1x24x24xf32>, tensor<1x24x10xf32>) -> tensor<1x1x10xf32>
  %a = onnx.reshape %latents : tensor<1x24x16xf32> -> tensor<1x1x24x16xf32>
  %b = onnx.reshape %shared : tensor<1x24x4xf32> -> tensor<1x1x24x4xf32>
  return %y, %a, %b : tensor<1x1x10xf32>, tensor<1x1x24x16xf32>, tensor<1x1x24x4xf32>
}

// -----

// Weights that are computed are no constants that could be read the other way
// round: keys and values stay what is made of the states, which is refused.
// CHECK-LABEL: func.func @computed
// CHECK: onnx.attention
// CHECK-NOT: onnx.cached_attention
func.func @computed(%w: tensor<16x26xf32>, %q: tensor<1x1x24xf32>, %c: tensor<1x1x16xf32>, %r: tensor<1x1x4xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %pc: tensor<1x1x24x16xf32> {onnx.state = "key"}, %pr: tensor<1x1x24x4xf32> {onnx.state = "value"}) -> (tensor<1x1x10xf32>, tensor<1x1x24x16xf32> {onnx.state = "key"}, tensor<1x1x24x4xf32> {onnx.state = "value"}) attributes {onnx.call = array<i64: 23, 1>} {
  %latents = onnx.update %pc, %c at %at : (tensor<1x1x24x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %shared = onnx.update %pr, %r at %at : (tensor<1x1x24x4xf32>, tensor<1x1x4xf32>, tensor<1xi64>) -> tensor<1x24x4xf32>
  %e = onnx.matmul %latents, %w : (tensor<1x24x16xf32>, tensor<16x26xf32>) -> tensor<1x24x26xf32>
  %h = onnx.reshape %e : tensor<1x24x26xf32> -> tensor<1x24x2x13xf32>
  %t = onnx.transpose %h {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x13xf32> -> tensor<1x2x24x13xf32>
  %own = onnx.slice %t {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x24x13xf32> -> tensor<1x2x24x8xf32>
  %one = onnx.reshape %shared : tensor<1x24x4xf32> -> tensor<1x1x24x4xf32>
  %all = onnx.expand %one : tensor<1x1x24x4xf32> -> tensor<1x2x24x4xf32>
  %keys = onnx.concat %own, %all {axis = 3 : i64} : (tensor<1x2x24x8xf32>, tensor<1x2x24x4xf32>) -> tensor<1x2x24x12xf32>
  %tokens = onnx.transpose %keys {perm = array<i64: 0, 2, 1, 3>} : tensor<1x2x24x12xf32> -> tensor<1x24x2x12xf32>
  %k = onnx.reshape %tokens : tensor<1x24x2x12xf32> -> tensor<1x24x24xf32>
  %v = onnx.slice_heads %e {num_heads = 2 : i64, start = 8 : i64} : tensor<1x24x26xf32> -> tensor<1x24x10xf32>
  %y = onnx.attention %q, %k, %v {num_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x24xf32>, tensor<1x24x24xf32>, tensor<1x24x10xf32>) -> tensor<1x1x10xf32>
  %a = onnx.reshape %latents : tensor<1x24x16xf32> -> tensor<1x1x24x16xf32>
  %b = onnx.reshape %shared : tensor<1x24x4xf32> -> tensor<1x1x24x4xf32>
  return %y, %a, %b : tensor<1x1x10xf32>, tensor<1x1x24x16xf32>, tensor<1x1x24x4xf32>
}

// -----

// A mean beside the attention reads latents, too: they stay a state of their
// own.
// CHECK-LABEL: func.func @read_beside
// CHECK: onnx.update {{.*}} -> tensor<1x24x16xf32>
// CHECK: onnx.update {{.*}} -> tensor<1x24x4xf32>
// CHECK: onnx.attention
// CHECK-NOT: onnx.cached_attention
func.func @read_beside(%q: tensor<1x1x24xf32>, %c: tensor<1x1x16xf32>, %r: tensor<1x1x4xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}, %pc: tensor<1x1x24x16xf32> {onnx.state = "key"}, %pr: tensor<1x1x24x4xf32> {onnx.state = "value"}) -> (tensor<1x1x10xf32>, tensor<1x1x24x16xf32> {onnx.state = "key"}, tensor<1x1x24x4xf32> {onnx.state = "value"}, tensor<1xf32>) attributes {onnx.call = array<i64: 23, 1>} {
  %w = onnx.constant dense<0.5> : tensor<16x26xf32>
  %latents = onnx.update %pc, %c at %at : (tensor<1x1x24x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x24x16xf32>
  %shared = onnx.update %pr, %r at %at : (tensor<1x1x24x4xf32>, tensor<1x1x4xf32>, tensor<1xi64>) -> tensor<1x24x4xf32>
  %e = onnx.matmul %latents, %w : (tensor<1x24x16xf32>, tensor<16x26xf32>) -> tensor<1x24x26xf32>
  %h = onnx.reshape %e : tensor<1x24x26xf32> -> tensor<1x24x2x13xf32>
  %t = onnx.transpose %h {perm = array<i64: 0, 2, 1, 3>} : tensor<1x24x2x13xf32> -> tensor<1x2x24x13xf32>
  %own = onnx.slice %t {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x24x13xf32> -> tensor<1x2x24x8xf32>
  %one = onnx.reshape %shared : tensor<1x24x4xf32> -> tensor<1x1x24x4xf32>
  %all = onnx.expand %one : tensor<1x1x24x4xf32> -> tensor<1x2x24x4xf32>
  %keys = onnx.concat %own, %all {axis = 3 : i64} : (tensor<1x2x24x8xf32>, tensor<1x2x24x4xf32>) -> tensor<1x2x24x12xf32>
  %tokens = onnx.transpose %keys {perm = array<i64: 0, 2, 1, 3>} : tensor<1x2x24x12xf32> -> tensor<1x24x2x12xf32>
  %k = onnx.reshape %tokens : tensor<1x24x2x12xf32> -> tensor<1x24x24xf32>
  %v = onnx.slice_heads %e {num_heads = 2 : i64, start = 8 : i64} : tensor<1x24x26xf32> -> tensor<1x24x10xf32>
  %y = onnx.attention %q, %k, %v {num_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x24xf32>, tensor<1x24x24xf32>, tensor<1x24x10xf32>) -> tensor<1x1x10xf32>
  %a = onnx.reshape %latents : tensor<1x24x16xf32> -> tensor<1x1x24x16xf32>
  %b = onnx.reshape %shared : tensor<1x24x4xf32> -> tensor<1x1x24x4xf32>
  %mean = onnx.reduce mean %latents {axes = array<i64: 1, 2>, keepdims = false} : tensor<1x24x16xf32> -> tensor<1xf32>
  return %y, %a, %b, %mean : tensor<1x1x10xf32>, tensor<1x1x24x16xf32>, tensor<1x1x24x4xf32>, tensor<1xf32>
}
