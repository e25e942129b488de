// RUN: wse-opt %s --onnx-infer-and-fold --onnx-promote-to-f32 | FileCheck %s

// Inside f32, outside what the model says; weights keep their bytes.
// CHECK-LABEL: func.func @layer
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xf16>) -> tensor<8x16xf16>
// CHECK: %[[WIDE:.*]] = onnx.cast %[[X]] : tensor<8x16xf16> -> tensor<8x16xf32>
// CHECK: %[[B:.*]] = onnx.constant dense<1.500000e+00> : tensor<16xf16> -> tensor<16xf32>
// CHECK: %[[W:.*]] = onnx.constant external<"none.bin", 0, 512, f16> view offset 0 strides [1, 16] : tensor<16x16xf32>
// CHECK: %[[P:.*]] = onnx.node "MatMul"(%[[WIDE]], %[[W]]) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
// CHECK: %[[Y:.*]] = onnx.node "Add"(%[[P]], %[[B]])
// CHECK: %[[NARROW:.*]] = onnx.cast %[[Y]] : tensor<8x16xf32> -> tensor<8x16xf16>
// CHECK: return %[[NARROW]] : tensor<8x16xf16>
func.func @layer(%x: tensor<8x16xf16>) -> !onnx.unknown {
  %b = onnx.constant dense<1.5> : tensor<16xf16>
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<16x16xf16>
  %wt = onnx.node "Transpose"(%w) : (tensor<16x16xf16>) -> !onnx.unknown
  %p = onnx.node "MatMul"(%x, %wt) : (tensor<8x16xf16>, !onnx.unknown) -> !onnx.unknown
  %y = onnx.node "Add"(%p, %b) : (!onnx.unknown, tensor<16xf16>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Casts between floats fall away; those to other types stay.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>, %[[I:.*]]: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf16>)
// CHECK: %[[WIDE:.*]] = onnx.cast %[[X]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK: %[[T:.*]] = onnx.node "Tanh"(%[[WIDE]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[B:.*]] = onnx.node "Cast"(%[[T]]) with {to = 9 : i64} : (tensor<4xf32>) -> tensor<4xi1>
// CHECK: %[[F:.*]] = onnx.node "Cast"(%[[I]]) with {to = 10 : i64} : (tensor<4xi64>) -> tensor<4xf32>
// CHECK: %[[H:.*]] = onnx.cast %[[F]] : tensor<4xf32> -> tensor<4xf16>
// CHECK: return %[[T]], %[[B]], %[[H]]
func.func @casts(%x: tensor<4xbf16>, %i: tensor<4xi64>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %a = onnx.node "Cast"(%x) with {to = 1 : i64} : (tensor<4xbf16>) -> !onnx.unknown
  %t = onnx.node "Tanh"(%a) : (!onnx.unknown) -> !onnx.unknown
  %n = onnx.node "Cast"(%t) with {to = 16 : i64} : (!onnx.unknown) -> !onnx.unknown
  %b = onnx.node "Cast"(%n) with {to = 9 : i64} : (!onnx.unknown) -> !onnx.unknown
  %m = onnx.node "CastLike"(%t, %x) : (!onnx.unknown, tensor<4xbf16>) -> !onnx.unknown
  %w = onnx.node "Cast"(%m) with {to = 1 : i64} : (!onnx.unknown) -> !onnx.unknown
  %f = onnx.node "Cast"(%i) with {to = 10 : i64} : (tensor<4xi64>) -> !onnx.unknown
  return %w, %b, %f : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// A weight that the model widens itself is not read either.
// CHECK-LABEL: func.func @widened_weight
// CHECK: %[[W:.*]] = onnx.constant external<"none.bin", 0, 64, bf16> view offset 0 strides [1, 4] : tensor<4x8xf32>
// CHECK: return %[[W]] : tensor<4x8xf32>
func.func @widened_weight() -> !onnx.unknown {
  %w = onnx.constant external<"none.bin", 0, 64> : tensor<8x4xbf16>
  %f = onnx.node "Cast"(%w) with {to = 1 : i64} : (tensor<8x4xbf16>) -> !onnx.unknown
  %t = onnx.node "Transpose"(%f) : (!onnx.unknown) -> !onnx.unknown
  return %t : !onnx.unknown
}

// Constants fold in the model's precision: 2048 + 1 is 2048 in f16.
// CHECK-LABEL: func.func @folds_in_f16
// CHECK: onnx.constant dense<2.048000e+03> : tensor<f16> -> tensor<f32>
func.func @folds_in_f16() -> !onnx.unknown {
  %a = onnx.constant dense<2048.0> : tensor<f16>
  %b = onnx.constant dense<1.0> : tensor<f16>
  %c = onnx.node "Add"(%a, %b) : (tensor<f16>, tensor<f16>) -> !onnx.unknown
  return %c : !onnx.unknown
}

// Outputs of 8 bits are rounded as they are stored; larger numbers become the
// largest, unless the cast says otherwise.
// CHECK-LABEL: func.func @small
// CHECK: %[[LOW:.*]] = onnx.binary max %arg0
// CHECK: %[[HIGH:.*]] = onnx.binary min %[[LOW]]
// CHECK-DAG: %[[Y:.*]] = onnx.cast %[[HIGH]] : tensor<4xf32> -> tensor<4xf8E4M3FN>
// CHECK-DAG: %[[Z:.*]] = onnx.cast %arg0 : tensor<4xf32> -> tensor<4xf8E4M3FN>
// CHECK: return %[[Y]], %[[Z]]
func.func @small(%arg0: tensor<4xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %y = onnx.node "Cast"(%arg0) with {to = 17 : i64} : (tensor<4xf32>) -> !onnx.unknown
  %z = onnx.node "Cast"(%arg0) with {to = 17 : i64, saturate = 0 : i64} : (tensor<4xf32>) -> !onnx.unknown
  return %y, %z : !onnx.unknown, !onnx.unknown
}

// f64 that is nothing but a widened f32, such as a sum, and numbers beside it: no model in f64.
// CHECK-LABEL: func.func @widened_sum
// CHECK: onnx.constant dense<8.000000e+00> : tensor<f64> -> tensor<f32>
// CHECK-NOT: f64
// CHECK: %[[S:.*]] = onnx.node "ReduceSum"(%{{.*}}) : (tensor<4x8xf32>) -> tensor<1x1xf32>
// CHECK: %[[M:.*]] = onnx.node "Div"(%[[S]], %{{.*}}) : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32>
// CHECK: return %[[M]] : tensor<1x1xf32>
func.func @widened_sum(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %n = onnx.constant dense<8.0> : tensor<f64>
  %w = onnx.node "Cast"(%x) with {to = 11 : i64} : (tensor<4x8xf32>) -> !onnx.unknown
  %s = onnx.node "ReduceSum"(%w) : (!onnx.unknown) -> !onnx.unknown
  %m = onnx.node "Div"(%s, %n) : (!onnx.unknown, tensor<f64>) -> !onnx.unknown
  %y = onnx.node "Cast"(%m) with {to = 1 : i64} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Weights, integers that f32 does not hold, inputs and outputs in f64 are a model in f64.
// CHECK-LABEL: func.func @weights_of_f64
// CHECK: tensor<8xf64>
// CHECK: "Add"{{.*}} -> tensor<4x8xf64>
func.func @weights_of_f64(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %b = onnx.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf64>
  %w = onnx.node "Cast"(%x) with {to = 11 : i64} : (tensor<4x8xf32>) -> !onnx.unknown
  %a = onnx.node "Add"(%w, %b) : (!onnx.unknown, tensor<8xf64>) -> !onnx.unknown
  %y = onnx.node "Cast"(%a) with {to = 1 : i64} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// So are numbers that f32 has as zero or as an infinity.
// CHECK-LABEL: func.func @least_of_f64
// CHECK: "Max"{{.*}} -> tensor<4x8xf64>
func.func @least_of_f64(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %least = onnx.constant dense<1.0e-300> : tensor<f64>
  %w = onnx.node "Cast"(%x) with {to = 11 : i64} : (tensor<4x8xf32>) -> !onnx.unknown
  %m = onnx.node "Max"(%w, %least) : (!onnx.unknown, tensor<f64>) -> !onnx.unknown
  %y = onnx.node "Cast"(%m) with {to = 1 : i64} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @largest_of_f64
// CHECK: "Min"{{.*}} -> tensor<4x8xf64>
func.func @largest_of_f64(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %largest = onnx.constant dense<-1.7976931348623157e308> : tensor<f64>
  %w = onnx.node "Cast"(%x) with {to = 11 : i64} : (tensor<4x8xf32>) -> !onnx.unknown
  %m = onnx.node "Min"(%w, %largest) : (!onnx.unknown, tensor<f64>) -> !onnx.unknown
  %y = onnx.node "Cast"(%m) with {to = 1 : i64} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @integers_in_f64
// CHECK: "Cast"{{.*}} -> tensor<4xf64>
func.func @integers_in_f64(%x: tensor<4xi64>) -> !onnx.unknown {
  %w = onnx.node "Cast"(%x) with {to = 11 : i64} : (tensor<4xi64>) -> !onnx.unknown
  %y = onnx.node "Cast"(%w) with {to = 1 : i64} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Weights of an attention in f64, which --allow-f64-as-f32 allows.
// RUN: wse-opt %s --onnx-infer-and-fold --onnx-promote-to-f32=allow-f64-as-f32 | FileCheck %s --check-prefix=SOFTMAX
// SOFTMAX-LABEL: func.func @precise
// SOFTMAX: onnx.node "Attention"{{.*}}softmax_precision = 1 : i64
// CHECK-LABEL: func.func @precise
// CHECK: onnx.node "Attention"{{.*}}softmax_precision = 11 : i64
func.func @precise(%q: tensor<1x2x3x4xf32>) -> !onnx.unknown {
  %a = onnx.node "Attention"(%q, %q, %q) with {softmax_precision = 11 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> !onnx.unknown
  return %a : !onnx.unknown
}
