// RUN: wse-opt %s --split-input-file --verify-diagnostics

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @mesh state(selected) mesh(4x5) machine("wse9") { // expected-error {{unknown machine 'wse9'; expected wse1, wse2, wse3 or wse3-silicon, or JSON text}}
}

// -----

// expected-error@below {{mesh 800x5 does not fit the fabric of 757x996}}
wse.program @program_c1 state(selected) mesh(800x5) machine("wse2") {
}

// -----

wse.program @program_c2 state(selected) mesh(4x5) machine("wse2") {
  // expected-note @below {{the region is here}}
  region @r shape(4x5)
  input @x : tensor<2x3x6xf32>
  // expected-error@below {{encoding has copies in 3 rows; each of 2 batch elements has 2 of the 5 rows of the region}}
  %x = load @x on @r : tensor<2x3x6xf32, #wse.dist<rows = [0, replicated over 3], columns = [2]>>
}

// -----

wse.program @program_c3 state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{is no operation of the wafer}}
  %c = arith.constant 1.0 : f32
}

// -----

// expected-error@below {{expected positive numbers below 2^31 after by and over, found by 0 over 1}}
#dist_c1 = #wse.dist<rows = [0, 1], columns = [2 by 0]>

// -----

// expected-error@below {{expected positive numbers below 2^31 after by and over, found by 1 over 0}}
#dist_c1 = #wse.dist<rows = [0, replicated over 0], columns = [2]>

// -----

// expected-error@below {{expected positive numbers below 2^31 after by and over, found by 4294967296 over 1}}
#dist_c1 = #wse.dist<rows = [0, 1], columns = [2 by 4294967296]>

// -----

// expected-error@below {{dimension -1 is negative}}
#dist_c1 = #wse.dist<rows = [0, -1], columns = [2]>

// -----

// expected-error@below {{units of 3 of dimension 2 cannot lie over 4 positions each}}
#dist_c1 = #wse.dist<rows = [0, 1], columns = [2 by 3 over 4]>

// -----

// expected-error@below {{dimension 1 is listed twice}}
#dist_c2 = #wse.dist<rows = [(0, 1), 1], columns = [2]>

// -----

// expected-error@below {{dimensions that are taken as one follow one another}}
#dist_c2 = #wse.dist<rows = [(0, 2)], columns = [3]>

// -----

// expected-error@below {{replicated can only end the list of the rows; of columns without a list each has all}}
#dist_c3 = #wse.dist<rows = [0], columns = [replicated over 2]>

// -----

// expected-error@below {{replicated can only end the list of the rows; of columns without a list each has all}}
#dist_c3 = #wse.dist<rows = [replicated over 2, 0], columns = [1]>

// -----

// expected-error@below {{only the tokens, the last of the rows, are cyclic}}
#dist_c7 = #wse.dist<rows = [0, 1], columns = [2 cyclic]>

// -----

// expected-error@below {{only the tokens, the last of the rows, are cyclic}}
#dist_c7 = #wse.dist<rows = [0 cyclic, 1], columns = [2]>

// -----

wse.program @dist_c4_rank state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{the distribution lists dimension 3, the tensor has 0 to 2}}
  input @x : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [3]>>
}

// -----

wse.program @dist_c4_empty state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{at least one element and fewer than 2^31, found the shape [0, 4, 8]}}
  input @x : tensor<0x4x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @dist_c4_no_features state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{at least one element and fewer than 2^31, found the shape [2, 4, 0]}}
  input @x : tensor<2x4x0xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @dist_c4_large state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{at least one element and fewer than 2^31, found the shape [2, 4294967296, 8]}}
  input @x : tensor<2x4294967296x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @dist_c4_wraps state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{at least one element and fewer than 2^31, found the shape [4294967296, 4294967296, 8]}}
  input @x : tensor<4294967296x4294967296x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @dist_c4_product state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{at least one element and fewer than 2^31, found the shape [65536, 32768, 1]}}
  input @x : tensor<65536x32768x1xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @dist_c4_type state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xi64>
  // expected-error@below {{tensors on the wafer are static and of f32, f16, bf16, !pe.cb16 or i32, found one of 'i64'}}
  %x = load @x on @r : tensor<1x6x6xi64, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @dist_c4_heads state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xf32>
  // expected-error@below {{the 6 elements of dimension 2 are no multiple of the distribution's units of 4}}
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 4]>>
}

// -----

wse.program @dist_c5_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xf32>
  // expected-error@below {{expected the distribution to have dimension 2, the features, or none over the columns}}
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0], columns = [1]>>
}

// -----

wse.program @dist_c5_order state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xf32>
  // expected-error@below {{expected the distribution to have dimension 0 next over the rows, in units of one, found 1}}
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [1, 0], columns = [2]>>
}

// -----

wse.program @dist_c5_missing state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xf32>
  // expected-error@below {{expected the distribution to have dimensions 0 to 1 over the rows, as batch and tokens or replicated}}
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0], columns = [2]>>
}

// -----

wse.program @dist_c6_heads state(selected) mesh(5x5) machine("wse2") {
  // expected-note @below {{the region is here}}
  region @r shape(5x5)
  input @x : tensor<1x6x6xf32>
  // expected-error@below {{encoding has 2 heads of 3 columns each, the region has 5}}
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3 over 3]>>
}

// -----

wse.program @dist_c6_copies state(selected) mesh(5x5) machine("wse2") {
  // expected-note @below {{the region is here}}
  region @r shape(5x5)
  input @x : tensor<1x1x6xf32>
  // expected-error@below {{encoding has copies in 6 rows; each of 1 batch elements has 5 of the 5 rows of the region}}
  %x = load @x on @r : tensor<1x1x6xf32, #wse.dist<rows = [0, replicated over 6], columns = [2]>>
}

// -----

// expected-error@below {{expected 0 <= start < end and a positive step, found x = 4 to 4 step 1, y = 0 to 1 step 1}}
#rule_c3 = #wse.rule<color 2, <x = 4 to 4, y = 0 to 1>, west to east>

// -----

// expected-error@below {{color -1 is negative}}
#rule_c1 = #wse.rule<color -1, <x = 0 to 4, y = 0 to 1>, west to east>

// -----

// expected-error@below {{words of color 2 leave on the port they came in on, west}}
#rule_c2 = #wse.rule<color 2, <x = 0 to 4, y = 0 to 1>, west to west|east>

// -----

// expected-error@below {{expected a flow of numbers that are not negative, found slot 0 cycles 9 to 8 ahead 2}}
#flow_c1 = #wse.flow<@channel slot 0 cycles 9 to 8 ahead 2>

// -----

// expected-error@below {{expected positive numbers with used <= pitch, found groups = 1, pitch = 2, used = 3}}
#rows_c1 = #wse.rows<groups = 1, pitch = 2, used = 3>

// -----

// expected-error@below {{ends and steps of a rectangle are below 2^31, found x to 8 step 9223372036854775807, y to 1 step 1}}
#rule_c3 = #wse.rule<color 2, <x = 0 to 8 step 9223372036854775807, y = 0 to 1>, west to east>

// -----

// expected-error@below {{ends and steps of a rectangle are below 2^31, found x to 8 step 1, y to 2147483648 step 1}}
#rule_c3 = #wse.rule<color 2, <x = 0 to 8, y = 0 to 2147483648>, west to east>

// -----

// expected-error@below {{numbers of rows are below 2^31, found groups = 4294967297, pitch = 4294967296}}
#rows_c1 = #wse.rows<groups = 4294967297, pitch = 4294967296, used = 1>

// -----

// expected-error@below {{weight @w needs a static shape of countable numbers, found 'tensor<4294967296x4294967296xf32>'}}
#weight_c1 = #wse.weight<@w : tensor<4294967296x4294967296xf32>>

// -----

// expected-error@below {{weight @w reads elements that cannot be counted}}
#weight_c1 = #wse.weight<@w : tensor<4x4xf32> view 0 strides [9223372036854775807, 1]>

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @weight_c3_tensor state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the tensor is declared here}}
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{reads elements 1 to 36 of the 36 of @x}}
  %y = matmul %x weight <@x : tensor<6x6xf32> view 1 strides [6, 1]> variant(reduce) on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @weight_no_tensor state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{refers to @z, which is no input, intermediate or parameter}}
  %y = matmul %x weight <@z : tensor<6x6xf32>> variant(reduce) on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

