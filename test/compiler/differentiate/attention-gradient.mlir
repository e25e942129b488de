// RUN: wse-opt %s --split-input-file --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=none" --onnx-common-subexpressions | FileCheck %s

// One operator, for all three gradients.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = onnx.attention %arg0, %arg0, %arg0
// CHECK: onnx.attention_gradient %arg0, %arg0, %arg0, %[[Y]], %{{.*}} {node = "a/backward", num_heads = 2 : i64, scale = 5.000000e-01 : f32, terms = [#onnx.term<add later -1.000000e+04 : f32>]}
// CHECK-NOT: onnx.softmax
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}) {
  %y = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<add later -1.0e4 : f32>], node = "a"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  return %y : tensor<1x6x8xf32>
}

// -----

// Weights of what replaces scores by a number that may count are followed by products.
// CHECK-LABEL: func.func @main
// CHECK-NOT: onnx.attention_gradient
// CHECK: onnx.softmax %{{.*}} {node = "a/backward"}
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}) {
  %y = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<replace later -1.0e4 : f32>], node = "a"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  return %y : tensor<1x6x8xf32>
}

// -----

// Nor is a softcap's slope known to it.
// CHECK-LABEL: func.func @main
// CHECK-NOT: onnx.attention_gradient
// CHECK: onnx.softmax %{{.*}} {node = "a/backward"}
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}) {
  %y = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, softcap = 2.0 : f32, node = "a"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  return %y : tensor<1x6x8xf32>
}

// -----

// Of keys that two heads of queries share: repeated for each, and their gradients, a slice each, are added.
// CHECK-LABEL: func.func @main
// CHECK: %[[EACH:.*]] = onnx.expand %{{.*}} {node = "a/backward"} : tensor<1x6x1x1x4xf32> -> tensor<1x6x1x2x4xf32>
// CHECK: %[[K:.*]] = onnx.reshape %[[EACH]] {{.*}} -> tensor<1x6x8xf32>
// CHECK: onnx.attention_gradient %arg0, %[[K]], %[[K]],
// CHECK-COUNT-2: onnx.slice {{.*}} : tensor<1x6x1x2x4xf32> -> tensor<1x6x1x1x4xf32>
// CHECK: onnx.binary add %{{.*}} : (tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
// CHECK-NOT: onnx.reduce
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}) {
  %w = onnx.constant dense<0.5> : tensor<8x4xf32>
  %k = onnx.matmul %x, %w {node = "k"} : (tensor<1x6x8xf32>, tensor<8x4xf32>) -> tensor<1x6x4xf32>
  %y = onnx.attention %x, %k, %k {num_heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f32, node = "a"} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
  return %y : tensor<1x6x8xf32>
}
