// RUN: wse-opt %s --split-input-file --onnx-fuse-experts --onnx-common-subexpressions | FileCheck %s

// Weights that are looked up stand left, as exporters write a linear layer.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = onnx.constant dense<{{\[\[\[}}1.{{[0e+]*}}, 4.{{[0e+]*}}], [2.{{.*}} : tensor<2x3x2xf32>
// CHECK: %[[X:.*]] = onnx.reshape %arg0 {{.*}} -> tensor<6x3xf32>
// CHECK: %[[Y:.*]] = onnx.experts %[[X]], %arg1, %[[W]] {{.*}}onnx.absorbed = ["g"]
// CHECK-SAME: -> tensor<6x2xf32>
// CHECK: onnx.reshape %[[Y]] {{.*}} -> tensor<6x2x1xf32>
// CHECK-NOT: onnx.gather
func.func @main(%x: tensor<6x3x1xf32>, %ids: tensor<6xi32>) -> tensor<6x2x1xf32> {
  %table = onnx.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 1.0, 2.0, 3.0]]> : tensor<2x6xf32>
  %rows = onnx.gather %table, %ids {node = "g"} : (tensor<2x6xf32>, tensor<6xi32>) -> tensor<6x6xf32>
  %w = onnx.reshape %rows : tensor<6x6xf32> -> tensor<6x2x3xf32>
  %y = onnx.node "MatMul"(%w, %x) {node = "p"} : (tensor<6x2x3xf32>, tensor<6x3x1xf32>) -> tensor<6x2x1xf32>
  return %y : tensor<6x2x1xf32>
}

// -----

// They stand right, transposed behind the look-up; numbers are one for each of
// the two experts of three tokens.
// CHECK-LABEL: func.func @turned
// CHECK: onnx.constant dense<{{\[\[\[}}1.{{[0e+]*}}, 4.{{[0e+]*}}], [2.{{.*}} : tensor<2x3x2xf32>
// CHECK: %[[IDS:.*]] = onnx.reshape %arg1 {{.*}}tensor<3x2xi64> -> tensor<6xi64>
// CHECK: onnx.experts %{{.*}}, %[[IDS]]
func.func @turned(%x: tensor<3x2x1x3xf32>, %ids: tensor<3x2xi64>) -> tensor<3x2x1x2xf32> {
  %table = onnx.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 1.0, 2.0, 3.0]]> : tensor<2x6xf32>
  %rows = onnx.gather %table, %ids : (tensor<2x6xf32>, tensor<3x2xi64>) -> tensor<3x2x6xf32>
  %w = onnx.reshape %rows : tensor<3x2x6xf32> -> tensor<3x2x2x3xf32>
  %t = onnx.transpose %w {perm = array<i64: 0, 1, 3, 2>} : tensor<3x2x2x3xf32> -> tensor<3x2x3x2xf32>
  %y = onnx.node "MatMul"(%x, %t) : (tensor<3x2x1x3xf32>, tensor<3x2x3x2xf32>) -> tensor<3x2x1x2xf32>
  return %y : tensor<3x2x1x2xf32>
}

// -----

// Two rows for each matrix are no choice of each row.
// CHECK-LABEL: func.func @two_rows
// CHECK: onnx.gather
// CHECK: onnx.node "MatMul"
func.func @two_rows(%x: tensor<6x2x3xf32>, %ids: tensor<6xi32>) -> tensor<6x2x2xf32> {
  %table = onnx.constant dense<0.5> : tensor<4x6xf32>
  %rows = onnx.gather %table, %ids : (tensor<4x6xf32>, tensor<6xi32>) -> tensor<6x6xf32>
  %w = onnx.reshape %rows : tensor<6x6xf32> -> tensor<6x3x2xf32>
  %y = onnx.node "MatMul"(%x, %w) : (tensor<6x2x3xf32>, tensor<6x3x2xf32>) -> tensor<6x2x2xf32>
  return %y : tensor<6x2x2xf32>
}

// -----

// Tables that are computed are looked up.
// CHECK-LABEL: func.func @computed
// CHECK: onnx.gather
func.func @computed(%x: tensor<6x1x3xf32>, %table: tensor<4x6xf32>, %ids: tensor<6xi32>) -> tensor<6x1x2xf32> {
  %rows = onnx.gather %table, %ids : (tensor<4x6xf32>, tensor<6xi32>) -> tensor<6x6xf32>
  %w = onnx.reshape %rows : tensor<6x6xf32> -> tensor<6x3x2xf32>
  %y = onnx.node "MatMul"(%x, %w) : (tensor<6x1x3xf32>, tensor<6x3x2xf32>) -> tensor<6x1x2xf32>
  return %y : tensor<6x1x2xf32>
}