wse.program @intermediate_c1 state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{needs a static shape of f32 or i32, found 'tensor<6xi64>'}}
  intermediate @t : tensor<6xi64>
}

// -----

wse.program @intermediate_c2_type state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{has choices of 4 experts in 'tensor<6xf32>', expected i32, and one expert at least}}
  intermediate @t : tensor<6xf32> choose of 4
}

// -----

wse.program @intermediate_c2_number state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{has choices of 0 experts in 'tensor<6xi32>', expected i32, and one expert at least}}
  intermediate @t : tensor<6xi32> choose of 0
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @store_c1_strides state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{writes elements outside of the 36 of 'y'}}
  store %x to "y" strides [0, 7, 1] on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @store_c1_count state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{has 2 strides for batch, tokens and features}}
  store %x to "y" strides [6, 1] on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @store_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note @below {{the tensor is declared here}}
  intermediate @t : tensor<36xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{stores 'tensor<6x6xf32>' to 't', which is 'tensor<36xf32>'}}
  store %x to "t" on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

// expected-error@below {{weight @w has 1 strides for 2 dimensions}}
#weight_c1 = #wse.weight<@w : tensor<2x2xf32> view 0 strides [1]>

// -----

wse.program @parameter_c1_bytes state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{is 'tensor<5xf32>', expected dense elements, #onnx.quantized or bytes of a file for as many, found #onnx.external<"f", 0, 16>}}
  parameter @w = external<"f", 0, 16> : tensor<5xf32>
}

// -----

wse.program @parameter_c1_data state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{is 'tensor<2xf32>', expected dense elements, #onnx.quantized or bytes of a file for as many, found 1 : i32}}
  "wse.parameter"() <{sym_name = "w", value = 1 : i32, stored = tensor<2xf32>}> : () -> ()
}

// -----

wse.program @parameter_c1_quantized state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{is 'tensor<2xf16>', expected dense elements}}
  "wse.parameter"() <{sym_name = "w", value = #onnx.quantized<dense<1> : tensor<2xi8> scales dense<1.0> : tensor<1xf32> block 1>, stored = tensor<2xf16>}> : () -> ()
}

// -----

wse.program @input_c1 state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{needs a static shape, found 'tensor<?xf32>'}}
  input @x : tensor<?xf32>
}

// -----

wse.program @alias_c1 state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{refers to @x, which is no input}}
  alias "y" = @x : tensor<2xf32>
}

// -----

wse.program @alias_c2 state(selected) mesh(4x5) machine("wse2") {
  // expected-note @below {{the tensor is declared here}}
  input @x : tensor<2xf32>
  // expected-error@below {{output of type 'tensor<3xf32>' cannot stand for its source of type 'tensor<2xf32>'}}
  alias "y" = @x : tensor<3xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @load_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-error@below {{has 2 strides for a result of 3 dimensions}}
  %x = load @x strides [6, 1] on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @load_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the tensor is declared here}}
  input @x : tensor<6x5xf32>
  // expected-error@below {{loads 36 elements from a source of 30}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @load_c3_strides state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note@below {{the tensor is declared here}}
  input @x : tensor<6x5xf32>
  // expected-error@below {{reads elements 0 to 35 of a source of 30}}
  %x = load @x strides [0, 6, 1] on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @gather_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @ids : tensor<6xi64>
  parameter @t = external<"f", 0, 200> : tensor<10x5xf32>
  // expected-error@below {{needs a matrix of 6 columns as table, found 'tensor<10x5xf32>'}}
  %x = gather <@t : tensor<10x5xf32>> at @ids on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @gather_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note@below {{the tensor is declared here}}
  input @ids : tensor<5xi64>
  parameter @t = external<"f", 0, 240> : tensor<10x6xf32>
  // expected-error@below {{needs 6 integer ids, found 'tensor<5xi64>'}}
  %x = gather <@t : tensor<10x6xf32>> at @ids on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @store_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{stores features 2 to 8 of an output with 6}}
  store %x to "y" at 2 on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

#keys = #wse.dist<rows = [0, replicated over 5], columns = [2]>
wse.program @store_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x1x6xf32, #keys>
  // expected-error@below {{needs its tokens split over the rows, found them replicated}}
  store %x to "y" on @r : tensor<1x1x6xf32, #keys> to tensor<6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @sparse_matmul_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<8x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{maps 6 features to 8, but its weight is}}
  %y = sparse_matmul %x weight <@w : tensor<8x6xf32>> sparsity <keep 2 of 4 rest 0 topk seed 0> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @sparse_matmul_c5_rest state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{keeps 2 weights of a last group of 0}}
  %y = sparse_matmul %x weight <@w : tensor<6x8xf32>> sparsity <keep 2 of 4 rest 2 topk seed 0> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @sparse_matmul_c5_integers state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xi32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{keeps some weights of "w", which is no parameter of floats}}
  %y = sparse_matmul %x weight <@w : tensor<6x8xi32>> sparsity <keep 2 of 4 rest 0 topk seed 0> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @sparse_matmul_c5_rest_transposed state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{keeps 3 weights of a last group of 2}}
  %y = sparse_matmul %x weight <@w : tensor<6x8xf32>> sparsity <keep 2 of 4 rest 3 topk seed 0> transposed on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @sparse_matmul_c6 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32> trainable
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{keeps random weights of "w", which trains: of such the largest are kept (topk)}}
  %y = sparse_matmul %x weight <@w : tensor<6x8xf32>> sparsity <keep 2 of 4 rest 0 random seed 0> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @sparsity_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{keeps 5 of 4 weights and 0 of the last}}
  %y = sparse_matmul %x weight <@w : tensor<6x8xf32>> sparsity <keep 5 of 4 rest 0 topk seed 0> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<8x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{maps 6 features to 8, but its weight is 'tensor<8x6xf32>'}}
  %y = matmul %x weight <@w : tensor<8x6xf32>> variant(reduce) on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32>
  parameter @b = external<"f", 0, 24> : tensor<6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{bias "b" has 6 elements for 8 features}}
  %y = matmul %x weight <@w : tensor<6x8xf32>> bias <@b : tensor<6xf32>> variant(reduce) on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#other = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{needs input and result tokens in the same rows}}
  %y = matmul %x weight <@w : tensor<6x8xf32>> variant(reduce) on @r : tensor<1x6x6xf32, #split> -> tensor<2x3x8xf32, #other>
}

// -----

#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @softmax_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = softmax %x on @r : tensor<1x6x6xf32, #whole>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @top_k_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{finds i32 indices and values of the input's floats, of 'f32' found 'f32' and 'f32'}}
  %y:2 = top_k %x on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x3xf32, #whole>, tensor<1x6x3xf32, #whole>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @top_k_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{finds 1 to 6 indices, and as many values, of each token, in every column of its row}}
  %y:2 = top_k %x on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x7xi32, #whole>, tensor<1x6x7xf32, #whole>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @top_k_c2_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{finds 1 to 6 indices, and as many values, of each token, in every column of its row}}
  %y:2 = top_k %x on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x3xi32, #split>, tensor<1x6x3xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @top_k_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{needs an i32 number of each feature, where that is, found 'tensor<1x6x6xf32,}}
  %y:2 = top_k %x numbers %x on @r : tensor<1x6x6xf32, #split> numbers tensor<1x6x6xf32, #split> -> tensor<1x6x3xi32, #whole>, tensor<1x6x3xf32, #whole>
}

// -----

#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @top_k_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y:2 = top_k %x on @r : tensor<1x6x6xf32, #whole> -> tensor<1x6x3xi32, #whole>, tensor<1x6x3xf32, #whole>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @attention_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{query needs 2 heads over the columns}}
  %y = attention %x, %x, %x heads(2) scale(1.0) on @r : tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
