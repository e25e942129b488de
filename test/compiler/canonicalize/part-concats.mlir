// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-canonicalize)' | FileCheck %s

// A slice of joined parts is one of the part that it lies in: all of it, in its order, is that part.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = onnx.slice %arg0 {starts = array<i64: 0, 3>, steps = array<i64: 1, -1>}
// CHECK-NEXT: %[[X:.*]] = onnx.slice %arg0 {starts = array<i64: 1, 0>, steps = array<i64: -1, 1>}
// CHECK-NEXT: return %[[Y]], %[[X]], %arg1
func.func @main(%a: tensor<2x4xf32> {onnx.name = "a"}, %b: tensor<2x4xf32> {onnx.name = "b"}) -> (tensor<2x4xf32> {onnx.name = "y"}, tensor<2x4xf32> {onnx.name = "x"}, tensor<2x4xf32> {onnx.name = "z"}) {
  %c = onnx.concat %a, %b {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %y = onnx.slice %c {starts = array<i64: 0, 3>, steps = array<i64: 1, -1>} : tensor<2x8xf32> -> tensor<2x4xf32>
  %x = onnx.slice %c {starts = array<i64: 1, 0>, steps = array<i64: -1, 1>} : tensor<2x8xf32> -> tensor<2x4xf32>
  %z = onnx.slice %c {starts = array<i64: 0, 4>, steps = array<i64: 1, 1>} : tensor<2x8xf32> -> tensor<2x4xf32>
  return %y, %x, %z : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
