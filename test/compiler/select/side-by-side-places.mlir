// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=20x32 keep-outs=9,20,1x1})' | FileCheck %s
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=20x32 keep-outs=9,20,1x1},wsec-place)' | FileCheck %s

// Shapes and places of four chains are chosen together, above and beside one
// another and around what is kept out; `place` keeps the places.

// CHECK: region @r shape([[W:[0-9]+]]x16) at (0, 0)
// CHECK: region @r1 shape([[W]]x16) at ([[W]], 0)
// CHECK: region @r2 shape([[W]]x16) at (0, 16)
// CHECK: region @r3 shape([[W]]x16) at (10, 16)
// CHECK: keep_out shape(1x1) at (9, 20)
func.func @main(%x: tensor<32x48xf32> {onnx.name = "x"}, %y: tensor<32x48xf32> {onnx.name = "y"},
                %z: tensor<32x48xf32> {onnx.name = "z"}, %w: tensor<32x48xf32> {onnx.name = "w"})
    -> (tensor<32x48xf32> {onnx.name = "a"}, tensor<32x48xf32> {onnx.name = "b"},
        tensor<32x48xf32> {onnx.name = "c"}, tensor<32x48xf32> {onnx.name = "d"}) {
  %0 = onnx.softmax %x {node = "s0"} : tensor<32x48xf32>
  %1 = onnx.softmax %0 {node = "s1"} : tensor<32x48xf32>
  %2 = onnx.softmax %y {node = "t0"} : tensor<32x48xf32>
  %3 = onnx.softmax %2 {node = "t1"} : tensor<32x48xf32>
  %4 = onnx.softmax %z {node = "u0"} : tensor<32x48xf32>
  %5 = onnx.softmax %4 {node = "u1"} : tensor<32x48xf32>
  %6 = onnx.softmax %w {node = "v0"} : tensor<32x48xf32>
  %7 = onnx.softmax %6 {node = "v1"} : tensor<32x48xf32>
  return %1, %3, %5, %7 : tensor<32x48xf32>, tensor<32x48xf32>, tensor<32x48xf32>, tensor<32x48xf32>
}