#long = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  input @z : tensor<7x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  %z = load @z on @r : tensor<1x7x6xf32, #long>
  // expected-error@below {{hides later keys of 6 queries and 7 keys}}
  %y = attention %x, %z, %z heads(2) scale(1.0) terms [#onnx.term<replace later -1.0 : f32>] on @r : tensor<1x6x6xf32, #heads>, tensor<1x7x6xf32, #long>, tensor<1x7x6xf32, #long> -> tensor<1x6x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
#long = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  input @z : tensor<7x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  %z = load @z on @r : tensor<1x7x6xf32, #long>
  // expected-error@below {{needs query and result, and key and value, with tokens in the same rows, all of one batch}}
  %y = attention %x, %z, %x heads(2) scale(1.0) on @r : tensor<1x6x6xf32, #heads>, tensor<1x7x6xf32, #long>, tensor<1x6x6xf32, #heads> -> tensor<1x6x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{needs a mask with 6 features, replicated over the columns, or so many for each of 2 whole heads; with the tokens of the query, or one in all of 5 rows for each of 1 batch elements}}
  %y = attention %x, %x, %x masks %x heads(2) scale(1.0) terms [#onnx.term<add operand 0>] on @r : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads> masks tensor<1x6x6xf32, #heads> -> tensor<1x6x6xf32, #heads>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @elementwise_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{input 0 has its features in other columns than the result}}
  %y = elementwise(%x) on @r : (tensor<1x6x6xf32, #whole>) -> tensor<1x6x6xf32, #split> {
  ^bb0(%a: f32):
    wse.yield %a : f32
  }
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#pooled = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @elementwise_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x1x6xf32, #pooled>
  // expected-error@below {{input 0 has its tokens in other rows than the result}}
  %y = elementwise(%x) on @r : (tensor<1x1x6xf32, #pooled>) -> tensor<1x6x6xf32, #split> {
  ^bb0(%a: f32):
    wse.yield %a : f32
  }
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @elementwise_c5 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{body needs 1 arguments: an element of each input, an f32 of each vector}}
  %y = elementwise(%x) on @r : (tensor<1x6x6xf32, #split>) -> tensor<1x6x6xf32, #split> {
  ^bb0(%a: f32, %b: f32):
    wse.yield %a : f32
  }
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @elementwise_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @v = dense<1.0> : tensor<4xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{vector "v" has 4 elements for 6 features}}
  %y = elementwise(%x) vectors [#wse.weight<@v : tensor<4xf32>>] on @r : (tensor<1x6x6xf32, #split>) -> tensor<1x6x6xf32, #split> {
  ^bb0(%a: f32, %b: f32):
    wse.yield %a : f32
  }
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @reduce_tokens_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{needs a result of one token with the batch, features and columns of the input, in the group roots}}
  %y = reduce_tokens sum %x on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @redistribute_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{moves nothing}}
  %y = redistribute %x on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

// expected-error@below {{expected north, south, east, west or ramp}}
#rule_port = #wse.rule<color 2, <x = 0 to 4, y = 0 to 1>, west to up>

// -----

wse.program @stream_pattern state(routed) mesh(4x5) machine("wse2") {
  // expected-error@below {{expected a pattern of streams: channel, launch, column, row_west, row_east, row_cast,}}
  stream @west row_up colors [1] rules []
}

// -----

wse.program @stream_c1 state(routed) mesh(4x5) machine("wse2") {
  // expected-error@below {{row_west takes 2 colors, found 1}}
  stream @west row_west colors [1] rules []
}

// -----

wse.program @stream_c2 state(routed) mesh(4x5) machine("wse2") {
  // expected-error@below {{column needs the rows it reaches}}
  stream @column column colors [1] rules []
}

// -----

wse.program @stream_c3 state(routed) mesh(4x5) machine("wse2") {
  // expected-error@below {{has a rule for color 2, which is none of its own}}
  stream @channel channel colors [1] rules [#wse.rule<color 2, <x = 0 to 4, y = 0 to 1>, west to east>]
}

// -----

wse.program @stream_c2_rows state(routed) mesh(4x5) machine("wse2") {
  // expected-error@below {{channel does not depend on rows}}
  stream @channel channel rows <groups = 1, pitch = 4, used = 3> colors [1] rules []
}

// -----

// expected-error@below {{weight @w needs a static shape of countable numbers, found 'tensor<?xf32>'}}
#weight_c1 = #wse.weight<@w : tensor<?xf32>>

// -----

// expected-error@below {{mesh needs columns and rows}}
"wse.program"() <{sym_name = "program_mesh", state = 0 : i32, mesh = array<i64: 4>, machine = "wse2"}> ({
^bb0:
}) : () -> ()

// -----

// expected-error@below {{expected a mesh as columns x rows, such as 8x8}}
wse.program @mesh_side state(selected) mesh(4) machine("wse2") {
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @elementwise_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{needs an input}}
  %y = elementwise() on @r : () -> tensor<1x6x6xf32, #split> {
    %c = arith.constant 1.0 : f32
    wse.yield %c : f32
  }
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @elementwise_c5_kind state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  %y = elementwise(%x) on @r : (tensor<1x6x6xf32, #split>) -> tensor<1x6x6xf32, #split> {
  ^bb0(%a: f32):
    // expected-error@below {{cannot stand in an element-wise body: only arith and math on scalars of f32 and i32 can}}
    %b = arith.constant 1 : index
    wse.yield %a : f32
  }
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @load_c2_view state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  parameter @w = external<"f", 0, 144> : tensor<6x6xf32>
  // expected-error@below {{has strides beside those of the constant's own view}}
  %x = load <@w : tensor<6x6xf32>> strides [6, 1] on @r : tensor<1x6x6xf32, #split>
}

// -----

wse.program @region_c1_shape state(selected) mesh(4x5) machine("wse2") {
  // expected-error @below {{of 5x5 PEs at (0, 0) does not fit the mesh of 4x5}}
  region @r shape(5x5)
}

// -----

wse.program @region_c2_channels state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x4) channels(3 from 1 group 0)
  // expected-error @below {{has 3 channels from number 2 on, and its rows have 4}}
  region @b shape(2x4) channels(3 from 2 group 0)
}

// -----

wse.program @region_c2_shared state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x4) channels(3 from 1 group 0)
  region @b shape(2x4) channels(2 from 0 group 1)
  // expected-error @below {{has a channel of group 0 that @a has to itself}}
  region @c shape(2x4) channels(2 from 0 group 0)
}

// -----

wse.program @region_c2_group state(selected) mesh(4x5) machine("wse2") {
  // expected-error @below {{has channels of its own from one on, in a group from 0 on, or all of its rows}}
  region @a shape(2x4) channels(1 from 0 group -1)
}

// -----

wse.program @region_c3_no_kernel state(selected) mesh(4x5) machine("wse2") {
  // expected-error @below {{begins with a kernel of the list, from 0 on, if it is a stage, or has a share of the code, and else with none}}
  region @a shape(2x4) as stage
}

// -----

wse.program @region_c3_part state(selected) mesh(4x5) machine("wse2") {
  // expected-error @below {{begins with a kernel of the list, from 0 on}}
  region @a shape(2x4) as part from 3
}

// -----

wse.program @region_c3_negative state(selected) mesh(4x5) machine("wse2") {
  // expected-error @below {{begins with a kernel of the list, from 0 on}}
  region @a shape(2x4) as code from -1
}

// -----

// expected-error @below {{has -1 bytes of code}}
wse.program @selection_c1 state(selected) mesh(4x5) machine("wse2") attributes {selection = #wse.selection<code -1 few_colors false little_scratch false weights_stay false>} {
}

// -----

// expected-error @below {{has for the scratch of 'matmul fc 0' no number of bytes}}
wse.program @selection_c2 state(selected) mesh(4x5) machine("wse2") attributes {selection = #wse.selection<code 0 few_colors false little_scratch false weights_stay false scratch {"matmul fc 0" = -4 : i64}>} {
}

// -----

// expected-error @below {{has for the scratch of 'matmul fc 0' no number of bytes}}
wse.program @selection_c2_type state(selected) mesh(4x5) machine("wse2") attributes {selection = #wse.selection<code 0 few_colors false little_scratch false weights_stay false scratch {"matmul fc 0" = 4 : i128}>} {
}

// -----

wse.program @region_c1_position state(placed) mesh(4x5) machine("wse2") {
  // expected-error @below {{of 2x3 PEs at (1, 3) does not fit the mesh of 4x5}}
  region @r shape(2x3) at (1, 3)
}

// -----

wse.program @region_c1_coordinate state(placed) mesh(4x5) machine("wse2") {
  // expected-error @below {{needs a shape of columns and rows, and a position of both coordinates or none}}
  "wse.region"() {sym_name = "r", shape = array<i64: 2, 3>, x = 1 : i64} : () -> ()
}

