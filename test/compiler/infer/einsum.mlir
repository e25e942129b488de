// RUN: split-file %s %t
// RUN: wse-opt %t/einsum.mlir --onnx-infer-and-fold --onnx-legalize-nodes --onnx-common-subexpressions | FileCheck %s
// RUN: wse-opt %t/attention.mlir --wsec-infer --wsec-canonicalize | FileCheck %s --check-prefix=ATTENTION
// RUN: not wse-opt %t/invalid.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=INVALID

//--- einsum.mlir
module attributes {onnx.opset = 18 : i64} {

// A weight is multiplied as it lies.
// CHECK-LABEL: func.func @weight
// CHECK: %[[W:.*]] = onnx.constant external<"none.bin", 0, 384> view offset 0 strides [1, 8] : tensor<8x12xf32>
// CHECK: onnx.matmul {{.*}}, %[[W]] {{.*}} -> tensor<6x12xf32>
// CHECK-NOT: onnx.transpose
func.func @weight(%x: tensor<2x3x8xf32>) -> !onnx.unknown {
  %w = onnx.constant external<"none.bin", 0, 384> : tensor<12x8xf32>
  %y = onnx.node "Einsum"(%x, %w) with {equation = "bid,od->bio"} : (tensor<2x3x8xf32>, tensor<12x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Scores of attention: labels that both have and the result keeps are batch.
// Like every product of computed tensors they are left for attention to find.
// CHECK-LABEL: func.func @scores
// CHECK: %[[K:.*]] = onnx.transpose %arg1 {{.*}} -> tensor<1x2x4x5xf32>
// CHECK: onnx.node "MatMul"(%arg0, %[[K]]) {{.*}} -> tensor<1x2x3x5xf32>
func.func @scores(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x5x4xf32>) -> !onnx.unknown {
  %y = onnx.node "Einsum"(%q, %k) with {equation = "bhid,bhjd->bhij"} : (tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A diagonal is every n + 1st element; what nothing needs is summed.
// CHECK-LABEL: func.func @diagonal
// CHECK: onnx.reshape {{.*}} -> tensor<2x9xf32>
// CHECK: onnx.slice {{.*}} steps = array<i64: 1, 4>{{.*}} -> tensor<2x3xf32>
// CHECK: onnx.reduce sum
func.func @diagonal(%x: tensor<3x2x3xf32>) -> !onnx.unknown {
  %y = onnx.node "Einsum"(%x) with {equation = "iji->i"} : (tensor<3x2x3xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Nothing is summed: an outer product broadcasts.
// CHECK-LABEL: func.func @outer
// CHECK: onnx.binary mul {{.*}} -> tensor<3x4xf32>
func.func @outer(%a: tensor<3xf32>, %b: tensor<4xf32>) -> !onnx.unknown {
  %y = onnx.node "Einsum"(%a, %b) with {equation = "i,j"} : (tensor<3xf32>, tensor<4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Angles of positions fold.
// CHECK-LABEL: func.func @angles
// CHECK: onnx.constant dense<{{\[\[}}0.000000e+00, 0.000000e+00], [1.000000e+00, 5.000000e-01]]> : tensor<2x2xf32>
func.func @angles() -> !onnx.unknown {
  %t = onnx.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %f = onnx.constant dense<[1.0, 0.5]> : tensor<2xf32>
  %y = onnx.node "Einsum"(%t, %f) with {equation = "i , j -> i j"} : (tensor<2xf32>, tensor<2xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// From the left, two at a time.
// CHECK-LABEL: func.func @three
// CHECK: onnx.batch_matmul {{.*}} -> tensor<2x4xf32>
// CHECK: onnx.batch_matmul {{.*}} -> tensor<2x5xf32>
func.func @three(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4x5xf32>) -> !onnx.unknown {
  %y = onnx.node "Einsum"(%a, %b, %c) with {equation = "ij,jk,kl->il"} : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// Written in equations, attention is one.
// ATTENTION: onnx.matmul %arg0
// ATTENTION: onnx.matmul %arg0
// ATTENTION: onnx.attention {{.*}} num_heads = 2 : i64{{.*}} scale = 5.000000e-01
// ATTENTION-NEXT: onnx.matmul
// ATTENTION-NOT: onnx.
//--- attention.mlir
module attributes {onnx.opset = 18 : i64} {
func.func @main(%x: tensor<1x6x8xf32> {onnx.name="x"}) -> (!onnx.unknown {onnx.name="y"}) {
  %w = onnx.constant dense<0.5> : tensor<8x2x4xf32>
  %wk = onnx.constant dense<0.25> : tensor<8x2x4xf32>
  %wo = onnx.constant dense<0.5> : tensor<2x4x8xf32>
  %s = onnx.constant dense<0.5> : tensor<f32>
  %q = onnx.node "Einsum"(%x, %w) with {equation = "bid,dhe->bhie"} {node = "q"} : (tensor<1x6x8xf32>, tensor<8x2x4xf32>) -> !onnx.unknown
  %k = onnx.node "Einsum"(%x, %wk) with {equation = "bid,dhe->bhie"} {node = "k"}: (tensor<1x6x8xf32>, tensor<8x2x4xf32>) -> !onnx.unknown
  %v = onnx.node "Einsum"(%x, %w) with {equation = "bid,dhe->bhie"} {node = "v"}: (tensor<1x6x8xf32>, tensor<8x2x4xf32>) -> !onnx.unknown
  %qk = onnx.node "Einsum"(%q, %k) with {equation = "bhie,bhje->bhij"} {node = "qk"}: (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %sc = onnx.node "Mul"(%qk, %s) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%sc) : (!onnx.unknown) -> !onnx.unknown
  %o = onnx.node "Einsum"(%p, %v) with {equation = "bhij,bhje->bhie"} {node = "pv"}: (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Einsum"(%o, %wo) with {equation = "bhie,hed->bid"} {node = "out"}: (!onnx.unknown, tensor<2x4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// INVALID: Einsum: equation 'ij,jk->ik' does not fit its operands: node 'one'
// INVALID: Einsum: equation 'i1j->j' does not fit its operands: node 'digit'
// INVALID: Einsum: equation 'ij->jj' does not fit its operands: node 'twice'
// INVALID: Einsum: equation 'ijk->i' does not fit its operands: node 'rank'
// INVALID: Einsum: its label 'j' has 3 and 2 elements: node 'extents'
// INVALID: Einsum: the label 'k' of its result is none of an operand: node 'ghost'
//--- invalid.mlir
module attributes {onnx.opset = 18 : i64} {
func.func @main(%x: tensor<2x3xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %a = onnx.node "Einsum"(%x) with {equation = "ij,jk->ik"} {node = "one"} : (tensor<2x3xf32>) -> !onnx.unknown
  %b = onnx.node "Einsum"(%x) with {equation = "i1j->j"} {node = "digit"} : (tensor<2x3xf32>) -> !onnx.unknown
  %c = onnx.node "Einsum"(%x) with {equation = "ij->jj"} {node = "twice"} : (tensor<2x3xf32>) -> !onnx.unknown
  %d = onnx.node "Einsum"(%x) with {equation = "ijk->i"} {node = "rank"} : (tensor<2x3xf32>) -> !onnx.unknown
  %e = onnx.node "Einsum"(%x, %x) with {equation = "ij,jk->ik"} {node = "extents"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> !onnx.unknown
  %f = onnx.node "Einsum"(%x) with {equation = "ij->ik"} {node = "ghost"} : (tensor<2x3xf32>) -> !onnx.unknown
  return %a, %b, %c, %d, %e, %f : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
