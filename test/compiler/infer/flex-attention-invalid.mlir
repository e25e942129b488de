// RUN: wse-opt %s --onnx-infer-and-fold | FileCheck %s

// Heads that do not divide, a type that is none of floats, subgraphs of other values, results and shapes.
module attributes {onnx.opset = 26 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "FlexAttention"{{.*}} {node = "heads"{{.*}}onnx.reason = "queries of shape 1x3x2x4 do not go with keys 1x2x2x4 and values 1x2x2x4"
// CHECK: onnx.node "FlexAttention"{{.*}} {node = "rank"{{.*}}onnx.reason = "an operand of shape 2x4, expected floats of batch, heads, tokens and features"
// CHECK: onnx.node "FlexAttention"{{.*}} {node = "type"{{.*}}onnx.reason = "softmax_precision is 7, expected a type of floats"
// CHECK: onnx.node "FlexAttention"{{.*}} {node = "attribute"{{.*}}onnx.reason = "attribute 'causal' is none of its own"
// CHECK: onnx.node "FlexAttention"{{.*}} {node = "operands"{{.*}}onnx.reason = "expected three operands and one result"
// CHECK: onnx.node "FlexAttention"{{.*}} {node = "two"{{.*}}onnx.reason = "score_mod takes one value and gives one"
// CHECK: onnx.node "FlexAttention"{{.*}} {node = "shape"{{.*}}onnx.reason = "prob_mod makes shape 1x2x2x1 of 1x2x2x2, expected the same, of the same elements"
func.func @main(%q: tensor<1x3x2x4xf32>, %k: tensor<1x2x2x4xf32>, %m: tensor<2x4xf32>) {
  %a = onnx.node "FlexAttention" of "ai.onnx.preview"(%q, %k, %k) {node = "heads"} : (tensor<1x3x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> !onnx.unknown
  %b = onnx.node "FlexAttention" of "ai.onnx.preview"(%k, %m, %k) {node = "rank"} : (tensor<1x2x2x4xf32>, tensor<2x4xf32>, tensor<1x2x2x4xf32>) -> !onnx.unknown
  %c = onnx.node "FlexAttention" of "ai.onnx.preview"(%k, %k, %k) with {softmax_precision = 7 : i64} {node = "type"} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> !onnx.unknown
  %d = onnx.node "FlexAttention" of "ai.onnx.preview"(%k, %k, %k) with {causal = 1 : i64} {node = "attribute"} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> !onnx.unknown
  %e = onnx.node "FlexAttention" of "ai.onnx.preview"(%k, %k) {node = "operands"} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> !onnx.unknown
  %f = onnx.node "FlexAttention" of "ai.onnx.preview"(%k, %k, %k) with {captured = 0 : i64, score_mod = @two} {node = "two"} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> !onnx.unknown
  %g = onnx.node "FlexAttention" of "ai.onnx.preview"(%k, %k, %k) with {captured = 0 : i64, prob_mod = @narrow} {node = "shape"} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> !onnx.unknown
  return
}
func.func private @two(%s: !onnx.unknown, %t: !onnx.unknown) -> !onnx.unknown {
  return %s : !onnx.unknown
}
func.func private @narrow(%p: !onnx.unknown) -> !onnx.unknown {
  %axis = onnx.constant dense<-1> : tensor<1xi64>
  %r = onnx.node "ReduceSum"(%p, %axis) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  return %r : !onnx.unknown
}
}
