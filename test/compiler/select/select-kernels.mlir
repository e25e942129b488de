// RUN: wse-opt %s --split-input-file --pass-pipeline='builtin.module(wsec-select{mesh=4x3 region=4x3})' | FileCheck %s

// An encoder layer of two heads: queries, keys and values get whole heads, the
// padding mask becomes one row of keys per batch element, Gelu one kernel.

// CHECK: #[[$ROWS:.*]] = #wse.dist<rows = [0, 1], columns = [2]>
// CHECK: #[[$HEADS:.*]] = #wse.dist<rows = [0, 1], columns = [2 by 4 over 2]>
// CHECK: #[[$KEYS:.*]] = #wse.dist<rows = [0, replicated over 3], columns = []>
// CHECK-DAG: !tokens_1x6x8_balanced = tensor<1x6x8xf32, #[[$ROWS]]>
// CHECK-DAG: !tokens_1x6x8_heads = tensor<1x6x8xf32, #[[$HEADS]]>
// CHECK-DAG: !tokens_1x1x6xi32_replicated = tensor<1x1x6xi32, #[[$KEYS]]>
// CHECK-LABEL: wse.program @main state(selected) mesh(4x3) machine("wse2")
// CHECK: input @ids : tensor<1x6xi64>
// CHECK: input @mask : tensor<1x6xi64>
// CHECK-NEXT: parameter @wte = external<"m.data", 0, 320> : tensor<10x8xf32>
// CHECK-NEXT: parameter @wpe = external<"m.data", 320, 192> : tensor<
// CHECK: %[[WORD:.*]] = gather <@wte : tensor<10x8xf32>> at @ids on @r {nodes = ["word"]} : !tokens_1x6x8_balanced
// CHECK: %[[POSITION:.*]] = load <@wpe : tensor<1x6x8xf32>>
// CHECK: %[[EMBED:.*]] = elementwise(%[[WORD]], %[[POSITION]])
// CHECK: arith.addf
// CHECK: %[[LN:.*]] = layer_norm %[[EMBED]] scale <@g : {{.*}} epsilon(9.9
// CHECK: %[[Q:.*]] = matmul %[[LN]] weight <@w : tensor<8x8xf32>> bias <@b : {{.*}} variant({{.*}}) on @r {nodes = ["q"]} : !tokens_1x6x8_balanced -> !tokens_1x6x8_heads
// CHECK: %[[K:.*]] = matmul %[[LN]] weight <@w : tensor<8x8xf32> view 0 strides [1, 8]>
// CHECK: %[[MASK:.*]] = load @mask on @r {nodes = ["attend"]} : !tokens_1x1x6xi32_replicated
// CHECK: %[[BIAS:.*]] = elementwise(%[[MASK]]) on @r {nodes = ["to_float", "not_mask", "padding"]} : (!tokens_1x1x6xi32_replicated) -> !tokens_1x1x6_replicated
// CHECK: %[[ATTEND:.*]] = attention %[[Q]], %[[K]], %[[K]] masks %[[BIAS]] heads(2) scale(5.000000e-01) terms [#onnx.term<add operand 0>] on @r {nodes = ["attend"]}
// CHECK: %[[UP:.*]] = matmul %[[ATTEND]] {{.*}} !tokens_1x6x8_heads -> !tokens_1x6x8_balanced
// CHECK: %[[GELU:.*]] = elementwise(%[[UP]]) on @r {nodes = ["div", "erf", "plus", "times", "gelu"]}
// CHECK-NEXT: ^bb0
// CHECK-NOT: elementwise
// CHECK: math.erf
// CHECK: store %[[GELU]] to "hidden" {{.*}} : !tokens_1x6x8_balanced to tensor<6x8xf32>
func.func @main(%ids: tensor<1x6xi64> {onnx.name = "ids"}, %mask: tensor<1x6xi64> {onnx.name = "mask"}) -> (tensor<6x8xf32> {onnx.name = "hidden"}) {
  %table = onnx.constant external<"m.data", 0, 320> : tensor<10x8xf32> {node = "wte"}
  %positions = onnx.constant external<"m.data", 320, 192> : tensor<1x6x8xf32> {node = "wpe"}
  %g = onnx.constant dense<1.0> : tensor<8xf32> {node = "g"}
  %b = onnx.constant dense<0.5> : tensor<8xf32> {node = "b"}
  %w = onnx.constant external<"m.data", 512, 256> : tensor<8x8xf32> {node = "w"}
  %wt = onnx.constant external<"m.data", 512, 256> view offset 0 strides [1, 8] : tensor<8x8xf32> {node = "w"}
  %one = onnx.constant dense<1.0> : tensor<f32>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %root = onnx.constant dense<1.41421354> : tensor<1xf32>
  %low = onnx.constant dense<-1.0e4> : tensor<f32>
  %word = onnx.gather %table, %ids {node = "word"} : (tensor<10x8xf32>, tensor<1x6xi64>) -> tensor<1x6x8xf32>
  %embed = onnx.binary add %word, %positions {node = "embed"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %ln = onnx.layer_norm %embed, %g bias %b {epsilon = 1.0e-5 : f32, node = "ln"} : (tensor<1x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %q = onnx.matmul %ln, %w bias %b {node = "q"} : (tensor<1x6x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %k = onnx.matmul %ln, %wt {node = "k"} : (tensor<1x6x8xf32>, tensor<8x8xf32>) -> tensor<1x6x8xf32>
  %mask4 = onnx.reshape %mask {node = "unsqueeze"} : tensor<1x6xi64> -> tensor<1x1x1x6xi64>
  %mask_float = onnx.cast %mask4 {node = "to_float"} : tensor<1x1x1x6xi64> -> tensor<1x1x1x6xf32>
  %not_mask = onnx.binary sub %one, %mask_float {node = "not_mask"} : (tensor<f32>, tensor<1x1x1x6xf32>) -> tensor<1x1x1x6xf32>
  %padding = onnx.binary mul %not_mask, %low {node = "padding"} : (tensor<1x1x1x6xf32>, tensor<f32>) -> tensor<1x1x1x6xf32>
  %attend = onnx.attention %q, %k, %k masks %padding {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>], node = "attend"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x1x1x6xf32>) -> tensor<1x6x8xf32>
  %up = onnx.matmul %attend, %w {node = "up"} : (tensor<1x6x8xf32>, tensor<8x8xf32>) -> tensor<1x6x8xf32>
  %div = onnx.binary div %up, %root {node = "div"} : (tensor<1x6x8xf32>, tensor<1xf32>) -> tensor<1x6x8xf32>
  %erf = onnx.unary erf %div {node = "erf"} : tensor<1x6x8xf32>
  %plus = onnx.binary add %erf, %one {node = "plus"} : (tensor<1x6x8xf32>, tensor<f32>) -> tensor<1x6x8xf32>
  %times = onnx.binary mul %up, %plus {node = "times"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %gelu = onnx.binary mul %times, %half {node = "gelu"} : (tensor<1x6x8xf32>, tensor<f32>) -> tensor<1x6x8xf32>
  %flat = onnx.reshape %gelu {node = "flat"} : tensor<1x6x8xf32> -> tensor<6x8xf32>
  return %flat : tensor<6x8xf32>
}

// -----

// An output too large for the SRAM leaves in pieces of its features.
// CHECK-LABEL: wse.program @main
// CHECK: %[[FIRST:.*]] = matmul %x weight <@embedding : tensor<8x910xf32> view 0 strides [1, 8]> {{.*}} -> !tokens_1x60x910_
// CHECK: store %[[FIRST]] to "logits" on @r {nodes = ["head"]} : !tokens_1x60x910_{{.*}} to tensor<60x50000xf32>
// CHECK: %[[SECOND:.*]] = matmul %x weight <@embedding : tensor<8x910xf32> view 7280 strides [1, 8]>
// CHECK: store %[[SECOND]] to "logits" at 910
// CHECK: store {{.*}} to "logits" at 49091 on @r {nodes = ["head"]} : !tokens_1x60x909_
// CHECK-NOT: store
func.func @main(%x: tensor<60x8xf32> {onnx.name = "x"}) -> (tensor<60x50000xf32> {onnx.name = "logits"}) {
  %w = onnx.constant external<"m.data", 0, 1600000> view offset 0 strides [1, 8] : tensor<8x50000xf32> {node = "embedding"}
  %y = onnx.matmul %x, %w {node = "head"} : (tensor<60x8xf32>, tensor<8x50000xf32>) -> tensor<60x50000xf32>
  return %y : tensor<60x50000xf32>
}

// -----

// Inputs and constants that leave unchanged never touch the wafer.
// CHECK-LABEL: wse.program @main
// CHECK: parameter @c = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: alias "same" = @x : tensor<3x2xf32>
// CHECK-NEXT: alias "fixed" = <@c : tensor<2xf32>> : tensor<2xf32>
// CHECK-NEXT: %{{.*}} = load @x strides [6, 1, 3]
// CHECK-NEXT: store
func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<3x2xf32> {onnx.name = "same"}, tensor<2xf32> {onnx.name = "fixed"}, tensor<3x2xf32> {onnx.name = "turned"}) {
  %c = onnx.constant dense<[1.0, 2.0]> : tensor<2xf32> {node = "c"}
  %r = onnx.reshape %x {node = "reshape"} : tensor<2x3xf32> -> tensor<3x2xf32>
  %t = onnx.transpose %x {perm = array<i64: 1, 0>, node = "turn"} : tensor<2x3xf32> -> tensor<3x2xf32>
  return %r, %c, %t : tensor<3x2xf32>, tensor<2xf32>, tensor<3x2xf32>
}

// -----

// So do those that kernels have stored, element by element in order.
// CHECK-LABEL: wse.program @main
// CHECK: intermediate @c : tensor<2x8x16xf32>
// CHECK-COUNT-2: store {{.*}} to "c" {{.*}}strides
// CHECK-NOT: load @c
// CHECK: alias "y" = @c : tensor<2x8x16xf32>
func.func @main(%a: tensor<2x8x7xf32> {onnx.name = "a"}, %b: tensor<2x8x9xf32> {onnx.name = "b"}) -> (tensor<2x8x16xf32> {onnx.name = "y"}) {
  %y = onnx.concat %a, %b {axis = 2 : i64, node = "c"} : (tensor<2x8x7xf32>, tensor<2x8x9xf32>) -> tensor<2x8x16xf32>
  return %y : tensor<2x8x16xf32>
}

// -----

// A matrix for each head and sample is one kernel: heads are read as strides.
// CHECK-LABEL: wse.program @main
// CHECK: %[[A:.*]] = load @a strides [128, 8, 16, 1]
// CHECK: matmul %[[A]] weight <@b : tensor<3x2x8x3xf32> view 0 strides [0, 24, 3, 1]> variant(broadcast)
// CHECK-NOT: matmul
// CHECK: store {{.*}} to "y"
func.func @main(%a: tensor<3x8x2x8xf32> {onnx.name = "a"}, %b: tensor<1x2x8x3xf32> {onnx.name = "b"}) -> (tensor<3x2x8x3xf32> {onnx.name = "y"}) {
  %t = onnx.transpose %a {perm = array<i64: 0, 2, 1, 3>, node = "t"} : tensor<3x8x2x8xf32> -> tensor<3x2x8x8xf32>
  %y = onnx.batch_matmul %t, %b {node = "p"} : (tensor<3x2x8x8xf32>, tensor<1x2x8x3xf32>) -> tensor<3x2x8x3xf32>
  return %y : tensor<3x2x8x3xf32>
}

// -----

// Where a row has no room for deep matrices, a product is a sum over parts of its depth, that are alike if there are so few.
// CHECK-LABEL: wse.program @main
// CHECK: %[[A:.*]] = load @a strides [2400, 600, 1]
// CHECK: %[[P:.*]] = matmul %[[A]] weight <@b : tensor<6x200x9xf32> view 0 strides [5400, 9, 1]> variant(broadcast)
// CHECK: %[[B:.*]] = load @a offset 200 strides [2400, 600, 1]
// CHECK: %[[Q:.*]] = matmul %[[B]] weight <@b : tensor<6x200x9xf32> view 1800 strides [5400, 9, 1]> variant(broadcast)
// CHECK: %[[C:.*]] = load @a offset 400 strides [2400, 600, 1]
// CHECK: %[[R:.*]] = matmul %[[C]] weight <@b : tensor<6x200x9xf32> view 3600 strides [5400, 9, 1]> variant(broadcast)
// CHECK: elementwise(%[[P]], %[[Q]], %[[R]])
// CHECK-NOT: matmul
func.func @main(%a: tensor<6x4x600xf32> {onnx.name = "a"}, %b: tensor<6x600x9xf32> {onnx.name = "b"}) -> (tensor<6x4x9xf32> {onnx.name = "y"}) {
  %y = onnx.batch_matmul %a, %b {node = "p"} : (tensor<6x4x600xf32>, tensor<6x600x9xf32>) -> tensor<6x4x9xf32>
  return %y : tensor<6x4x9xf32>
}

// -----

// Where the operand and the result of all matrices do not fit on the wafer, they are multiplied one by one.
// CHECK-LABEL: wse.program @main
// CHECK: matmul {{.*}} weight <@b : tensor<8x8xf32>>
// CHECK: store
// CHECK: matmul {{.*}} weight <@b : tensor<8x8xf32> view 64 strides [8, 1]>
// CHECK: store
// CHECK-NOT: matmul
func.func @main(%a: tensor<2x3000x8xf32> {onnx.name = "a"}, %b: tensor<2x8x8xf32> {onnx.name = "b"}) -> (tensor<2x3000x8xf32> {onnx.name = "y"}) {
  %y = onnx.batch_matmul %a, %b {node = "p"} : (tensor<2x3000x8xf32>, tensor<2x8x8xf32>) -> tensor<2x3000x8xf32>
  return %y : tensor<2x3000x8xf32>
}

// -----

// Broadcasts load no more than they repeat: one token per batch element, one
// feature per token, a vector for constants.
// CHECK-DAG: #[[$TOKEN:.*]] = #wse.dist<rows = [0, replicated over 1], columns = [2]>
// CHECK-DAG: #[[$FEATURE:.*]] = #wse.dist<rows = [0, 1], columns = []>
// CHECK-DAG: !tokens_2x1x8_balanced = tensor<2x1x8xf32, #[[$TOKEN]]>
// CHECK-DAG: !tokens_2x4x1_replicated = tensor<2x4x1xf32, #[[$FEATURE]]>
// CHECK-LABEL: wse.program @main
// CHECK-DAG: %a = load @a
// CHECK-DAG: %b = load @b {{.*}} : !tokens_2x1x8_balanced
// CHECK-DAG: %c = load @c {{.*}} : !tokens_2x4x1_replicated
// CHECK: elementwise(%a, %b, %c) vectors [#wse.weight<@v : tensor<8xf32>>
func.func @main(%a: tensor<2x4x8xf32> {onnx.name = "a"}, %b: tensor<2x1x8xf32> {onnx.name = "b"}, %c: tensor<4x1xf32> {onnx.name = "c"}) -> (tensor<2x4x8xf32> {onnx.name = "y"}) {
  %v = onnx.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32> {node = "v"}
  %ab = onnx.binary add %a, %b {node = "ab"} : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> tensor<2x4x8xf32>
  %abc = onnx.binary mul %ab, %c {node = "abc"} : (tensor<2x4x8xf32>, tensor<4x1xf32>) -> tensor<2x4x8xf32>
  %y = onnx.binary max %abc, %v {node = "y"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// The mean over features is a product with a column of 1/n, and comes back to
// all columns; the mean over tokens lives in the group root.
// CHECK-LABEL: wse.program @main
// CHECK: parameter @"1/n" = dense<1.250000e-01> : tensor<8x1xf32>
// CHECK: %mean = matmul %x weight <@"1/n" : tensor<8x1xf32>>
// CHECK: %[[EVERYWHERE:.*]] = redistribute %mean
// CHECK: %[[CENTER:.*]] = elementwise(%x, %[[EVERYWHERE]])
// CHECK: %pool = reduce_tokens mean %[[CENTER]]
// CHECK: store %pool to "y" {{.*}} to tensor<1x8xf32>
func.func @main(%x: tensor<1x3x8xf32> {onnx.name = "x"}) -> (tensor<1x8xf32> {onnx.name = "y"}) {
  %mean = onnx.reduce mean %x {axes = array<i64: 2>, keepdims = true, node = "mean"} : tensor<1x3x8xf32> -> tensor<1x3x1xf32>
  %center = onnx.binary sub %x, %mean {node = "center"} : (tensor<1x3x8xf32>, tensor<1x3x1xf32>) -> tensor<1x3x8xf32>
  %pool = onnx.reduce mean %center {axes = array<i64: 1>, keepdims = false, node = "pool"} : tensor<1x3x8xf32> -> tensor<1x8xf32>
  return %pool : tensor<1x8xf32>
}

// -----

// The first token of each batch element (the pooling of BERT).
// CHECK-LABEL: wse.program @main
// CHECK: parameter @token = dense<[0.000000e+00, 1.000000e+00, 0.000000e+00]> : tensor<3xf32>
// CHECK: %[[MASK:.*]] = load <@token : tensor<2x3x1xf32> view 0 strides [0, 1, 0]>
// CHECK: %[[KEPT:.*]] = elementwise(%softmax, %[[MASK]])
// CHECK: arith.select
// CHECK: %[[TOKEN:.*]] = reduce_tokens sum %[[KEPT]] on @r {nodes = ["second"]}
// CHECK: matmul %[[TOKEN]] {{.*}} -> !tokens_2x1x8_
func.func @main(%x: tensor<2x3x8xf32> {onnx.name = "x"}) -> (tensor<2x8xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 256> : tensor<8x8xf32> {node = "w"}
  %n = onnx.softmax %x {node = "softmax"} : tensor<2x3x8xf32>
  %second = onnx.slice %n {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>, node = "second"} : tensor<2x3x8xf32> -> tensor<2x1x8xf32>
  %flat = onnx.reshape %second {node = "flat"} : tensor<2x1x8xf32> -> tensor<2x8xf32>
  %y = onnx.matmul %flat, %w {node = "pooler"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// Every other feature from the second on: the store sends them back.
// CHECK-LABEL: wse.program @main
// CHECK: intermediate @softmax : tensor<3x8xf32>
// CHECK: store %softmax to "softmax" on @r
// CHECK: load @softmax offset 1 strides [12, 8, 2] on @r
func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}) -> (tensor<3x4xf32> {onnx.name = "y"}) {
  %n = onnx.softmax %x {node = "softmax"} : tensor<3x8xf32>
  %odd = onnx.slice %n {starts = array<i64: 0, 1>, steps = array<i64: 1, 2>, node = "odd"} : tensor<3x8xf32> -> tensor<3x4xf32>
  return %odd : tensor<3x4xf32>
}

// -----

// More strides than a stream walks: one load and one store for each index of
// the shortest dimension, then what the store holds is in order.
// CHECK-LABEL: wse.program @main
// CHECK: intermediate @y : tensor<2x4x3x5x3xf32>
// CHECK: load @x strides [{{.*}}, 2, 40] on @r {{.*}} : !tokens_1x4x3x5x3_
// CHECK: store {{.*}} to "y" strides [360, 3, 1] on @r
// CHECK: load @x offset 1 strides [{{.*}}, 2, 40] on @r {{.*}} : !tokens_1x4x3x5x3_
// CHECK: store {{.*}} to "y" at 180 strides [360, 3, 1] on @r
// CHECK: load @y on @r
func.func @main(%x: tensor<3x3x4x5x2xf32> {onnx.name = "x"}) -> (tensor<2x4x3x5x3xf32> {onnx.name = "z"}) {
  %t = onnx.transpose %x {perm = array<i64: 4, 2, 0, 3, 1>, node = "y"} : tensor<3x3x4x5x2xf32> -> tensor<2x4x3x5x3xf32>
  return %t : tensor<2x4x3x5x3xf32>
}

// -----

// What repeats cannot merge with what does not: it is stored repeated first.
// CHECK-LABEL: wse.program @main
// CHECK: elementwise
// CHECK: store {{.*}} to "wide" on @r
// CHECK: load @wide on @r
// CHECK-SAME: !tokens_{{(1x)?}}6x4_
func.func @main(%x: tensor<2x1x4xf32> {onnx.name = "x"}) -> (tensor<6x4xf32> {onnx.name = "y"}) {
  %a = onnx.unary abs %x {node = "abs"} : tensor<2x1x4xf32>
  %wide = onnx.expand %a {node = "wide"} : tensor<2x1x4xf32> -> tensor<2x3x4xf32>
  %flat = onnx.reshape %wide {node = "flat"} : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %y = onnx.unary neg %flat {node = "neg"} : tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

// -----

// Ids that the wafer computes pass through the store, which looks the rows up.
// CHECK-LABEL: wse.program @main
// CHECK: elementwise
// CHECK: arith.addi
// CHECK: intermediate @double : tensor<6xi32>
// CHECK: store {{.*}} to "double" on @r
// CHECK: gather <@constant : tensor<10x8xf32>> at @double on @r {nodes = ["lookup"]}
func.func @main(%ids: tensor<6xi64> {onnx.name = "ids"}) -> (tensor<6x8xf32> {onnx.name = "y"}) {
  %table = onnx.constant external<"m.data", 0, 320> : tensor<10x8xf32>
  %next = onnx.binary add %ids, %ids {node = "double"} : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %y = onnx.gather %table, %next {node = "lookup"} : (tensor<10x8xf32>, tensor<6xi64>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// A narrow integer is an i32 that wraps behind each operator.
// CHECK-LABEL: wse.program @main
// CHECK: input @x : tensor<6xui8>
// CHECK: ^bb0(%[[X:.*]]: i32):
// CHECK: %[[SUM:.*]] = arith.addi %[[X]], %[[X]] : i32
// CHECK: arith.andi %[[SUM]], %{{.*}} : i32
// CHECK: store {{.*}} to tensor<6xui8>
func.func @main(%x: tensor<6xui8> {onnx.name = "x"}) -> (tensor<6xui8> {onnx.name = "y"}) {
  %y = onnx.binary add %x, %x {node = "double"} : (tensor<6xui8>, tensor<6xui8>) -> tensor<6xui8>
  return %y : tensor<6xui8>
}

// -----

// An expert of the second of two numbers that a token chose streams alone, and a
// row of biases by the same number, which the store looks up where it is.
// CHECK-LABEL: wse.program @main
// CHECK: top_k
// CHECK: intermediate @best : tensor<1x2xi32> choose of 8
// CHECK: store {{.*}} to "best"
// CHECK: matmul {{.*}} weight <@constant : tensor<16x8xf32>> variant({{[a-z]+}}) entry <@best at 1 of 8 step 128>
// CHECK: gather <@constant_1 : tensor<8x8xf32>> at <@best : tensor<1xi32> view 1 strides [1]>
func.func @main(%x: tensor<1x16xf32> {onnx.name = "x"}, %p: tensor<1x8xf32> {onnx.name = "p"}) -> (tensor<1x8xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 4096> : tensor<8x16x8xf32>
  %b = onnx.constant external<"m.data", 4096, 256> : tensor<8x8xf32>
  %i, %v = onnx.top_k %p {node = "best", onnx.experts = 8 : i64} : tensor<1x8xf32> -> tensor<1x2xi64>, tensor<1x2xf32>
  %ids = onnx.reshape %i : tensor<1x2xi64> -> tensor<2xi64>
  %id = onnx.slice %ids {starts = array<i64: 1>, steps = array<i64: 1>} : tensor<2xi64> -> tensor<1xi64>
  %u = onnx.experts %x, %id, %w {node = "up"} : (tensor<1x16xf32>, tensor<1xi64>, tensor<8x16x8xf32>) -> tensor<1x8xf32>
  %r = onnx.gather %b, %id {node = "bias"} : (tensor<8x8xf32>, tensor<1xi64>) -> tensor<1x8xf32>
  %y = onnx.binary add %u, %r {node = "sum"} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}

// -----

// Each of six rows by the expert that it chose, of eight that stream past once.
// CHECK-LABEL: wse.program @main
// CHECK: matmul {{.*}} weight <@constant : tensor<16x8xf32>> variant(stationary) entry <@best at 0 of 8 step 128>
func.func @main(%x: tensor<6x16xf32> {onnx.name = "x"}, %p: tensor<6x8xf32> {onnx.name = "p"}) -> (tensor<6x8xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 4096> : tensor<8x16x8xf32>
  %i, %v = onnx.top_k %p {node = "best", onnx.experts = 8 : i64} : tensor<6x8xf32> -> tensor<6x1xi64>, tensor<6x1xf32>
  %ids = onnx.reshape %i : tensor<6x1xi64> -> tensor<6xi64>
  %y = onnx.experts %x, %ids, %w {node = "expert"} : (tensor<6x16xf32>, tensor<6xi64>, tensor<8x16x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