// -----

#copies = #wse.dist<rows = [0, replicated over 4], columns = [2]>

// The rows are those of the region.
wse.program @program_c2_region state(selected) mesh(4x5) machine("wse2") {
  // expected-note @below {{the region is here}}
  region @r shape(4x3)
  input @x : tensor<2x4xf32>
  // expected-error @below {{encoding has copies in 4 rows; each of 1 batch elements has 3 of the 3 rows of the region}}
  %x = load @x on @r : tensor<1x2x4xf32, #copies>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @program_c3_kernel state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<2x4xf32>
  // expected-error @below {{has no attribute 'region_of'}}
  %x = load @x on @r {region_of = "r"} : tensor<1x2x4xf32, #tokens>
}

// -----

// expected-error @below {{has no attribute 'west_channels'}}
wse.program @program_c3_attribute state(placed) mesh(4x2) machine("wse2") attributes {west_channels = []} {
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @program_c4 state(selected) mesh(4x2) machine("wse2") {
  input @x : tensor<2x4xf32>
  // expected-error @below {{is on @x, which is no region}}
  %x = load @x on @x : tensor<1x2x4xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @program_c5 state(placed) mesh(4x5) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  region @b shape(2x2) at (1, 1)
  input @x : tensor<2x4xf32>
  // expected-note @below {{a kernel on @a is here}}
  %x = load @x on @a : tensor<1x2x4xf32, #tokens>
  // expected-error @below {{is on @b, which has PEs in common with @a}}
  %y = load @x on @b {nodes = ["y"]} : tensor<1x2x4xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @program_c6 state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x2)
  region @b shape(2x2)
  input @x : tensor<2x4xf32>
  // expected-note @below {{the operand is made here}}
  %x = load @x on @a : tensor<1x2x4xf32, #tokens>
  // expected-error @below {{is on @b, its operand on @a; a transfer would bring it here}}
  %y = softmax %x on @b {nodes = ["y"]} : tensor<1x2x4xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @transfer_c1 state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x2)
  input @x : tensor<2x4xf32>
  // expected-note @below {{the tensor is made here}}
  %x = load @x on @a : tensor<1x2x4xf32, #tokens>
  // expected-error @below {{moves a tensor to another region, not from @a to it}}
  %y = transfer %x on @a : tensor<1x2x4xf32, #tokens> -> tensor<1x2x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

#vector = #wse.dist<rows = [0, replicated over 2], columns = [2]>
wse.program @transfer_c4 state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x2)
  region @b shape(2x3)
  input @x : tensor<2x4xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @a : tensor<1x2x4xf32, #vector>
  // expected-error @below {{moves tokens that each row holds, from @a of 2 rows to @b of 3; such a tensor goes to regions of as many rows}}
  %y = transfer %x on @b : tensor<1x2x4xf32, #vector> -> tensor<1x2x4xf32, #vector>
}

// -----

wse.program @stream_c5 state(routed) mesh(4x5) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  // expected-note@below {{the region it goes to is declared here}}
  region @b shape(2x3) at (2, 0)
  // expected-error @below {{goes from 2 rows to 3, and does not say which tokens}}
  stream @t transfer on @a to @b colors [1] rules []
}

// -----

wse.program @stream_c5_equal state(routed) mesh(4x5) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  // expected-note@below {{the region it goes to is declared here}}
  region @b shape(2x2) at (2, 0)
  // expected-error @below {{goes from 2 rows to 2, which need no tokens}}
  stream @t transfer on @a to @b rows <groups = 1, pitch = 3, used = 3> colors [1] rules []
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @transfer_c2 state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x2)
  region @b shape(2x2)
  input @x : tensor<2x4xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @a : tensor<1x2x4xf32, #tokens>
  // expected-error @below {{keeps rows, tokens, features and type of a tensor}}
  %y = transfer %x on @b : tensor<1x2x4xf32, #tokens> -> tensor<1x2x3xf32, #tokens>
}

// -----

#all = #wse.dist<rows = [0, 1], columns = []>
wse.program @transfer_c3 state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x2)
  region @b shape(2x2)
  input @x : tensor<2x4xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @a : tensor<1x2x4xf32, #all>
  // expected-error @below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = transfer %x on @b : tensor<1x2x4xf32, #all> -> tensor<1x2x4xf32, #all>
}

// -----

wse.program @stream_c4_needs state(routed) mesh(4x5) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  // expected-error @below {{transfer needs the region it goes to}}
  stream @t transfer on @a colors [1] rules []
}

// -----

wse.program @stream_c4_other state(routed) mesh(4x5) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  // expected-error @below {{channel goes to no other region}}
  stream @t channel on @a to @a colors [1] rules []
}

// -----

wse.program @stream_c4_launch state(routed) mesh(4x5) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  // expected-error @below {{launches start the kernels of all regions}}
  stream @t launch on @a colors [1] rules []
}

// -----

wse.program @stream_c4 state(routed) mesh(4x5) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  // expected-error @below {{refers to @b, which is no region}}
  stream @t channel on @b colors [1] rules []
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @load_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-error@below {{refers to @nothing, which is no input or intermediate}}
  %y = load @nothing on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @matmul_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = matmul %x weight <@w : tensor<6x8xf32>> variant(reduce) on @r : tensor<1x6x6xf32, #whole> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @layer_norm_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @g = external<"f", 0, 20> : tensor<5xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{scale "g" has 5 elements for 6 features}}
  %y = layer_norm %x scale <@g : tensor<5xf32>> epsilon(1.0e-5) on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @layer_norm_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @g = external<"f", 0, 24> : tensor<6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = layer_norm %x scale <@g : tensor<6xf32>> epsilon(1.0e-5) on @r : tensor<1x6x6xf32, #whole>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @rms_norm_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @g = external<"f", 0, 20> : tensor<5xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{scale "g" has 5 elements for 6 features}}
  %y = rms_norm %x scale <@g : tensor<5xf32>> epsilon(1.0e-5) on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @rms_norm_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @g = external<"f", 0, 24> : tensor<6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = rms_norm %x scale <@g : tensor<6xf32>> epsilon(1.0e-5) on @r : tensor<1x6x6xf32, #whole>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
wse.program @rms_norm_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @g = external<"f", 0, 24> : tensor<6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{needs whole heads in its columns, found}}
  %y = rms_norm %x scale <@g : tensor<6xf32>> epsilon(1.0e-5) by_head on @r : tensor<1x6x6xf32, #split>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_c5 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{caps scores at 0.000000e+00, expected a positive number}}
  %y = attention %x, %x, %x heads(2) scale(1.0) softcap(0.0) on @r : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads> -> tensor<1x6x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_c6 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  intermediate @kv : tensor<2x5x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{stores 'tensor<2x5x6xf32>', expected 'tensor<2x6x6xf32>', keys and then values}}
  %y = attention %x, %x, %x heads(2) scale(1.0) on @r {wse.stored = #wse.weight<@kv : tensor<2x5x6xf32>>} : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads> -> tensor<1x6x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_bands state(selected) mesh(1x5) machine("wse2") {
  region @r shape(1x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{has keys in 4 : i64 bands of rows, expected 2 or 3 of all scores; leave out 'wse.bands'}}
  %y = attention %x, %x, %x heads(2) scale(1.0) on @r {wse.bands = 4} : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads> -> tensor<1x6x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_c6_heads state(selected) mesh(1x5) machine("wse2") {
  region @r shape(1x5)
  input @x : tensor<6x6xf32>
  intermediate @kv : tensor<2x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{streams what is stored for 1 batch elements and 2 heads on 1 columns, expected 1 and at most 1, with values of the size of keys; leave out 'wse.stored'}}
  %y = attention %x, %x, %x heads(2) scale(1.0) on @r {wse.stored = #wse.weight<@kv : tensor<2x6x6xf32>>} : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads> -> tensor<1x6x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
#split = #wse.dist<rows = [0, 1], columns = []>
wse.program @slice_heads_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{needs equally many heads, whole in their columns, and tokens in the same rows, found}}
  %y = slice_heads %x start(1) on @r : tensor<1x6x6xf32, #heads> -> tensor<1x6x4xf32, #split>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
#part = #wse.dist<rows = [0, 1], columns = [2 by 2]>
wse.program @slice_heads_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{takes features 2 to 4 of heads of 3}}
  %y = slice_heads %x start(2) on @r : tensor<1x6x6xf32, #heads> -> tensor<1x6x4xf32, #part>
}

