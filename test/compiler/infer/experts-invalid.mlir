// RUN: not wse-opt %s --split-input-file --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s

module attributes {onnx.opset = 21 : i64} {
func.func @main(%x: tensor<3x8xf32>, %p: tensor<3x4xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %none = onnx.none
  %up = onnx.constant dense<0.5> : tensor<4x6x8xf32>
  %down = onnx.constant dense<0.25> : tensor<4x8x6xf32>
  %longer = onnx.constant dense<0.25> : tensor<4x8x7xf32>
  %table = onnx.constant dense<0.5> : tensor<4x6xf32>
  // CHECK-DAG: MoE of com.microsoft: {{.*}}swiglu_fusion with a third product beside the first{{.*}}'gate'
  %gate = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down, %none, %up) with {activation_type = "swiglu", swiglu_fusion = 1 : i64} {node = "gate"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>, none, tensor<4x6x8xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}use_sparse_mixer, whose choices are drawn{{.*}}'mixer'
  %mixer = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "relu", use_sparse_mixer = 1 : i64} {node = "mixer"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}swiglu needs a third product, or both in the first weight and swiglu_fusion 1 or 2: node 'apart'
  %apart = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "swiglu"} {node = "apart"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}activation_type is 'wave', expected one of relu, gelu, silu, swiglu, identity: node 'wave'
  %wave = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "wave"} {node = "wave"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}takes 5 of 4 experts{{.*}}'five'
  %five = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %down) with {activation_type = "relu", k = 5 : i64} {node = "five"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}weights of experts of 4x6, expected three extents{{.*}}'flat'
  %flat = onnx.node "MoE" of "com.microsoft"(%x, %p, %table, %none, %down) with {activation_type = "relu"} {node = "flat"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6xf32>, none, tensor<4x8x6xf32>) -> !onnx.unknown
  // CHECK-DAG: MoE of com.microsoft: {{.*}}fc2_experts_weights{{.*}}'wide'
  %wide = onnx.node "MoE" of "com.microsoft"(%x, %p, %up, %none, %longer) with {activation_type = "relu"} {node = "wide"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x6x8xf32>, none, tensor<4x8x7xf32>) -> !onnx.unknown
  return %gate, %mixer, %apart, %wave, %five, %flat, %wide : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
// -----

module attributes {onnx.opset = 21 : i64} {
func.func @integers(%x: tensor<3x8xf32>, %p: tensor<3x4xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %none = onnx.none
  %up = onnx.constant dense<1> : tensor<4x8x4xui8>
  %scale = onnx.constant dense<0.5> : tensor<4x8xf32>
  %few = onnx.constant dense<0.5> : tensor<4x7xf32>
  %all = onnx.constant dense<0.5> : tensor<4xf32>
  // CHECK-DAG: QMoE of com.microsoft: quant_type is 'fp4', expected one of int: node 'floats'
  %floats = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %scale, %none, %up, %scale) with {activation_type = "silu", quant_type = "fp4"} {node = "floats"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, tensor<4x8xf32>, none, tensor<4x8x4xui8>, tensor<4x8xf32>) -> !onnx.unknown
  // CHECK-DAG: QMoE of com.microsoft: {{.*}}laid out for one processor: node 'laid'; write them with weights_prepacked 0
  %laid = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %scale, %none, %up, %scale) with {activation_type = "silu", weights_prepacked = 1 : i64} {node = "laid"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, tensor<4x8xf32>, none, tensor<4x8x4xui8>, tensor<4x8xf32>) -> !onnx.unknown
  // CHECK-DAG: QMoE of com.microsoft: {{.*}}fc2_experts_weights of 3 bits, expected 2, 4 or 8{{.*}}'three'
  %three = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %scale, %none, %up, %scale) with {activation_type = "silu", fc2_expert_weight_bits = 3 : i64} {node = "three"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, tensor<4x8xf32>, none, tensor<4x8x4xui8>, tensor<4x8xf32>) -> !onnx.unknown
  // CHECK-DAG: QMoE of com.microsoft: {{.*}}fc1_experts_weights with rows of 8 numbers, expected whole bytes and blocks{{.*}}'blocks'
  %blocks = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %scale, %none, %up, %scale) with {activation_type = "silu", block_size = 16 : i64} {node = "blocks"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, tensor<4x8xf32>, none, tensor<4x8x4xui8>, tensor<4x8xf32>) -> !onnx.unknown
  // CHECK-DAG: QMoE of com.microsoft: {{.*}}fc1_experts_weights without scales{{.*}}'bare'
  %bare = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %none, %none, %up, %scale) with {activation_type = "silu"} {node = "bare"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, none, none, tensor<4x8x4xui8>, tensor<4x8xf32>) -> !onnx.unknown
  // CHECK-DAG: QMoE of com.microsoft: {{.*}}fc1_scales{{.*}}'few'
  %short = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %few, %none, %up, %scale) with {activation_type = "silu"} {node = "few"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, tensor<4x7xf32>, none, tensor<4x8x4xui8>, tensor<4x8xf32>) -> !onnx.unknown
  // CHECK-DAG: QMoE of com.microsoft: {{.*}}scales of experts or activations{{.*}}'scaled'
  %scaled = onnx.node "QMoE" of "com.microsoft"(%x, %p, %up, %scale, %none, %up, %scale, %none, %none, %none, %none, %none, %none, %none, %none, %all) with {activation_type = "silu"} {node = "scaled"} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x8x4xui8>, tensor<4x8xf32>, none, tensor<4x8x4xui8>, tensor<4x8xf32>, none, none, none, none, none, none, none, none, tensor<4xf32>) -> !onnx.unknown
  return %floats, %laid, %three, %blocks, %bare, %short, %scaled : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
