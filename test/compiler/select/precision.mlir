// RUN: wse-opt %s --wse-select-kernels="mesh=2x2 precision=f16" | FileCheck %s

// Activations have 16 bits; the scalars of bodies stay f32.
// CHECK: load @x on @r {{.*}} : !tokens_1x2x4xf16_balanced
// CHECK: matmul {{.*}} -> !tokens_1x2x4xf16_balanced
// CHECK: (!tokens_1x2x4xf16_balanced) -> !tokens_1x2x4xf16_balanced {
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
// CHECK: store {{.*}} : !tokens_1x2x4xf16_balanced to tensor<2x4xf32>
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 64> : tensor<4x4xf32> {node = "w"}
  %h = onnx.matmul %x, %w {node = "fc"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %y = onnx.unary tanh %h {node = "tanh"} : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
