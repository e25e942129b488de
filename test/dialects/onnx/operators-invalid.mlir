// RUN: wse-opt %s --split-input-file --verify-diagnostics

// Each rule of the named operators, broken alone.

// expected-note @below {{the operand is made here}}
func.func @matmul_c1(%x: tensor<8x15xf32>, %w: tensor<16x24xf32>) {
  // expected-error @below {{cannot multiply 'tensor<8x15xf32>' by 'tensor<16x24xf32>'}}
  %y = onnx.matmul %x, %w : (tensor<8x15xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @matmul_c2(%x: tensor<8x16xf32>, %w: tensor<16x24xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{bias is 'tensor<16xf32>', expected 'tensor<24xf32>'}}
  %y = onnx.matmul %x, %w bias %b : (tensor<8x16xf32>, tensor<16x24xf32>, tensor<16xf32>) -> tensor<8x24xf32>
  return
}

// -----

func.func @matmul_c3(%x: tensor<8x16xf32>, %w: tensor<16x24xf32>) {
  // expected-error @below {{result is 'tensor<8x16xf32>', expected 'tensor<8x24xf32>'}}
  %y = onnx.matmul %x, %w : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @batch_matmul_c1(%a: tensor<2x8x16xf32>, %b: tensor<2x8x16xf32>) {
  // expected-error @below {{cannot multiply 'tensor<2x8x16xf32>' by 'tensor<2x8x16xf32>'}}
  %y = onnx.batch_matmul %a, %b : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @batch_matmul_c2(%a: tensor<2x8x16xf32>, %b: tensor<3x16x8xf32>) {
  // expected-error @below {{has matrices that do not pair: 'tensor<2x8x16xf32>' and 'tensor<3x16x8xf32>'}}
  %y = onnx.batch_matmul %a, %b : (tensor<2x8x16xf32>, tensor<3x16x8xf32>) -> tensor<2x8x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_c1(%q: tensor<2x8x16xf32>, %k: tensor<3x8x16xf32>) {
  // expected-error @below {{needs q, k and v of rank 3 and equal batch, found 'tensor<2x8x16xf32>', 'tensor<3x8x16xf32>', 'tensor<3x8x16xf32>'}}
  %a = onnx.attention %q, %k, %k {num_heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_c2(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{16 features of q are not a multiple of 3 heads}}
  %a = onnx.attention %q, %q, %q {num_heads = 3 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_c3(%q: tensor<2x8x16xf32>, %v: tensor<2x9x16xf32>) {
  // expected-error @below {{q and k differ in features or k and v in tokens}}
  %a = onnx.attention %q, %q, %v {num_heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x9x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<2x8x16xf32>, %v: tensor<2x8x32xf32>) {
  // expected-error @below {{result is 'tensor<2x8x16xf32>', expected 'tensor<2x8x32xf32>'}}
  %a = onnx.attention %q, %q, %v {num_heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x32xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_c5(%q: tensor<2x8x16xf32>, %mask: tensor<2x4x8x8xf32>) {
  // expected-error @below {{mask is 'tensor<2x4x8x8xf32>', expected [2 or 1, 1, 8 or 1, 8], or [2 or 1, 8, 32]}}
  %a = onnx.attention %q, %q, %q masks %mask {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x4x8x8xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_c5_by_head(%q: tensor<2x8x16xf32>, %mask: tensor<2x1x32xf32>) {
  // expected-error @below {{mask is 'tensor<2x1x32xf32>', expected [2 or 1, 1, 8 or 1, 8], or [2 or 1, 8, 32]}}
  %a = onnx.attention %q, %q, %q masks %mask {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x1x32xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c6(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{caps scores at -2.000000e+00, expected a positive number}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, softcap = -2.0 : f32} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @slice_heads_c1(%x: tensor<8x16xf32>) {
  // expected-error @below {{needs x of rank 3, found 'tensor<8x16xf32>'}}
  %y = onnx.slice_heads %x {num_heads = 4 : i64, start = 1 : i64} : tensor<8x16xf32> -> tensor<8x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @slice_heads_c1_heads(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{16 features of x are not a multiple of 3 heads}}
  %y = onnx.slice_heads %x {num_heads = 3 : i64, start = 1 : i64} : tensor<2x8x16xf32> -> tensor<2x8x6xf32>
  return
}

// -----

func.func @slice_heads_c2(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{takes features of 'tensor<2x8x16xf32>', found 'tensor<2x4x8xf32>'}}
  %y = onnx.slice_heads %x {num_heads = 4 : i64, start = 1 : i64} : tensor<2x8x16xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @slice_heads_c3(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{takes features 3 to 5 of heads of 4}}
  %y = onnx.slice_heads %x {num_heads = 4 : i64, start = 3 : i64} : tensor<2x8x16xf32> -> tensor<2x8x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @rms_norm_c3(%x: tensor<8x16xf32>, %g: tensor<16xf32>) {
  // expected-error @below {{16 features of x are not a multiple of 3 heads}}
  %y = onnx.rms_norm %x, %g {epsilon = 1.0e-5 : f32, num_heads = 3 : i64} : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @layer_norm_c1(%x: tensor<8x16xf32>, %g: tensor<8xf32>) {
  // expected-error @below {{scale is 'tensor<8xf32>', expected one element per feature of 'tensor<8x16xf32>'}}
  %y = onnx.layer_norm %x, %g {epsilon = 1.0e-5 : f32} : (tensor<8x16xf32>, tensor<8xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<8x16xf32>, %g: tensor<16xf32>) {
  // expected-error @below {{result is 'tensor<8xf32>', expected 'tensor<8x16xf32>'}}
  %y = onnx.layer_norm %x, %g {epsilon = 1.0e-5 : f32} : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @rms_norm_c1(%x: tensor<8x16xf32>, %g: tensor<1x16xf32>) {
  // expected-error @below {{scale is 'tensor<1x16xf32>', expected one element per feature of 'tensor<8x16xf32>'}}
  %y = onnx.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (tensor<8x16xf32>, tensor<1x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<8x16xf32>, %g: tensor<16xf32>) {
  // expected-error @below {{result is 'tensor<8x15xf32>', expected 'tensor<8x16xf32>'}}
  %y = onnx.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x15xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @experts_c1(%x: tensor<18x16xf32>, %ids: tensor<18xi64>, %w: tensor<4x24x16xf32>) {
  // expected-error@below {{cannot multiply 'tensor<18x16xf32>' by 'tensor<4x24x16xf32>'}}
  %y = onnx.experts %x, %ids, %w : (tensor<18x16xf32>, tensor<18xi64>, tensor<4x24x16xf32>) -> tensor<18x24xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @experts_c2(%x: tensor<18x16xf32>, %ids: tensor<9x2xi64>, %w: tensor<4x16x24xf32>) {
  // expected-error@below {{cannot choose experts for 'tensor<18x16xf32>' by 'tensor<9x2xi64>'}}
  %y = onnx.experts %x, %ids, %w : (tensor<18x16xf32>, tensor<9x2xi64>, tensor<4x16x24xf32>) -> tensor<18x24xf32>
  return
}

// -----

func.func @experts_c3(%x: tensor<18x16xf32>, %ids: tensor<18xi64>, %w: tensor<4x16x24xf32>) {
  // expected-error@below {{result}}
  %y = onnx.experts %x, %ids, %w : (tensor<18x16xf32>, tensor<18xi64>, tensor<4x16x24xf32>) -> tensor<18x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @running_sum_c1(%x: tensor<8x16xf32>) {
  // expected-error@below {{axis 2 is outside rank 2}}
  %y = onnx.running_sum %x {axis = 2 : i64} : tensor<8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @running_sum_c2(%x: tensor<8x16xi8>) {
  // expected-error@below {{sums f32, i32 or i64, not 'i8'}}
  %y = onnx.running_sum %x {axis = 0 : i64} : tensor<8x16xi8>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @bit_cast_c1(%x: tensor<8xf32>) {
  // expected-error@below {{takes bits of f32 for those of an integer of 32, or the other way, not of 'f32' for 'i64'}}
  %y = onnx.bit_cast %x : tensor<8xf32> -> tensor<8xi64>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @top_k_c1(%x: tensor<8x16xi32>) {
  // expected-error@below {{orders floats, not 'tensor<8x16xi32>'}}
  %i, %v = onnx.top_k %x : tensor<8x16xi32> -> tensor<8x3xi64>, tensor<8x3xi32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @top_k_c2(%x: tensor<8x16xf32>) {
  // expected-error@below {{cannot find 'tensor<8x17xi64>' in 'tensor<8x16xf32>'}}
  %i, %v = onnx.top_k %x : tensor<8x16xf32> -> tensor<8x17xi64>, tensor<8x17xf32>
  return
}

// -----

func.func @top_k_c2_shape(%x: tensor<8x16xf32>) {
  // expected-error@below {{values}}
  %i, %v = onnx.top_k %x : tensor<8x16xf32> -> tensor<8x3xi64>, tensor<8x2xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @gather_c1(%table: tensor<100x16xf32>, %ids: tensor<8xf32>) {
  // expected-error @below {{cannot look 'tensor<8xf32>' up in 'tensor<100x16xf32>'}}
  %e = onnx.gather %table, %ids : (tensor<100x16xf32>, tensor<8xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @gather_c2(%table: tensor<100x16xf32>, %ids: tensor<8xi64>) {
  // expected-error @below {{result is 'tensor<8x100xf32>', expected 'tensor<8x16xf32>'}}
  %e = onnx.gather %table, %ids : (tensor<100x16xf32>, tensor<8xi64>) -> tensor<8x100xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @binary_c1(%a: tensor<8x16xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{shape of 'tensor<8xf32>' does not broadcast with the other operands}}
  %y = onnx.binary add %a, %b : (tensor<8x16xf32>, tensor<8xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @binary_c1_result(%a: tensor<8x1xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{result is 'tensor<8x1xf32>', expected 'tensor<8x16xf32>'}}
  %y = onnx.binary add %a, %b : (tensor<8x1xf32>, tensor<16xf32>) -> tensor<8x1xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @binary_c2(%a: tensor<8xf32>, %b: tensor<8xi64>) {
  // expected-error @below {{operands are of 'f32' and 'i64'}}
  %y = onnx.binary add %a, %b : (tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @binary_c3(%a: tensor<8xf32>) {
  // expected-error @below {{result is 'tensor<8xf32>', expected 'tensor<8xi1>'}}
  %y = onnx.binary less %a, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @where_c1(%c: tensor<8xi1>, %a: tensor<7xf32>) {
  // expected-error @below {{shape of 'tensor<7xf32>' does not broadcast with the other operands}}
  %y = onnx.where %c, %a, %a : (tensor<8xi1>, tensor<7xf32>, tensor<7xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @where_c2(%c: tensor<8xi64>, %a: tensor<8xf32>) {
  // expected-error @below {{needs an i1 condition and one type of elements}}
  %y = onnx.where %c, %a, %a : (tensor<8xi64>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @reduce_c1(%x: tensor<2x8xf32>) {
  // expected-error @below {{axes [1, 0] are not increasing inside rank 2}}
  %y = onnx.reduce sum %x {axes = array<i64: 1, 0>, keepdims = false} : tensor<2x8xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<2x8xf32>) {
  // expected-error @below {{result is 'tensor<2x1xf32>', expected 'tensor<2xf32>'}}
  %y = onnx.reduce sum %x {axes = array<i64: 1>, keepdims = false} : tensor<2x8xf32> -> tensor<2x1xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @reshape_c1(%x: tensor<2x8xf32>) {
  // expected-error @below {{cannot give 'tensor<2x8xf32>' the type 'tensor<3x5xf32>'}}
  %y = onnx.reshape %x : tensor<2x8xf32> -> tensor<3x5xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @expand_c1(%x: tensor<2x8xf32>) {
  // expected-error @below {{'tensor<2x8xf32>' does not broadcast to 'tensor<2x16xf32>'}}
  %y = onnx.expand %x : tensor<2x8xf32> -> tensor<2x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @transpose_c1(%x: tensor<2x8xf32>) {
  // expected-error @below {{[1, 1] does not permute 2 dimensions}}
  %y = onnx.transpose %x {perm = array<i64: 1, 1>} : tensor<2x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<2x8xf32>) {
  // expected-error @below {{result is 'tensor<2x8xf32>', expected 'tensor<8x2xf32>'}}
  %y = onnx.transpose %x {perm = array<i64: 1, 0>} : tensor<2x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<8xf32>) {
  // expected-error @below {{needs 1 starts, non-zero steps and result dimensions}}
  %y = onnx.slice %x {starts = array<i64: 0>, steps = array<i64: 0>} : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @slice_c2(%x: tensor<8xf32>) {
  // expected-error @below {{takes elements 4 to 8 of 8 along dimension 0}}
  %y = onnx.slice %x {starts = array<i64: 4>, steps = array<i64: 2>} : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<8xf32>) {
  // expected-error @below {{axis 1 is outside rank 1}}
  %y = onnx.concat %x {axis = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @concat_c2(%x: tensor<8x2xf32>, %z: tensor<7x2xf32>) {
  // expected-error @below {{'tensor<7x2xf32>' does not fit 'tensor<8x2xf32>' along axis 1}}
  %y = onnx.concat %x, %z {axis = 1 : i64} : (tensor<8x2xf32>, tensor<7x2xf32>) -> tensor<8x4xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_c3_features(%q: tensor<2x8x16xf32>, %k: tensor<2x8x32xf32>) {
  // expected-error @below {{q and k differ in features or k and v in tokens}}
  %a = onnx.attention %q, %k, %k {num_heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x8x32xf32>, tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  return
}

// -----

func.func @where_c2(%c: tensor<8xi1>, %a: tensor<8xf32>, %b: tensor<8xi64>) {
  // expected-error @below {{needs an i1 condition and one type of elements, found}}
  %y = onnx.where %c, %a, %b : (tensor<8xi1>, tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @below {{needs at least one operand}}
  %y = "onnx.concat"() <{axis = 0 : i64}> : () -> tensor<8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @concat_c1_rank(%x: tensor<8x2xf32>, %y: tensor<8xf32>) {
  // expected-error @below {{joins rank 2 and rank 1}}
  %z = onnx.concat %x, %y {axis = 0 : i64} : (tensor<8x2xf32>, tensor<8xf32>) -> tensor<16x2xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_c2_keys(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{16 features of k are not a multiple of 3 heads}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, kv_heads = 3 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c2_shared(%q: tensor<2x8x12xf32>, %k: tensor<2x8x8xf32>) {
  // expected-error @below {{6 heads cannot share 4 heads of keys evenly}}
  %a = onnx.attention %q, %k, %k {num_heads = 6 : i64, kv_heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x8x12xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x12xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @rotary_c1(%x: tensor<8x16xf32>, %a: tensor<1x8x4xf32>) {
  // expected-error @below {{needs x of rank 3, found 'tensor<8x16xf32>'}}
  %y = onnx.rotary %x, %a, %a {num_heads = 4 : i64, rotary_dim = 4 : i64} : (tensor<8x16xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @rotary_c1_heads(%x: tensor<2x8x16xf32>, %a: tensor<1x8x4xf32>) {
  // expected-error @below {{16 features of x are not a multiple of 3 heads}}
  %y = onnx.rotary %x, %a, %a {num_heads = 3 : i64, rotary_dim = 4 : i64} : (tensor<2x8x16xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @rotary_c2(%x: tensor<2x8x16xf32>, %a: tensor<1x8x6xf32>) {
  // expected-error @below {{turns 6 features of heads of 4}}
  %y = onnx.rotary %x, %a, %a {num_heads = 4 : i64, rotary_dim = 6 : i64} : (tensor<2x8x16xf32>, tensor<1x8x6xf32>, tensor<1x8x6xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @rotary_c3(%x: tensor<2x8x16xf32>, %a: tensor<1x8x3xf32>) {
  // expected-error @below {{cos is 'tensor<1x8x3xf32>' and sin 'tensor<1x8x3xf32>', expected [2 or 1, 8 or 1, 4 or 2]}}
  %y = onnx.rotary %x, %a, %a {num_heads = 4 : i64, rotary_dim = 4 : i64} : (tensor<2x8x16xf32>, tensor<1x8x3xf32>, tensor<1x8x3xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @rotary_c4(%x: tensor<2x8x16xf32>, %a: tensor<1x8x4xf32>) {
  // expected-error @below {{result is 'tensor<2x8x8xf32>', expected 'tensor<2x8x16xf32>'}}
  %y = onnx.rotary %x, %a, %a {num_heads = 4 : i64, rotary_dim = 4 : i64} : (tensor<2x8x16xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<2x8x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @cross_entropy_c1(%z: tensor<2x8x97xf32>, %c: tensor<2x7xi64>) {
  // expected-error @below {{cannot hold 'tensor<2x8x97xf32>' against labels 'tensor<2x7xi64>'}}
  %y = onnx.cross_entropy mean %z, %c {label_smoothing = 0.0 : f32} : (tensor<2x8x97xf32>, tensor<2x7xi64>) -> tensor<f32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @cross_entropy_c1_floats(%z: tensor<8x97xf32>, %c: tensor<8xf32>) {
  // expected-error @below {{cannot hold 'tensor<8x97xf32>' against labels 'tensor<8xf32>'}}
  %y = onnx.cross_entropy mean %z, %c {label_smoothing = 0.0 : f32} : (tensor<8x97xf32>, tensor<8xf32>) -> tensor<f32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @cross_entropy_c2(%z: tensor<8x97xf32>, %c: tensor<8xi32>, %w: tensor<96xf32>) {
  // expected-error @below {{weights is 'tensor<96xf32>', expected one element per feature of 'tensor<8x97xf32>'}}
  %y = onnx.cross_entropy mean %z, %c weights %w {label_smoothing = 0.0 : f32} : (tensor<8x97xf32>, tensor<8xi32>, tensor<96xf32>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_c3(%z: tensor<8x97xf32>, %c: tensor<8xi32>) {
  // expected-error @below {{label_smoothing is 1.500000e+00, expected 0 to 1}}
  %y = onnx.cross_entropy mean %z, %c {label_smoothing = 1.5 : f32} : (tensor<8x97xf32>, tensor<8xi32>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_c4(%z: tensor<8x97xf32>, %c: tensor<8xi32>) {
  // expected-error @below {{result is 'tensor<f32>', expected 'tensor<8xf32>'}}
  %y = onnx.cross_entropy none %z, %c {label_smoothing = 0.0 : f32} : (tensor<8x97xf32>, tensor<8xi32>) -> tensor<f32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @update_c1(%k: tensor<1x3x64x4xf32>, %new: tensor<1x2x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{past is 'tensor<1x3x64x4xf32>' for a result 'tensor<1x64x8xf32>', expected [batch, capacity, features] or [batch, heads, capacity, size]}}
  %0 = onnx.update %k, %new at %at : (tensor<1x3x64x4xf32>, tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @update_c2(%k: tensor<1x64x8xf32>, %new: tensor<1x65x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{writes 'tensor<1x65x8xf32>', expected f32 [1, 1 to 64, 8]}}
  %0 = onnx.update %k, %new at %at : (tensor<1x64x8xf32>, tensor<1x65x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @update_c3(%k: tensor<2x64x8xf32>, %new: tensor<2x1x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{position is 'tensor<1xi64>', expected 2 integers}}
  %0 = onnx.update %k, %new at %at : (tensor<2x64x8xf32>, tensor<2x1x8xf32>, tensor<1xi64>) -> tensor<2x64x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @cached_attention_c1(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %v: tensor<1x63x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{needs q, keys and values of rank 3 and equal batch, the last two of equal tokens, found 'tensor<1x1x16xf32>', 'tensor<1x64x8xf32>', 'tensor<1x63x8xf32>'}}
  %y = onnx.cached_attention %q, %k, %v at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x63x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @cached_attention_c2(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{16, 8 and 8 features are not those of 4 and 4 heads}}
  %y = onnx.cached_attention %q, %k, %k at %at {num_heads = 4 : i64, kv_heads = 4 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @cached_attention_c3(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %at: tensor<1xf32>) {
  // expected-error @below {{position is 'tensor<1xf32>', expected 1 integers}}
  %y = onnx.cached_attention %q, %k, %k at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xf32>) -> tensor<1x1x16xf32>
  return
}

// -----

func.func @cached_attention_window(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{attribute 'sliding_window' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %y = onnx.cached_attention %q, %k, %k at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32, sliding_window = 0 : i64} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return
}

// -----

func.func @cached_attention_c7(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{is chunked, expected a sliding_window}}
  %y = onnx.cached_attention %q, %k, %k at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32, chunked} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return
}

// -----

func.func @cached_attention_c5(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{bounds scores by -2.000000e+00, expected a positive number}}
  %y = onnx.cached_attention %q, %k, %k at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32, softcap = -2.0 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @cached_attention_c6(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %at: tensor<1xi64>, %sinks: tensor<2xf32>) {
  // expected-error @below {{needs one sink for each of 4 heads, found 'tensor<2xf32>'}}
  %y = onnx.cached_attention %q, %k, %k at %at sinks %sinks {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>, tensor<2xf32>) -> tensor<1x1x16xf32>
  return
}

// -----

func.func @cached_attention_c4(%q: tensor<1x1x16xf32>, %k: tensor<1x64x8xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{result is 'tensor<1x1x8xf32>', expected 'tensor<1x1x16xf32>'}}
  %y = onnx.cached_attention %q, %k, %k at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x8xf32>
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @attention_gradient_c1(%q: tensor<2x8x16xf32>, %k: tensor<2x7x16xf32>, %v: tensor<2x8x12xf32>) {
  // expected-error @below {{needs q, k and v of rank 3 and equal batch, q and k of equal features, k and v of equal tokens, found 'tensor<2x8x16xf32>', 'tensor<2x7x16xf32>', 'tensor<2x8x12xf32>'}}
  %d:3 = onnx.attention_gradient %q, %k, %v, %v, %v {num_heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x7x16xf32>, tensor<2x8x12xf32>, tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> (tensor<2x8x16xf32>, tensor<2x7x16xf32>, tensor<2x8x12xf32>)
  return
}

// -----

// expected-note @below {{the operand is made here}}
func.func @norm_gradient_c1(%x: tensor<8x16xf32>, %g: tensor<8xf32>) {
  // expected-error @below {{scale is 'tensor<8xf32>', expected one element per feature of 'tensor<8x16xf32>'}}
  %d:2 = onnx.norm_gradient %x, %g, %x {epsilon = 0.5 : f32} : (tensor<8x16xf32>, tensor<8xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return
}

// -----

func.func @norm_gradient_c2(%x: tensor<8x16xf32>, %g: tensor<16xf32>) {
  // expected-error @below {{normal is 'tensor<7x16xf32>', expected 'tensor<8x16xf32>'}}
  %d:2 = onnx.norm_gradient %x, %g, %x {epsilon = 0.5 : f32} : (tensor<8x16xf32>, tensor<16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<7x16xf32>)
  return
}

// -----

func.func @attention_gradient_c2(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{takes one term at most, which adds a number to scores of later keys or replaces them by -1.000000e+30 or less, found [#onnx.term<replace later -1.000000e+04 : f32>]}}
  %d:3 = onnx.attention_gradient %q, %q, %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<replace later -1.0e4 : f32>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>)
  return
}

// -----

func.func @attention_gradient_c3(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{dk is 'tensor<2x7x16xf32>', expected 'tensor<2x8x16xf32>'}}
  %d:3 = onnx.attention_gradient %q, %q, %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> (tensor<2x8x16xf32>, tensor<2x7x16xf32>, tensor<2x8x16xf32>)
  return
}
