// RUN: wse-opt %s --wsec-canonicalize | FileCheck %s

// One token behind a cache: transposes of heads change no order of elements,
// and angles are a vector, which does not keep a product in the layout of
// heads. The rotary embedding is found before anything moves.
// CHECK-LABEL: func.func @main
// CHECK: %[[Q:.*]] = onnx.rotary {{.*}}num_heads = 4 : i64, rotary_dim = 8 : i64}
// CHECK: onnx.attention %[[Q]], {{.*}}num_heads = 4 : i64
func.func @main(%q: tensor<2x1x32xf32> {onnx.name = "q"}, %k: tensor<2x4x7x8xf32> {onnx.name = "k"}, %v: tensor<2x4x7x8xf32> {onnx.name = "v"}) -> (tensor<2x1x32xf32> {onnx.name = "y"}) {
  %cos = onnx.constant dense<[[[[0.5, 0.6, 0.7, 0.8, 0.5, 0.6, 0.7, 0.8]]]]> : tensor<1x1x1x8xf32>
  %sin = onnx.constant dense<[[[[0.4, 0.3, 0.2, 0.1, 0.4, 0.3, 0.2, 0.1]]]]> : tensor<1x1x1x8xf32>
  %r = onnx.reshape %q : tensor<2x1x32xf32> -> tensor<2x1x4x8xf32>
  %x = onnx.transpose %r {perm = array<i64: 0, 2, 1, 3>} : tensor<2x1x4x8xf32> -> tensor<2x4x1x8xf32>
  %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x4x1x8xf32> -> tensor<2x4x1x4xf32>
  %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x4x1x8xf32> -> tensor<2x4x1x4xf32>
  %n = onnx.unary neg %b : tensor<2x4x1x4xf32>
  %o = onnx.concat %n, %a {axis = 3 : i64} : (tensor<2x4x1x4xf32>, tensor<2x4x1x4xf32>) -> tensor<2x4x1x8xf32>
  %c = onnx.binary mul %x, %cos : (tensor<2x4x1x8xf32>, tensor<1x1x1x8xf32>) -> tensor<2x4x1x8xf32>
  %s = onnx.binary mul %o, %sin : (tensor<2x4x1x8xf32>, tensor<1x1x1x8xf32>) -> tensor<2x4x1x8xf32>
  %turned = onnx.binary add %c, %s : (tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>) -> tensor<2x4x1x8xf32>
  %kt = onnx.transpose %k {perm = array<i64: 0, 1, 3, 2>} : tensor<2x4x7x8xf32> -> tensor<2x4x8x7xf32>
  %scores = onnx.node "MatMul"(%turned, %kt) {node = "scores"} : (tensor<2x4x1x8xf32>, tensor<2x4x8x7xf32>) -> tensor<2x4x1x7xf32>
  %p = onnx.softmax %scores {node = "softmax"} : tensor<2x4x1x7xf32>
  %w = onnx.node "MatMul"(%p, %v) {node = "weighted"} : (tensor<2x4x1x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x1x8xf32>
  %t = onnx.transpose %w {perm = array<i64: 0, 2, 1, 3>} : tensor<2x4x1x8xf32> -> tensor<2x1x4x8xf32>
  %y = onnx.reshape %t : tensor<2x1x4x8xf32> -> tensor<2x1x32xf32>
  return %y : tensor<2x1x32xf32>
}
