// RUN: wse-opt %s --wsec-infer --wsec-canonicalize | FileCheck %s

module attributes {onnx.opset = 21 : i64} {

// Rows that see no key are asked for by their scores, as torch-mlir has it.
// CHECK-LABEL: func.func @empty_rows
// CHECK: onnx.attention %{{.*}}, %{{.*}}, %{{.*}} masks %{{.*}} {{{.*}}terms = [#onnx.term<add operand 0>, #onnx.term<zero_empty>]
// CHECK-NOT: onnx.where
// CHECK: return
func.func @empty_rows(%q: tensor<2x3x8xf32>, %mask: tensor<2x1x3x3xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %last = onnx.constant dense<3> : tensor<1xi64>
  %least = onnx.constant dense<0xFF800000> : tensor<f32>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Add"(%qk, %mask) : (!onnx.unknown, tensor<2x1x3x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %hidden = onnx.node "Equal"(%masked, %least) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %all = onnx.node "ReduceMin"(%hidden, %last) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %safe = onnx.node "Where"(%all, %zero, %p) : (!onnx.unknown, tensor<f32>, !onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%safe, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// What guards against other numbers is no such guard.
// CHECK-LABEL: func.func @other_rows
// CHECK-NOT: onnx.attention
// CHECK: onnx.where
func.func @other_rows(%q: tensor<2x3x8xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %merged = onnx.constant dense<[2, 3, 8]> : tensor<3xi64>
  %last = onnx.constant dense<3> : tensor<1xi64>
  %least = onnx.constant dense<-1.0> : tensor<f32>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Softmax"(%qk) : (!onnx.unknown) -> !onnx.unknown
  %hidden = onnx.node "Equal"(%qk, %least) : (!onnx.unknown, tensor<f32>) -> !onnx.unknown
  %all = onnx.node "ReduceMin"(%hidden, %last) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %safe = onnx.node "Where"(%all, %zero, %p) : (!onnx.unknown, tensor<f32>, !onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%safe, %qt) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %t = onnx.node "Transpose"(%pv) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Reshape"(%t, %merged) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}
