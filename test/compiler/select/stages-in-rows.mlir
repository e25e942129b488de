// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=2x8 within=stages=2,stage-rows=2})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: wse-opt %t.mlir --wsec-place | FileCheck %s --check-prefix=PLACED
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=2x8 within=stages=2})' | FileCheck %s --check-prefix=ONE
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=5x3 within=stages=2,stage-rows=2 keep-outs=2,1,1x1},wsec-place)' | FileCheck %s --check-prefix=OVER
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=3x9 within=stages=2,stage-rows=2 keep-outs=1,4,1x1},wsec-place)' | FileCheck %s --check-prefix=BESIDE

// Stages in two rows. What crosses from one row to the next passes through the
// store, also what came by transfer to the last stage of the row; each row
// shares out its channels anew.

// CHECK: region @r shape(1x[[ROWS:[0-9]+]]) channels([[C:[0-9]+]] from 0 group 0) as stage
// CHECK: region @r1 shape(1x[[ROWS]]) channels({{[0-9]+}} from [[C]] group 0) as stage
// CHECK: region @r2 shape(2x[[ROWS]]) channels({{[0-9]+}} from 0 group 1) as stage
// CHECK: %[[S0:.*]] = softmax {{.*}} on @r {
// CHECK: %[[T0:.*]] = transfer %[[S0]] on @r1 {nodes = ["s0"]}
// CHECK: %[[S1:.*]] = softmax %[[T0]] on @r1 {
// CHECK: store %[[T0]] to "[[P0:.*]]" on @r1 {
// CHECK: %[[L0:.*]] = load @[[P0]] on @r2 {
// CHECK: store %[[S1]] to "[[P1:.*]]" on @r1 {
// CHECK: %[[L1:.*]] = load @[[P1]] on @r2 {
// CHECK: softmax %[[L1]] on @r2 {
// CHECK: elementwise(%{{.*}}, %[[L0]]) on @r2 {

// What was asked for its cost only is gone.
// CHECK-NOT: load
// CHECK: store %{{.*}} to "y" on @r2 {
// CHECK-NOT: store

// PLACED: region @r shape({{.*}}) at (0, 0)
// PLACED: region @r1 shape({{.*}}) at (1, 0)
// PLACED: region @r2 shape({{.*}}) at (0, 4)

// A broken PE: in a row of all that stages step over it; of several, none has
// it.
// OVER: region @r shape(1x3) at (0, 0)
// OVER: region @r1 shape(2x3) at (3, 0)
// BESIDE: region @r shape(2x4) at (0, 0)
// BESIDE: region @r1 shape(1x4) at (2, 0)
// BESIDE: region @r2 shape(2x4) at (0, 5)

// ONE-NOT: intermediate
func.func @main(%x: tensor<4x48xf32> {onnx.name = "x"})
    -> (tensor<4x48xf32> {onnx.name = "y"}) {
  %0 = onnx.softmax %x {node = "s0"} : tensor<4x48xf32>
  %1 = onnx.softmax %0 {node = "s1"} : tensor<4x48xf32>
  %2 = onnx.softmax %1 {node = "s2"} : tensor<4x48xf32>
  %3 = onnx.binary add %2, %0 {node = "sum"} : (tensor<4x48xf32>, tensor<4x48xf32>) -> tensor<4x48xf32>
  return %3 : tensor<4x48xf32>
}
