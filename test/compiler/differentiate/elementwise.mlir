// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=result inputs=a,b gradients-as-results recompute=none" --onnx-common-subexpressions | FileCheck %s

// The derivative is written with the result where that is shorter.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = onnx.unary sigmoid %arg0 {node = "f"}
// CHECK: %[[REST:.*]] = onnx.binary sub %{{.*}}, %[[Y]] {node = "f/backward"}
// CHECK: %[[D:.*]] = onnx.binary mul %[[Y]], %[[REST]] {node = "f/backward"}
// CHECK: return %[[Y]], %[[D]]
func.func @main(%a: tensor<1xf32> {onnx.name = "a"}, %b: tensor<1xf32> {onnx.name = "b"}) -> (tensor<1xf32> {onnx.name = "y"}) {
  %y = onnx.unary sigmoid %a {node = "f"} : tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

// Where an operand repeats its gradients add up; of several uses, too.
// CHECK-LABEL: func.func @main
// CHECK: onnx.binary mul %arg0, %arg1 {node = "p"}
// CHECK: %[[DA:.*]] = onnx.reduce sum %arg1 {axes = array<i64: 0>, keepdims = true, node = "p/backward"}
// CHECK: %[[A:.*]] = onnx.reshape %[[DA]] {{.*}} -> tensor<4xf32>
// CHECK: %[[DB:.*]] = onnx.binary mul %{{.*}}, %arg0 {node = "p/backward"} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: return %{{.*}}, %[[A]], %[[DB]]
func.func @main(%a: tensor<4xf32> {onnx.name = "a"}, %b: tensor<3x4xf32> {onnx.name = "b"}) -> (tensor<f32> {onnx.name = "y"}) {
  %p = onnx.binary mul %a, %b {node = "p"} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = onnx.reduce sum %p {axes = array<i64: 0, 1>, keepdims = false, node = "s"} : tensor<3x4xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// A relu is flat at 0. What is no number of floats has no gradient, so of `a`,
// which only chooses, it is 0.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = onnx.binary less %arg0, %arg1
// CHECK: %[[ABOVE:.*]] = onnx.binary less %[[ZERO:.*]], %arg1 {node = "relu/backward"} : (tensor<f32>, tensor<1xf32>) -> tensor<1xi1>
// CHECK: %[[DB:.*]] = onnx.where %[[ABOVE]], %{{.*}}, %[[ZERO]] {node = "relu/backward"}
// CHECK: %[[NONE:.*]] = onnx.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK: return %{{.*}}, %[[NONE]], %[[DB]]
func.func @main(%a: tensor<1xf32> {onnx.name = "a"}, %b: tensor<1xf32> {onnx.name = "b"}) -> (tensor<1xf32> {onnx.name = "y"}) {
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %c = onnx.binary less %a, %b : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %r = onnx.binary max %b, %zero {node = "relu"} : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %y = onnx.where %c, %r, %zero {node = "choice"} : (tensor<1xi1>, tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}
