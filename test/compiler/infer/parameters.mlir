// RUN: wse-opt %s --onnx-infer-and-fold | FileCheck %s

// Of what trains nothing is computed ahead of time but views; what is frozen
// folds, and keeps its name where it is only re-indexed.

module attributes {onnx.opset = 17 : i64} {
  onnx.parameter @w = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> trainable
  onnx.parameter @f = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> frozen

  // CHECK-LABEL: func.func @views
  func.func @views() -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
    // CHECK-DAG: onnx.constant #onnx.parameter<@w : tensor<2x2xf32>> view offset 0 strides [1, 2] {node = "wt"}
    // CHECK-DAG: onnx.constant #onnx.parameter<@f : tensor<2x2xf32>> view offset 0 strides [1, 2] {node = "ft"}
    %w = onnx.constant #onnx.parameter<@w : tensor<2x2xf32>>
    %f = onnx.constant #onnx.parameter<@f : tensor<2x2xf32>>
    %wt = onnx.node "Transpose"(%w) {node = "wt"} : (tensor<2x2xf32>) -> !onnx.unknown
    %ft = onnx.node "Transpose"(%f) {node = "ft"} : (tensor<2x2xf32>) -> !onnx.unknown
    // No strides describe it: it is computed where the program runs.
    // CHECK-DAG: onnx.node "Reshape"(%{{.*}}) {node = "flat"}
    %shape = onnx.constant dense<[4]> : tensor<1xi64>
    %flat = onnx.node "Reshape"(%wt, %shape) {node = "flat"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
    return %wt, %ft, %flat : !onnx.unknown, !onnx.unknown, !onnx.unknown
  }

  // CHECK-LABEL: func.func @computed
  func.func @computed() -> (!onnx.unknown, !onnx.unknown) {
    %w = onnx.constant #onnx.parameter<@w : tensor<2x2xf32>>
    %f = onnx.constant #onnx.parameter<@f : tensor<2x2xf32>>
    // CHECK: %[[W:.*]] = onnx.node "Mul"(%{{.*}}, %{{.*}}) {node = "w2"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %w2 = onnx.node "Mul"(%w, %w) {node = "w2"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> !onnx.unknown
    // CHECK: %[[F:.*]] = onnx.constant dense<{{.*}}1.000000e+00, 4.000000e+00], [9.000000e+00, 1.600000e+01
    %f2 = onnx.node "Mul"(%f, %f) {node = "f2"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> !onnx.unknown
    // CHECK: return %[[W]], %[[F]]
    return %w2, %f2 : !onnx.unknown, !onnx.unknown
  }
}
