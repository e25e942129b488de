// RUN: wse-opt %s --onnx-infer-and-fold --onnx-legalize-nodes --onnx-common-subexpressions --canonicalize | FileCheck %s

// onnxruntime's fused operators come to the forms of ONNX's own.

module attributes {onnx.opset = 21 : i64} {

// Two heads share their keys; later ones are hidden.
// CHECK-LABEL: func.func @grouped_prompt
// CHECK-NEXT: onnx.attention %arg0, %arg1, %arg2 {kv_heads = 2 : i64, num_heads = 4 : i64, scale = 0.707106769 : f32, terms = [#onnx.term<replace later 0xFF800000 : f32>]}
// CHECK-NEXT: return
func.func @grouped_prompt(%q: tensor<1x3x8xf32>, %k: tensor<1x3x4xf32>, %v: tensor<1x3x4xf32>) -> !onnx.unknown {
  %total = onnx.constant dense<3> : tensor<i32>
  %lengths = onnx.constant dense<2> : tensor<1xi32>
  %absent = onnx.none
  %y = onnx.node "GroupQueryAttention" of "com.microsoft"(%q, %k, %v, %absent, %absent, %lengths, %total) with {num_heads = 4 : i64, kv_num_heads = 2 : i64} : (tensor<1x3x8xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>, none, none, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// What stands in the padding behind a prompt does not count, for queries of padding, too; how many tokens are none is looked up, so that it has to be
// from 0 to 2, and more.
// CHECK-LABEL: func.func @padded_prompt
// CHECK: onnx.gather %{{.*}}, %{{.*}} : (tensor<3x1xi32>, tensor<1xi32>) -> tensor<1x1xi32>
// CHECK-DAG: %[[K:.*]] = onnx.where %[[TOKEN:.*]], %arg1,
// CHECK-DAG: %[[V:.*]] = onnx.where %[[TOKEN]], %arg2,
// CHECK: %[[KEY:.*]] = onnx.binary less %{{.*}} : (tensor<1x1x1x3xi32>, tensor<1x1x1x1xi32>) -> tensor<1x1x1x3xi1>
// CHECK: %[[HIDING:.*]] = onnx.where %[[KEY]],
// CHECK: onnx.attention %arg0, %[[K]], %[[V]] masks %[[HIDING]] {kv_heads = 2 : i64, num_heads = 4 : i64, scale = 0.707106769 : f32, terms = [#onnx.term<replace operand 0 later 0xFF800000 : f32>]}
// CHECK-NEXT: return
func.func @padded_prompt(%q: tensor<1x3x8xf32>, %k: tensor<1x3x4xf32>, %v: tensor<1x3x4xf32>, %lengths: tensor<1xi32>) -> !onnx.unknown {
  %total = onnx.constant dense<3> : tensor<i32>
  %absent = onnx.none
  %y = onnx.node "GroupQueryAttention" of "com.microsoft"(%q, %k, %v, %absent, %absent, %lengths, %total) with {num_heads = 4 : i64, kv_num_heads = 2 : i64} : (tensor<1x3x8xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>, none, none, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Sequences that end apart, known: each keeps its own part of the cache, and a mask hides what is behind it.
// CHECK-LABEL: func.func @decode_apart
// CHECK-DAG: onnx.concat {{.*}} {axis = 2 : i64} : (tensor<1x2x5x4xf32>, tensor<1x2x1x4xf32>) -> tensor<1x2x6x4xf32>
// CHECK-DAG: onnx.concat {{.*}} {axis = 2 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x6x4xf32>
// CHECK: %[[BIAS:.*]] = onnx.constant dense<{{.*}}0.000000e+00, 0xFF800000, 0xFF800000]{{.*}}> : tensor<2x1x1x6xf32>
// CHECK: onnx.attention %arg0, %{{.*}} masks %[[BIAS]] {num_heads = 2 : i64, scale = 5.000000e-01 : f32, terms = [#onnx.term<replace operand 0>]}
func.func @decode_apart(%q: tensor<2x1x8xf32>, %cache: tensor<2x2x5x4xf32>) -> !onnx.unknown {
  %total = onnx.constant dense<6> : tensor<i32>
  %lengths = onnx.constant dense<[5, 3]> : tensor<2xi32>
  %y = onnx.node "GroupQueryAttention" of "com.microsoft"(%q, %q, %q, %cache, %cache, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>, tensor<2xi32>, tensor<i32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// The same, computed: one token is chosen into its place, several are rows of a table.
// CHECK-LABEL: func.func @decode_computed
// CHECK: onnx.gather %{{.*}}, %{{.*}} : (tensor<6x1xi32>, tensor<2xi32>) -> tensor<2x1xi32>
// CHECK: onnx.where %{{.*}}, %{{.*}}, %{{.*}} -> tensor<2x2x6x4xf32>
// CHECK: onnx.attention %arg0
func.func @decode_computed(%q: tensor<2x1x8xf32>, %cache: tensor<2x2x5x4xf32>, %lengths: tensor<2xi32>) -> !onnx.unknown {
  %total = onnx.constant dense<6> : tensor<i32>
  %y = onnx.node "GroupQueryAttention" of "com.microsoft"(%q, %q, %q, %cache, %cache, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>, tensor<2xi32>, tensor<i32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
// CHECK-LABEL: func.func @extend_computed
// CHECK: onnx.gather %{{.*}}, %{{.*}} -> tensor<1x2x7x4xf32>
func.func @extend_computed(%q: tensor<1x2x8xf32>, %cache: tensor<1x2x5x4xf32>, %lengths: tensor<1xi32>) -> !onnx.unknown {
  %total = onnx.constant dense<7> : tensor<i32>
  %y = onnx.node "GroupQueryAttention" of "com.microsoft"(%q, %q, %q, %cache, %cache, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// One token behind a cache sees all of it; as many heads of keys as of queries.
// CHECK-LABEL: func.func @decode
// CHECK: %[[K:.*]] = onnx.concat {{.*}} : (tensor<1x2x5x4xf32>, tensor<1x2x1x4xf32>) -> tensor<1x2x6x4xf32>
// CHECK: onnx.attention %arg0, {{.*}} {num_heads = 2 : i64, scale = 5.000000e-01 : f32}
// CHECK: return {{.*}}, %[[K]]
func.func @decode(%q: tensor<1x1x8xf32>, %cache: tensor<1x2x5x4xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %total = onnx.constant dense<6> : tensor<i32>
  %lengths = onnx.constant dense<5> : tensor<1xi32>
  %y:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%q, %q, %q, %cache, %cache, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1xi32>, tensor<i32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}

// Behind the new tokens, a cache with room for more is 0.
// CHECK-LABEL: func.func @cache_with_room
// CHECK-DAG: %[[OLD:.*]] = onnx.slice %arg1 {{.*}} : tensor<1x2x9x4xf32> -> tensor<1x2x5x4xf32>
// CHECK-DAG: %[[REST:.*]] = onnx.constant dense<0.000000e+00> : tensor<f32> view {{.*}} -> tensor<1x2x3x4xf32>
// CHECK: onnx.concat %[[OLD]], %{{.*}}, %[[REST]] {{.*}} -> tensor<1x2x9x4xf32>
func.func @cache_with_room(%q: tensor<1x1x8xf32>, %cache: tensor<1x2x9x4xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %total = onnx.constant dense<6> : tensor<i32>
  %lengths = onnx.constant dense<5> : tensor<1xi32>
  %y:3 = onnx.node "GroupQueryAttention" of "com.microsoft"(%q, %q, %q, %cache, %cache, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x4xf32>, tensor<1xi32>, tensor<i32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}

// Nothing is behind an empty cache, and no operator sees it.
// CHECK-LABEL: func.func @empty_cache
// CHECK: onnx.attention %arg0, %arg0, %arg0 {num_heads = 2
// CHECK-NOT: onnx.concat
func.func @empty_cache(%q: tensor<1x3x8xf32>, %cache: tensor<1x2x0x4xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %absent = onnx.none
  %y:3 = onnx.node "MultiHeadAttention" of "com.microsoft"(%q, %q, %q, %absent, %absent, %absent, %cache, %cache) with {num_heads = 2 : i64} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, none, tensor<1x2x0x4xf32>, tensor<1x2x0x4xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}

// How many keys a sequence has, as data: a comparison with their numbers.
// CHECK-LABEL: func.func @lengths_as_mask
// CHECK-DAG: %[[NUMBERS:.*]] = onnx.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00]>
// CHECK: %[[KEEP:.*]] = onnx.binary less %[[NUMBERS]], %{{.*}} -> tensor<2x1x1x3xi1>
// CHECK: %[[MASK:.*]] = onnx.where %[[KEEP]]
// CHECK: onnx.attention {{.*}} masks %[[MASK]] {{.*}}terms = [#onnx.term<add operand 0>]
func.func @lengths_as_mask(%x: tensor<2x3x8xf32>, %lengths: tensor<2xi32>) -> !onnx.unknown {
  %w = onnx.constant dense<1.0> : tensor<8x24xf32>
  %absent = onnx.none
  %y = onnx.node "Attention" of "com.microsoft"(%x, %w, %absent, %lengths) with {num_heads = 2 : i64} : (tensor<2x3x8xf32>, tensor<8x24xf32>, none, tensor<2xi32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Half of each head's features turns, by angles that positions choose.
// CHECK-LABEL: func.func @rotary
// CHECK: onnx.gather {{.*}} : (tensor<16x1xf32>, tensor<1x3xi64>) -> tensor<1x3x1xf32>
// CHECK: onnx.rotary %arg0, {{.*}} {num_heads = 2 : i64, rotary_dim = 2 : i64} : (tensor<1x3x8xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<1x3x8xf32>
func.func @rotary(%x: tensor<1x3x8xf32>, %ids: tensor<1x3xi64>) -> !onnx.unknown {
  %table = onnx.constant external<"none.bin", 0, 64> : tensor<16x1xf32>
  %y = onnx.node "RotaryEmbedding" of "com.microsoft"(%x, %ids, %table, %table) with {num_heads = 2 : i64, rotary_embedding_dim = 2 : i64} : (tensor<1x3x8xf32>, tensor<1x3xi64>, tensor<16x1xf32>, tensor<16x1xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Two numbers a byte, the lower half first: (1 - 8) * 2 and (2 - 8) * 2 lead.
// CHECK-LABEL: func.func @four_bits
// CHECK: onnx.constant #onnx.quantized<dense<{{\[\[}}1], [2], [1]{{.*}} : tensor<16x1xui4> scales dense<2.000000e+00> : tensor<1x1xf32> zeros dense<8> : tensor<1x1xui4> block 16> -> tensor<16x1xf32>
// CHECK: onnx.matmul {{.*}} -> tensor<3x1xf32>
func.func @four_bits(%x: tensor<3x16xf32>) -> !onnx.unknown {
  %w = onnx.constant dense<33> : tensor<1x1x8xui8>
  %s = onnx.constant dense<2.0> : tensor<1x1xf32>
  %y = onnx.node "MatMulNBits" of "com.microsoft"(%x, %w, %s) with {K = 16 : i64, N = 1 : i64, bits = 4 : i64, block_size = 16 : i64} : (tensor<3x16xf32>, tensor<1x1x8xui8>, tensor<1x1xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @fused_products
// CHECK: %[[P:.*]] = onnx.matmul {{.*}} -> tensor<3x4xf32>
// CHECK: onnx.binary mul %[[P]], {{.*}}
// CHECK: onnx.binary max
func.func @fused_products(%x: tensor<3x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %w = onnx.constant external<"none.bin", 0, 128> : tensor<4x8xf32>
  %y = onnx.node "FusedMatMul" of "com.microsoft"(%x, %w) with {transB = 1 : i64, alpha = 0.5 : f32} : (tensor<3x8xf32>, tensor<4x8xf32>) -> !onnx.unknown
  %z = onnx.node "FusedGemm" of "com.microsoft"(%x, %w) with {transB = 1 : i64, activation = "Relu"} : (tensor<3x8xf32>, tensor<4x8xf32>) -> !onnx.unknown
  return %y, %z : !onnx.unknown, !onnx.unknown
}

// Of two computed tensors: a product that attention may take, and its scale.
// CHECK-LABEL: func.func @fused_scores
// CHECK: %[[K:.*]] = onnx.transpose %arg0 {perm = array<i64: 0, 1, 3, 2>}
// CHECK: %[[P:.*]] = onnx.node "MatMul"(%arg0, %[[K]])
// CHECK: onnx.binary mul %[[P]]
func.func @fused_scores(%x: tensor<1x2x3x4xf32>) -> !onnx.unknown {
  %y = onnx.node "FusedMatMul" of "com.microsoft"(%x, %x) with {transB = 1 : i64, alpha = 0.5 : f32} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @embeddings
// CHECK: onnx.slice {{.*}} -> tensor<3x8xf32>
// CHECK: onnx.gather
// CHECK: onnx.layer_norm
// CHECK: onnx.reduce sum {{.*}} : tensor<1x3xf32> -> tensor<1xf32>
func.func @embeddings(%ids: tensor<1x3xi32>, %mask: tensor<1x3xi32>) -> (!onnx.unknown, !onnx.unknown) {
  %table = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32>
  %scale = onnx.constant dense<1.0> : tensor<8xf32>
  %absent = onnx.none
  %y:2 = onnx.node "EmbedLayerNormalization" of "com.microsoft"(%ids, %ids, %table, %table, %table, %scale, %scale, %mask) : (tensor<1x3xi32>, tensor<1x3xi32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<1x3xi32>) -> (!onnx.unknown, !onnx.unknown)
  return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
}
}
