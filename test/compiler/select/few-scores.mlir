// RUN: wse-opt %s --split-input-file --pass-pipeline='builtin.module(wsec-select{mesh=2x2 region=2x2})' | FileCheck %s

// Operand and result leave room for the scores of all keys.

// CHECK-LABEL: wse.program @main
// CHECK: attention
// CHECK-NOT: few_scores
// CHECK-SAME: nodes = ["attend"]
func.func @main(%x: tensor<1x64x64xf32> {onnx.name = "x"}) -> (tensor<1x64x64xf32> {onnx.name = "y"}) {
  %y = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  return %y : tensor<1x64x64xf32>
}

// -----

// They leave less: keys come in rounds.

// CHECK-LABEL: wse.program @main
// CHECK: attention {{.*}}few_scores
func.func @main(%x: tensor<1x64x240xf32> {onnx.name = "x"}) -> (tensor<1x64x240xf32> {onnx.name = "y"}) {
  %y = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x64x240xf32>, tensor<1x64x240xf32>, tensor<1x64x240xf32>) -> tensor<1x64x240xf32>
  return %y : tensor<1x64x240xf32>
}
