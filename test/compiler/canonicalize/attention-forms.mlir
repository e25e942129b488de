// RUN: wse-opt %s --wsec-infer --wsec-canonicalize | FileCheck %s

module attributes {onnx.opset = 17 : i64} {

// Capped scores, as Gemma 2 has them: the scale inside of the tanh is the product's.
// CHECK-LABEL: func.func @softcap
// CHECK: onnx.attention %{{.*}}, %{{.*}}, %{{.*}} {{{.*}}num_heads = 2 : i64, {{.*}}scale = 1.000000e+00 : f32, softcap = 4.000000e+00 : f32}
func.func @softcap(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %cap = onnx.constant dense<4.0> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %less = onnx.node "Div"(%qk, %cap) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %tanh = onnx.node "Tanh"(%less) : (!onnx.unknown) -> !onnx.unknown
  %capped = onnx.node "Mul"(%tanh, %cap) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%capped) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// One head of keys and values for all heads of queries, as Falcon has it: nobody repeats it but the products.
// CHECK-LABEL: func.func @one_head_of_keys
// CHECK: onnx.attention %{{.*}}, %{{.*}}, %{{.*}} {kv_heads = 1 : i64, {{.*}}num_heads = 2 : i64
// CHECK-SAME: (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
func.func @one_head_of_keys(%q: tensor<2x3x8xf32>, %k: tensor<2x3x4xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %head = onnx.constant dense<[2, 3, 1, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %k4 = onnx.node "Reshape"(%k, %head) : (tensor<2x3x4xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%k4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %vt = onnx.node "Transpose"(%k4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%qk) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %vt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A cap is positive, and only the outermost tanh is one.
// CHECK-LABEL: func.func @no_softcap
// CHECK-NOT: onnx.attention
// CHECK: onnx.softmax
func.func @no_softcap(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %cap = onnx.constant dense<-4.0> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %tanh = onnx.node "Tanh"(%qk) : (!onnx.unknown) -> !onnx.unknown
  %capped = onnx.node "Mul"(%tanh, %cap) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%capped) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Biases that differ between heads, as T5 has them: the keys of each head side
// by side. A key mask of the input is another term.
// CHECK-LABEL: func.func @bias_by_head
// CHECK-DAG: %[[M:.*]] = onnx.constant dense<{{.*}}> : tensor<2x1x1x3xf32>
// CHECK-DAG: %[[B:.*]] = onnx.reshape %{{.*}} -> tensor<1x3x6xf32>
// CHECK: onnx.attention %{{.*}}, %{{.*}}, %{{.*}} masks %[[B]], %[[M]] {{{.*}}terms = [#onnx.term<add operand 0>, #onnx.term<add operand 1>]}
func.func @bias_by_head(%q: tensor<2x3x8xf32>, %position: tensor<1x2x3x3xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %mask = onnx.constant dense<[[[[0.0, 0.0, 0.0]]], [[[0.0, 0.0, -1.0e38]]]]> : tensor<2x1x1x3xf32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %biased = onnx.node "Add"(%qk, %position) : (!onnx.unknown, tensor<1x2x3x3xf32>) -> !onnx.unknown
  %masked = onnx.node "Add"(%biased, %mask) : (!onnx.unknown, tensor<2x1x1x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Queries, keys and values beside each other head by head, as GPT-NeoX has them.
// CHECK-LABEL: func.func @interleaved
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x3x24xf32>
// CHECK-DAG: %[[Q:.*]] = onnx.slice_heads %[[X]] {num_heads = 2 : i64, start = 0 : i64} : tensor<1x3x24xf32> -> tensor<1x3x8xf32>
// CHECK-DAG: %[[K:.*]] = onnx.slice_heads %[[X]] {num_heads = 2 : i64, start = 4 : i64}
// CHECK-DAG: %[[V:.*]] = onnx.slice_heads %[[X]] {num_heads = 2 : i64, start = 8 : i64}
// CHECK: onnx.attention %[[Q]], %[[K]], %[[V]] {
func.func @interleaved(%x: tensor<1x3x24xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[1, 3, 2, 12]> : tensor<4xi64>
  %merged = onnx.constant dense<[1, 3, 8]> : tensor<3xi64>
  %x4 = onnx.node "Reshape"(%x, %heads) : (tensor<1x3x24xf32>, tensor<4xi64>) -> !onnx.unknown
  %xt = onnx.node "Transpose"(%x4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %s:3 = onnx.node "Split"(%xt) with {axis = 3 : i64} : (!onnx.unknown) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  %kt = onnx.node "Transpose"(%s#1) with {perm = [0, 1, 3, 2]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%s#0, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%qk) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %s#2) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Features of one head apart from each other are no head: the reason is kept.
// CHECK-LABEL: func.func @features_apart
// CHECK-NOT: onnx.attention
// CHECK: onnx.softmax
func.func @features_apart(%x: tensor<1x3x24xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[1, 3, 2, 4, 3]> : tensor<5xi64>
  %rank4 = onnx.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[1, 3, 8]> : tensor<3xi64>
  %x5 = onnx.node "Reshape"(%x, %heads) : (tensor<1x3x24xf32>, tensor<5xi64>) -> !onnx.unknown
  %xt = onnx.node "Transpose"(%x5) with {perm = [0, 2, 1, 3, 4]} : (!onnx.unknown) -> !onnx.unknown
  %s:3 = onnx.node "Split"(%xt) with {axis = 4 : i64} : (!onnx.unknown) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  %q = onnx.node "Reshape"(%s#0, %rank4) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %k = onnx.node "Reshape"(%s#1, %rank4) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %v = onnx.node "Reshape"(%s#2, %rank4) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%k) with {perm = [0, 1, 3, 2]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%q, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%qk) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %v) {node = "values"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A cache in front of keys and values.
// CHECK-LABEL: func.func @cache
// CHECK: onnx.attention %{{.*}}, %{{.*}}, %{{.*}} {{{.*}}num_heads = 2 : i64
// CHECK-SAME: (tensor<2x3x8xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>)
func.func @cache(%q: tensor<2x3x8xf32>, %past: tensor<2x2x5x4xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %k = onnx.node "Concat"(%past, %qt) with {axis = 2 : i64} : (tensor<2x2x5x4xf32>, !onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%k) with {perm = [0, 1, 3, 2]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%qk) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %k) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Minus infinity hides: what is causal hides so, too. A guard makes zeros of
// what a query without a key gets.
// CHECK-LABEL: func.func @strict
// CHECK: %[[M:.*]] = onnx.where %{{.*}} -> tensor<2x1x1x3xf32>
// CHECK: onnx.attention %{{.*}} masks %[[M]] {{{.*}}terms = [#onnx.term<add operand 0 later 0xFF800000 : f32>, #onnx.term<zero_nan>]}
func.func @strict(%q: tensor<2x3x8xf32>, %m: tensor<2x1x1x3xi1>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %keep = onnx.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %low = onnx.constant dense<0xFF800000> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %both = onnx.node "And"(%keep, %m) : (tensor<1x1x3x3xi1>, tensor<2x1x1x3xi1>) -> !onnx.unknown
  %mask = onnx.node "Where"(%both, %zero, %low) : (!onnx.unknown, tensor<f32>, tensor<f32>) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Add"(%qk, %mask) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %nan = onnx.node "IsNaN"(%p) : (!onnx.unknown) -> !onnx.unknown
  %safe = onnx.node "Where"(%nan, %zero, %p) : (!onnx.unknown, tensor<f32>, !onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%safe, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Neither minus infinity nor the lowest number: of a query without a key the
// scores tell, so what hides is added once, and is that number.
// CHECK-LABEL: func.func @finite
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add operand 0 later -1.000000e+09 : f32>]
func.func @finite(%q: tensor<2x3x8xf32>, %m: tensor<2x1x1x3xi1>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %keep = onnx.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %low = onnx.constant dense<-1.0e9> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %both = onnx.node "And"(%keep, %m) : (tensor<1x1x3x3xi1>, tensor<2x1x1x3xi1>) -> !onnx.unknown
  %mask = onnx.node "Where"(%both, %zero, %low) : (!onnx.unknown, tensor<f32>, tensor<f32>) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Add"(%qk, %mask) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Scores replaced by a number in which they do not vanish.
// CHECK-LABEL: func.func @replaced
// CHECK: %[[M:.*]] = onnx.where %{{.*}} -> tensor<2x1x1x3xf32>
// CHECK: onnx.attention %{{.*}} masks %[[M]] {{{.*}}terms = [#onnx.term<replace operand 0>]}
func.func @replaced(%q: tensor<2x3x8xf32>, %m: tensor<2x1x1x3xi1>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %low = onnx.constant dense<-1.0e4> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Where"(%m, %qk, %low) : (tensor<2x1x1x3xi1>, !onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Norms of heads: on the features, with the scale once for each head.
// CHECK-LABEL: func.func @norm_of_heads
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x3x8xf32>
// CHECK: %[[G:.*]] = onnx.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK: %[[N:.*]] = onnx.rms_norm %[[X]], %[[G]] {{{.*}}num_heads = 2 : i64
// CHECK: onnx.reshape %[[N]] {{.*}} -> tensor<1x3x2x4xf32>
func.func @norm_of_heads(%x: tensor<1x3x8xf32>) -> tensor<1x3x2x4xf32> {
  %g = onnx.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %r = onnx.reshape %x : tensor<1x3x8xf32> -> tensor<1x3x2x4xf32>
  %y = onnx.rms_norm %r, %g {epsilon = 0.5 : f32} : (tensor<1x3x2x4xf32>, tensor<4xf32>) -> tensor<1x3x2x4xf32>
  return %y : tensor<1x3x2x4xf32>
}
}
