// RUN: not wse-opt %s --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s

// What fused operators and convolutions do not do, and what does not fit together.

module attributes {onnx.opset = 21 : i64} {
func.func @main(%x: tensor<1x3x8xf32>, %flat: tensor<3x8xf32>, %cache: tensor<1x2x5x4xf32>, %other: tensor<1x2x6x4xf32>, %ids: tensor<1x3xi32>, %lengths: tensor<1xi32>, %image: tensor<1x4x6xf32>, %computed: tensor<8x24xf32>, %mask: tensor<2x7xi32>, %places: tensor<1x3xi64>, %wrongplaces: tensor<2x7xi64>, %idcube: tensor<1x3x8xi32>, %bias: tensor<1x2x3x9xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %total = onnx.constant dense<3> : tensor<i32>
  %two = onnx.constant dense<2> : tensor<i32>
  %nine = onnx.constant dense<9> : tensor<i32>
  %short = onnx.constant dense<4> : tensor<1xi32>
  %nowhere = onnx.constant dense<9> : tensor<1xi32>
  %last = onnx.constant dense<8> : tensor<1xi32>
  %vector = onnx.constant dense<1.0> : tensor<8xf32>
  %table = onnx.constant dense<1.0> : tensor<4x2xf32>
  %wide = onnx.constant dense<1.0> : tensor<4x4xf32>
  %words = onnx.constant dense<1.0> : tensor<16x8xf32>
  %place = onnx.constant dense<1.0> : tensor<2x8xf32>
  %weights = onnx.constant dense<1.0> : tensor<8x24xf32>
  %odd = onnx.constant dense<1.0> : tensor<8x25xf32>
  %filter = onnx.constant dense<1.0> : tensor<2x4x3xf32>
  %long = onnx.constant dense<1.0> : tensor<2x4x9xf32>
  %byterows = onnx.constant dense<1> : tensor<2x8xui8>
  %bytes = onnx.constant dense<1> : tensor<1x1x8xui8>
  %scale = onnx.constant dense<1.0> : tensor<1x1xf32>
  %past = onnx.constant dense<[20]> : tensor<1xi64>
  %third = onnx.constant dense<[[2, 0, 0]]> : tensor<1x3xi64>
  %absent = onnx.none

  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: packed queries, keys and values, or keys and values{{: node|$}}
  %n0 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x) with {num_heads = 2 : i64} {node = "n0"} : (tensor<1x3x8xf32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: packed operands of shape 3x8{{: node|$}}
  %n1 = onnx.node "MultiHeadAttention" of "com.microsoft"(%flat, %flat, %flat) with {num_heads = 2 : i64} {node = "n1"} : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: 3 heads do not divide 8 features{{: node|$}}
  %n2 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x, %x, %x) with {num_heads = 3 : i64} {node = "n2"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: queries 1x2x3x4, keys 1x2x5x4 and values 1x2x6x4 do not fit{{: node|$}}
  %n3 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x, %cache, %other) with {num_heads = 2 : i64} {node = "n3"} : (tensor<1x3x8xf32>, tensor<1x2x5x4xf32>, tensor<1x2x6x4xf32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: a cache of keys or of values without the other{{: node|$}}
  %n4 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %absent, %cache) with {num_heads = 2 : i64} {node = "n4"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, none, tensor<1x2x5x4xf32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: a cache of values of shape 1x2x6x4, expected 1x2x5x4{{: node|$}}
  %n5 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %absent, %cache, %other) with {num_heads = 2 : i64} {node = "n5"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, none, tensor<1x2x5x4xf32>, tensor<1x2x6x4xf32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: a cache that grows where it lies{{: node|$}}
  %n6 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %absent, %cache, %cache, %lengths) with {num_heads = 2 : i64} {node = "n6"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, none, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1xi32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: a key mask of shape 2x7, expected 1x3{{: node|$}}
  %n7 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x, %x, %x, %absent, %mask) with {num_heads = 2 : i64} {node = "n7"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, tensor<2x7xi32>) -> !onnx.unknown
  // CHECK-DAG: MultiHeadAttention of com.microsoft{{.*}}: an attention bias of shape 1x2x3x9 does not fit scores of shape 1x2x3x3{{: node|$}}
  %n8 = onnx.node "MultiHeadAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %bias) with {num_heads = 2 : i64} {node = "n8"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1x2x3x9xf32>) -> !onnx.unknown

