// RUN: wse-opt %s --onnx-infer-and-fold --onnx-legalize-nodes --onnx-common-subexpressions --canonicalize | FileCheck %s

module attributes {onnx.opset = 21 : i64} {

// The two most probable experts of each token, whose weights are made to add up
// to one; numbers of top_k need no bounds.
// CHECK-LABEL: func.func @mixture
// CHECK: %[[P:.*]] = onnx.softmax %arg1
// CHECK: %[[BEST:.*]]:2 = onnx.top_k %[[P]] : tensor<3x4xf32> -> tensor<3x2xi64>, tensor<3x2xf32>
// CHECK: %[[SUM:.*]] = onnx.reduce sum %[[BEST]]#1
// CHECK: onnx.binary div %[[BEST]]#1, %[[SUM]]
// CHECK: onnx.expand {{.*}} -> tensor<3x2x8xf32>
// CHECK: %[[NUMBERS:.*]] = onnx.reshape %[[BEST]]#0 : tensor<3x2xi64> -> tensor<6xi64>
// CHECK: %[[UP:.*]] = onnx.experts %{{.*}}, %[[NUMBERS]], %{{.*}} -> tensor<6x12xf32>
// CHECK: %[[BIAS:.*]] = onnx.gather %{{.*}}, %[[NUMBERS]]
// CHECK: %[[U:.*]] = onnx.binary add %[[UP]], %[[BIAS]]
// CHECK: onnx.slice %[[U]] {{.*}}starts = array<i64: 0, 0>, steps = array<i64: 1, 2>
// CHECK: onnx.slice %[[U]] {{.*}}starts = array<i64: 0, 1>, steps = array<i64: 1, 2>
// CHECK: onnx.binary min
// CHECK: onnx.unary sigmoid
// CHECK: onnx.experts %{{.*}}, %[[NUMBERS]], %{{.*}} -> tensor<6x8xf32>
// CHECK: onnx.reduce sum {{.*}} : tensor<3x2x8xf32> -> tensor<3x8xf32>
func.func @mixture(%x: tensor<1x3x8xf32>, %p: tensor<3x4xf32>) -> !onnx.unknown {
  %up = onnx.constant dense<0.5> : tensor<4x12x8xf32>
  %bias = onnx.constant dense<1.0> : tensor<4x12xf32>
  %down = onnx.constant dense<0.25> : tensor<4x8x6xf32>
  %y = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %bias, %down) with {k = 2 : i64, activation_type = "swiglu", swiglu_fusion = 1 : i64, swiglu_limit = 7.0 : f32, activation_alpha = 1.702 : f32, activation_beta = 1.0 : f32, normalize_routing_weights = 1 : i64} : (tensor<1x3x8xf32>, tensor<3x4xf32>, tensor<4x12x8xf32>, tensor<4x12xf32>, tensor<4x8x6xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @one_expert
// CHECK: onnx.top_k {{.*}} -> tensor<3x1xi64>, tensor<3x1xf32>
// CHECK-NOT: onnx.binary div
// CHECK: %[[U:.*]] = onnx.experts
// CHECK: onnx.binary max %[[U]]
// CHECK: onnx.experts
func.func @one_expert(%x: tensor<3x8xf32>, %p: tensor<3x4xf32>) -> !onnx.unknown {
  %none = onnx.none
  %up = onnx.constant dense<0.5> : tensor<4x6x8xf32>
  %down = onnx.constant dense<0.25> : tensor<4x8x6xf32>
  %y = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
// A third product, which what the first made lets through.
// CHECK-LABEL: func.func @gate
// CHECK: %[[UP:.*]] = onnx.experts
// CHECK: %[[OTHER:.*]] = onnx.experts
// CHECK: %[[SILU:.*]] = onnx.binary mul %[[UP]], %{{.*}}
// CHECK: %[[GATED:.*]] = onnx.binary mul %[[SILU]], %[[OTHER]]
// CHECK: onnx.experts %[[GATED]]
func.func @gate(%x: tensor<3x8xf32>, %p: tensor<3x4xf32>) -> !onnx.unknown {
  %none = onnx.none
  %up = onnx.constant dense<0.5> : tensor<4x6x8xf32>
  %other = onnx.constant dense<1.5> : tensor<4x6x8xf32>
  %down = onnx.constant dense<0.25> : tensor<4x8x6xf32>
  %y = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down, %none, %other) with {k = 2 : i64, activation_type = "silu"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>, none, tensor<4x6x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Integers stay as they are stored, and are turned by their view.
// CHECK-LABEL: func.func @integers
// CHECK: onnx.constant #onnx.quantized<{{.*}}tensor<4x8x8xui4> scales {{.*}}tensor<4x8x1xf32> zeros dense<8> : tensor<4x8x1xui4> block 1>{{.*}} -> tensor<4x8x8xf32>
// CHECK: onnx.experts
func.func @integers(%x: tensor<3x8xf32>, %p: tensor<3x4xf32>) -> !onnx.unknown {
  %none = onnx.none
  %up = onnx.constant dense<33> : tensor<4x8x4xui8>
  %scale = onnx.constant dense<0.5> : tensor<4x8xf32>
  %y = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %scale, %none, %up, %scale) with {activation_type = "silu"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, tensor<4x8xf32>, none, tensor<4x8x4xui8>, tensor<4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}
