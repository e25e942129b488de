// RUN: wse-opt %s --onnx-differentiate="loss=mean-square gradients-as-results" --onnx-common-subexpressions | FileCheck %s

// As results they have the parameter's shape: what a view leaves out is 0. The
// weights are what the model has.
// CHECK: onnx.parameter @c_attn = dense<5.000000e-01> : tensor<6x12xf32> frozen
// CHECK: func.func @main
// CHECK-SAME: tensor<6x12xf32> {onnx.name = "c_attn.grad"}
// CHECK: onnx.constant #onnx.parameter<@c_attn : tensor<6x12xf32>> view offset 4 strides [12, 1] -> tensor<6x4xf32>
// CHECK: %[[DW:.*]] = onnx.batch_matmul {{.*}} -> tensor<6x4xf32>
// CHECK: %[[ALL:.*]] = onnx.concat %{{.*}}, %[[DW]], %{{.*}} {axis = 1 : i64{{.*}} : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x12xf32>
// CHECK: return %{{.*}}, %[[ALL]]
onnx.parameter @c_attn = dense<0.5> : tensor<6x12xf32> trainable
func.func @main(%x: tensor<3x6xf32> {onnx.name = "x"}) -> (tensor<3x4xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@c_attn : tensor<6x12xf32>> view offset 4 strides [12, 1] -> tensor<6x4xf32>
  %y = onnx.matmul %x, %w : (tensor<3x6xf32>, tensor<6x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
