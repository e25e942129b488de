// RUN: wse-opt %s --wsec-infer --wsec-canonicalize | FileCheck %s

module attributes {onnx.opset = 17 : i64} {

// BERT's form: K transposed in one step, division by a root, a key mask.
// CHECK-LABEL: func.func @key_mask
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x5x12xf32>, %[[K:[a-z0-9]+]]: tensor<2x5x12xf32>, %[[V:[a-z0-9]+]]: tensor<2x5x12xf32>, %[[M:[a-z0-9]+]]: tensor<2x1x1x5xf32>)
// CHECK-NEXT: %[[Y:.*]] = onnx.attention %[[Q]], %[[K]], %[[V]] masks %[[M]] {node = "pv", num_heads = 3 : i64, onnx.absorbed = ["by_head", "scores", "scale", "softmax"], scale = 5.000000e-01 : f32, terms = [#onnx.term<add operand 0>]}
// CHECK-NEXT: return %[[Y]]
func.func @key_mask(%q: tensor<2x5x12xf32>, %k: tensor<2x5x12xf32>, %v: tensor<2x5x12xf32>, %m: tensor<2x1x1x5xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[0, 0, 3, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[0, 0, 12]> : tensor<3xi64>
  %two = onnx.constant dense<2.0> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x5x12xf32>, tensor<4xi64>) -> !onnx.unknown
  %k4 = onnx.node "Reshape"(%k, %heads) : (tensor<2x5x12xf32>, tensor<4xi64>) -> !onnx.unknown
  %v4 = onnx.node "Reshape"(%v, %heads) : (tensor<2x5x12xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} {node = "by_head"} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%k4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %vt = onnx.node "Transpose"(%v4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) {node = "scores"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %scaled = onnx.node "Div"(%qk, %two) {node = "scale"} : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %masked = onnx.node "Add"(%scaled, %m) : (!onnx.unknown, tensor<2x1x1x5xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) {node = "softmax"} : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %vt) {node = "pv"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Two heads of queries for each of keys and values, which the exporter repeats.
// CHECK-LABEL: func.func @shared_keys
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x5x16xf32>, %[[K:[a-z0-9]+]]: tensor<2x5x8xf32>, %[[V:[a-z0-9]+]]: tensor<2x5x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = onnx.attention %[[Q]], %[[K]], %[[V]] {kv_heads = 2 : i64, {{.*}}num_heads = 4 : i64
// CHECK-NEXT: return %[[Y]]
func.func @shared_keys(%q: tensor<2x5x16xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 5, 4, 4]> : tensor<4xi64>
  %few = onnx.constant dense<[2, 5, 2, 4]> : tensor<4xi64>
  %axis = onnx.constant dense<2> : tensor<1xi64>
  %twice = onnx.constant dense<[2, 2, 2, 5, 4]> : tensor<5xi64>
  %all = onnx.constant dense<[2, 4, 5, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 5, 16]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x5x16xf32>, tensor<4xi64>) -> !onnx.unknown
  %k4 = onnx.node "Reshape"(%k, %few) : (tensor<2x5x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %v4 = onnx.node "Reshape"(%v, %few) : (tensor<2x5x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%k4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %vt = onnx.node "Transpose"(%v4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %k5 = onnx.node "Unsqueeze"(%kt, %axis) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %v5 = onnx.node "Unsqueeze"(%vt, %axis) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %ke = onnx.node "Expand"(%k5, %twice) : (!onnx.unknown, tensor<5xi64>) -> !onnx.unknown
  %ve = onnx.node "Expand"(%v5, %twice) : (!onnx.unknown, tensor<5xi64>) -> !onnx.unknown
  %kr = onnx.node "Reshape"(%ke, %all) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %vr = onnx.node "Reshape"(%ve, %all) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %krt = onnx.node "Transpose"(%kr) with {perm = [0, 1, 3, 2]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %krt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%qk) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %vr) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// torch's form: a fused projection, the root of the scale on both operands,
// K by way of rank 3, a causal mask, a guard against NaN.
// CHECK-LABEL: func.func @fused_causal
// CHECK-DAG: %[[Q:.*]] = onnx.matmul %{{.*}} -> tensor<1x3x8xf32>
// CHECK-DAG: %[[K:.*]] = onnx.matmul %{{.*}} -> tensor<1x3x8xf32>
// CHECK-DAG: %[[V:.*]] = onnx.matmul %{{.*}} -> tensor<1x3x8xf32>
// CHECK: %[[Y:.*]] = onnx.attention %{{.*}}, %{{.*}}, %{{.*}} {{{.*}}num_heads = 2 : i64, scale = 2.500000e-01 : f32, terms = [#onnx.term<add later 0xFF800000 : f32>, #onnx.term<zero_nan>]}
// CHECK-NEXT: return %[[Y]]
func.func @fused_causal(%x: tensor<1x3x8xf32>) -> !onnx.unknown {
  %w = onnx.constant external<"none.bin", 0, 768> : tensor<8x24xf32>
  %heads = onnx.constant dense<[1, 3, 2, 4]> : tensor<4xi64>
  %rank3 = onnx.constant dense<[-1, 3, 4]> : tensor<3xi64>
  %rank4 = onnx.constant dense<[1, 2, 4, 3]> : tensor<4xi64>
  %merged = onnx.constant dense<[1, 3, 8]> : tensor<3xi64>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %keep = onnx.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %minus = onnx.constant dense<0xFF800000> : tensor<f32>
  %qkv = onnx.node "MatMul"(%x, %w) : (tensor<1x3x8xf32>, tensor<8x24xf32>) -> !onnx.unknown
  %s:3 = onnx.node "Split"(%qkv) with {axis = 2 : i64} : (!onnx.unknown) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  %q4 = onnx.node "Reshape"(%s#0, %heads) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %k4 = onnx.node "Reshape"(%s#1, %heads) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %v4 = onnx.node "Reshape"(%s#2, %heads) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%k4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %vt = onnx.node "Transpose"(%v4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %k3 = onnx.node "Reshape"(%kt, %rank3) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  %k3t = onnx.node "Transpose"(%k3) with {perm = [0, 2, 1]} : (!onnx.unknown) -> !onnx.unknown
  %ktt = onnx.node "Reshape"(%k3t, %rank4) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %qs = onnx.node "Mul"(%qt, %half) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %ks = onnx.node "Mul"(%ktt, %half) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %mask = onnx.node "Where"(%keep, %zero, %minus) : (tensor<1x1x3x3xi1>, tensor<f32>, tensor<f32>) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qs, %ks) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Add"(%qk, %mask) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %nan = onnx.node "IsNaN"(%p) : (!onnx.unknown) -> !onnx.unknown
  %safe = onnx.node "Where"(%nan, %zero, %p) : (!onnx.unknown, tensor<f32>, !onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%safe, %vt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Batch and heads merged, as in the first torch versions; scores where a
// condition of the model's input is false are replaced.
// CHECK-LABEL: func.func @merged_heads
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x5x12xf32>, %[[C:[a-z0-9]+]]: tensor<1x1x5xi1>)
// CHECK: %[[W:.*]] = onnx.where %[[C]], %{{.*}}, %{{.*}} -> tensor<1x1x5xf32>
// CHECK: %[[M:.*]] = onnx.reshape %[[W]] : tensor<1x1x5xf32> -> tensor<1x1x1x5xf32>
// CHECK: onnx.attention %[[Q]], %[[Q]], %[[Q]] masks %[[M]] {num_heads = 3 : i64, scale = 1.000000e+00 : f32, terms = [#onnx.term<replace operand 0>]}
func.func @merged_heads(%q: tensor<2x5x12xf32>, %c: tensor<1x1x5xi1>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 5, 3, 4]> : tensor<4xi64>
  %flat = onnx.constant dense<[6, 5, 4]> : tensor<3xi64>
  %rank4 = onnx.constant dense<[2, 3, 5, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 5, 12]> : tensor<3xi64>
  %low = onnx.constant dense<-3.4028234663852886e38> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x5x12xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %q3 = onnx.node "Reshape"(%qt, %flat) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  %k3 = onnx.node "Transpose"(%q3) with {perm = [0, 2, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%q3, %k3) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Where"(%c, %qk, %low) : (tensor<1x1x5xi1>, !onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %q3) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %r = onnx.node "Reshape"(%pv, %rank4) : (!onnx.unknown, tensor<4xi64>) -> !onnx.unknown
  %t = onnx.node "Transpose"(%r) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A decoder with a key mask: what is causal is a number, the key mask stays one.
// CHECK-LABEL: func.func @causal_and_key_mask
// CHECK: %[[M:.*]] = onnx.where %{{.*}} : (tensor<2x1x1x3xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x3xf32>
// CHECK: onnx.attention %{{.*}} masks %[[M]] {{{.*}}terms = [#onnx.term<add operand 0 later -3.40282347E+38 : f32>]}
func.func @causal_and_key_mask(%q: tensor<2x3x8xf32>, %m: tensor<2x1x1x3xi1>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %keep = onnx.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %low = onnx.constant dense<-3.4028234663852886e38> : tensor<f32>
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

}