// -----

#copies = #wse.dist<rows = [0, replicated over 5], columns = [2]>
wse.program @running_sum_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x strides [0, 6, 1] on @r : tensor<1x6x6xf32, #copies>
  // expected-error@below {{needs its tokens split over the rows, found them replicated}}
  %y = running_sum %x on @r : tensor<1x6x6xf32, #copies>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @running_sum_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{wraps no 'f32'; no_wrap is of integers}}
  %y = running_sum %x no_wrap on @r : tensor<1x6x6xf32, #split>
}

// -----

#copies = #wse.dist<rows = [0, replicated over 5], columns = [2]>
#one = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @reduce_tokens_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x strides [0, 6, 1] on @r : tensor<1x6x6xf32, #copies>
  // expected-error@below {{needs its tokens split over the rows, found them replicated}}
  %y = reduce_tokens mean %x on @r : tensor<1x6x6xf32, #copies> -> tensor<1x1x6xf32, #one>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @redistribute_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = redistribute %x on @r : tensor<1x6x6xf32, #whole> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @load_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-error@below {{moves i32 to or from 'tensor<6x6xf32>'}}
  %x = load @x on @r : tensor<1x6x6xi32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @store_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xi32>
  %x = load @x on @r : tensor<1x6x6xi32, #split>
  // expected-error@below {{moves i32 to or from 'tensor<6x6xf32>'}}
  store %x to "y" on @r : tensor<1x6x6xi32, #split> to tensor<6x6xf32>
}

// -----


#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @sparse_matmul_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 192> : tensor<6x8xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = sparse_matmul %x weight <@w : tensor<6x8xf32>> sparsity <keep 2 of 4 rest 0 topk seed 0> on @r : tensor<1x6x6xf32, #whole> -> tensor<1x6x8xf32, #split>
}

// -----

wse.program @program_c7 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{is resident on @r, and nothing fills it}}
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @r as tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
}

// -----

wse.program @program_c7_twice state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @r as tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
  entry @load {
    // expected-note @below {{it is filled here already}}
    fill @w.resident on @r
  }
  // expected-error@below {{fills @w.resident a second time}}
  fill @w.resident on @r
}

// -----

wse.program @entry_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{has no kernel}}
  entry @load {
  }
}

// -----

wse.program @entry_c1_constant state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  entry @load {
    // expected-error@below {{is no kernel, an entry holds nothing else}}
    %c = arith.constant 1.0 : f32
  }
}

// -----

wse.program @entry_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-error@below {{is called main, as the kernels of the program itself are}}
  entry @main {
    %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  }
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @entry_values state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note @below {{required by region isolation constraints}}
  entry @second {
    // expected-error@below {{using value defined outside the region}}
    store %x to "y" on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<6x6xf32>
  }
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @parameter_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-error@below {{is resident, expected a view of a parameter that streams and does not train, found #wse.weight<@x : tensor<6x6xf32>>}}
  parameter @w = <@x : tensor<6x6xf32>> resident on @r as tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @parameter_c1_trains state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{is resident, expected a view of a parameter that streams and does not train}}
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @r as tensor<1x6x6xf32, #split>
  // expected-note@below {{it is declared here}}
  parameter @w = dense<1.0> : tensor<6x6xf32> trainable
}

// -----

wse.program @parameter_c1_view state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{expected dense elements, #onnx.quantized or bytes of a file}}
  parameter @v = <@w : tensor<6x6xf32> view 0 strides [1, 6]>
  parameter @w = dense<1.0> : tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @weight_c2_resident state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{reads elements 1 to 36 of the 36 of @w}}
  parameter @w.resident = <@w : tensor<6x6xf32> view 1 strides [6, 1]> resident on @r as tensor<1x6x6xf32, #split>
  // expected-note@below {{the tensor is declared here}}
  parameter @w = dense<1.0> : tensor<6x6xf32>
}

// -----

wse.program @parameter_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{for a value of 'tensor<6x6xf32>', expected as many floats}}
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @r as tensor<1x6x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
}

// -----

wse.program @parameter_c2_region state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error@below {{is on @s, which is no region}}
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @s as tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
}

// -----

wse.program @state_c1 state(selected) mesh(4x5) machine("wse2") {
  // expected-note @below {{the region is here}}
  region @r shape(4x5)
  // expected-error@below {{encoding has copies in 6 rows; each of 1 batch elements has 5 of the 5 rows of the region}}
  state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, replicated over 6], columns = [2]>>
}

// -----

wse.program @fill_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the parameter is declared here}}
  parameter @w = dense<1.0> : tensor<6x6xf32>
  // expected-error@below {{fills @w, which is no resident parameter}}
  fill @w on @r
}

// -----

wse.program @fill_c1_region state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  region @s shape(4x5)
  // expected-note @below {{the parameter is declared here}}
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @r as tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
  // expected-error@below {{is on @s, @w.resident is resident on @r}}
  fill @w.resident on @s
}

// -----

wse.program @update_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  // expected-error@below {{refers to @x, which is no state}}
  update @x with %x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @reorder_c1_one state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  entry @reorder(%a from 0 to 1, %b from 0 to 1, %p from 0 to 6) {
    // expected-error@below {{moves 1 batch elements of @k, expected several, of which rows hold parts of one}}
    reorder @k from %a at %p on @r
  }
}

// -----

wse.program @reorder_c1_rows state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<6x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  entry @reorder(%a from 0 to 1, %b from 0 to 1, %p from 0 to 6) {
    // expected-error@below {{moves 6 batch elements of @k, expected several, of which rows hold parts of one}}
    reorder @k from %a at %p on @r
  }
}

// -----

wse.program @reorder_c2_count state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<2x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  entry @reorder(%a from 0 to 1, %b from 0 to 1, %p from 0 to 6) {
    // expected-error@below {{has 1 sources for 2 batch elements}}
    reorder @k from %a at %p on @r
  }
}

// -----

wse.program @reorder_c2_range state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<2x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  entry @reorder(%a from 0 to 1, %b from 0 to 2, %p from 0 to 6) {
    // expected-error@below {{has a source from 0 to 2, expected one from 0 to 1}}
    reorder @k from %a, %b at %p on @r
  }
}

// -----

wse.program @reorder_c3_count state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<3x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  entry @reorder(%a from 0 to 2, %p from 0 to 6) {
    // expected-error@below {{has 2 positions for 3 batch elements, expected one, or one for each}}
    reorder @k from %a, %a, %a at %p, %p on @r
  }
}

// -----

wse.program @reorder_c3_range state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<2x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  entry @reorder(%a from 0 to 1, %b from 0 to 1, %p from 0 to 7) {
    // expected-error@below {{has a position from 0 to 7, expected one from 0 to 6}}
    reorder @k from %a, %b at %p on @r
  }
}

// -----

wse.program @reorder_c2_computed state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<2x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  entry @reorder(%p from 0 to 6) {
    %a = arith.constant 1 : index
    // expected-error@below {{has a source that is no argument of an entry}}
    reorder @k from %a, %a at %p on @r
  }
}

// -----

wse.program @reorder_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  entry @reorder(%a from 0 to 1, %p from 0 to 6) {
    // expected-error@below {{refers to @k, which is no state}}
    reorder @k from %a, %a at %p on @r
  }
}

// -----

wse.program @recall_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  // expected-error-re@below {{is on @r, of type {{.*}}6x8xf32{{.*}}; @k is on @r, of {{.*}}6x6xf32}}
  %k = recall @k on @r : tensor<1x6x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

wse.program @recall_c2_many state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @h on @r : tensor<3x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  entry @step(%a from 0 to 5, %b from 0 to 5) {
    // expected-error@below {{has 2 positions for 3 batch elements, expected one, or one for each, of which rows hold parts of one}}
    %h = recall @h at %a, %b on @r : tensor<3x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  }
}

// -----

wse.program @recall_c2_computed state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @h on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  entry @step {
    %p = arith.constant 3 : index
    // expected-error@below {{has a position that is no argument of an entry}}
    %h = recall @h at %p on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  }
}

