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
