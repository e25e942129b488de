// RUN: wse-opt %s --onnx-hold-states=initial | FileCheck %s

// The host gives what a sequence begins with: each place along a last axis that is read place by place, others as they are.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func @begin(
// CHECK-SAME: %[[H:.*]]: tensor<1x4x8xf32> {onnx.name = "begin.h"}
// CHECK-SAME: %[[C:[a-z0-9]*]]: tensor<1x8x2xf32> {onnx.name = "begin.c"}
// CHECK-DAG: onnx.slice %[[C]] {{.*}}starts = array<i64: 0, 0, 0>
// CHECK-DAG: onnx.slice %[[C]] {{.*}}starts = array<i64: 0, 0, 1>
// CHECK: return %[[H]], %{{.*}}, %{{.*}} : tensor<1x4x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>
func.func @main(%x: tensor<1x4x8xf32> {onnx.name = "main.x"}, %y: tensor<1x8x1xf32> {onnx.name = "main.y"}, %h: tensor<1x4x8xf32> {onnx.state = "h"},
    %c: tensor<1x8x2xf32> {onnx.state = "c"}) -> (tensor<1x4x8xf32> {onnx.state = "h"}, tensor<1x8x2xf32> {onnx.state = "c"}) {
  %sum = onnx.binary add %x, %h : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %last = onnx.slice %c {starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 1>} : tensor<1x8x2xf32> -> tensor<1x8x1xf32>
  %both = onnx.concat %last, %y {axis = 2 : i64} : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x2xf32>
  return %sum, %both : tensor<1x4x8xf32>, tensor<1x8x2xf32>
}