// -----

wse.program @recall_c2_negative state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @h on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  entry @step(%p from -1 to 5) {
    // expected-error@below {{has a position from -1 on, expected 0 or more: sequences begin at 0}}
    %h = recall @h at %p on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  }
}

// -----

#all = #wse.dist<rows = [0, 1], columns = []>
#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @redistribute_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{repeats heads 2 times in 'tensor<1x6x12xf32, #wse.dist<rows = [0, 1], columns = []>>'}}
  %y = redistribute %x repeat(2) on @r : tensor<1x6x6xf32, #heads> -> tensor<1x6x12xf32, #all>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @redistribute_c1_repeat state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{moves features between columns only; rows, tokens and features must stay}}
  %y = redistribute %x repeat(2) on @r : tensor<1x6x6xf32, #heads> -> tensor<1x6x18xf32, #heads>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#all = #wse.dist<rows = [0, 1], columns = []>
wse.program @rotary_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  input @a : tensor<6x2xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  %a = load @a on @r : tensor<1x6x2xf32, #all>
  // expected-error@below {{turns 2 features of each head, and takes an even number of those that columns have as heads}}
  %y = rotary %x, %a, %a dim(2) on @r : tensor<1x6x6xf32, #split>, tensor<1x6x2xf32, #all>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
#all = #wse.dist<rows = [0, 1], columns = []>
wse.program @rotary_c1_odd state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  input @a : tensor<6x3xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  %a = load @a on @r : tensor<1x6x3xf32, #all>
  // expected-error@below {{turns 3 features of each head}}
  %y = rotary %x, %a, %a dim(3) on @r : tensor<1x6x6xf32, #heads>, tensor<1x6x3xf32, #all>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @rotary_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{needs cosines and sines of the tokens of its input, 2 or 1 features in all columns}}
  %y = rotary %x, %x, %x dim(2) on @r : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>
}

// -----

wse.program @entry_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  // expected-error@below {{has an argument "p" from 3 to 2, expected a range of 32-bit numbers and no name twice}}
  entry @step(%p from 3 to 2) {
    %k = recall @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c2_rows state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #entering>
  input @x : tensor<1x1x6xf32>
  entry @step(%p from 0 to 5) {
    %x = load @x on @r : tensor<1x1x6xf32, #entering>
    // expected-error @below {{writes tokens that rows share to a state of cyclic rows with its batch, features and columns, found 'tensor<1x1x6xf32}}
    update @k at %p with %x on @r : tensor<1x1x6xf32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c2_batch state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<2x3x6xf32, #cache>
  input @x : tensor<1x1x6xf32>
  entry @step(%p from 0 to 2) {
    %x = load @x on @r : tensor<1x1x6xf32, #entering>
    // expected-error @below {{writes tokens that rows share to a state of cyclic rows with its batch, features and columns, found }}
    update @k at %p with %x on @r : tensor<1x1x6xf32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c2_more_batch state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<6x6x6xf32, #cache>
  input @x : tensor<6x1x6xf32>
  entry @step(%p from 0 to 5) {
    %x = load @x on @r : tensor<6x1x6xf32, #entering>
    // expected-error @below {{writes tokens that rows share to a state of cyclic rows with its batch, features and columns, found }}
    update @k at %p with %x on @r : tensor<6x1x6xf32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c2_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #cache>
  input @x : tensor<1x1x6xf32>
  entry @step(%p from 0 to 5) {
    %x = load @x on @r : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>
    // expected-error @below {{writes tokens that rows share to a state of cyclic rows with its batch, features and columns, found }}
    update @k at %p with %x on @r : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c2_features state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #cache>
  input @x : tensor<1x1x3xf32>
  entry @step(%p from 0 to 5) {
    %x = load @x on @r : tensor<1x1x3xf32, #entering>
    // expected-error @below {{writes tokens that rows share to a state of cyclic rows with its batch, features and columns, found }}
    update @k at %p with %x on @r : tensor<1x1x3xf32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c2_elements state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #cache>
  input @x : tensor<1x1x6xi32>
  entry @step(%p from 0 to 5) {
    %x = load @x on @r : tensor<1x1x6xi32, #entering>
    // expected-error @below {{writes tokens that rows share to a state of cyclic rows with its batch, features and columns, found }}
    update @k at %p with %x on @r : tensor<1x1x6xi32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #cache>
  input @x : tensor<1x1x6xf32>
  entry @step(%p from 0 to 6) {
    %x = load @x on @r : tensor<1x1x6xf32, #entering>
    // expected-error @below {{has tokens 0 to 6 of a state of 6: a position of 1 tokens is one from 0 to 5}}
    update @k at %p with %x on @r : tensor<1x1x6xf32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
wse.program @update_c3_positions state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #cache>
  input @x : tensor<1x1x6xf32>
  entry @step(%p from 0 to 6) {
    %x = load @x on @r : tensor<1x1x6xf32, #entering>
    // expected-error @below {{has 2 positions for 1 batch elements, expected one, or one for each}}
    update @k at %p, %p with %x on @r : tensor<1x1x6xf32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c3_tokens state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #cache>
  input @x : tensor<1x3x6xf32>
  entry @step(%p from 0 to 5) {
    %x = load @x on @r : tensor<1x3x6xf32, #entering>
    // expected-error @below {{has tokens 0 to 7 of a state of 6: a position of 3 tokens is one from 0 to 3}}
    update @k at %p with %x on @r : tensor<1x3x6xf32, #entering>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c3_negative state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x6xf32, #cache>
  input @x : tensor<1x1x6xf32>
  entry @step(%p from -1 to 5) {
    %x = load @x on @r : tensor<1x1x6xf32, #entering>
    // expected-error @below {{has tokens -1 to 5 of a state of 6}}
    update @k at %p with %x on @r : tensor<1x1x6xf32, #entering>
  }
}

// -----

wse.program @update_c3_constant state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  input @x : tensor<1x6xf32>
  %x = load @x on @r : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  %p = arith.constant 1 : index
  // expected-error@below {{has a position that is no argument of an entry}}
  update @k at %p with %x on @r : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @state_c2_none state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error @below {{needs cyclic rows, and wse.scales that name a state of as many floats as columns have heads}}
  state @k on @r : tensor<1x6x4xi16, #bytes>
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @state_c2_shared state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{that state is declared here}}
  state @k on @r : tensor<1x6x4xi16, #bytes> {wse.scales = @s}
  // expected-error @below {{has wse.scales that another state has}}
  state @v on @r : tensor<1x6x4xi16, #bytes> {wse.scales = @s}
  state @s on @r : tensor<1x6x4xf16, #bytes>
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @recall_c1_scales state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x4xi16, #bytes> {wse.scales = @s}
  state @s on @r : tensor<1x6x4xf16, #bytes>
  // expected-error @below {{reads pairs of 8 bits, as cached_attention alone does}}
  %k = recall @k on @r : tensor<1x6x4xi16, #bytes>
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @state_c2_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error @below {{needs cyclic rows, and wse.scales that name a state of as many floats as columns have heads}}
  state @k on @r : tensor<1x6x4xi16, #bytes> {wse.scales = @s}
  // expected-note @below {{the scales are declared here}}
  state @s on @r : tensor<1x6x6xf16, #cache>
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @state_c2_floats state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-error @below {{has wse.scales, which are for i16, pairs of 8 bits}}
  state @k on @r : tensor<1x6x4xf16, #bytes> {wse.scales = @s}
  // expected-note @below {{the scales are declared here}}
  state @s on @r : tensor<1x6x4xf16, #bytes>
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @update_c2_bytes state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x6x8xi16, #wse.dist<rows = [0, 1 cyclic], columns = [2 by 4 over 2]>> {wse.scales = @s}
  state @s on @r : tensor<1x6x4xf16, #bytes>
  input @x : tensor<1x1x6xf32>
  entry @step(%p from 0 to 5) {
    %x = load @x on @r : tensor<1x1x6xf32, #entering>
    // expected-error @below {{writes tokens that rows share to a state of cyclic rows with its batch, features and columns, found }}
    update @k at %p with %x on @r : tensor<1x1x6xf32, #entering>
  }
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @bytes_are_of_states state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x1x6xi32>
  // expected-error @below {{tensors on the wafer are static and of f32, f16, bf16, !pe.cb16 or i32, found one of 'i16'}}
  %x = load @x on @r : tensor<1x1x6xi16, #entering>
}

// -----

#bytes = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c2_floats state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf16, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    // expected-note @below {{the operand is made here}}
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{needs query and result with tokens in the same rows, and of equal floats}}
    %y = cached_attention %q keys @k values @k at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf16, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{refers to @q, which is no state}}
    %y = cached_attention %q keys @k values @q at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c1_heads state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{needs a state of 3 heads of floats over the columns and of cyclic rows}}
    %y = cached_attention %q keys @k values @v at %p heads(3, 3) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c1_rows state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x9x6xf32, #entering>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{needs a state of 2 heads of floats over the columns and of cyclic rows, found 'tensor<1x9x6xf32}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c1_integers state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x9x6xi32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{needs a state of 2 heads of floats}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c1_tokens state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #cache>
  // expected-note @below {{the state is declared here}}
  state @v on @r : tensor<1x10x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{needs keys and values of the same tokens and elements, over equally many columns}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c1_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3]>>
  // expected-note @below {{the state is declared here}}
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 6]>>
    // expected-error @below {{needs keys and values of the same tokens and elements, over equally many columns}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 6]>> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c2_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>
    // expected-error @below {{needs 4 heads for the 2 of @k, in the columns of these}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>> -> tensor<1x2x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c2_heads state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{needs 3 heads for the 2 of @k}}
    %y = cached_attention %q keys @k values @v at %p heads(3, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c2_batch state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<2x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<2x2x12xf32, #asking>
    // expected-error @below {{needs 4 heads for the 2 of @k, in the columns of these, found 'tensor<2x2x12xf32}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<2x2x12xf32, #asking> -> tensor<2x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c2_tokens state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    // expected-note @below {{the operand is made here}}
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{needs query and result with tokens in the same rows}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x1x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{the state is declared here}}
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 8) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{has tokens 0 to 9 of a state of 9: a position of 2 tokens is one from 0 to 7}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c4_window state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{attribute 'sliding_window' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) on @r {sliding_window = 0 : i64} : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{scales scores by 0.000000e+00, expected a positive number}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.0) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c6 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-error @below {{is chunked, expected a sliding_window}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(1.0) on @r {chunked} : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @cached_attention_c5 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x9x6xf32, #cache>
  state @v on @r : tensor<1x9x6xf32, #cache>
  input @q : tensor<1x2x12xf32>
  input @s : tensor<1x1x4xf32>
  entry @step(%p from 0 to 7) {
    %q = load @q on @r : tensor<1x2x12xf32, #asking>
    // expected-note @below {{the operand is made here}}
    %s = load @s on @r : tensor<1x1x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    // expected-error @below {{needs a sink for each of 4 heads in all columns, of one token that rows share, found 'tensor<1x1x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>'}}
    %y = cached_attention %q keys @k values @v at %p heads(4, 2) scale(0.5) sinks(%s : tensor<1x1x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @program_c10 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xf32>
  // expected-error @below {{has tokens that rows take in turn, which only a state has, and what is recalled of one}}
  %x = load @x on @r : tensor<1x6x6xf32, #cache>
}

// -----

#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>
wse.program @program_c10_operand state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  %k = recall @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
  // expected-error @below {{has tokens that rows take in turn}}
  %y = reduce_tokens sum %k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>> -> tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c6_tokens state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xf32>
  input @w : tensor<4x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{has 4 matrices for 6 tokens, which it multiplies by broadcast alone, as many with each, without bias or packed weights}}
  %y = matmul %x weight <@w : tensor<4x6x6xf32>> variant(broadcast) on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c6_variant state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6x6xf32>
  input @w : tensor<4x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{has 3 matrices for 6 tokens, which it multiplies by broadcast alone}}
  %y = matmul %x weight <@w : tensor<3x6x6xf32>> variant(reduce) on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c5 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 144> : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{streams "w" packed, which is not quantised}}
  %y = matmul %x weight <@w : tensor<6x6xf32>> variant(reduce) packed on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c5_stays state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = #onnx.quantized<dense<1> : tensor<6x6xi8> scales dense<1.0> : tensor<1x1xf32> block 1>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{streams "w" packed, which stays where it is}}
  %y = matmul %x weight <@w : tensor<6x6xf32>> variant(stationary) packed on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c7_nothing state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 576> : tensor<4x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{refers to @ids, which is no input or intermediate}}
  %y = matmul %x weight <@w : tensor<6x6xf32>> variant(stationary) entry <@ids at 1 of 4 step 36> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c7_number state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{the tensor is declared here}}
  intermediate @ids : tensor<2xi32>
  parameter @w = external<"f", 0, 576> : tensor<4x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{takes an entry by number 7 of 'tensor<2xi32>', expected an integer of it}}
  %y = matmul %x weight <@w : tensor<6x6xf32>> variant(stationary) entry <@ids at 2 of 4 step 36> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c7_type state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note@below {{the tensor is declared here}}
  input @x : tensor<6x6xf32>
  parameter @w = external<"f", 0, 576> : tensor<4x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{takes an entry by number 5 of 'tensor<6x6xf32>', expected an integer of it}}
  %y = matmul %x weight <@w : tensor<6x6xf32>> variant(stationary) entry <@x at 0 of 4 step 36> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c7_constant state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  intermediate @ids : tensor<6xi32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{takes entries of "x", expected matrices of a constant, not packed}}
  %y = matmul %x weight <@x : tensor<6x6xf32>> variant(stationary) entry <@ids at 0 of 1 step 36> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c7_inside state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  intermediate @ids : tensor<6xi32>
  // expected-note@below {{the tensor is declared here}}
  parameter @w = external<"f", 0, 576> : tensor<4x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{takes entries outside of "w", which has 144 elements}}
  %y = matmul %x weight <@w : tensor<6x6xf32>> variant(stationary) entry <@ids at 0 of 5 step 36> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @matmul_c7_many state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  intermediate @ids : tensor<6xi32>
  parameter @w = external<"f", 0, 576> : tensor<4x6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{takes an entry for each of 6 tokens, expected variant stationary, no bias}}
  %y = matmul %x weight <@w : tensor<6x6xf32>> variant(reduce) entry <@ids at 0 of 4 step 36> on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
}

