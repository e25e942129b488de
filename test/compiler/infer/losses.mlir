// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold --onnx-legalize-nodes --canonicalize | FileCheck %s

module attributes {onnx.opset = 13 : i64} {

// Classes are the second axis, and become the last; the second result is what
// the loss is of, where they were.
// CHECK-LABEL: func.func @scores
// CHECK: %[[Z:.*]] = onnx.transpose %arg0 {node = "loss", perm = array<i64: 0, 2, 1>}
// CHECK: %[[LOSS:.*]] = onnx.cross_entropy mean %[[Z]], %arg1 weights %arg2 {ignore_index = -1 : i64, label_smoothing = 0.000000e+00 : f32, node = "loss"} : (tensor<2x3x7xf32>, tensor<2x3xi64>, tensor<7xf32>) -> tensor<f32>
// CHECK: %[[LOG:.*]] = onnx.unary log
// CHECK: %[[P:.*]] = onnx.binary sub %{{.*}}, %[[LOG]]
// CHECK: %[[LOGS:.*]] = onnx.transpose %[[P]] {node = "loss", perm = array<i64: 0, 2, 1>}
// CHECK: return %[[LOSS]], %[[LOGS]]
func.func @scores(%z: tensor<2x7x3xf32>, %c: tensor<2x3xi64>, %w: tensor<7xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %y, %p = onnx.node "SoftmaxCrossEntropyLoss"(%z, %c, %w) with {ignore_index = -1 : i64} {node = "loss"} : (tensor<2x7x3xf32>, tensor<2x3xi64>, tensor<7xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %y, %p : !onnx.unknown, !onnx.unknown
}

// Log probabilities need no softmax; where no label is ignored, none is stated.
// CHECK-LABEL: func.func @probabilities
// CHECK: onnx.cross_entropy none %arg0, %arg1 {label_smoothing = 0.000000e+00 : f32, node = "loss", normalized} : (tensor<5x7xf32>, tensor<5xi32>) -> tensor<5xf32>
func.func @probabilities(%z: tensor<5x7xf32>, %c: tensor<5xi32>) -> !onnx.unknown {
  %y = onnx.node "NegativeLogLikelihoodLoss"(%z, %c) with {reduction = "none"} {node = "loss"} : (tensor<5x7xf32>, tensor<5xi32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

}
