// RUN: wse-opt %s --wsec-infer --wsec-canonicalize | FileCheck %s

// Sinks of attention to a past that calls append to, or to a buffer of the capacity: one score of each head beside
// those of keys, stated, or 0.
module attributes {onnx.opset = 17 : i64} {

// CHECK-LABEL: func.func @sinks
// CHECK-DAG: %[[SINKS:.*]] = onnx.constant dense<[2.500000e-01, -1.500000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[K:.*]] = onnx.update %{{.*}}, %arg0 at %arg3 {{.*}} -> tensor<1x24x8xf32>
// CHECK-DAG: %[[V:.*]] = onnx.update %{{.*}}, %arg0 at %arg3 {{.*}} -> tensor<1x24x8xf32>
// CHECK: onnx.cached_attention %arg0, %[[K]], %[[V]] at %arg3 sinks %[[SINKS]] {kv_heads = 2 : i64, {{.*}}num_heads = 2 : i64, {{.*}}scale = 5.000000e-01 : f32, sliding_window = 4 : i64}
// CHECK-NOT: onnx.softmax
func.func @sinks(%x: tensor<1x1x8xf32>, %k: tensor<1x2x23x4xf32> {onnx.state = "k"}, %v: tensor<1x2x23x4xf32> {onnx.state = "v"}, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 23>}) -> (!onnx.unknown, !onnx.unknown {onnx.state = "k"}, !onnx.unknown {onnx.state = "v"}) attributes {onnx.call = array<i64: 1, 23>} {
  %absent = onnx.none
  %last = onnx.constant dense<23> : tensor<1xi32>
  %total = onnx.constant dense<24> : tensor<i32>
  %sinks = onnx.constant dense<[0.25, -1.5]> : tensor<2xf32>
  %y:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %k, %v, %last, %total, %absent, %absent, %absent, %absent, %sinks) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, local_window_size = 4 : i64} {node = "attend"} : (tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x2x23x4xf32>, tensor<1x2x23x4xf32>, tensor<1xi32>, tensor<i32>, none, none, none, none, tensor<2xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %y#1, %y#2 : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// CHECK-LABEL: func.func @smooth
// CHECK: %[[ZEROS:.*]] = onnx.constant dense<0.000000e+00> : tensor<f32> view offset 0 strides [0] -> tensor<2xf32>
// CHECK: onnx.cached_attention {{.*}} sinks %[[ZEROS]] {
// CHECK-NOT: onnx.softmax
func.func @smooth(%x: tensor<1x3x8xf32>, %k: tensor<1x2x24x4xf32> {onnx.state = "k"}, %v: tensor<1x2x24x4xf32> {onnx.state = "v"}, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 21>}) -> (!onnx.unknown, !onnx.unknown {onnx.state = "k"}, !onnx.unknown {onnx.state = "v"}) attributes {onnx.call = array<i64: 3, 21>} {
  %last = onnx.constant dense<23> : tensor<1xi32>
  %total = onnx.constant dense<24> : tensor<i32>
  %y:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %k, %v, %last, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, smooth_softmax = 1 : i64} {node = "attend"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x2x24x4xf32>, tensor<1x2x24x4xf32>, tensor<1xi32>, tensor<i32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %y#1, %y#2 : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

}
