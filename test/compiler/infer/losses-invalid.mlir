// RUN: not wse-opt %s --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s

// CHECK-DAG: SoftmaxCrossEntropyLoss: scores of 7 have no classes: node 'flat'; expected batch x classes x ...
// CHECK-DAG: SoftmaxCrossEntropyLoss: labels of shape 4, expected 5: node 'labels'
// CHECK-DAG: NegativeLogLikelihoodLoss: weights of classes of shape 6, expected 7: node 'weights'
// CHECK-DAG: NegativeLogLikelihoodLoss: reduction is 'middle', expected one of none, mean, sum: node 'reduction'
func.func @main(%flat: tensor<7xf32>, %z: tensor<5x7xf32>, %c: tensor<5xi64>, %four: tensor<4xi64>, %w: tensor<6xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %a = onnx.node "SoftmaxCrossEntropyLoss"(%flat, %c) {node = "flat"} : (tensor<7xf32>, tensor<5xi64>) -> !onnx.unknown
  %b = onnx.node "SoftmaxCrossEntropyLoss"(%z, %four) {node = "labels"} : (tensor<5x7xf32>, tensor<4xi64>) -> !onnx.unknown
  %d = onnx.node "NegativeLogLikelihoodLoss"(%z, %c, %w) {node = "weights"} : (tensor<5x7xf32>, tensor<5xi64>, tensor<6xf32>) -> !onnx.unknown
  %e = onnx.node "NegativeLogLikelihoodLoss"(%z, %c) with {reduction = "middle"} {node = "reduction"} : (tensor<5x7xf32>, tensor<5xi64>) -> !onnx.unknown
  return %a, %b, %d, %e : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
