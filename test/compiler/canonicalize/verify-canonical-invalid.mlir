// RUN: split-file %s %t
// RUN: not wse-opt %t/operators.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=OPERATORS
// RUN: not wse-opt %t/types.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: wse-opt %t/heads.mlir --wsec-infer --wsec-canonicalize | FileCheck %s --check-prefix=HEADS
// RUN: not wse-opt %t/attributes.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=ATTRIBUTES
// RUN: not wse-opt %t/causes.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=CAUSES
// RUN: not wse-opt %t/shapes.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=SHAPES

// All that cannot be mapped is said at once: a line a kind, with what needs it.

// OPERATORS-NOT: error
// OPERATORS: error: Mystery of my.domain: the operator is not known: 4 nodes, the first is 'a', and 1 node that needs them; define it as a function of the model
// OPERATORS-NOT: error

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
// TYPES: error: the wafer has no f64: node 'tanh', and 1 node that needs it; --allow-f64-as-f32 computes in f32
// TYPES-NEXT: {{.*}}error: cast: is rounded to fewer bits, which only outputs are: node 'low'

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

// No attention takes what replaces scores by 0: its products stay, and the
// report says why.
// HEADS: onnx.unrecognized = {{.*}}["pv", "scores are replaced by 0, where a mask says 0 for those that stay"]
// HEADS: batch_matmul {{.*}} {node = "qk"}
// HEADS: softmax
// HEADS: batch_matmul {{.*}} {node = "pv"}

//--- heads.mlir
func.func @main(%q: tensor<2x3x8xf32>, %m: tensor<1x2x3x3xi1>) -> !onnx.unknown {
  %low = onnx.constant dense<0.0> : tensor<f32>
  %heads = onnx.constant dense<[2, 3, 2, 4]> : tensor<4xi64>
  %q4 = onnx.node "Reshape"(%q, %heads) : (tensor<2x3x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %qt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 1, 3]} : (!onnx.unknown) -> !onnx.unknown
  %kt = onnx.node "Transpose"(%q4) with {perm = [0, 2, 3, 1]} : (!onnx.unknown) -> !onnx.unknown
  %qk = onnx.node "MatMul"(%qt, %kt) {node = "qk"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %masked = onnx.node "Where"(%m, %qk, %low) : (tensor<1x2x3x3xi1>, !onnx.unknown, tensor<f32>) -> !onnx.unknown
  %p = onnx.node "Softmax"(%masked) : (!onnx.unknown) -> !onnx.unknown
  %pv = onnx.node "MatMul"(%p, %qt) {node = "pv"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %pv : !onnx.unknown
}

// ATTRIBUTES: error: LeakyRelu: attribute 'alpha' is not a float: node 'a'

//--- attributes.mlir
func.func @main(%x: tensor<2x3xf32>) -> !onnx.unknown {
  %a = onnx.node "LeakyRelu"(%x) with {alpha = 1 : i64} {node = "a"} : (tensor<2x3xf32>) -> !onnx.unknown
  return %a : !onnx.unknown
}

// SHAPES: error: Reshape: cannot reshape 2x3 to 4x2: node 'a'
// SHAPES: error: Add: shapes 2x3 and 2 do not broadcast: node 'b'
// SHAPES: error: Expand: shape is computed from the model's inputs: node 'c'; --bind NAME=FILE.npy makes an input known

//--- shapes.mlir
func.func @main(%x: tensor<2x3xf32>, %v: tensor<2xf32>, %s: tensor<2xi64>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %to = onnx.constant dense<[4, 2]> : tensor<2xi64>
  %a = onnx.node "Reshape"(%x, %to) {node = "a"} : (tensor<2x3xf32>, tensor<2xi64>) -> !onnx.unknown
  %b = onnx.node "Add"(%x, %v) {node = "b"} : (tensor<2x3xf32>, tensor<2xf32>) -> !onnx.unknown
  %c = onnx.node "Expand"(%x, %s) {node = "c"} : (tensor<2x3xf32>, tensor<2xi64>) -> !onnx.unknown
  return %a, %b, %c : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// Of two causes what needs both is counted once, with the first of its
// operands; reasons that differ in numbers only are of one kind; operations
// without a name have a place.
// CAUSES:      error: Det: the operator is not supported: node 'determinant', and 2 nodes that need it; write it with other operators, or compute it outside of the model
// CAUSES-NEXT: {{.*}}error: Rellu: ONNX has no such operator: node 'typo', and 1 node that needs it; nearest: 'Relu', {{.*}}
// CAUSES-NEXT: {{.*}}error: Reshape: cannot reshape 4x4 to 3x5: 2 nodes with these or other numbers, 'two' and at line [[#]]
// CAUSES-NEXT: {{.*}}error: Gelu: approximate is 'fast', expected one of none, tanh: node 'gelu'
// CAUSES-NEXT: {{.*}}error: BitShift: direction is 'UP', expected one of LEFT, RIGHT: node 'shift'
// CAUSES-NEXT: {{.*}}error: RMSNormalization: opset 21 has no such operator: node 'norm'; opset 23 brought it, and onnx.version_converter converts to it
// CAUSES-NEXT: {{.*}}error: Dropout: it drops 50 % of the elements, in training mode, and nothing here is random: node 'dropout'; a ratio of 0, or an export in evaluation mode, makes it an identity
// CAUSES-NOT: error

//--- causes.mlir
module attributes {onnx.opset = 21 : i64} {
func.func @main(%x: tensor<4x4xf32>, %u: tensor<4x4xui32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %ratio = onnx.constant dense<0.5> : tensor<f32>
  %true = onnx.constant dense<true> : tensor<i1>
  %w = onnx.constant dense<1.0> : tensor<4xf32>
  %s5 = onnx.constant dense<[3, 5]> : tensor<2xi64>
  %s7 = onnx.constant dense<[3, 7]> : tensor<2xi64>
  %a = onnx.node "Det"(%x) {node = "determinant"} : (tensor<4x4xf32>) -> !onnx.unknown
  %b = onnx.node "Rellu"(%x) {node = "typo"} : (tensor<4x4xf32>) -> !onnx.unknown
  %c = onnx.node "Exp"(%b) {node = "behind the typo"} : (!onnx.unknown) -> !onnx.unknown
  %d = onnx.node "Add"(%a, %c) {node = "sum"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %e = onnx.node "Sqrt"(%d) {node = "root"} : (!onnx.unknown) -> !onnx.unknown
  %f = onnx.node "Reshape"(%x, %s5) {node = "two"} : (tensor<4x4xf32>, tensor<2xi64>) -> !onnx.unknown
  %g = onnx.node "Reshape"(%x, %s7) : (tensor<4x4xf32>, tensor<2xi64>) -> !onnx.unknown
  %h = onnx.node "Gelu"(%x) with {approximate = "fast"} {node = "gelu"} : (tensor<4x4xf32>) -> !onnx.unknown
  %i = onnx.node "BitShift"(%u, %u) with {direction = "UP"} {node = "shift"} : (tensor<4x4xui32>, tensor<4x4xui32>) -> !onnx.unknown
  %j = onnx.node "RMSNormalization"(%x, %w) {node = "norm"} : (tensor<4x4xf32>, tensor<4xf32>) -> !onnx.unknown
  %k = onnx.node "Dropout"(%x, %ratio, %true) {node = "dropout"} : (tensor<4x4xf32>, tensor<f32>, tensor<i1>) -> !onnx.unknown
  return %e, %f, %g, %h, %i, %j, %k : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
