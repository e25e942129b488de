// RUN: split-file %s %t
// RUN: not wse-opt %t/operators.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=OPERATORS
// RUN: not wse-opt %t/types.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: wse-opt %t/heads.mlir --wsec-infer --wsec-canonicalize | FileCheck %s --check-prefix=HEADS
// RUN: not wse-opt %t/attributes.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=ATTRIBUTES
// RUN: not wse-opt %t/shapes.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=SHAPES

// All that cannot be mapped is said at once, grouped by operator and reason.

// OPERATORS: error: 4 nodes of the model cannot be mapped:
// OPERATORS-NEXT: Mystery of my.domain x4: the operator is not known
// OPERATORS-NEXT: in a, b, c and 1 more
// OPERATORS-NEXT: 1 more behind them have unknown shapes and were not checked

//--- operators.mlir
func.func @main(%x: tensor<4x4xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %a = onnx.node "Mystery" of "my.domain"(%x) {node = "a"} : (tensor<4x4xf32>) -> !onnx.unknown
  %b = onnx.node "Mystery" of "my.domain"(%x) with {k = 1 : i64} {node = "b"} : (tensor<4x4xf32>) -> !onnx.unknown
  %c = onnx.node "Mystery" of "my.domain"(%x) with {k = 2 : i64} {node = "c"} : (tensor<4x4xf32>) -> !onnx.unknown
  %d = onnx.node "Mystery" of "my.domain"(%x) with {k = 3 : i64} {node = "d"} : (tensor<4x4xf32>) -> !onnx.unknown
  %e = onnx.node "Relu"(%d) {node = "e"} : (!onnx.unknown) -> !onnx.unknown
  %p = onnx.node "MatMul"(%x, %x) {node = "product"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> !onnx.unknown
  return %a, %b, %c, %e, %p : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// Integers of all widths are carried in 32 bits; f64 is not, unless asked for.
// TYPES: error: 3 nodes of the model cannot be mapped:
// TYPES-NEXT: unary (f64) x2: the wafer has no f64; --allow-f64-as-f32 computes in f32
// TYPES-NEXT: in tanh, exp
// TYPES-NEXT: cast (f8E4M3FN) x1: is rounded to fewer bits, which only outputs are
// TYPES-NEXT: in

//--- types.mlir
func.func @main(%x: tensor<4xf64> {onnx.name = "x"}, %p: tensor<4xui8> {onnx.name = "pixels"}, %h: tensor<4xf16> {onnx.name = "h"}) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %y = onnx.node "Tanh"(%x) {node = "tanh"} : (tensor<4xf64>) -> !onnx.unknown
  %z = onnx.node "Exp"(%y) {node = "exp"} : (!onnx.unknown) -> !onnx.unknown
  %f = onnx.node "Cast"(%p) with {to = 1 : i64} {node = "cast"} : (tensor<4xui8>) -> !onnx.unknown
  %bytes = onnx.constant external<"none.bin", 0, 4> : tensor<4xi8> {node = "bytes"}
  %g = onnx.node "Cast"(%bytes) with {to = 1 : i64} {node = "cast2"} : (tensor<4xi8>) -> !onnx.unknown
  %i = onnx.node "Exp"(%h) {node = "half"} : (tensor<4xf16>) -> !onnx.unknown
  %low = onnx.node "Cast"(%i) with {to = 17 : i64} {node = "low"} : (!onnx.unknown) -> !onnx.unknown
  %high = onnx.node "Cast"(%low) with {to = 1 : i64} {node = "high"} : (!onnx.unknown) -> !onnx.unknown
  return %z, %f, %g, %high : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// No attention takes a mask that differs between heads: its products stay.
// HEADS: batch_matmul {{.*}} {node = "qk"}
// HEADS: softmax
// HEADS: batch_matmul {{.*}} {node = "pv"}

//--- heads.mlir
func.func @main(%q: tensor<2x3x8xf32>, %m: tensor<1x2x3x3xf32>) -> !onnx.unknown {
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) {node = "qk"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Add"(%qk, %m) : (!onnx.unknown, tensor<1x2x3x3xf32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) {node = "pv"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %pv : !onnx.unknown
}

// ATTRIBUTES: LeakyRelu x1: attribute 'alpha' is not a float

//--- attributes.mlir
func.func @main(%x: tensor<2x3xf32>) -> !onnx.unknown {
  %a = onnx.node "LeakyRelu"(%x) with {alpha = 1 : i64} {node = "a"} : (tensor<2x3xf32>) -> !onnx.unknown
  return %a : !onnx.unknown
}

// SHAPES: Reshape x1: cannot reshape 2x3 to 4x2
// SHAPES: Add x1: shapes 2x3 and 2 do not broadcast
// SHAPES: Expand x1: shape is computed from the model's inputs; it has to be known at compile time

//--- shapes.mlir
func.func @main(%x: tensor<2x3xf32>, %v: tensor<2xf32>, %s: tensor<2xi64>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %to = onnx.constant dense<[4, 2]> : tensor<2xi64>
  %a = onnx.node "Reshape"(%x, %to) {node = "a"} : (tensor<2x3xf32>, tensor<2xi64>) -> !onnx.unknown
  %b = onnx.node "Add"(%x, %v) {node = "b"} : (tensor<2x3xf32>, tensor<2xf32>) -> !onnx.unknown
  %c = onnx.node "Expand"(%x, %s) {node = "c"} : (tensor<2x3xf32>, tensor<2xi64>) -> !onnx.unknown
  return %a, %b, %c : !onnx.unknown, !onnx.unknown, !onnx.unknown
}