// -----

// expected-error@below {{an entry is one of 4, 0 elements apart, by number 1, expected positive numbers}}
#entry_c1 = #wse.entry<@ids at 1 of 4 step 0>

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @program_c5_keep_out state(placed) mesh(4x5) machine("wse2") {
  region @r shape(2x5) at (1, 0)
  // expected-note@below {{they are kept out here}}
  keep_out shape(1x1) at (2, 4)
  input @x : tensor<6x6xf32>
  // expected-error@below {{is on @r, which has PEs that nothing may use}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
}

// -----

wse.program @keep_out_c1 state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{of 1x2 PEs at (3, 4) does not fit the mesh of 4x5}}
  keep_out shape(1x2) at (3, 4)
}

// -----

wse.program @near_c1_region state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{@a is no region}}
  near @a to east
}

// -----

wse.program @near_c1_other state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x5)
  // expected-error@below {{@a is no other region}}
  near @a to @a
}

// -----

wse.program @near_c1_pe state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x5)
  // expected-error@below {{means no PE of the mesh of 4x5}}
  near @a to (4, 0)
}

// -----

wse.program @near_c1_side state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x5)
  // expected-error@below {{'ramp' is no side of the mesh}}
  near @a to ramp
}

// -----

wse.program @near_c1_word state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x5)
  // expected-error@below {{expected a region, a PE as (x, y), or north, south, east or west}}
  near @a to up
}

// -----

wse.program @near_c1_target state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x5)
  // expected-error@below {{needs a region, a PE or a side of the mesh}}
  "wse.near"() {region = @a, target = 3 : i64, weight = 1 : i64} : () -> ()
}

// -----

wse.program @near_c2 state(selected) mesh(4x5) machine("wse2") {
  region @a shape(2x5)
  // expected-error@below {{has a weight of 0, expected 1 to 1000}}
  near @a to east weight 0
}

// -----

