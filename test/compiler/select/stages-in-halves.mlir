// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=3x6 within=stages=2 precision=f16})' | FileCheck %s

// Six heads of three features in 16 bits: a column that holds all of them holds
// whole pairs of features, one of two columns does not. A transfer is asked for
// the cost of shapes that its region does not have yet.

// CHECK: region @r shape({{[0-9]+}}x[[HEIGHT:[0-9]+]]) channels(
// CHECK: region @r1 shape({{[0-9]+}}x[[HEIGHT]]) channels(
// CHECK: transfer %{{.*}} on @r1 {nodes = ["q"]} : !tokens_1x5x18xf16_heads
// CHECK: attention {{.*}} on @r1
func.func @main(%x: tensor<1x5x9xf32> {onnx.name = "x"}) -> (tensor<1x5x9xf32> {onnx.name = "y"}) {
  %s = onnx.constant external<"m.data", 0, 36> : tensor<9xf32> {node = "s"}
  %wq = onnx.constant external<"m.data", 0, 648> : tensor<9x18xf32> {node = "wq"}
  %wk = onnx.constant external<"m.data", 648, 108> : tensor<9x3xf32> {node = "wk"}
  %wo = onnx.constant external<"m.data", 756, 648> : tensor<18x9xf32> {node = "wo"}
  %n = onnx.layer_norm %x, %s bias %s {epsilon = 1.0e-5 : f32, node = "ln1"} : (tensor<1x5x9xf32>, tensor<9xf32>, tensor<9xf32>) -> tensor<1x5x9xf32>
  %q = onnx.matmul %n, %wq {node = "q"} : (tensor<1x5x9xf32>, tensor<9x18xf32>) -> tensor<1x5x18xf32>
  %k = onnx.matmul %n, %wk {node = "k"} : (tensor<1x5x9xf32>, tensor<9x3xf32>) -> tensor<1x5x3xf32>
  %v = onnx.matmul %n, %wk {node = "v"} : (tensor<1x5x9xf32>, tensor<9x3xf32>) -> tensor<1x5x3xf32>
  %a = onnx.attention %q, %k, %v {kv_heads = 1 : i64, num_heads = 6 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x5x18xf32>, tensor<1x5x3xf32>, tensor<1x5x3xf32>) -> tensor<1x5x18xf32>
  %o = onnx.matmul %a, %wo {node = "o"} : (tensor<1x5x18xf32>, tensor<18x9xf32>) -> tensor<1x5x9xf32>
  %r = onnx.binary add %x, %o {node = "add"} : (tensor<1x5x9xf32>, tensor<1x5x9xf32>) -> tensor<1x5x9xf32>
  %n2 = onnx.layer_norm %r, %s bias %s {epsilon = 1.0e-5 : f32, node = "ln2"} : (tensor<1x5x9xf32>, tensor<9xf32>, tensor<9xf32>) -> tensor<1x5x9xf32>
  return %n2 : tensor<1x5x9xf32>
}
