// RUN: wse-opt %s --split-input-file --onnx-legalize-products | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: onnx.batch_matmul %arg0, %arg1 {node = "p"} : (tensor<2x8x16xf32>, tensor<2x16x24xf32>) -> tensor<2x8x24xf32>
func.func @main(%a: tensor<2x8x16xf32>, %b: tensor<2x16x24xf32>) -> tensor<2x8x24xf32> {
  %y = onnx.node "MatMul"(%a, %b) {node = "p"} : (tensor<2x8x16xf32>, tensor<2x16x24xf32>) -> tensor<2x8x24xf32>
  return %y : tensor<2x8x24xf32>
}

// -----

// A vector is a matrix of one column, which the result lacks.
// CHECK-LABEL: func.func @vector
// CHECK: onnx.reshape %arg1 {{.*}} : tensor<16xf32> -> tensor<16x1xf32>
// CHECK: onnx.batch_matmul {{.*}} -> tensor<2x8x1xf32>
// CHECK: onnx.reshape {{.*}} : tensor<2x8x1xf32> -> tensor<2x8xf32>
func.func @vector(%a: tensor<2x8x16xf32>, %b: tensor<16xf32>) -> tensor<2x8xf32> {
  %y = onnx.node "MatMul"(%a, %b) {node = "v"} : (tensor<2x8x16xf32>, tensor<16xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
