// RUN: not wse-opt %s --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s

module attributes {onnx.opset = 21 : i64} {
func.func @main(%x: tensor<3x8xf32>, %p: tensor<3x4xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %none = onnx.none
  %up = onnx.constant dense<0.5> : tensor<4x6x8xf32>
  %down = onnx.constant dense<0.25> : tensor<4x8x6xf32>
  %longer = onnx.constant dense<0.25> : tensor<4x8x7xf32>
  %table = onnx.constant dense<0.5> : tensor<4x6xf32>
  // CHECK-DAG: MoE of com.microsoft: {{.*}}a third product of experts beside the first{{.*}}'gate'
  %gate = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down, %none, %up) with {activation_type = "silu"} {node = "gate"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>, none, tensor<4x6x8xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}use_sparse_mixer, whose choices are drawn{{.*}}'mixer'
  %mixer = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "relu", use_sparse_mixer = 1 : i64} {node = "mixer"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}swiglu needs both products in the first weight, swiglu_fusion 1 or 2{{.*}}'apart'
  %apart = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "swiglu"} {node = "apart"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}activation_type is 'wave', expected one of relu, gelu, silu, swiglu, identity: node 'wave'
  %wave = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "wave"} {node = "wave"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}takes 5 of 4 experts{{.*}}'five'
  %five = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "relu", k = 5 : i64} {node = "five"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}weights of experts of 4x6 and 4x8x6, expected three extents each{{.*}}'flat'
  %flat = onnx.node "MoE" of "com.microsoft"(%x, %p, %table, %none, %down) with {activation_type = "relu"} {node = "flat"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}fc2_experts_weights{{.*}}'wide'
  %wide = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %longer) with {activation_type = "relu"} {node = "wide"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x7xf32>) -> !onnx.unknown
  return %gate, %mixer, %apart, %wave, %five, %flat, %wide : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