  // CHECK-DAG: Attention of com.microsoft{{.*}}: do_rotary turns queries and keys of no known angles
  %n9 = onnx.node "Attention" of "com.microsoft"(%x, %weights) with {num_heads = 2 : i64, do_rotary = 1 : i64} {node = "n9"} : (tensor<1x3x8xf32>, tensor<8x24xf32>) -> !onnx.unknown
  // CHECK-DAG: Attention of com.microsoft{{.*}}: cannot multiply 3x8 by 8x24{{: node|$}}
  %n10 = onnx.node "Attention" of "com.microsoft"(%flat, %weights) with {num_heads = 2 : i64} {node = "n10"} : (tensor<3x8xf32>, tensor<8x24xf32>) -> !onnx.unknown
  // CHECK-DAG: Attention of com.microsoft{{.*}}: 25 features are not queries, keys as wide, and values{{: node|$}}
  %n11 = onnx.node "Attention" of "com.microsoft"(%x, %odd) with {num_heads = 2 : i64} {node = "n11"} : (tensor<1x3x8xf32>, tensor<8x25xf32>) -> !onnx.unknown
  // CHECK-DAG: Attention of com.microsoft{{.*}}: a cache of keys and values that differ in size{{: node|$}}
  %n12 = onnx.node "Attention" of "com.microsoft"(%x, %weights, %absent, %absent, %cache) with {num_heads = 2 : i64, qkv_hidden_sizes = [6, 6, 12]} {node = "n12"} : (tensor<1x3x8xf32>, tensor<8x24xf32>, none, none, tensor<1x2x5x4xf32>) -> !onnx.unknown
  // CHECK-DAG: Attention of com.microsoft{{.*}}: the weights are computed{{: node|$}}
  %n13 = onnx.node "Attention" of "com.microsoft"(%x, %computed) with {num_heads = 2 : i64} {node = "n13"} : (tensor<1x3x8xf32>, tensor<8x24xf32>) -> !onnx.unknown

  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: input 5 is missing{{: node|$}}
  %n14 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %absent, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n14"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, none, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: keys without values, or a cache of one of them{{: node|$}}
  %n15 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %absent, %absent, %absent, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n15"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, none, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: sinks of shape 8, expected 2{{: node|$}}
  %n16 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total, %absent, %absent, %absent, %absent, %vector) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n16"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>, none, none, none, none, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: k_quant_type is NONE, of a cache of floats, or of none{{: node|$}}
  %n17 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total, %absent, %absent, %absent, %absent, %absent, %vector) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n17"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>, none, none, none, none, none, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: the norm of queries of shape 8, expected 4{{: node|$}}
  %n18 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total, %absent, %absent, %absent, %absent, %absent, %absent, %absent, %vector) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n18"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>, none, none, none, none, none, none, none, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: 2 heads of queries for 3 of keys{{: node|$}}
  %n19 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 3 : i64} {node = "n19"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: queries of shape 3x8{{: node|$}}
  %n20 = onnx.node "GroupQueryAttention" of "com.microsoft"(%flat, %flat, %flat, %absent, %absent, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n20"} : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, none, none, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: a total length of 2 for 3 tokens{{: node|$}}
  %n21 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %two) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n21"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: seqlens_k is 9, expected 2 to 8{{: node|$}}
  %n22 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %cache, %cache, %nowhere, %nine) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n22"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: a window of queries that see later keys{{: node|$}}
  %n23 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %cache, %cache, %last, %nine) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, causal = 0 : i64, local_window_size = 2 : i64} {node = "n23"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: a cache of 5 tokens for 6 before these{{: node|$}}
  %n24 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %cache, %cache, %last, %nine) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n24"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: rotates without cosines or sines{{: node|$}}
  %n25 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, do_rotary = 1 : i64} {node = "n25"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: a table of cosines of shape 4x4 for 3 tokens of size 4{{: node|$}}
  %n26 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total, %wide, %wide) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, do_rotary = 1 : i64} {node = "n26"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>) -> !onnx.unknown

  // CHECK-DAG: RotaryEmbedding of com.microsoft{{.*}}: rotates 3x8 by a table of 4x2{{: node|$}}
  %n27 = onnx.node "RotaryEmbedding" of "com.microsoft"(%flat, %places, %table, %table) {node = "n27"} : (tensor<3x8xf32>, tensor<1x3xi64>, tensor<4x2xf32>, tensor<4x2xf32>) -> !onnx.unknown
  // CHECK-DAG: RotaryEmbedding of com.microsoft{{.*}}: a table of shape 4x4 for heads of size 4{{: node|$}}
  %n28 = onnx.node "RotaryEmbedding" of "com.microsoft"(%x, %places, %wide, %wide) with {num_heads = 2 : i64} {node = "n28"} : (tensor<1x3x8xf32>, tensor<1x3xi64>, tensor<4x4xf32>, tensor<4x4xf32>) -> !onnx.unknown
  // CHECK-DAG: RotaryEmbedding of com.microsoft{{.*}}: positions of shape 2x7, expected 1x3{{: node|$}}
  %n29 = onnx.node "RotaryEmbedding" of "com.microsoft"(%x, %wrongplaces, %table, %table) with {num_heads = 2 : i64} {node = "n29"} : (tensor<1x3x8xf32>, tensor<2x7xi64>, tensor<4x2xf32>, tensor<4x2xf32>) -> !onnx.unknown
  // CHECK-DAG: RotaryEmbedding of com.microsoft{{.*}}: positions 20 to 22 of a table of 4{{: node|$}}
  %n30 = onnx.node "RotaryEmbedding" of "com.microsoft"(%x, %past, %table, %table) with {num_heads = 2 : i64} {node = "n30"} : (tensor<1x3x8xf32>, tensor<1xi64>, tensor<4x2xf32>, tensor<4x2xf32>) -> !onnx.unknown

  // CHECK-DAG: EmbedLayerNormalization of com.microsoft{{.*}}: input 3 is missing{{: node|$}}
  %n31 = onnx.node "EmbedLayerNormalization" of "com.microsoft"(%ids, %absent, %words, %absent, %absent, %vector, %vector) {node = "n31"} : (tensor<1x3xi32>, none, tensor<16x8xf32>, none, none, tensor<8xf32>, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: EmbedLayerNormalization of com.microsoft{{.*}}: looks up 1x3x8 in 16x8{{: node|$}}
  %n32 = onnx.node "EmbedLayerNormalization" of "com.microsoft"(%idcube, %absent, %words, %words, %absent, %vector, %vector) {node = "n32"} : (tensor<1x3x8xi32>, none, tensor<16x8xf32>, tensor<16x8xf32>, none, tensor<8xf32>, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: EmbedLayerNormalization of com.microsoft{{.*}}: embeddings of shape 16x8 and 4x2{{: node|$}}
  %n33 = onnx.node "EmbedLayerNormalization" of "com.microsoft"(%ids, %absent, %words, %table, %absent, %vector, %vector) {node = "n33"} : (tensor<1x3xi32>, none, tensor<16x8xf32>, tensor<4x2xf32>, none, tensor<8xf32>, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: EmbedLayerNormalization of com.microsoft{{.*}}: 3 tokens for 2 positions{{: node|$}}
  %n34 = onnx.node "EmbedLayerNormalization" of "com.microsoft"(%ids, %absent, %words, %place, %absent, %vector, %vector) {node = "n34"} : (tensor<1x3xi32>, none, tensor<16x8xf32>, tensor<2x8xf32>, none, tensor<8xf32>, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: EmbedLayerNormalization of com.microsoft{{.*}}: segments without embeddings of them, or the reverse{{: node|$}}
  %n35 = onnx.node "EmbedLayerNormalization" of "com.microsoft"(%ids, %ids, %words, %words, %absent, %vector, %vector) {node = "n35"} : (tensor<1x3xi32>, tensor<1x3xi32>, tensor<16x8xf32>, tensor<16x8xf32>, none, tensor<8xf32>, tensor<8xf32>) -> !onnx.unknown

  // CHECK-DAG: FusedMatMul of com.microsoft{{.*}}: operands are not matrices{{: node|$}}
  %n36 = onnx.node "FusedMatMul" of "com.microsoft"(%x, %vector) {node = "n36"} : (tensor<1x3x8xf32>, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: FusedMatMul of com.microsoft{{.*}}: cannot multiply 1x3x8 by 24x8{{: node|$}}
  %n37 = onnx.node "FusedMatMul" of "com.microsoft"(%x, %weights) with {transB = 1 : i64} {node = "n37"} : (tensor<1x3x8xf32>, tensor<8x24xf32>) -> !onnx.unknown
  // CHECK-DAG: FusedGemm of com.microsoft{{.*}}: activation is 'Selu', expected one of Relu, Tanh, Sigmoid{{: node|$}}
  %n38 = onnx.node "FusedGemm" of "com.microsoft"(%flat, %weights) with {activation = "Selu"} {node = "n38"} : (tensor<3x8xf32>, tensor<8x24xf32>) -> !onnx.unknown

  // CHECK-DAG: MatMulNBits of com.microsoft{{.*}}: 8x1 weights of 5 bits in blocks of 16, expected 2, 4 or 8 bits in blocks of 16, 32, ..., 1048576{{: node|$}}
  %n39 = onnx.node "MatMulNBits" of "com.microsoft"(%flat, %bytes, %scale) with {K = 8 : i64, N = 1 : i64, bits = 5 : i64, block_size = 16 : i64} {node = "n39"} : (tensor<3x8xf32>, tensor<1x1x8xui8>, tensor<1x1xf32>) -> !onnx.unknown
  // CHECK-DAG: MatMulNBits of com.microsoft{{.*}}: cannot multiply 3x8 by 16x1{{: node|$}}
  %n40 = onnx.node "MatMulNBits" of "com.microsoft"(%flat, %bytes, %scale) with {K = 16 : i64, N = 1 : i64, bits = 4 : i64, block_size = 16 : i64} {node = "n40"} : (tensor<3x8xf32>, tensor<1x1x8xui8>, tensor<1x1xf32>) -> !onnx.unknown
  // CHECK-DAG: MatMulNBits of com.microsoft{{.*}}: weights of shape 1x1x8, expected 2x1x8{{: node|$}}
  %n41 = onnx.node "MatMulNBits" of "com.microsoft"(%flat, %bytes, %scale) with {K = 8 : i64, N = 2 : i64, bits = 4 : i64, block_size = 16 : i64} {node = "n41"} : (tensor<3x8xf32>, tensor<1x1x8xui8>, tensor<1x1xf32>) -> !onnx.unknown
  // CHECK-DAG: MatMulNBits of com.microsoft{{.*}}: scales or zero points of shape 8, expected 1x1{{: node|$}}
  %n42 = onnx.node "MatMulNBits" of "com.microsoft"(%flat, %bytes, %vector) with {K = 8 : i64, N = 1 : i64, bits = 4 : i64, block_size = 16 : i64} {node = "n42"} : (tensor<3x8xf32>, tensor<1x1x8xui8>, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: MatMulNBits of com.microsoft{{.*}}: an order of groups (g_idx){{: node|$}}
  %n43 = onnx.node "MatMulNBits" of "com.microsoft"(%flat, %bytes, %scale, %absent, %short) with {K = 8 : i64, N = 1 : i64, bits = 4 : i64, block_size = 16 : i64} {node = "n43"} : (tensor<3x8xf32>, tensor<1x1x8xui8>, tensor<1x1xf32>, none, tensor<1xi32>) -> !onnx.unknown

  // CHECK-DAG: GatherBlockQuantized of com.microsoft{{.*}}: 5 bits in blocks of 16, expected 4 or 8 bits in blocks of 16, 32, ...{{: node|$}}
  %n43a = onnx.node "GatherBlockQuantized" of "com.microsoft"(%byterows, %places, %scale) with {bits = 5 : i64, block_size = 16 : i64} {node = "n43a"} : (tensor<2x8xui8>, tensor<1x3xi64>, tensor<1x1xf32>) -> !onnx.unknown
  // CHECK-DAG: GatherBlockQuantized of com.microsoft{{.*}}: picks along axis 1 of 2x8, quantised along 1, expected rows of a table, axes 0 and 1{{: node|$}}
  %n43b = onnx.node "GatherBlockQuantized" of "com.microsoft"(%byterows, %places, %scale) with {gather_axis = 1 : i64, block_size = 16 : i64} {node = "n43b"} : (tensor<2x8xui8>, tensor<1x3xi64>, tensor<1x1xf32>) -> !onnx.unknown
  // CHECK-DAG: GatherBlockQuantized of com.microsoft{{.*}}: input 0 is of f32, which the operator does not take{{: node|$}}
  %n43d = onnx.node "GatherBlockQuantized" of "com.microsoft"(%table, %places, %scale) with {block_size = 16 : i64} {node = "n43d"} : (tensor<4x2xf32>, tensor<1x3xi64>, tensor<1x1xf32>) -> !onnx.unknown
  // CHECK-DAG: GatherBlockQuantized of com.microsoft{{.*}}: scales of shape 1x1, expected 2x1{{: node|$}}
  %n43c = onnx.node "GatherBlockQuantized" of "com.microsoft"(%byterows, %places, %scale) with {block_size = 16 : i64} {node = "n43c"} : (tensor<2x8xui8>, tensor<1x3xi64>, tensor<1x1xf32>) -> !onnx.unknown

  // CHECK-DAG: Conv{{.*}}: convolves 3x8 with 2x4x3, expected 3 dimensions or more of both, and windows with elements{{: node|$}}
  %n44 = onnx.node "Conv"(%flat, %filter) {node = "n44"} : (tensor<3x8xf32>, tensor<2x4x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Conv{{.*}}: 17 groups, expected 1 to 16 or a filter for each channel{{: node|$}}
  %n45 = onnx.node "Conv"(%image, %filter) with {group = 17 : i64} {node = "n45"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Conv{{.*}}: 4 channels for weights of shape 2x4x3 in 2 groups{{: node|$}}
  %n46 = onnx.node "Conv"(%image, %filter) with {group = 2 : i64} {node = "n46"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Conv{{.*}}: a bias of shape 8{{: node|$}}
  %n47 = onnx.node "Conv"(%image, %filter, %vector) {node = "n47"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>, tensor<8xf32>) -> !onnx.unknown
  // CHECK-DAG: Conv{{.*}}: strides does not fit 1 axes{{: node|$}}
  %n48 = onnx.node "Conv"(%image, %filter) with {strides = [1, 1]} {node = "n48"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Conv{{.*}}: auto_pad is 'SOME', expected one of SAME_UPPER, SAME_LOWER, VALID, NOTSET: node
  %n49 = onnx.node "Conv"(%image, %filter) with {auto_pad = "SOME"} {node = "n49"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Conv{{.*}}: kernel_shape is not that of its weights{{: node|$}}
  %n50 = onnx.node "Conv"(%image, %filter) with {kernel_shape = [2]} {node = "n50"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Conv{{.*}}: a window of 9 over 6 elements, pads counted{{: node|$}}
  %n51 = onnx.node "Conv"(%image, %long) {node = "n51"} : (tensor<1x4x6xf32>, tensor<2x4x9xf32>) -> !onnx.unknown
  // CHECK-DAG: FusedConv of com.microsoft{{.*}}: adds to what it convolves{{: node|$}}
  %n52 = onnx.node "FusedConv" of "com.microsoft"(%image, %filter, %absent, %image) {node = "n52"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>, none, tensor<1x4x6xf32>) -> !onnx.unknown
  // CHECK-DAG: FusedConv of com.microsoft{{.*}}: activation is 'Selu', expected one of Relu{{: node|$}}
  %n53 = onnx.node "FusedConv" of "com.microsoft"(%image, %filter) with {activation = "Selu"} {node = "n53"} : (tensor<1x4x6xf32>, tensor<2x4x3xf32>) -> !onnx.unknown

  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: the total length is computed from the model's inputs: node {{.*}}; --bind NAME=FILE.npy makes an input known{{$}}
  %n54 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %lengths) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n54"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<1xi32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: position 2 of 3 tokens in a table of 4{{: node|$}}
  %n55 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total, %table, %table, %third) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, do_rotary = 1 : i64} {node = "n55"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<1x3xi64>) -> !onnx.unknown
  %bytecache = onnx.constant dense<1> : tensor<1x2x5x4xi8>
  %norm = onnx.constant dense<1.0> : tensor<4xf32>
  %onescale = onnx.constant dense<1.0> : tensor<1xf32>
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: a norm of queries without one of keys, or of keys alone{{: node|$}}
  %n56 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %absent, %absent, %lengths, %total, %absent, %absent, %absent, %absent, %absent, %absent, %absent, %norm) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n56"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>, none, none, none, none, none, none, none, tensor<4xf32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: k_quant_type is NONE, of a cache of integers{{: node|$}}
  %n57 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %bytecache, %bytecache, %lengths, %total, %absent, %absent, %absent, %absent, %absent, %onescale, %onescale) with {num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "n57"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x2x5x4xi8>, tensor<1x2x5x4xi8>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, tensor<1xf32>, tensor<1xf32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: a cache of integers of 4 bits, expected 8, with a sign{{: node|$}}
  %n58 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %bytecache, %bytecache, %lengths, %total, %absent, %absent, %absent, %absent, %absent, %onescale, %onescale) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, k_quant_type = "PER_TENSOR", v_quant_type = "PER_TENSOR", kv_cache_bit_width = 4 : i64} {node = "n58"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x2x5x4xi8>, tensor<1x2x5x4xi8>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, tensor<1xf32>, tensor<1xf32>) -> !onnx.unknown
  // CHECK-DAG: GroupQueryAttention of com.microsoft{{.*}}: scales of shape 1 of a cache whose scales are PER_CHANNEL{{: node|$}}
  %n59 = onnx.node "GroupQueryAttention" of "com.microsoft"(%x, %x, %x, %bytecache, %bytecache, %lengths, %total, %absent, %absent, %absent, %absent, %absent, %onescale, %onescale) with {num_heads = 2 : i64, kv_num_heads = 2 : i64, k_quant_type = "PER_CHANNEL", v_quant_type = "PER_CHANNEL", kv_cache_bit_width = 8 : i64} {node = "n59"} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x2x5x4xi8>, tensor<1x2x5x4xi8>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, tensor<1xf32>, tensor<1xf32>) -> !onnx.unknown

  return %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7, %n8, %n9, %n10, %n11, %n12, %n13, %n14, %n15, %n16, %n17, %n18, %n19, %n20, %n21, %n22, %n23, %n24, %n25, %n26, %n27, %n28, %n29, %n30, %n31, %n32, %n33, %n34, %n35, %n36, %n37, %n38, %n39, %n40, %n41, %n42, %n43, %n44, %n45, %n46, %n47, %n48, %n49, %n50, %n51, %n52, %n53, %n54, %n55, %n43a, %n43b, %n43c, %n43d, %n56, %n57, %n58, %n59 : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
