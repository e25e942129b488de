// RUN: not wse-opt %s --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s

// What nodes of a model state about themselves can be wrong. All of them are
// named at once.

func.func @main(%x: tensor<2x3xf32>, %cube: tensor<2x3x4xf32>, %count: tensor<i64>, %condition: tensor<2xi1>) -> (
      !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %zero = onnx.constant dense<0> : tensor<i64>
  %one = onnx.constant dense<1> : tensor<i64>
  %nine = onnx.constant dense<9> : tensor<i64>
  %none = onnx.constant dense<[]> : tensor<0xi64>
  %ones = onnx.constant dense<[1]> : tensor<1xi64>
  %nines = onnx.constant dense<[9]> : tensor<1xi64>
  %pair = onnx.constant dense<[1, 1]> : tensor<2xi64>
  %zeros = onnx.constant dense<[0, 0, 0]> : tensor<3xi64>
  %triple = onnx.constant dense<[[1, 1, 1]]> : tensor<1x3xi64>
  %matrix = onnx.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %far = onnx.constant dense<[[9, 9], [9, 9]]> : tensor<2x2xi64>
  %tall = onnx.constant dense<[[0], [0], [0]]> : tensor<3x1xi64>
  %short = onnx.constant dense<[[0]]> : tensor<1x1xi64>
  %ratio = onnx.constant dense<0.5> : tensor<f32>
  %true = onnx.constant dense<true> : tensor<i1>
  %frame = onnx.constant dense<1> : tensor<4xi64>
  %floats = onnx.constant dense<1.0> : tensor<1x2xf32>

  // Positions.
  // CHECK-DAG: Gather: index 9 is outside extent 2
  %g0 = onnx.node "Gather"(%x, %nine) {node = "gather"} : (tensor<2x3xf32>, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: GatherElements: indices differ in rank from the data
  %g1 = onnx.node "GatherElements"(%matrix, %ones) {node = "ge rank"} : (tensor<2x2xi64>, tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: GatherElements: an index is outside the data
  %g2 = onnx.node "GatherElements"(%matrix, %far) {node = "ge far"} : (tensor<2x2xi64>, tensor<2x2xi64>) -> !onnx.unknown
  // CHECK-DAG: GatherElements: indices 3x1 reach beyond the data 2x2
  %g3 = onnx.node "GatherElements"(%matrix, %tall) with {axis = 1 : i64} {node = "ge tall"} : (tensor<2x2xi64>, tensor<3x1xi64>) -> !onnx.unknown
  // CHECK-DAG: GatherND: indices are too long for rank 2
  %g4 = onnx.node "GatherND"(%matrix, %triple) {node = "gnd long"} : (tensor<2x2xi64>, tensor<1x3xi64>) -> !onnx.unknown
  // CHECK-DAG: GatherND: an index is outside the data
  %g5 = onnx.node "GatherND"(%matrix, %far) {node = "gnd far"} : (tensor<2x2xi64>, tensor<2x2xi64>) -> !onnx.unknown
  // CHECK-DAG: GatherND: indices 1x1 and data 2x2 differ in their first 1 dimensions, the batch
  %g6 = onnx.node "GatherND"(%matrix, %short) with {batch_dims = 1 : i64} {node = "gnd batch"} : (tensor<2x2xi64>, tensor<1x1xi64>) -> !onnx.unknown
  // CHECK-DAG: GatherElements: input 1 is of f32, which the operator does not take
  %g7 = onnx.node "GatherElements"(%matrix, %floats) {node = "ge floats"} : (tensor<2x2xi64>, tensor<1x2xf32>) -> !onnx.unknown
  // CHECK-DAG: GatherND: input 1 is of f32, which the operator does not take
  %g8 = onnx.node "GatherND"(%matrix, %floats) {node = "gnd floats"} : (tensor<2x2xi64>, tensor<1x2xf32>) -> !onnx.unknown
  // CHECK-DAG: ScatterND: indices are too long for rank 2
  %s0 = onnx.node "ScatterND"(%matrix, %triple, %ones) {node = "snd long"} : (tensor<2x2xi64>, tensor<1x3xi64>, tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: ScatterND: an index is outside the data
  %s1 = onnx.node "ScatterND"(%matrix, %far, %pair) {node = "snd far"} : (tensor<2x2xi64>, tensor<2x2xi64>, tensor<2xi64>) -> !onnx.unknown
  // CHECK-DAG: ScatterND: updates have shape 1, expected 3x2
  %s2 = onnx.node "ScatterND"(%matrix, %tall, %ones) {node = "snd updates"} : (tensor<2x2xi64>, tensor<3x1xi64>, tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: ScatterND: inputs 0 and 2 differ in type, i64 and f32
  %s6 = onnx.node "ScatterND"(%matrix, %short, %floats) {node = "snd type"} : (tensor<2x2xi64>, tensor<1x1xi64>, tensor<1x2xf32>) -> !onnx.unknown
  // CHECK-DAG: ScatterND: reduction is 'ADD', expected one of none, add, mul, max, min
  %s7 = onnx.node "ScatterND"(%matrix, %short, %pair) with {reduction = "ADD"} {node = "snd word"} : (tensor<2x2xi64>, tensor<1x1xi64>, tensor<2xi64>) -> !onnx.unknown
  // CHECK-DAG: ScatterElements: an index is outside the data
  %s3 = onnx.node "ScatterElements"(%matrix, %far, %matrix) {node = "se far"} : (tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>) -> !onnx.unknown
  // CHECK-DAG: ScatterElements: updates have shape 1x1, expected 2x2
  %s4 = onnx.node "ScatterElements"(%matrix, %matrix, %short) {node = "se updates"} : (tensor<2x2xi64>, tensor<2x2xi64>, tensor<1x1xi64>) -> !onnx.unknown
  // CHECK-DAG: ScatterElements: indices 3x1 reach beyond the data 2x2
  %s5 = onnx.node "ScatterElements"(%matrix, %tall, %tall) with {axis = 1 : i64} {node = "se tall"} : (tensor<2x2xi64>, tensor<3x1xi64>, tensor<3x1xi64>) -> !onnx.unknown

  // Sequences.
  // CHECK-DAG: Range: a bound is computed from the model's inputs: node 'range x'
  %r0 = onnx.node "Range"(%count, %one, %one) {node = "range x"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: Range: delta is 0
  %r1 = onnx.node "Range"(%one, %nine, %zero) {node = "range 0"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: Trilu: needs a tensor of rank 2 or more
  %t0 = onnx.node "Trilu"(%ones) {node = "trilu rank"} : (tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: Trilu: k has 0 elements, expected 1
  %t1 = onnx.node "Trilu"(%matrix, %none) {node = "trilu k"} : (tensor<2x2xi64>, tensor<0xi64>) -> !onnx.unknown
  // CHECK-DAG: CumSum: axis outside the rank
  %c0 = onnx.node "CumSum"(%matrix, %nine) {node = "cumsum"} : (tensor<2x2xi64>, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: CumSum: axis has 0 elements, expected 1
  %c1 = onnx.node "CumSum"(%matrix, %none) {node = "cumsum axis"} : (tensor<2x2xi64>, tensor<0xi64>) -> !onnx.unknown
  // CHECK-DAG: NonZero: what is not zero is computed from the model's inputs
  %n0 = onnx.node "NonZero"(%x) {node = "nonzero"} : (tensor<2x3xf32>) -> !onnx.unknown
  // CHECK-DAG: TopK: k has 2 elements, expected 1
  %k0 = onnx.node "TopK"(%x, %pair) {node = "topk"} : (tensor<2x3xf32>, tensor<2xi64>) -> !onnx.unknown

  // Shapes.
  // CHECK-DAG: Constant: Constant without a tensor value
  %v0 = onnx.node "Constant"() {node = "constant"} : () -> !onnx.unknown
  // CHECK-DAG: Reshape: shape copies dimension 2 of a tensor of rank 2
  %h0 = onnx.node "Reshape"(%x, %zeros) {node = "reshape copies"} : (tensor<2x3xf32>, tensor<3xi64>) -> !onnx.unknown
  // CHECK-DAG: Reshape: cannot reshape 2x3 to 9
  %h1 = onnx.node "Reshape"(%x, %nines) {node = "reshape"} : (tensor<2x3xf32>, tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: Pad: pads with 0 values
  %h15 = onnx.node "Pad"(%matrix, %frame, %none) {node = "pad value"} : (tensor<2x2xi64>, tensor<4xi64>, tensor<0xi64>) -> !onnx.unknown
  // CHECK-DAG: Split: parts of 2 in 2 outputs, the axis has 3
  %h16:2 = onnx.node "Split"(%x, %pair) with {axis = 1 : i64} {node = "split"} : (tensor<2x3xf32>, tensor<2xi64>) -> (!onnx.unknown, !onnx.unknown)
  // CHECK-DAG: Flatten: axis is outside rank 2
  %h2 = onnx.node "Flatten"(%x) with {axis = 5 : i64} {node = "flatten"} : (tensor<2x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Squeeze: cannot squeeze dimension 1 of extent 3
  %h3 = onnx.node "Squeeze"(%x, %ones) {node = "squeeze"} : (tensor<2x3xf32>, tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: Unsqueeze: input 1 is missing
  %h4 = onnx.node "Unsqueeze"(%x) {node = "unsqueeze"} : (tensor<2x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Transpose: perm is no permutation of 2 dimensions
  %h6 = onnx.node "Transpose"(%x) with {perm = [0, 0]} {node = "transpose"} : (tensor<2x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Expand: cannot expand 2x3 to 9
  %h7 = onnx.node "Expand"(%x, %nines) {node = "expand"} : (tensor<2x3xf32>, tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: Slice: starts, ends, axes and steps differ in length
  %h8 = onnx.node "Slice"(%x, %ones, %pair) {node = "slice"} : (tensor<2x3xf32>, tensor<1xi64>, tensor<2xi64>) -> !onnx.unknown
  // CHECK-DAG: Concat: parts differ in rank
  %p0 = onnx.node "Concat"(%x, %cube) with {axis = 0 : i64} {node = "concat rank"} : (tensor<2x3xf32>, tensor<2x3x4xf32>) -> !onnx.unknown
  // CHECK-DAG: Concat: inputs 0 and 1 differ in type, f32 and i64
  %p4 = onnx.node "Concat"(%x, %matrix) with {axis = 0 : i64} {node = "concat type"} : (tensor<2x3xf32>, tensor<2x2xi64>) -> !onnx.unknown
  // CHECK-DAG: Concat: parts differ outside the axis
  %p1 = onnx.node "Concat"(%matrix, %triple) with {axis = 0 : i64} {node = "concat"} : (tensor<2x2xi64>, tensor<1x3xi64>) -> !onnx.unknown
  // CHECK-DAG: Tile: repeats do not match the rank
  %p2 = onnx.node "Tile"(%x, %ones) {node = "tile"} : (tensor<2x3xf32>, tensor<1xi64>) -> !onnx.unknown
  // CHECK-DAG: Pad: pads do not match the axes
  %p3 = onnx.node "Pad"(%x, %ones) {node = "pad"} : (tensor<2x3xf32>, tensor<1xi64>) -> !onnx.unknown

  // Numbers.
  // CHECK-DAG: Cast: to ONNX element type 8, which is no number
  %e0 = onnx.node "Cast"(%x) with {to = 8 : i64} {node = "cast"} : (tensor<2x3xf32>) -> !onnx.unknown
  // CHECK-DAG: Dropout: it drops 50 % of the elements, in training mode, and nothing here is random: node 'dropout'; a ratio of 0, or an export in evaluation mode, makes it an identity
  %e1 = onnx.node "Dropout"(%x, %ratio, %true) {node = "dropout"} : (tensor<2x3xf32>, tensor<f32>, tensor<i1>) -> !onnx.unknown
  // CHECK-DAG: MatMul: operands are scalars
  %m0 = onnx.node "MatMul"(%one, %one) {node = "matmul"} : (tensor<i64>, tensor<i64>) -> !onnx.unknown
  // CHECK-DAG: Gemm: operands are not matrices
  %m1 = onnx.node "Gemm"(%cube, %x) {node = "gemm"} : (tensor<2x3x4xf32>, tensor<2x3xf32>) -> !onnx.unknown

  // Attention.
  // CHECK-DAG: Attention: a cache of keys or of values without the other
  %absent = onnx.none
  %a0 = onnx.node "Attention"(%cube, %cube, %cube, %absent, %cube) with {q_num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "attention cache"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, none, tensor<2x3x4xf32>) -> !onnx.unknown
  // CHECK-DAG: Attention: an operand of shape 2x3x4 and q_num_heads = 0, expected rank 4, or rank 3 and a number of heads that divides its features
  %a2 = onnx.node "Attention"(%cube, %cube, %cube) {node = "attention heads"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> !onnx.unknown
  return %g0, %g1, %g2, %g3, %g4, %g5, %g6, %g7, %g8, %s0, %s1, %s2, %s6, %s7, %s3, %s4, %s5, %r0, %r1, %t0, %t1,
      %c0, %c1, %n0, %k0, %v0, %h0, %h1, %h15, %h16#0, %h2, %h3, %h4, %h6, %h7, %h8, %p0, %p4, %p1,
      %p2, %p3, %e0, %e1, %m0, %m1, %a0#0, %a2
      : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown,
      !onnx.unknown, !onnx.unknown
}
