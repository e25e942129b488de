// RUN: wse-opt %s --split-input-file --pass-pipeline='builtin.module(wse-select-kernels{mesh=8x8 region=8x8})' | FileCheck %s

// Logits of a token alone are made in as many pieces as are fastest: weights
// stay where they are multiplied, and all pieces are alike.
// CHECK-LABEL: wse.program @main
// CHECK: %[[FIRST:.*]] = matmul %x {{.*}} view 0 strides [32768, 1]> variant(stationary) {{.*}} -> !tokens_1x1x8192_balanced
// CHECK-NEXT: store %[[FIRST]] to "logits" by_columns
// CHECK-NEXT: %[[SECOND:.*]] = matmul %x {{.*}} view 8192 strides [32768, 1]> variant(stationary)
// CHECK-NEXT: store %[[SECOND]] to "logits" at 8192
// CHECK-COUNT-2: matmul
// CHECK-NOT: matmul
func.func @main(%x: tensor<1x1x128xf32> {onnx.name = "x"}) -> (tensor<1x1x32768xf32> {onnx.name = "logits"}) {
  %w = onnx.constant external<"m.data", 0, 16777216> : tensor<128x32768xf32> {node = "head.weight"}
  %y = onnx.matmul %x, %w {node = "head"} : (tensor<1x1x128xf32>, tensor<128x32768xf32>) -> tensor<1x1x32768xf32>
  return %y : tensor<1x1x32768xf32>
}

// -----

// Of each piece the best is found, which counts from the first feature of its
// piece; then the best of these.
// CHECK-LABEL: wse.program @main
// CHECK-DAG: intermediate @[[VALUES:.*]] : tensor<1x1x8xf32>
// CHECK-DAG: intermediate @[[NUMBERS:.*]] : tensor<1x1x8xi32>
// CHECK-DAG: parameter @starts = dense<[0.000000e+00, 0.000000e+00, 8.192000e+03, {{.*}}, 2.457600e+04]> : tensor<8xf32>
// CHECK: matmul
// CHECK-NEXT: %[[BEST:.*]]:2 = top_k %
// CHECK-NEXT: store %[[BEST]]#1 to "[[VALUES]]" strides
// CHECK-NEXT: store %[[BEST]]#0 to "[[NUMBERS]]" strides
// CHECK-COUNT-3: matmul
// CHECK-DAG: %[[FOUND:.*]] = load @[[VALUES]] on
// CHECK-DAG: %[[LOCAL:.*]] = load @[[NUMBERS]] on
// CHECK: %[[FROM_ALL:.*]] = elementwise(%[[LOCAL]]) vectors [#wse.weight<@starts
// CHECK: top_k %[[FOUND]] numbers %[[FROM_ALL]] on
func.func @main(%x: tensor<1x1x128xf32> {onnx.name = "x"}) -> (tensor<1x1x2xi64> {onnx.name = "ids"}) {
  %w = onnx.constant external<"m.data", 0, 16777216> : tensor<128x32768xf32> {node = "head.weight"}
  %y = onnx.matmul %x, %w {node = "head"} : (tensor<1x1x128xf32>, tensor<128x32768xf32>) -> tensor<1x1x32768xf32>
  %i, %v = onnx.top_k %y {node = "top"} : tensor<1x1x32768xf32> -> tensor<1x1x2xi64>, tensor<1x1x2xf32>
  return %i : tensor<1x1x2xi64>
}

// -----

// Where there is room for a small part of the logits alone, pieces are like
// another product, whose code they share: 32 of 8,192.
// CHECK-LABEL: wse.program @main
// CHECK: matmul {{.*}} -> !tokens_1x1x8192_balanced
// CHECK-COUNT-32: matmul %{{.*}} -> !tokens_1x1x8192_balanced
// CHECK-NOT: matmul
func.func @main(%x: tensor<1x1x128xf32> {onnx.name = "x"}) -> (tensor<1x1x1xi64> {onnx.name = "ids"}, tensor<1x1x8192xf32> {onnx.name = "negative"}) {
  %u = onnx.constant external<"m.data", 0, 4194304> : tensor<128x8192xf32> {node = "up.weight"}
  %up = onnx.matmul %x, %u {node = "up"} : (tensor<1x1x128xf32>, tensor<128x8192xf32>) -> tensor<1x1x8192xf32>
  %up_negative = onnx.unary neg %up {node = "negative"} : tensor<1x1x8192xf32>
  %w = onnx.constant external<"m.data", 4194304, 134217728> : tensor<128x262144xf32> {node = "head.weight"}
  %y = onnx.matmul %x, %w {node = "head"} : (tensor<1x1x128xf32>, tensor<128x262144xf32>) -> tensor<1x1x262144xf32>
  %i, %v = onnx.top_k %y {node = "top"} : tensor<1x1x262144xf32> -> tensor<1x1x1xi64>, tensor<1x1x1xf32>
  return %i, %up_negative : tensor<1x1x1xi64>, tensor<1x1x8192xf32>
}
