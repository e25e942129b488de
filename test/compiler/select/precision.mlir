// RUN: wse-opt %s --split-input-file --wse-select-kernels="mesh=2x2 precision=f16" | FileCheck %s
// RUN: wse-opt %s --split-input-file --wse-select-kernels="mesh=2x2 precision=f16 precision-opt-level=2" | FileCheck %s --check-prefixes=CHECK,LEVEL

// Activations have 16 bits; the scalars of bodies stay f32.
// CHECK-LABEL: wse.program @main
// LEVEL-SAME: attributes {wse.precision_opt_level = 2 : i64}
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

// -----

// A result that may be the lowest f32 is of f32, and so is what is stored and
// loaded of it: in 16 bits it would be minus infinity, and a row of them has
// no softmax.
// CHECK-LABEL: wse.program @main
// CHECK: elementwise(%{{.*}}) on @r {{.*}} : (!tokens_1x4x8xf16_balanced) -> !tokens_1x4x8_balanced
// CHECK: %[[T:.*]] = load @{{.*}} strides {{.*}} : !tokens_1x16x2_balanced
// CHECK: softmax %[[T]]
func.func @main(%in: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<16x2xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 256> : tensor<8x8xf32> {node = "w"}
  %x = onnx.matmul %in, %w {node = "fc"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %limit = onnx.constant dense<4.0> : tensor<f32> {node = "limit"}
  %lowest = onnx.constant dense<-3.40282347E+38> : tensor<f32> {node = "lowest"}
  %seen = onnx.binary less %limit, %x {node = "less"} : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %s = onnx.where %seen, %x, %lowest {node = "where"} : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %flat = onnx.reshape %s {node = "reshape"} : tensor<4x8xf32> -> tensor<2x16xf32>
  %t = onnx.transpose %flat {node = "transpose", perm = array<i64: 1, 0>} : tensor<2x16xf32> -> tensor<16x2xf32>
  %y = onnx.softmax %t {node = "softmax"} : tensor<16x2xf32>
  return %y : tensor<16x2xf32>
}

// -----

// Masks of attentions are of f32, those of heads, too.
// CHECK-LABEL: wse.program @main
// CHECK: %[[M:.*]] = load <@m {{.*}} : !tokens_1x2x4_heads
// CHECK: attention {{.*}} masks %[[M]] {{.*}} masks !tokens_1x2x4_heads ->
func.func @main(%x: tensor<1x2x4xf32> {onnx.name = "x"}) -> (tensor<1x2x4xf32> {onnx.name = "y"}) {
  %m = onnx.constant dense<[[[-3.40282347E+38, -3.40282347E+38, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]]> : tensor<1x2x4xf32> {node = "m"}
  %y = onnx.attention %x, %x, %x masks %m {num_heads = 2 : i64, scale = 5.000000e-01 : f32, terms = [#onnx.term<add operand 0>], node = "attention"}
    : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}
