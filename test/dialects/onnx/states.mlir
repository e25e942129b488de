// RUN: wse-opt %s --verify-roundtrip | FileCheck %s

// The program of dialects/onnx/README.md in its two states.

// CHECK-LABEL: func.func @imported
func.func @imported(%x: tensor<8x16xf32> {onnx.name = "x"}) -> (!onnx.unknown {onnx.name = "y"}) {
  %w = onnx.constant external<"fc.onnx", 4096, 1536> : tensor<24x16xf32> {node = "fc.weight"}
  %wt = onnx.node "Transpose"(%w) {node = "fc/Transpose"} : (tensor<24x16xf32>) -> !onnx.unknown
  // CHECK: %fc_MatMul = onnx.node "MatMul"(%{{.*}}, %fc_Transpose)
  %fc = onnx.node "MatMul"(%x, %wt) {node = "fc/MatMul"} : (tensor<8x16xf32>, !onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Relu"(%fc) {node = "act"} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @canonical
func.func @canonical(%x: tensor<8x16xf32> {onnx.name = "x"}) -> (tensor<8x24xf32> {onnx.name = "y"}) {
  %wt = onnx.constant external<"fc.onnx", 4096, 1536> view offset 0 strides [1, 16] : tensor<16x24xf32> {node = "fc/Transpose"}
  %zero = onnx.constant dense<0.0> : tensor<f32>
  // CHECK: %fc_MatMul = onnx.matmul %{{.*}}, %fc_Transpose {node = "fc/MatMul"}
  %fc = onnx.matmul %x, %wt {node = "fc/MatMul"} : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %y = onnx.binary max %fc, %zero {node = "act"} : (tensor<8x24xf32>, tensor<f32>) -> tensor<8x24xf32>
  return %y : tensor<8x24xf32>
}
