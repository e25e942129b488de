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
}
