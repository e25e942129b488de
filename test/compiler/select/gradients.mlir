// RUN: wse-opt %s --split-input-file --wse-select-kernels=mesh=4x3 --allow-unregistered-dialect | FileCheck %s

// What is used is a parameter of the program, whether it trains or not, and
// equal elements stay two. A gradient leaves as soon as it is there.

onnx.parameter @w = external<"m.onnx", 0, 120> : tensor<6x5xf32> trainable
onnx.parameter @b = dense<0.0> : tensor<5xf32> frozen
onnx.parameter @s = dense<0.0> : tensor<5xf32> trainable
onnx.parameter @unused = dense<0.0> : tensor<5xf32> trainable
// CHECK-NOT: onnx.parameter
// CHECK-LABEL: wse.program @main
// CHECK: input @x : tensor<8x6xf32>
// CHECK-NEXT: input @w.gradient : tensor<8x5xf32>
// CHECK-NEXT: parameter @w = external<"m.onnx", 0, 120> : tensor<6x5xf32> trainable
// CHECK-NEXT: parameter @b = dense<0.000000e+00> : tensor<5xf32>
// CHECK-NEXT: parameter @dw = dense<1.000000e+00> : tensor<6x5xf32>
// CHECK-NEXT: parameter @s = dense<0.000000e+00> : tensor<5xf32> trainable
// CHECK-NEXT: %x = load @x
// CHECK-NEXT: %y = matmul %x weight <@w : tensor<6x5xf32>> bias <@b : tensor<5xf32>>
// CHECK-NEXT: gradient "w.gradient_1" of @w : tensor<6x5xf32>
// CHECK-NEXT: alias "w.gradient_1" = <@dw : tensor<6x5xf32>> : tensor<6x5xf32>
// CHECK-NEXT: %db = reduce_tokens sum %y
// CHECK-NEXT: gradient "s.gradient" of @s : tensor<5xf32>
// CHECK-NEXT: store %db to "s.gradient"
// CHECK: store %{{.*}} to "y"
func.func @main(%x: tensor<8x6xf32> {onnx.name = "x"}, %t: tensor<8x5xf32> {onnx.name = "w.gradient"}) -> (tensor<8x5xf32> {onnx.name = "y"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<6x5xf32>>
  %b = onnx.constant #onnx.parameter<@b : tensor<5xf32>> loc(unknown)
  %s = onnx.constant #onnx.parameter<@s : tensor<5xf32>>
  %y = onnx.matmul %x, %w bias %b {node = "y"} : (tensor<8x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  %dw = onnx.constant dense<1.0> : tensor<6x5xf32> {node = "dw"}
  onnx.gradient %dw of @w : tensor<6x5xf32>
  %db = onnx.reduce sum %y {axes = array<i64: 0>, keepdims = false, node = "db"} : tensor<8x5xf32> -> tensor<5xf32>
  onnx.gradient %db of @s : tensor<5xf32>
  %z = onnx.binary add %y, %s {node = "z"} : (tensor<8x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  %u = onnx.binary sub %z, %t {node = "u"} : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  return %u : tensor<8x5xf32>
}
