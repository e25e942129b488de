// RUN: wse-opt %s --wsec-infer --wsec-canonicalize | FileCheck %s

// What a state gets is written at an argument of the entry, whose range leaves
// room for it, and attention reads it up to there.

module attributes {onnx.opset = 24 : i64} {

// CHECK-LABEL: func.func @tokens
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x3x16xf32>, %[[X:[^:]*]]: tensor<1x3x8xf32>, %[[AT:[^:]*]]: tensor<1xi64> {onnx.argument = array<i64: 0, 61>}
// CHECK: %[[K:.*]] = onnx.update %{{.*}}, %[[X]] at %[[AT]] {{.*}} -> tensor<1x64x8xf32>
// CHECK: %[[V:.*]] = onnx.update %{{.*}}, %[[X]] at %[[AT]] {{.*}} -> tensor<1x64x8xf32>
// CHECK: %[[Y:.*]] = onnx.cached_attention %[[Q]], %[[K]], %[[V]] at %[[AT]] {kv_heads = 2 : i64, num_heads = 4 : i64, scale = 5.000000e-01 : f32}
// CHECK: return %[[Y]], %[[K]], %[[V]]
func.func @tokens(%q: tensor<1x3x16xf32>, %x: tensor<1x3x8xf32>, %at: tensor<1xi64>,
                  %k: tensor<1x64x8xf32> {onnx.state = "k"}, %v: tensor<1x64x8xf32> {onnx.state = "v"})
    -> (!onnx.unknown, !onnx.unknown {onnx.state = "k"}, !onnx.unknown {onnx.state = "v"}) {
  %none = onnx.none
  %three = onnx.constant dense<3> : tensor<1xi64>
  %keys = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} : (tensor<1x64x8xf32>, tensor<1x3x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %values = onnx.node "TensorScatter"(%v, %x, %at) with {axis = -2 : i64} : (tensor<1x64x8xf32>, tensor<1x3x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %length = onnx.node "Add"(%at, %three) : (tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Attention"(%q, %keys, %values, %none, %none, %none, %length) with {is_causal = 1 : i64, q_num_heads = 4 : i64, kv_num_heads = 2 : i64}
      : (tensor<1x3x16xf32>, !onnx.unknown, !onnx.unknown, none, none, none, !onnx.unknown) -> !onnx.unknown
  return %y, %keys, %values : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// Heads one after the other; one query sees no later key.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: tensor<1xi64> {onnx.argument = array<i64: 0, 63>}
// CHECK: %[[K:.*]] = onnx.update %{{.*}}, %{{.*}} at %{{.*}} : (tensor<1x2x64x4xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
// CHECK: onnx.cached_attention %{{.*}}, %[[K]], %[[K]] at
func.func @heads(%q: tensor<1x4x1x4xf32>, %x: tensor<1x2x1x4xf32>, %at: tensor<1xi64>, %k: tensor<1x2x64x4xf32> {onnx.state = "h"})
    -> (!onnx.unknown, !onnx.unknown {onnx.state = "h"}) {
  %none = onnx.none
  %one = onnx.constant dense<1> : tensor<i64>
  %keys = onnx.node "TensorScatter"(%k, %x, %at) : (tensor<1x2x64x4xf32>, tensor<1x2x1x4xf32>, tensor<1xi64>) -> !onnx.unknown
  %length = onnx.node "Add"(%one, %at) : (tensor<i64>, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Attention"(%q, %keys, %keys, %none, %none, %none, %length)
      : (tensor<1x4x1x4xf32>, !onnx.unknown, !onnx.unknown, none, none, none, !onnx.unknown) -> !onnx.unknown
  return %y, %keys : !onnx.unknown, !onnx.unknown
}

}