wse.program @program_c9 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{this is to come later}}
  parameter @table = external<"m.data", 0, 240> : tensor<10x6xf32>
  // expected-error@below {{is resident, and stands behind what streams}}
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @r as tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
  entry @load {
    fill @w.resident on @r {nodes = ["fc"]}
  }
}

// -----

wse.program @program_c9_few_bits state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note @below {{this is to come later}}
  parameter @table = external<"m.data", 0, 240> : tensor<10x6xf32>
  // expected-error@below {{is of few bits, and stands behind what is not}}
  parameter @w = #onnx.quantized<dense<1> : tensor<6x6xi8> scales dense<1.0> : tensor<1x1xf32> block 1>
}

// -----

wse.program @program_c9_entry state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  parameter @w.resident = <@w : tensor<6x6xf32>> resident on @r as tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
  // expected-note @below {{this is to come later}}
  entry @load {
    fill @w.resident on @r {nodes = ["fc"]}
  }
  // expected-error@below {{stands behind an entry}}
  parameter @table = external<"m.data", 0, 240> : tensor<10x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @program_c9_kernel state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note @below {{this is to come later}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{stands behind a kernel}}
  parameter @table = external<"m.data", 0, 240> : tensor<10x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @weight_gradient_c1_rows state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-note @below {{made here}}
  %z = load @x on @r : tensor<2x3x6xf32, #split>
  // expected-error@below {{needs the tokens of both tensors in the same rows}}
  weight_gradient %x by %z to "w" on @r {nodes = ["fc"]} : tensor<1x6x6xf32, #split>, tensor<2x3x6xf32, #split> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @weight_gradient_c1_halves state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note @below {{made here}}
  %x = load @x on @r : tensor<1x6x6xf16, #split>
  // expected-error@below {{sums products of f32, found}}
  weight_gradient %x by %x to "w" on @r {nodes = ["fc"]} : tensor<1x6x6xf16, #split>, tensor<1x6x6xf16, #split> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @weight_gradient_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{makes 36 elements of f32, found 'tensor<6x5xf32>'}}
  weight_gradient %x by %x to "w" on @r {nodes = ["fc"]} : tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split> to tensor<6x5xf32>
}

// -----

wse.program @weight_gradient_c1_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note @below {{made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = []>>
  // expected-error@below {{needs tokens split over the rows, and features over the columns, found}}
  weight_gradient %x by %x to "w" on @r {nodes = ["fc"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = []>>, tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = []>> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @norm_gradient_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @g = external<"f", 0, 20> : tensor<5xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{scale "g" has 5 elements for 6 features}}
  %d:2 = norm_gradient %x, %x scale <@g : tensor<5xf32>> epsilon(1.0e-5) on @r : tensor<1x6x6xf32, #split>
}

// -----

#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @norm_gradient_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @g = external<"f", 0, 24> : tensor<6xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %d:2 = norm_gradient %x, %x scale <@g : tensor<6xf32>> epsilon(1.0e-5) on @r : tensor<1x6x6xf32, #whole>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @attention_gradient_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{query needs 2 heads over the columns, found}}
  %d:3 = attention_gradient %x, %x, %x, %x, %x heads(2) scale(1.0) on @r : tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
#over = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
wse.program @attention_gradient_c1_columns state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  %y = load @x on @r : tensor<1x6x6xf32, #over>
  // expected-error@below {{needs query and key with heads of the same size, and all over equally many columns}}
  %d:3 = attention_gradient %x, %x, %y, %y, %y heads(2) scale(1.0) on @r : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #over>, tensor<1x6x6xf32, #over>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_gradient_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  input @z : tensor<7x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  %z = load @z on @r : tensor<1x7x6xf32, #heads>
  // expected-error@below {{needs key and value with tokens in the same rows, all of one batch}}
  %d:3 = attention_gradient %x, %z, %x, %x, %x heads(2) scale(1.0) on @r : tensor<1x6x6xf32, #heads>, tensor<1x7x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_gradient_c2_halves state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{made here}}
  %x = load @x on @r : tensor<1x6x6xf16, #heads>
  // expected-error@below {{computes in f32, found}}
  %d:3 = attention_gradient %x, %x, %x, %x, %x heads(2) scale(1.0) on @r : tensor<1x6x6xf16, #heads>, tensor<1x6x6xf16, #heads>, tensor<1x6x6xf16, #heads>, tensor<1x6x6xf16, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_gradient_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  input @z : tensor<7x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-note@below {{made here}}
  %z = load @z on @r : tensor<1x7x6xf32, #heads>
  // expected-error@below {{needs an attended tensor with the tokens of the query and the features of the value, found}}
  %d:3 = attention_gradient %x, %x, %x, %z, %z heads(2) scale(1.0) on @r : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x7x6xf32, #heads>
}

// -----

#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
wse.program @attention_gradient_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #heads>
  // expected-error@below {{takes one term at most, which adds a number to scores of later keys or replaces them by -1.000000e+30 or less, found [#onnx.term<raise to -2.000000e+00 : f32>]}}
  %d:3 = attention_gradient %x, %x, %x, %x, %x heads(2) scale(1.0) terms [#onnx.term<raise to -2.0 : f32>] on @r : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @products_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6xf32>
  parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x1x6xf32, #split>
  // expected-error@below {{maps 'tensor<1x1x6xf32,}}
  %y:2 = products %x weights [#wse.weight<@w : tensor<6x8xf32>>, #wse.weight<@w : tensor<6x8xf32>>] on @r : tensor<1x1x6xf32, #split> -> tensor<1x1x8xf32, #split>, tensor<1x1x9xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @products_c1_count state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6xf32>
  parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
  %x = load @x on @r : tensor<1x1x6xf32, #split>
  // expected-error@below {{has 2 results of 1 weights}}
  %y:2 = products %x weights [#wse.weight<@w : tensor<6x8xf32>>] on @r : tensor<1x1x6xf32, #split> -> tensor<1x1x8xf32, #split>, tensor<1x1x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @products_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{needs one token, in one row}}
  %y = products %x weights [#wse.weight<@w : tensor<6x8xf32>>] on @r : tensor<1x6x6xf32, #split> -> tensor<1x6x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#along = #wse.dist<rows = [0, 1], columns = []>
wse.program @redistribute_c1_along state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6xf32>
  %x = load @x on @r : tensor<1x1x6xf32, #split>
  // expected-error@below {{moves one token to lie along the rows, or back, with all its features}}
  %y = redistribute %x on @r {nodes = ["add"]} : tensor<1x1x6xf32, #split> -> tensor<1x5x1xf32, #along>
}

// -----

// Both along the rows.

#along = #wse.dist<rows = [0, 1], columns = []>
wse.program @products_c2_rows state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6xf32>
  parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x strides [6, 1, 1] on @r : tensor<1x6x1xf32, #along>
  // expected-error@below {{needs one token, in one row}}
  %y = products %x weights [#wse.weight<@w : tensor<6x8xf32>>] on @r : tensor<1x6x1xf32, #along> -> tensor<1x8x1xf32, #along>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @products_c4 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6xf32>
  parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
  %x = load @x on @r : tensor<1x1x6xf32, #split>
  // expected-error@below {{needs a scale and an epsilon for its norm}}
  %y = products %x weights [#wse.weight<@w : tensor<6x8xf32>>] on @r {epsilon = 1.0e-5 : f64} : tensor<1x1x6xf32, #split> -> tensor<1x1x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @products_c4_scale state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6xf32>
  parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
  parameter @g = dense<1.0> : tensor<8xf32>
  %x = load @x on @r : tensor<1x1x6xf32, #split>
  // expected-error@below {{scale}}
  %y = products %x norm <@g : tensor<8xf32>> epsilon(1.0e-5) weights [#wse.weight<@w : tensor<6x8xf32>>] on @r : tensor<1x1x6xf32, #split> -> tensor<1x1x8xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
#whole = #wse.dist<rows = [0, 1], columns = []>
wse.program @products_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<1x6xf32>
  parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
  // expected-note@below {{the operand is made here}}
  %x = load @x on @r : tensor<1x1x6xf32, #whole>
  // expected-error@below {{cannot work on features that are replicated over the columns; redistribute them first}}
  %y = products %x weights [#wse.weight<@w : tensor<6x8xf32>>] on @r : tensor<1x1x6xf32, #whole> -> tensor<1x1x8xf32, #split>
}
