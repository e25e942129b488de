// RUN: wse-opt %s --onnx-infer-and-fold --onnx-legalize-nodes | FileCheck %s

// A cache that calls append to: not of integers, and not of a total length that each run computes.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: {node = "integers"{{.*}}onnx.reason = "a cache of integers that grows"
// CHECK: {node = "computed"{{.*}}onnx.reason = "the total length of a cache that grows is computed in each run"
func.func @main(%x: tensor<1x1x8xf32> {onnx.name = "x"}, %k: tensor<1x2x4x4xi8> {onnx.name = "k", onnx.state = "k"}, %v: tensor<1x2x4x4xi8> {onnx.name = "v", onnx.state = "v"}, %fk: tensor<1x2x4x4xf32> {onnx.name = "fk", onnx.state = "fk"}, %fv: tensor<1x2x4x4xf32> {onnx.name = "fv", onnx.state = "fv"}, %n: tensor<i32> {onnx.name = "n"}) -> (!onnx.unknown, !onnx.unknown) attributes {onnx.call = array<i64: 1, 4>} {
  %absent = onnx.none
  %last = onnx.constant dense<3> : tensor<1xi32>
  %total = onnx.constant dense<4> : tensor<i32>
  %scale = onnx.constant dense<1.0> : tensor<1xf32>
  %y:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %k, %v, %last, %total, %absent, %absent, %absent, %absent, %absent, %scale, %scale) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, k_quant_type = "PER_TENSOR", v_quant_type = "PER_TENSOR", kv_cache_bit_width = 8 : i64} {node = "integers"} : (tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x2x4x4xi8>, tensor<1x2x4x4xi8>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, tensor<1xf32>, tensor<1xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  %z:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %fk, %fv, %last, %n) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "computed"} : (tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1xi32>, tensor<i32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %z#0 : !onnx.unknown, !onnx.unknown
}

// Beside sinks no bias, and no later key: with them scores are no kernel's.
// CHECK-LABEL: func.func @sinks
// CHECK: {node = "biased"{{.*}}onnx.reason = "attends to a state, and has a mask or bias besides causality and windows; leave --kv-capacity out"
// CHECK: {node = "later"{{.*}}onnx.reason = "attends to a state, and lets tokens see later ones; leave --kv-capacity out"
func.func @sinks(%x: tensor<1x2x8xf32> {onnx.name = "x"}, %bk: tensor<1x2x2x4xf32> {onnx.name = "bk", onnx.state = "bk"}, %bv: tensor<1x2x2x4xf32> {onnx.name = "bv", onnx.state = "bv"}, %lk: tensor<1x2x2x4xf32> {onnx.name = "lk", onnx.state = "lk"}, %lv: tensor<1x2x2x4xf32> {onnx.name = "lv", onnx.state = "lv"}, %bias: tensor<1x2x2x4xf32> {onnx.name = "bias"}, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 2>, onnx.name = "at"}) -> (!onnx.unknown, !onnx.unknown) attributes {onnx.call = array<i64: 2, 2>} {
  %absent = onnx.none
  %last = onnx.constant dense<3> : tensor<1xi32>
  %total = onnx.constant dense<4> : tensor<i32>
  %sinks = onnx.constant dense<[0.25, -1.5]> : tensor<2xf32>
  %y:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %bk, %bv, %last, %total, %absent, %absent, %absent, %bias, %sinks) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "biased"} : (tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1xi32>, tensor<i32>, none, none, none, tensor<1x2x2x4xf32>, tensor<2xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  %z:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %lk, %lv, %last, %total, %absent, %absent, %absent, %absent, %sinks) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, causal = 0 : i64} {node = "later"} : (tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1xi32>, tensor<i32>, none, none, none, none, tensor<2xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %z#0 : !onnx.unknown, !onnx.unknown
}
}
