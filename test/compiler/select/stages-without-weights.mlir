// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=16x64 within=stages=4,keep-weights})' | sed -e 's/ attributes {selection[^}]*}//' > %t.kept
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=16x64 within=stages=4})' -o %t.streamed
// RUN: diff %t.kept %t.streamed
// RUN: FileCheck %s < %t.kept

// Kernels without weights take the variant that costs least, whether weights
// stay or not: here a store by columns, which stages are chosen for. What is
// stored needs no channel of the west edge.

// CHECK-DAG: region @r shape({{.*}}) channels({{[0-9]+}} from 0 group 0)
// CHECK-DAG: region @r1 shape({{.*}}) channels(1 from
func.func @main(%x: tensor<4x4096xf32> {onnx.name = "x"})
    -> (tensor<4x4096xf32> {onnx.name = "y"}) {
  %0 = onnx.softmax %x {node = "s0"} : tensor<4x4096xf32>
  %1 = onnx.softmax %0 {node = "s1"} : tensor<4x4096xf32>
  %2 = onnx.softmax %1 {node = "s2"} : tensor<4x4096xf32>
  %3 = onnx.softmax %2 {node = "s3"} : tensor<4x4096xf32>
  return %3 : tensor<4x4096xf32>
}
