// RUN: wse-opt %s --wsec-infer --wsec-canonicalize | FileCheck %s

// What acts on scores, in the order in which it does.

module attributes {onnx.opset = 23 : i64} {

// The mask of older exports: later keys get -10000, no less.
// CHECK-LABEL: func.func @ten_thousand
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add later -1.000000e+04 : f32>]
func.func @ten_thousand(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %later = onnx.constant dense<[[[[0.0, -1.0e4, -1.0e4], [0.0, 0.0, -1.0e4], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %s1 = onnx.node "Add"(%s0, %later) : (!onnx.unknown, tensor<1x1x3x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s1) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Of several numbers none stands for all.
// CHECK-LABEL: func.func @several
// CHECK: onnx.attention {{.*}} masks %{{.*}} {{{.*}}terms = [#onnx.term<add operand 0>]
func.func @several(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %later = onnx.constant dense<[[[[0.0, -1.0e4, -1.0e9], [0.0, 0.0, -1.0e4], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %s1 = onnx.node "Add"(%s0, %later) : (!onnx.unknown, tensor<1x1x3x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s1) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Positions that are added, later keys that are replaced: MPT, and GPT-2 with positions.
// CHECK-LABEL: func.func @added_and_replaced
// CHECK: %[[P:.*]] = onnx.reshape %{{.*}} -> tensor<1x3x6xf32>
// CHECK: onnx.attention %{{.*}} masks %[[P]] {{{.*}}terms = [#onnx.term<add operand 0>, #onnx.term<replace later -3.40282347E+38 : f32>]
func.func @added_and_replaced(%q: tensor<2x3x8xf32>, %position: tensor<1x2x3x3xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %keep = onnx.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %low = onnx.constant dense<-3.4028234663852886e38> : tensor<f32>
  %s1 = onnx.node "Add"(%s0, %position) : (!onnx.unknown, tensor<1x2x3x3xf32>) -> !onnx.unknown
  %s2 = onnx.node "Where"(%keep, %s1, %low) : (tensor<1x1x3x3xi1>, !onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s2) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// The other way round: what is added reaches what was replaced.
// CHECK-LABEL: func.func @replaced_and_added
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<replace later -1.000000e+09 : f32>, #onnx.term<add operand 0>]
func.func @replaced_and_added(%q: tensor<2x3x8xf32>, %position: tensor<1x2x3x3xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %keep = onnx.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %low = onnx.constant dense<-1.0e9> : tensor<f32>
  %s1 = onnx.node "Where"(%keep, %s0, %low) : (tensor<1x1x3x3xi1>, !onnx.unknown, tensor<f32>) -> !onnx.unknown
  %s2 = onnx.node "Add"(%s1, %position) : (!onnx.unknown, tensor<1x2x3x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s2) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// OPT: two masks are added, then a clamp makes the lowest number of their sum.
// CHECK-LABEL: func.func @clamped
// CHECK: onnx.attention %{{.*}} masks %arg1 {{{.*}}terms = [#onnx.term<add later -3.40282347E+38 : f32>, #onnx.term<add operand 0>, #onnx.term<raise to -3.40282347E+38 : f32>]
func.func @clamped(%q: tensor<2x3x8xf32>, %keys: tensor<2x1x1x3xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %low = onnx.constant dense<-3.4028234663852886e38> : tensor<f32>
  %later = onnx.constant dense<[[[[0.0, -3.4028234663852886e38, -3.4028234663852886e38], [0.0, 0.0, -3.4028234663852886e38], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %s1 = onnx.node "Add"(%s0, %later) : (!onnx.unknown, tensor<1x1x3x3xf32>) -> !onnx.unknown
  %s2 = onnx.node "Add"(%s1, %keys) : (!onnx.unknown, tensor<2x1x1x3xf32>) -> !onnx.unknown
  %s3 = onnx.node "Max"(%s2, %low) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s3) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Known masks are added now where no rounding tells: a mask of zeros and minus infinity.
// CHECK-LABEL: func.func @merged
// CHECK: %[[M:.*]] = onnx.constant dense<{{.*}}0xFF800000, 1.000000e+00, 2.000000e+00{{.*}}> : tensor<1x1x1x3xf32>
// CHECK: onnx.attention %{{.*}} masks %[[M]] {{{.*}}terms = [#onnx.term<add operand 0>]
func.func @merged(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %a = onnx.constant dense<[[[[0xFF800000, 0.0, 0.0]]]]> : tensor<1x1x1x3xf32>
  %b = onnx.constant dense<[[[[5.0, 1.0, 2.0]]]]> : tensor<1x1x1x3xf32>
  %s1 = onnx.node "Add"(%s0, %a) : (!onnx.unknown, tensor<1x1x1x3xf32>) -> !onnx.unknown
  %s2 = onnx.node "Add"(%s1, %b) : (!onnx.unknown, tensor<1x1x1x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s2) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Others stay apart: -10000 plus a score is rounded before the positions are added.
// CHECK-LABEL: func.func @apart
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add operand 0>, #onnx.term<add operand 1>]
func.func @apart(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %a = onnx.constant dense<[[[[-1.0e4, -1.0e4, 0.0]]]]> : tensor<1x1x1x3xf32>
  %b = onnx.constant dense<[[[[5.0, 1.0, 2.0]]]]> : tensor<1x1x1x3xf32>
  %s1 = onnx.node "Add"(%s0, %a) : (!onnx.unknown, tensor<1x1x1x3xf32>) -> !onnx.unknown
  %s2 = onnx.node "Add"(%s1, %b) : (!onnx.unknown, tensor<1x1x1x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s2) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// So do numbers of which each absorbs a score, and their sum does not.
// CHECK-LABEL: func.func @opposite
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add operand 0>, #onnx.term<add operand 1>]
func.func @opposite(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %s0 = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %a = onnx.constant dense<[[[[-3.0e38, 0.0, 0.0]]]]> : tensor<1x1x1x3xf32>
  %b = onnx.constant dense<[[[[3.0e38, 1.0, 2.0]]]]> : tensor<1x1x1x3xf32>
  %s1 = onnx.node "Add"(%s0, %a) : (!onnx.unknown, tensor<1x1x1x3xf32>) -> !onnx.unknown
  %s2 = onnx.node "Add"(%s1, %b) : (!onnx.unknown, tensor<1x1x1x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%s2) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// ONNX's own operator: a query whose mask hides all keys gets 0; of a known mask it is seen whether one does.
// CHECK-LABEL: func.func @hidden
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add operand 0>, #onnx.term<zero_hidden>]
func.func @hidden(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %keep = onnx.constant dense<[[true, false, true], [false, false, false], [true, true, true]]> : tensor<3x3xi1>
  %y = onnx.node "Attention"(%q, %q, %q, %keep) with {q_num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x3xi1>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @seen
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add operand 0>]
func.func @seen(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %keep = onnx.constant dense<[[true, false, true], [false, false, true], [true, true, true]]> : tensor<3x3xi1>
  %y = onnx.node "Attention"(%q, %q, %q, %keep) with {q_num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x3xi1>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Causality hides what the first query would have seen.
// CHECK-LABEL: func.func @hidden_by_both
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add operand 0 later -3.40282347E+38 : f32>, #onnx.term<zero_hidden>]
func.func @hidden_by_both(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %keep = onnx.constant dense<[[false, false, true], [true, false, true], [true, true, true]]> : tensor<3x3xi1>
  %y = onnx.node "Attention"(%q, %q, %q, %keep) with {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, is_causal = 1 : i64} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x3xi1>) -> !onnx.unknown
  return %y : !onnx.unknown
}

}
