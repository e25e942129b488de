// RUN: wse-opt %s --split-input-file --verify-diagnostics

func.func @term_c1_nothing(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{add needs an operand or a number for later keys}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @term_c1_guard(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{zero_nan does not take an operand or a number for later keys}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<zero_nan later -1.0 : f32>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @term_c2_none(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{raise needs a number to raise to}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<raise>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @term_c2_added(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{replace does not take a number to raise to}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<replace later -1.0 : f32 to -2.0 : f32>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @term_c3_type(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{numbers of a term are f32}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add later -1.0 : f64>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @term_c3_positive(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{later keys get 1.000000e+00, expected a number below 0}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add later 1.0 : f32>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c7_order(%q: tensor<2x8x16xf32>, %m: tensor<2x1x1x8xf32>) {
  // expected-error @below {{term 0 takes mask 1, expected 0}}
  %a = onnx.attention %q, %q, %q masks %m, %m {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 1>, #onnx.term<replace operand 0>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x1x1x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c7_left(%q: tensor<2x8x16xf32>, %m: tensor<2x1x1x8xf32>) {
  // expected-error @below {{2 masks, of which terms take 1}}
  %a = onnx.attention %q, %q, %q masks %m, %m {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x1x1x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c8_first(%q: tensor<2x8x16xf32>) {
  // expected-error @below {{term 0 of weights, zero_nan, is not the last one}}
  %a = onnx.attention %q, %q, %q {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<zero_nan>, #onnx.term<add later -1.0 : f32>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c8_hidden(%q: tensor<2x8x16xf32>, %m: tensor<2x1x1x8xf32>) {
  // expected-error @below {{zero_hidden needs one term before it, which adds a mask}}
  %a = onnx.attention %q, %q, %q masks %m {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<replace operand 0>, #onnx.term<zero_hidden>]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x1x1x8xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @attention_c9(%q: tensor<2x8x16xf32>, %k: tensor<2x9x16xf32>, %m: tensor<2x1x1x9xf32>) {
  // expected-error @below {{hides later keys of 8 queries and 9 keys}}
  %a = onnx.attention %q, %k, %k masks %m {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0 later -1.0 : f32>]} : (tensor<2x8x16xf32>, tensor<2x9x16xf32>, tensor<2x9x16xf32>, tensor<2x1x1x9xf32>) -> tensor<2x8x16xf32>
  return
}
