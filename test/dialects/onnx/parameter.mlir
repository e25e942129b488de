// RUN: wse-opt %s --verify-roundtrip | FileCheck %s
// RUN: wse-opt %s --onnx-common-subexpressions | FileCheck %s --check-prefix=CSE

// Parameters keep their names: what is equal stays two, what is used twice is
// one. Gradients leave by name.

// CHECK: onnx.parameter @fc1.weight = external<"mlp.onnx", 4096, 1536> : tensor<16x24xf32> trainable
onnx.parameter @fc1.weight = external<"mlp.onnx", 4096, 1536> : tensor<16x24xf32> trainable
// CHECK: onnx.parameter @"fc1/half" = external<"mlp.onnx", 0, 32> : tensor<16xf16> frozen
onnx.parameter @"fc1/half" = external<"mlp.onnx", 0, 32> : tensor<16xf16> frozen
// CHECK: onnx.parameter @ln_1 = dense<1.000000e+00> : tensor<16xf32> trainable
onnx.parameter @ln_1 = dense<1.0> : tensor<16xf32> trainable
// CHECK: onnx.parameter @ln_2 = dense<1.000000e+00> : tensor<16xf32> trainable
onnx.parameter @ln_2 = dense<1.0> : tensor<16xf32> trainable
onnx.parameter @wte = external<"mlp.onnx", 8192, 6400> : tensor<100x16xf32> trainable

// CHECK-LABEL: func.func @views
func.func @views() -> (tensor<16x24xf32>, tensor<8x16xf32>, tensor<16xf32>) {
  // CHECK: onnx.constant #onnx.parameter<@fc1.weight : tensor<16x24xf32>>{{$}}
  %w = onnx.constant #onnx.parameter<@fc1.weight : tensor<16x24xf32>>
  // CHECK: onnx.constant #onnx.parameter<@fc1.weight : tensor<16x24xf32>> view offset 8 strides [1, 24] -> tensor<8x16xf32>
  %wt = onnx.constant #onnx.parameter<@fc1.weight : tensor<16x24xf32>> view offset 8 strides [1, 24] -> tensor<8x16xf32>
  // CHECK: onnx.constant #onnx.parameter<@"fc1/half" : tensor<16xf16>> -> tensor<16xf32>
  %half = onnx.constant #onnx.parameter<@"fc1/half" : tensor<16xf16>> -> tensor<16xf32>
  return %w, %wt, %half : tensor<16x24xf32>, tensor<8x16xf32>, tensor<16xf32>
}

// CSE-LABEL: func.func @two_and_tied
func.func @two_and_tied(%x: tensor<1x8x16xf32>) -> (tensor<1x8x16xf32>, tensor<1x8x16xf32>, tensor<1x8x16xf32>) {
  // CSE: %[[G1:.*]] = onnx.constant #onnx.parameter<@ln_1
  // CSE-NEXT: %[[G2:.*]] = onnx.constant #onnx.parameter<@ln_2
  // CSE-NEXT: %[[Y1:.*]] = onnx.rms_norm %{{.*}}, %[[G1]]
  // CSE-NEXT: %[[Y2:.*]] = onnx.rms_norm %{{.*}}, %[[G2]]
  // CSE-NEXT: return %[[Y1]], %[[Y2]], %[[Y1]]
  %g1 = onnx.constant #onnx.parameter<@ln_1 : tensor<16xf32>>
  %g2 = onnx.constant #onnx.parameter<@ln_2 : tensor<16xf32>>
  %again = onnx.constant #onnx.parameter<@ln_1 : tensor<16xf32>>
  %y1 = onnx.rms_norm %x, %g1 {epsilon = 1.0e-6 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
  %y2 = onnx.rms_norm %x, %g2 {epsilon = 1.0e-6 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
  %y3 = onnx.rms_norm %x, %again {epsilon = 1.0e-6 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
  return %y1, %y2, %y3 : tensor<1x8x16xf32>, tensor<1x8x16xf32>, tensor<1x8x16xf32>
}

// CHECK-LABEL: func.func @gradients
// CSE-LABEL: func.func @gradients
func.func @gradients(%dw: tensor<16x24xf32>, %dk: tensor<8x16xf32>, %de: tensor<1x8x16xf32>, %ids: tensor<1x8xi64>) {
  // CHECK: onnx.gradient %arg0 of @fc1.weight : tensor<16x24xf32>
  // CSE-COUNT-2: onnx.gradient %arg0 of @fc1.weight : tensor<16x24xf32>
  onnx.gradient %dw of @fc1.weight : tensor<16x24xf32>
  onnx.gradient %dw of @fc1.weight : tensor<16x24xf32>
  // CHECK: onnx.gradient %arg1 of @fc1.weight view offset 8 strides [1, 24] {node = "k"} : tensor<8x16xf32>
  onnx.gradient %dk of @fc1.weight view offset 8 strides [1, 24] {node = "k"} : tensor<8x16xf32>
  // CHECK: onnx.gradient %arg2 of @wte rows %arg3 : tensor<1x8x16xf32>, tensor<1x8xi64>
  onnx.gradient %de of @wte rows %ids : tensor<1x8x16xf32>, tensor<1x8xi64>
  return
}
