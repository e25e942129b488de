// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold --onnx-legalize-nodes --canonicalize | FileCheck %s

module attributes {onnx.opset = 17 : i64} {

// CHECK-LABEL: func.func @relu
// CHECK: %[[ZERO:.*]] = onnx.constant dense<0.000000e+00> : tensor<f32>
// CHECK: onnx.binary max %{{.*}}, %[[ZERO]] {node = "act"}
func.func @relu(%x: tensor<8x16xf32>) -> !onnx.unknown {
  %y = onnx.node "Relu"(%x) {node = "act"} : (tensor<8x16xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @gemm_with_transposed_weight
// CHECK-DAG: %[[W:.*]] = onnx.constant external<"none.bin", 0, 512> view offset 0 strides [1, 8]
// CHECK-DAG: %[[B:.*]] = onnx.constant dense<1.000000e+00>{{.*}} tensor<16xf32>
// CHECK: onnx.matmul %{{.*}}, %[[W]] bias %[[B]] {{.*}} -> tensor<4x16xf32>
func.func @gemm_with_transposed_weight(%x: tensor<4x8xf32>) -> !onnx.unknown {
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32>
  %c = onnx.constant dense<2.0> : tensor<1x16xf32>
  %y = onnx.node "Gemm"(%x, %w, %c) with {transB = 1 : i64, beta = 0.5 : f32} : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<1x16xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Tuples of indices that count through a box: an exporter's assignment to a slice of each axis.
// CHECK-LABEL: func.func @scattered_box
// CHECK: %[[ROWS:.*]] = onnx.slice %arg0 {{{.*}}starts = array<i64: 1, 0>, {{.*}} -> tensor<2x5xf32>
// CHECK: %[[LEFT:.*]] = onnx.slice %[[ROWS]] {{{.*}}starts = array<i64: 0, 0>, {{.*}} -> tensor<2x2xf32>
// CHECK: %[[INSIDE:.*]] = onnx.concat %[[LEFT]], %arg1 {axis = 1 : i64
// CHECK: onnx.concat %{{.*}}, %[[INSIDE]], %{{.*}} {axis = 0 : i64
// CHECK-NOT: onnx.gather
func.func @scattered_box(%x: tensor<4x5xf32>, %updates: tensor<2x3xf32>) -> !onnx.unknown {
  %places = onnx.constant dense<[[[1, 2], [1, 3], [1, 4]], [[2, 2], [2, 3], [2, -1]]]> : tensor<2x3x2xi64>
  %y = onnx.node "ScatterND"(%x, %places, %updates) {node = "box"} : (tensor<4x5xf32>, tensor<2x3x2xi64>, tensor<2x3xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Statistics over the last two axes are statistics over one merged axis.
// CHECK-LABEL: func.func @layer_norm_over_two_axes
// CHECK: %[[FLAT:.*]] = onnx.reshape %{{.*}} : tensor<2x4x8xf32> -> tensor<2x32xf32>
// CHECK: %[[Y:.*]] = onnx.layer_norm %[[FLAT]], %{{.*}} {epsilon = 9.99999974E-6 : f32}
// CHECK: onnx.reshape %[[Y]] : tensor<2x32xf32> -> tensor<2x4x8xf32>
func.func @layer_norm_over_two_axes(%x: tensor<2x4x8xf32>) -> !onnx.unknown {
  %g = onnx.constant dense<2.0> : tensor<4x8xf32>
  %y = onnx.node "LayerNormalization"(%x, %g) with {axis = 1 : i64} : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// The sum feeds the next block, the statistics are not used.
// CHECK-LABEL: func.func @skip_layer_norm
// CHECK: %[[SUM:.*]] = onnx.binary add %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: %[[Y:.*]] = onnx.layer_norm %[[SUM]]
// CHECK: return %[[Y]], %[[SUM]]
func.func @skip_layer_norm(%x: tensor<2x8xf32>, %s: tensor<2x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %g = onnx.constant dense<2.0> : tensor<8xf32>
  %y:4 = onnx.node "SkipLayerNormalization" of "com.microsoft"(%x, %s, %g) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %y#3 : !onnx.unknown, !onnx.unknown
}

// CHECK-LABEL: func.func @square_and_greater
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Z:.*]]: tensor<8xf32>)
// CHECK: %[[S:.*]] = onnx.binary mul %[[X]], %[[X]]
// CHECK: onnx.binary less %[[Z]], %[[S]] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
func.func @square_and_greater(%x: tensor<8xf32>, %z: tensor<8xf32>) -> !onnx.unknown {
  %two = onnx.constant dense<2.0> : tensor<f32>
  %s = onnx.node "Pow"(%x, %two) : (tensor<8xf32>, tensor<f32>) -> !onnx.unknown
  %y = onnx.node "Greater"(%s, %z) : (!onnx.unknown, tensor<8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @embedding
// CHECK: onnx.gather %{{.*}}, %{{.*}} : (tensor<16x8xf32>, tensor<1x4xi64>) -> tensor<1x4x8xf32>
func.func @embedding(%ids: tensor<1x4xi64>) -> !onnx.unknown {
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32>
  %y = onnx.node "Gather"(%w, %ids) : (tensor<16x8xf32>, tensor<1x4xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// All elements backwards are not all elements.
// CHECK-LABEL: func.func @reversed
// CHECK: onnx.slice %{{.*}} {starts = array<i64: 7>, steps = array<i64: -1>}
func.func @reversed(%x: tensor<8xf32>) -> !onnx.unknown {
  %start = onnx.constant dense<-1> : tensor<1xi64>
  %end = onnx.constant dense<-9> : tensor<1xi64>
  %axis = onnx.constant dense<0> : tensor<1xi64>
  %step = onnx.constant dense<-1> : tensor<1xi64>
  %y = onnx.node "Slice"(%x, %start, %end, %axis, %step) : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

}

// -----

module attributes {onnx.opset = 24 : i64} {

// ONNX's own Attention by head: transposes around it, for later passes to cancel.
// CHECK-LABEL: func.func @attention_by_head
// CHECK: onnx.attention %{{.*}}, %{{.*}}, %{{.*}} {num_heads = 3 : i64, scale = 5.000000e-01 : f32, terms = [#onnx.term<add later -3.40282347E+38 : f32>]}
// CHECK-SAME: -> tensor<2x5x12xf32>
func.func @attention_by_head(%q: tensor<2x3x5x4xf32>) -> !onnx.unknown {
  %y = onnx.node "Attention"(%q, %q, %q) with {is_causal = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Two heads of queries for each of keys are more rows of one product. Of three
// keys, one of them past, the first query sees two.
// CHECK-LABEL: func.func @attention_with_past
// CHECK: %[[KEYS:.*]] = onnx.concat %{{.*}}, %{{.*}} {axis = 2 : i64} : {{.*}} -> tensor<1x2x3x4xf32>
// CHECK: onnx.batch_matmul {{.*}} : (tensor<1x2x4x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
// CHECK: onnx.reshape {{.*}} -> tensor<1x4x2x3xf32>
// CHECK: onnx.constant dense<{{\[}}[0.000000e+00, 0.000000e+00, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00]]>
// CHECK: onnx.binary add
// CHECK: onnx.softmax %{{.*}} : tensor<1x4x2x3xf32>
// CHECK: onnx.batch_matmul {{.*}} : (tensor<1x2x4x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x4x4xf32>
// CHECK: return {{.*}}, %[[KEYS]]
func.func @attention_with_past(%q: tensor<1x4x2x4xf32>, %k: tensor<1x2x2x4xf32>, %past: tensor<1x2x1x4xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %none = onnx.none
  %y:2 = onnx.node "Attention"(%q, %k, %k, %none, %past, %past) with {is_causal = 1 : i64} : (tensor<1x4x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, none, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}

// A mask that is data may hide all keys: such rows become 0.
// CHECK-LABEL: func.func @attention_with_mask
// CHECK: %[[BIAS:.*]] = onnx.where %{{.*}} -> tensor<1x1x3x3xf32>
// CHECK: onnx.attention %{{.*}} masks %[[BIAS]] {{{.*}}softcap = 2.000000e+00 : f32, terms = [#onnx.term<add operand 0 later -3.40282347E+38 : f32>, #onnx.term<zero_hidden>]}
func.func @attention_with_mask(%q: tensor<1x2x3x4xf32>, %mask: tensor<3x3xi1>) -> !onnx.unknown {
  %y = onnx.node "Attention"(%q, %q, %q, %mask) with {is_causal = 1 : i64, softcap = 2.0 : f32} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<3x3xi1>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Scores as a result: products, with the same zeros.
// CHECK-LABEL: func.func @attention_with_scores
// CHECK: %[[MOST:.*]] = onnx.reduce max %{{.*}} {axes = array<i64: 1>, keepdims = true}
// CHECK: %[[EMPTY:.*]] = onnx.binary less_or_equal %[[MOST]]
// CHECK: %[[WEIGHTS:.*]] = onnx.softmax
// CHECK: onnx.where %[[EMPTY]], %{{.*}}, %[[WEIGHTS]]
func.func @attention_with_scores(%q: tensor<1x2x3x4xf32>, %mask: tensor<3x3xi1>) -> (!onnx.unknown, !onnx.unknown) {
  %y:4 = onnx.node "Attention"(%q, %q, %q, %mask) with {qk_matmul_output_mode = 3 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<3x3xi1>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %y#3 : !onnx.unknown, !onnx.unknown
}

// What is outside of the triangle is not multiplied by 0: it may be NaN.
// CHECK-LABEL: func.func @lower_triangle
// CHECK: %[[KEEP:.*]] = onnx.constant dense<{{\[}}[true, false, false], [true, true, false]]> : tensor<2x3xi1>
// CHECK: onnx.where %[[KEEP]], %{{.*}}, %{{.*}} : {{.*}} -> tensor<4x2x3xf32>
func.func @lower_triangle(%x: tensor<4x2x3xf32>) -> !onnx.unknown {
  %y = onnx.node "Trilu"(%x) with {upper = 0 : i64} : (tensor<4x2x3xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Elements of the last axis become tokens, of which a kernel adds up those before.
// CHECK-LABEL: func.func @running_sum
// CHECK: %[[TOKENS:.*]] = onnx.transpose %arg0 {perm = array<i64: 0, 2, 1>} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
// CHECK: %[[SUMS:.*]] = onnx.running_sum %[[TOKENS]] reverse {axis = 1 : i64
// CHECK: %[[BACK:.*]] = onnx.transpose %[[SUMS]] {perm = array<i64: 0, 2, 1>}
// CHECK: return %[[BACK]]
func.func @running_sum(%x: tensor<2x3x4xf32>) -> !onnx.unknown {
  %axis = onnx.constant dense<-1> : tensor<i64>
  %y = onnx.node "CumSum"(%x, %axis) with {reverse = 1 : i64} : (tensor<2x3x4xf32>, tensor<i64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// What PEs have no sign for. Two steps: one element before, then two.
// CHECK-LABEL: func.func @wrapping_sum
// CHECK: %[[ONE:.*]] = onnx.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<1xui32>, tensor<3xui32>) -> tensor<4xui32>
// CHECK: %[[PAIRS:.*]] = onnx.binary add %arg0, %[[ONE]]
// CHECK: %[[TWO:.*]] = onnx.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<2xui32>, tensor<2xui32>) -> tensor<4xui32>
// CHECK: %[[SUMS:.*]] = onnx.binary add %[[PAIRS]], %[[TWO]]
// CHECK: return %[[SUMS]]
func.func @wrapping_sum(%x: tensor<4xui32>) -> !onnx.unknown {
  %axis = onnx.constant dense<0> : tensor<i64>
  %y = onnx.node "CumSum"(%x, %axis) : (tensor<4xui32>, tensor<i64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Halves are multiplied; of an odd number one waits.
// CHECK-LABEL: func.func @product
// CHECK: onnx.binary mul {{.*}} -> tensor<2x1xf32>
// CHECK: onnx.concat {{.*}} -> tensor<2x2xf32>
// CHECK: onnx.binary mul {{.*}} -> tensor<2x1xf32>
// CHECK: onnx.reshape {{.*}} -> tensor<2xf32>
func.func @product(%x: tensor<2x3xf32>) -> !onnx.unknown {
  %axis = onnx.constant dense<1> : tensor<1xi64>
  %y = onnx.node "ReduceProd"(%x, %axis) with {keepdims = 0 : i64} : (tensor<2x3xf32>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Padding is joining, reflection a slice backwards.
// CHECK-LABEL: func.func @padded
// CHECK: %[[FRONT:.*]] = onnx.slice %arg0 {starts = array<i64: 2>, steps = array<i64: -1>} : tensor<4xf32> -> tensor<2xf32>
// CHECK: onnx.concat %[[FRONT]], %arg0 {axis = 0 : i64} : {{.*}} -> tensor<6xf32>
func.func @padded(%x: tensor<4xf32>) -> !onnx.unknown {
  %pads = onnx.constant dense<[2, 0]> : tensor<2xi64>
  %y = onnx.node "Pad"(%x, %pads) with {mode = "reflect"} : (tensor<4xf32>, tensor<2xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Numbers of elements: an index along the axis times its stride, one beyond all
// of them where it is outside, and the position along the other dimension.
// CHECK-LABEL: func.func @elements_at_places
// CHECK: %[[IDS:.*]] = onnx.cast %{{.*}} : tensor<2x8xi64> -> tensor<2x8xi32>
// CHECK: %[[SCALED:.*]] = onnx.binary mul
// CHECK: %[[ROWS:.*]] = onnx.where %{{.*}}, %[[SCALED]]
// CHECK: %[[PLACES:.*]] = onnx.binary add %[[ROWS]]
// CHECK: onnx.gather %{{.*}}, %[[PLACES]] {{.*}}: (tensor<32x1xf32>, tensor<2x8xi32>) -> tensor<2x8x1xf32>
func.func @elements_at_places(%x: tensor<4x8xf32>, %ids: tensor<2x8xi64>) -> !onnx.unknown {
  %y = onnx.node "GatherElements"(%x, %ids) with {axis = 0 : i64} : (tensor<4x8xf32>, tensor<2x8xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Each row is that of the last update of it, if there is one.
// CHECK-LABEL: func.func @scattered_rows
// CHECK: onnx.binary equal %{{.*}} -> tensor<4x3xi1>
// CHECK: onnx.reduce max %{{.*}} : tensor<4x3xi32> -> tensor<4xi32>
// CHECK: %[[ALL:.*]] = onnx.concat %{{.*}} -> tensor<7x8xf32>
// CHECK: onnx.gather %[[ALL]]
func.func @scattered_rows(%x: tensor<4x8xf32>, %ids: tensor<3x1xi64>, %u: tensor<3x8xf32>) -> !onnx.unknown {
  %y = onnx.node "ScatterND"(%x, %ids, %u) : (tensor<4x8xf32>, tensor<3x1xi64>, tensor<3x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Known rows that follow one another stand between the others.
// CHECK-LABEL: func.func @scattered_run
// CHECK-DAG: %[[BEFORE:.*]] = onnx.slice %arg0 {{.*}} -> tensor<1x8xf32>
// CHECK-DAG: %[[BEHIND:.*]] = onnx.slice %arg0 {{.*}} -> tensor<1x8xf32>
// CHECK: onnx.concat %[[BEFORE]], %arg1, %[[BEHIND]] {{.*}} -> tensor<4x8xf32>
// CHECK-NOT: onnx.gather
func.func @scattered_run(%x: tensor<4x8xf32>, %u: tensor<2x8xf32>) -> !onnx.unknown {
  %ids = onnx.constant dense<[[-3], [2]]> : tensor<2x1xi64>
  %y = onnx.node "ScatterND"(%x, %ids, %u) : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Added to what is at the last place along an axis.
// CHECK-LABEL: func.func @scattered_column
// CHECK: %[[OLD:.*]] = onnx.slice %arg0 {{.*}} -> tensor<2x1xf32>
// CHECK: %[[SUM:.*]] = onnx.binary add %[[OLD]], %arg1
// CHECK: %[[BEFORE:.*]] = onnx.slice %arg0 {{.*}} -> tensor<2x2xf32>
// CHECK: onnx.concat %[[BEFORE]], %[[SUM]] {{.*}} -> tensor<2x3xf32>
func.func @scattered_column(%x: tensor<2x3xf32>, %u: tensor<2x1xf32>) -> !onnx.unknown {
  %ids = onnx.constant dense<2> : tensor<2x1xi64>
  %y = onnx.node "ScatterElements"(%x, %ids, %u) with {axis = 1 : i64, reduction = "add"} : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Places in another order, or twice, are no run.
// CHECK-LABEL: func.func @scattered_twice
// CHECK: onnx.gather
func.func @scattered_twice(%x: tensor<4x8xf32>, %u: tensor<2x8xf32>) -> !onnx.unknown {
  %ids = onnx.constant dense<1> : tensor<2x1xi64>
  %y = onnx.node "ScatterND"(%x, %ids, %u) : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Along the last axis a row finds the largest among its features; numpy has a NaN as the least, too.
// CHECK-LABEL: func.func @extremes
// CHECK: %[[MAX:.*]], %{{.*}} = onnx.top_k %arg0 {node = "max"} : tensor<4x8xf32> -> tensor<4x1xi64>, tensor<4x1xf32>
// CHECK: onnx.reshape %[[MAX]] {{.*}} : tensor<4x1xi64> -> tensor<4xi64>
// CHECK: %[[NEG:.*]] = onnx.unary neg %arg0
// CHECK: onnx.top_k %[[NEG]] {node = "min"} : tensor<4x8xf32> -> tensor<4x1xi64>, tensor<4x1xf32>
func.func @extremes(%x: tensor<4x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %i = onnx.node "ArgMax"(%x) with {axis = 1 : i64, keepdims = 0 : i64} {node = "max"} : (tensor<4x8xf32>) -> !onnx.unknown
  %j = onnx.node "ArgMin"(%x) with {axis = -1 : i64} {node = "min"} : (tensor<4x8xf32>) -> !onnx.unknown
  return %i, %j : !onnx.unknown, !onnx.unknown
}

// CHECK-LABEL: func.func @top_k
// CHECK: %[[LAST:.*]] = onnx.transpose %arg0 {{.*}} : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK: %[[I:.*]], %[[V:.*]] = onnx.top_k %[[LAST]] smallest {node = "topk"} : tensor<8x4xf32> -> tensor<8x3xi64>, tensor<8x3xf32>
// CHECK: onnx.transpose %[[I]] {{.*}} : tensor<8x3xi64> -> tensor<3x8xi64>
// CHECK: onnx.transpose %[[V]] {{.*}} : tensor<8x3xf32> -> tensor<3x8xf32>
func.func @top_k(%x: tensor<4x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %k = onnx.constant dense<3> : tensor<1xi64>
  %v, %i = onnx.node "TopK"(%x, %k) with {axis = 0 : i64, largest = 0 : i64} {node = "topk"} : (tensor<4x8xf32>, tensor<1xi64>) -> (!onnx.unknown, !onnx.unknown)
  return %v, %i : !onnx.unknown, !onnx.unknown
}

}
