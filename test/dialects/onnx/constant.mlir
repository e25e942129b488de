// RUN: wse-opt %s --verify-roundtrip | FileCheck %s

// Constants in memory and in files, with and without a view, read back as they
// are printed.

// CHECK-LABEL: func.func @dense
func.func @dense() -> tensor<2xi64> {
  // CHECK: %shape = onnx.constant dense<[1, -1]> : tensor<2xi64> {node = "shape"}
  %shape = onnx.constant dense<[1, -1]> : tensor<2xi64> {node = "shape"}
  return %shape : tensor<2xi64>
}

// CHECK-LABEL: func.func @external
func.func @external() -> (tensor<16x24xf32>, tensor<24x16xf32>, tensor<16xi1>) {
  // CHECK: onnx.constant external<"bert.onnx", 4096, 1536> : tensor<16x24xf32>
  %w = onnx.constant external<"bert.onnx", 4096, 1536> : tensor<16x24xf32>
  // CHECK: onnx.constant external<"bert.onnx", 4096, 1536> view offset 0 strides [1, 24] : tensor<24x16xf32>
  %wt = onnx.constant external<"bert.onnx", 4096, 1536> view offset 0 strides [1, 24] : tensor<24x16xf32>
  // CHECK: onnx.constant external<"bert.onnx", 0, 16> : tensor<16xi1>
  %mask = onnx.constant external<"bert.onnx", 0, 16> : tensor<16xi1>
  return %w, %wt, %mask : tensor<16x24xf32>, tensor<24x16xf32>, tensor<16xi1>
}

// CHECK-LABEL: func.func @widened
func.func @widened() -> (tensor<16x24xf32>, tensor<2xf32>) {
  // CHECK: onnx.constant external<"half.onnx", 4096, 768, f16> : tensor<16x24xf32>
  %w = onnx.constant external<"half.onnx", 4096, 768, f16> : tensor<16x24xf32>
  // CHECK: onnx.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xbf16> -> tensor<2xf32>
  %b = onnx.constant dense<[1.0, 2.0]> : tensor<2xbf16> -> tensor<2xf32>
  return %w, %b : tensor<16x24xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @reversed_and_repeated
func.func @reversed_and_repeated() -> tensor<2x3xf32> {
  // CHECK: onnx.constant dense<{{.*}}> : tensor<3xf32> view offset 2 strides [0, -1] -> tensor<2x3xf32>
  %c = onnx.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> view offset 2 strides [0, -1] -> tensor<2x3xf32>
  return %c : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @quantized
func.func @quantized() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK: onnx.constant #onnx.quantized<{{.*}} : tensor<2x2xi4> scales {{.*}} : tensor<1x2xf32> block 2> -> tensor<2x2xf32>
  %w = onnx.constant #onnx.quantized<dense<[[1, -8], [3, 7]]> : tensor<2x2xi4> scales dense<[[0.5, 0.25]]> : tensor<1x2xf32> block 2> -> tensor<2x2xf32>
  // CHECK: onnx.constant #onnx.quantized<{{.*}} : tensor<2x2xui8> scales {{.*}} zeros {{.*}} block 1> view offset 0 strides [1, 2] -> tensor<2x2xf32>
  %t = onnx.constant #onnx.quantized<dense<[[1, 8], [3, 7]]> : tensor<2x2xui8> scales dense<0.5> : tensor<1x1xf32> zeros dense<128> : tensor<1x1xui8> block 1> view offset 0 strides [1, 2] -> tensor<2x2xf32>
  return %w, %t : tensor<2x2xf32>, tensor<2x2xf32>
}
