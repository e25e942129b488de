// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=16x4 within=stages=3})' | FileCheck %s
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=16x4 within=stages=3})' | wse-opt --wsec-place | FileCheck %s --check-prefix=PLACED
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=16x4 within=stages=1})' | FileCheck %s --check-prefix=ONE

// A chain becomes stages side by side. A tensor that a later stage than the next
// one reads goes from stage to stage; what all columns hold cannot, so each
// stage makes it anew from words of the host.

// CHECK-DAG: region @r shape({{[0-9]+}}x4) channels(
// CHECK-DAG: region @r1 shape({{[0-9]+}}x4) channels(
// CHECK-DAG: region @r2 shape({{[0-9]+}}x4) channels(
// CHECK: %[[S0:.*]] = softmax {{.*}} on @r {
// CHECK: %[[T0:.*]] = transfer %[[S0]] on @r1 {nodes = ["s0"]}
// CHECK: %[[S1:.*]] = softmax %[[T0]] on @r1 {
// CHECK-DAG: transfer %[[T0]] on @r2 {nodes = ["s0"]}
// CHECK-DAG: transfer %[[S1]] on @r2 {nodes = ["s1"]}
// CHECK: softmax {{.*}} on @r2 {
// CHECK: store {{.*}} on @r2 {

// In their order, so that what crosses flies least.
// PLACED-DAG: region @r shape([[A:[0-9]+]]x4) at (0, 0)
// PLACED-DAG: region @r1 shape([[B:[0-9]+]]x4) at ([[A]], 0)
// PLACED-DAG: region @r2 shape({{[0-9]+}}x4) at (12, 0)

// ONE-NOT: transfer
func.func @main(%x: tensor<8x48xf32> {onnx.name = "x"})
    -> (tensor<8x48xf32> {onnx.name = "y"}) {
  %0 = onnx.softmax %x {node = "s0"} : tensor<8x48xf32>
  %1 = onnx.softmax %0 {node = "s1"} : tensor<8x48xf32>
  %2 = onnx.softmax %1 {node = "s2"} : tensor<8x48xf32>
  %3 = onnx.binary add %2, %0 {node = "sum"} : (tensor<8x48xf32>, tensor<8x48xf32>) -> tensor<8x48xf32>
  return %3 : tensor<8x48xf32>
}
