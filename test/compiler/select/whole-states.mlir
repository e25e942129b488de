// RUN: wse-opt %s --split-input-file --onnx-hold-states --wse-select-kernels=mesh=4x4 | FileCheck %s

// A state is read before it is written, in the type in which it is read; @begin writes it unread.
// CHECK-LABEL: wse.program @main
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

// -----

// Factors of a state that is taken in another shape come as it lies: 4 of 8 rows each, of 2 times 16 rows.
// CHECK-LABEL: wse.program @main
// CHECK: %s = recall @s at %position_0, %position_1 on @r {{.*}} : [[T:.*]]
// CHECK: %[[EACH:.*]] = load @d strides [1, 0, 0] on @r {{.*}} : ![[ROWS:.*]]
// CHECK: store %[[EACH]] to "[[ALL:.*]]" on @r {{.*}} : ![[ROWS]] to tensor<4x8x8xf32>
// CHECK: %[[FACTORS:.*]] = load @[[ALL]] on @r {{.*}} : [[T]]
// CHECK: elementwise(%s, %[[FACTORS]]) on @r {{.*}} : ([[T]], [[T]]) -> [[T]]
func.func @main(%d: tensor<2x1x2xf32> {onnx.name = "d"}, %s: tensor<2x16x8xf32> {onnx.state = "s"}) -> (tensor<2x16x8xf32> {onnx.state = "s"}) {
  %r = onnx.reshape %s : tensor<2x16x8xf32> -> tensor<4x8x8xf32>
  %f = onnx.reshape %d : tensor<2x1x2xf32> -> tensor<4x1x1xf32>
  %m = onnx.binary mul %r, %f : (tensor<4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<4x8x8xf32>
  %t = onnx.reshape %m : tensor<4x8x8xf32> -> tensor<2x16x8xf32>
  return %t : tensor<2x16x8xf32>
}
