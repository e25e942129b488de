// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=48x8})' | FileCheck %s
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=48x8 region=48x8})' | FileCheck %s --check-prefix=ONE
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=48x8 within=abreast=0})' | FileCheck %s --check-prefix=ONE

// Two chains that share an input: each has its own region, and loads it there.
// A region that is asked for, or SRAM or colors that were short, make it one for
// all.

// CHECK: region @r shape([[W:[0-9]+]]x8)
// CHECK: region @r1 shape([[W]]x8)
// CHECK: load @x on @r {
// CHECK: load @x on @r1 {
// CHECK: softmax {{.*}} on @r {
// CHECK: softmax {{.*}} on @r {
// CHECK: softmax {{.*}} on @r1 {
// CHECK: softmax {{.*}} on @r1 {
// CHECK: store {{.*}} to "a" on @r {
// CHECK: store {{.*}} to "b" on @r1 {

// ONE: region @{{.*}} shape(
// ONE-NOT: region @
// ONE: load @x
// ONE-NOT: load
func.func @main(%x: tensor<8x48xf32> {onnx.name = "x"})
    -> (tensor<8x48xf32> {onnx.name = "a"}, tensor<8x48xf32> {onnx.name = "b"}) {
  %0 = onnx.softmax %x {node = "s0"} : tensor<8x48xf32>
  %1 = onnx.softmax %0 {node = "s1"} : tensor<8x48xf32>
  %2 = onnx.softmax %x {node = "t0"} : tensor<8x48xf32>
  %3 = onnx.softmax %2 {node = "t1"} : tensor<8x48xf32>
  return %1, %3 : tensor<8x48xf32>, tensor<8x48xf32>
}
