// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=none fuse-attention=false" --onnx-common-subexpressions | FileCheck %s

// Two heads of queries share one of keys: they are more rows of one matrix.
// CHECK-LABEL: func.func @main
// CHECK: onnx.attention
// CHECK: %[[S:.*]] = onnx.batch_matmul %{{.*}} : (tensor<1x1x12x4xf32>, tensor<1x1x4x6xf32>) -> tensor<1x1x12x6xf32>
// CHECK: %[[SCORES:.*]] = onnx.reshape %[[S]] {{.*}} -> tensor<1x2x6x6xf32>
// CHECK: %[[LATER:.*]] = onnx.constant dense<{{\[\[0.000000e\+00, -1.000000e\+04}}
// CHECK: %[[MASKED:.*]] = onnx.binary add %[[SCORES]], %[[LATER]]
// CHECK: %[[P:.*]] = onnx.softmax %[[MASKED]] {node = "a/backward"}
// CHECK: %[[DS:.*]] = onnx.binary mul %[[P]], %{{.*}}
// CHECK: %[[ROWS:.*]] = onnx.reshape %[[DS]] {{.*}} -> tensor<1x1x12x6xf32>
// CHECK: onnx.batch_matmul %[[ROWS]], %{{.*}} : (tensor<1x1x12x6xf32>, tensor<1x1x6x4xf32>)
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}, %k: tensor<1x6x4xf32> {onnx.name = "k"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}) {
  %y = onnx.attention %x, %k, %k {num_heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f32, terms = [#onnx.term<add later -1.0e4 : f32>], node = "a"} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
  return %y : tensor<1x6x8xf32>
}

// -----

// 2^27 scores at most at a time: of two heads, and of the third.
// CHECK-LABEL: func.func @main
// CHECK: onnx.attention
// CHECK: onnx.softmax %{{.*}} {node = "a/backward"} : tensor<1x2x8192x8192xf32>
// CHECK: onnx.softmax %{{.*}} {node = "a/backward"} : tensor<1x1x8192x8192xf32>
// CHECK-NOT: onnx.softmax
func.func @main(%x: tensor<1x8192x6xf32> {onnx.name = "x"}) -> (tensor<1x8192x6xf32> {onnx.name = "y"}) {
  %y = onnx.attention %x, %x, %x {num_heads = 3 : i64, kv_heads = 3 : i64, scale = 0.5 : f32, node = "a"} : (tensor<1x8192x6xf32>, tensor<1x8192x6xf32>, tensor<1x8192x6xf32>) -> tensor<1x8192x6xf32>
  return %y : tensor<1x8192x6xf32>
}

// -----

// Angles that turn back: of each of a pair, minus the other's sine.
// CHECK-LABEL: func.func @main
// CHECK: %[[SIN:.*]] = onnx.constant dense<{{\[\[\[-3.000000e\+00, -4.000000e\+00, -1.000000e\+00, -2.000000e\+00\], }}
// CHECK: onnx.rotary %{{.*}}, %arg1, %[[SIN]] {node = "r/backward", num_heads = 1 : i64, rotary_dim = 4 : i64}
func.func @main(%x: tensor<1x2x4xf32> {onnx.name = "x"}, %c: tensor<1x2x4xf32> {onnx.name = "c"}) -> (tensor<1x2x4xf32> {onnx.name = "y"}) {
  %s = onnx.constant dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]> : tensor<1x2x4xf32>
  %y = onnx.rotary %x, %c, %s {num_heads = 1 : i64, rotary_dim = 4 : i64, node = "r"} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}
