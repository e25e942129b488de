// RUN: wse-opt %s --onnx-hold-states --wse-select-kernels=mesh=4x4 | FileCheck %s

// A state is read before it is written, in the type in which it is read; @begin writes it unread.
// CHECK: state @h on @r : [[T:.*]]
// CHECK: entry @step(%position from 0 to 2147483647)
// CHECK: %h = recall @h at %position on @r
// CHECK: %[[SUM:.*]] = elementwise(%{{.*}}, %h)
// CHECK: update @h with %{{.*}} on @r
// CHECK: entry @begin(%position from 0 to 0)
// CHECK-NOT: recall
// CHECK: update @h with
module {
func.func @step(%x: tensor<1x4x8xf32> {onnx.name = "step.x"}, %h: tensor<1x4x8xf32> {onnx.state = "h"}) -> (tensor<1x4x8xf32> {onnx.state = "h"}, tensor<1x4x8xf32> {onnx.name = "step.y"}) {
  %sum = onnx.binary add %x, %h : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %y = onnx.unary exp %sum : tensor<1x4x8xf32>
  return %sum, %y : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}
func.func @begin(%x: tensor<1x4x8xf32> {onnx.name = "begin.x"}, %h: tensor<1x4x8xf32> {onnx.state = "h"}) -> (tensor<1x4x8xf32> {onnx.state = "h"}) {
  %y = onnx.unary exp %x : tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}
}
