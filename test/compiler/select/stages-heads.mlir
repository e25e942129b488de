// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=32x4 within=stages=2,keep-weights})' | FileCheck %s

// Two heads come from the stage of the attention to that of the product, which
// has no attention itself: there, too, their features lie over as many columns
// as there are for each, and not in two of them.

// CHECK: #[[SPREAD:.*]] = #wse.dist<rows = [0, 1], columns = [2 by 96 over 14]>
// CHECK: ![[SPREAD_HEADS:.*]] = tensor<1x8x192xf32, #[[SPREAD]]>
// CHECK: region @r shape
// CHECK: region @r1 shape(28x4) {{.*}}as stage from 1 spread_heads
// CHECK: %[[HEADS:.*]] = attention {{.*}} on @r {
// CHECK: %[[HERE:.*]] = transfer %[[HEADS]] on @r1 {{{.*}}} : {{.*}} -> ![[SPREAD_HEADS]]
// CHECK: matmul %[[HERE]] weight <@w.resident :
func.func @main(%x: tensor<1x8x192xf32> {onnx.name = "x"}) -> (tensor<1x8x192xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 147456> : tensor<192x192xf32> {node = "w"}
  %attend = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x8x192xf32>, tensor<1x8x192xf32>, tensor<1x8x192xf32>) -> tensor<1x8x192xf32>
  %out = onnx.matmul %attend, %w {node = "out"} : (tensor<1x8x192xf32>, tensor<192x192xf32>) -> tensor<1x8x192xf32>
  return %out : tensor<1x8x192xf32>
}
