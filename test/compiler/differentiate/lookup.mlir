// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=none" --onnx-common-subexpressions | FileCheck %s

// Rows of a computed table: a product with ones where they were looked up, which
// may be counted from the end.
// CHECK-LABEL: func.func @main
// CHECK: %[[IDS:.*]] = onnx.reshape %arg1 {{.*}} -> tensor<1x10xi64>
// CHECK: %[[ROW:.*]] = onnx.constant dense<{{\[\[0\], \[1\]}}{{.*}} : tensor<7x1xi64>
// CHECK: %[[IS:.*]] = onnx.binary equal %[[IDS]], %[[ROW]]
// CHECK: %[[FROMEND:.*]] = onnx.binary add %[[ROW]], %{{.*}}
// CHECK: %[[ISTOO:.*]] = onnx.binary equal %[[IDS]], %[[FROMEND]]
// CHECK: %[[EITHER:.*]] = onnx.binary or %[[IS]], %[[ISTOO]]
// CHECK: %[[ONES:.*]] = onnx.cast %[[EITHER]]
// CHECK: onnx.batch_matmul %[[ONES]], %{{.*}} : (tensor<7x10xf32>, tensor<10x4xf32>) -> tensor<7x4xf32>
func.func @main(%x: tensor<7x4xf32> {onnx.name = "x"}, %ids: tensor<2x5xi64> {onnx.name = "ids"}) -> (tensor<2x5x4xf32> {onnx.name = "y"}) {
  %y = onnx.gather %x, %ids {node = "g"} : (tensor<7x4xf32>, tensor<2x5xi64>) -> tensor<2x5x4xf32>
  return %y : tensor<2x5x4xf32>
}

// -----

// Of the largest: where their indices say they were.
// CHECK-LABEL: func.func @main
// CHECK: %[[INDICES:.*]], %{{.*}} = onnx.top_k %arg0
// CHECK: %[[AT:.*]] = onnx.reshape %[[INDICES]] {{.*}} -> tensor<2x3x1xi64>
// CHECK: %[[IS:.*]] = onnx.binary equal %[[AT]], %{{.*}} : (tensor<2x3x1xi64>, tensor<7xi64>) -> tensor<2x3x7xi1>
// CHECK: %[[ONES:.*]] = onnx.cast %[[IS]]
// CHECK: %[[SPREAD:.*]] = onnx.binary mul %{{.*}}, %[[ONES]]
// CHECK: onnx.reduce sum %[[SPREAD]] {axes = array<i64: 1>, {{.*}}} : tensor<2x3x7xf32> -> tensor<2x7xf32>
func.func @main(%x: tensor<2x7xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
  %i, %v = onnx.top_k %x {node = "t"} : tensor<2x7xf32> -> tensor<2x3xi64>, tensor<2x3xf32>
  return %v : tensor<2x3xf32>
}
