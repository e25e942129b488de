// RUN: not wse-opt %s --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s

// What transforms state can be wrong.
func.func @main(%x: tensor<2x4x1xf32>, %z: tensor<2x4x2xf32>, %w: tensor<2x4x3xf32>, %n: tensor<i64>, %long: tensor<1x20000x2xf32>) -> (
    !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %none = onnx.none
  %zero = onnx.constant dense<0> : tensor<i64>
  %last = onnx.constant dense<2> : tensor<i64>
  // CHECK-DAG: DFT: its input 2x4x3 does not end in the 1 or 2 parts of a number: node 'parts'
  %a = onnx.node "DFT"(%w) {node = "parts"} : (tensor<2x4x3xf32>) -> !onnx.unknown
  // CHECK-DAG: DFT: axis 2 is none of the signal's of rank 3: node 'axis'
  %b = onnx.node "DFT"(%x, %none, %last) {node = "axis"} : (tensor<2x4x1xf32>, none, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: DFT: transforms 0 elements: node 'length'
  %c = onnx.node "DFT"(%x, %zero) {node = "length"} : (tensor<2x4x1xf32>, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: DFT: dft_length is computed from the model's inputs: node 'computed length'; --bind NAME=FILE.npy makes an input known
  %d = onnx.node "DFT"(%x, %n) {node = "computed length"} : (tensor<2x4x1xf32>, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: DFT: axis is computed from the model's inputs: node 'computed axis'; --bind NAME=FILE.npy makes an input known
  %e = onnx.node "DFT"(%x, %none, %n) {node = "computed axis"} : (tensor<2x4x1xf32>, none, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: DFT: is one-sided, of complex numbers: node 'complex'
  %f = onnx.node "DFT"(%z) with {onesided = 1 : i64} {node = "complex"} : (tensor<2x4x2xf32>) -> !onnx.unknown
  // CHECK-DAG: DFT: is one-sided, and inverse of real numbers: node 'real'
  %g = onnx.node "DFT"(%x) with {onesided = 1 : i64, inverse = 1 : i64} {node = "real"} : (tensor<2x4x1xf32>) -> !onnx.unknown
  // CHECK-DAG: DFT: transforms 20000 elements to 20000, by a matrix of more than 268435456 elements: 2 nodes with these or other numbers, 'long' and 'longer'; transform parts of the signal
  %h = onnx.node "DFT"(%long) {node = "long"} : (tensor<1x20000x2xf32>) -> !onnx.unknown
  %more = onnx.constant dense<4611686018427387904> : tensor<i64>
  %i = onnx.node "DFT"(%x, %more) {node = "longer"} : (tensor<2x4x1xf32>, tensor<i64>) -> !onnx.unknown
  return %a, %b, %c, %d, %e, %f, %g, %h, %i : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
