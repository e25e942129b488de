// RUN: wse-opt %s --onnx-legalize-nodes --onnx-common-subexpressions --onnx-fuse-norms --onnx-fuse-matmul --onnx-fuse-attention --onnx-common-subexpressions | FileCheck %s

// What is fused keeps the names of all nodes whose work it does: a bias, the
// parts a product is split into, the inside of a norm and of attention.

// CHECK-LABEL: func.func @projection
// CHECK: onnx.matmul {{.*}} {node = "product", onnx.absorbed = ["bias"]}
func.func @projection(%x: tensor<2x5x8xf32>) -> tensor<2x5x16xf32> {
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<8x16xf32>
  %b = onnx.constant dense<1.0> : tensor<16xf32>
  %y = onnx.matmul %x, %w {node = "product"} : (tensor<2x5x8xf32>, tensor<8x16xf32>) -> tensor<2x5x16xf32>
  %z = onnx.binary add %y, %b {node = "bias"} : (tensor<2x5x16xf32>, tensor<16xf32>) -> tensor<2x5x16xf32>
  return %z : tensor<2x5x16xf32>
}

// CHECK-LABEL: func.func @parts
// CHECK-DAG: onnx.matmul {{.*}} {node = "product", onnx.absorbed = ["split"]} {{.*}} -> tensor<2x5x4xf32>
// CHECK-DAG: onnx.matmul {{.*}} {node = "product", onnx.absorbed = ["split"]} {{.*}} -> tensor<2x5x8xf32>
func.func @parts(%x: tensor<2x5x8xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x8xf32>) {
  %w = onnx.constant external<"none.bin", 0, 384> : tensor<8x12xf32>
  %y = onnx.matmul %x, %w {node = "product"} : (tensor<2x5x8xf32>, tensor<8x12xf32>) -> tensor<2x5x12xf32>
  %p = onnx.slice %y {node = "split", starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x5x12xf32> -> tensor<2x5x4xf32>
  %q = onnx.slice %y {node = "split", starts = array<i64: 0, 0, 4>, steps = array<i64: 1, 1, 1>} : tensor<2x5x12xf32> -> tensor<2x5x8xf32>
  return %p, %q : tensor<2x5x4xf32>, tensor<2x5x8xf32>
}
