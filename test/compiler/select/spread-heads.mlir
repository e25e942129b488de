// RUN: wse-opt %s --split-input-file --pass-pipeline='builtin.module(wsec-select{mesh=8x8 region=8x8})' | FileCheck %s

// Five heads lie in five of eight columns. 24 tokens: it costs less to spread
// their features over all columns before the product, whose weights then stay.

// CHECK: #[[$HEADS:.*]] = #wse.dist<rows = [0, 1], columns = [2 by 48]>
// CHECK: #[[$BALANCED:.*]] = #wse.dist<rows = [0, 1], columns = [2]>
// CHECK-DAG: !tokens_1x24x240_heads = tensor<1x24x240xf32, #[[$HEADS]]>
// CHECK-DAG: !tokens_1x24x240_balanced = tensor<1x24x240xf32, #[[$BALANCED]]>
// CHECK-LABEL: wse.program @main
// CHECK: %[[HEADS:.*]] = attention
// CHECK-NEXT: %[[SPREAD:.*]] = redistribute %[[HEADS]] on @r {nodes = ["out"]} : !tokens_1x24x240_heads -> !tokens_1x24x240_balanced
// CHECK-NEXT: matmul %[[SPREAD]] weight <@w {{.*}} variant(stationary)
func.func @main(%x: tensor<1x24x240xf32> {onnx.name = "x"}) -> (tensor<1x24x240xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 230400> : tensor<240x240xf32> {node = "w"}
  %attend = onnx.attention %x, %x, %x {num_heads = 5 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x24x240xf32>, tensor<1x24x240xf32>, tensor<1x24x240xf32>) -> tensor<1x24x240xf32>
  %out = onnx.matmul %attend, %w {node = "out"} : (tensor<1x24x240xf32>, tensor<240x240xf32>) -> tensor<1x24x240xf32>
  return %out : tensor<1x24x240xf32>
}

// -----

// Six tokens: the product takes them as they lie.

// CHECK-LABEL: wse.program @main
// CHECK-NOT: redistribute
// CHECK: %[[HEADS:.*]] = attention
// CHECK-NEXT: matmul %[[HEADS]] weight <@w :
func.func @main(%x: tensor<1x6x64xf32> {onnx.name = "x"}) -> (tensor<1x6x64xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 16384> : tensor<64x64xf32> {node = "w"}
  %attend = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x6x64xf32>, tensor<1x6x64xf32>, tensor<1x6x64xf32>) -> tensor<1x6x64xf32>
  %out = onnx.matmul %attend, %w {node = "out"} : (tensor<1x6x64xf32>, tensor<64x64xf32>) -> tensor<1x6x64xf32>
  return %out : tensor<1x6x64xf32>
}

// -----

// Of a head of values that is one feature others are not spread, either.

// CHECK-LABEL: wse.program @main
// CHECK: attention {{.*}} : !tokens_1x6x32_heads, {{.*}} -> !tokens_1x6x2_balanced
// CHECK-NOT: over 4
func.func @main(%x: tensor<1x6x32xf32> {onnx.name = "x"}, %v: tensor<1x6x2xf32> {onnx.name = "v"}) -> (tensor<1x6x2xf32> {onnx.name = "y"}) {
  %attend = onnx.attention %x, %x, %v {num_heads = 2 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x6x32xf32>, tensor<1x6x32xf32>, tensor<1x6x2xf32>) -> tensor<1x6x2xf32>
  return %attend : tensor<1x6x2xf32>
}
