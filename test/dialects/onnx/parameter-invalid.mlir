// RUN: wse-opt %s --split-input-file --verify-diagnostics

// Each rule of onnx.parameter, of its constants and of onnx.gradient, broken
// alone.

// expected-error @below {{needs dense elements or bytes of a file for 'tensor<2xf32>', found 1.000000e+00 : f32}}
"onnx.parameter"() {sym_name = "w", value = 1.0 : f32, type = tensor<2xf32>, use = 1 : i32} : () -> ()

// -----

// expected-error @below {{needs dense elements or bytes of a file for 'tensor<4xf32>', found #onnx.external<"w.bin", 0, 12>}}
onnx.parameter @parameter_c1_bytes = external<"w.bin", 0, 12> : tensor<4xf32> trainable

// -----

// expected-error @below {{is 'tensor<2xi64>', expected f16, bf16 or f32 of rank 1 or more}}
onnx.parameter @parameter_c2 = dense<[1, 2]> : tensor<2xi64> trainable

// -----

// expected-error @below {{is 'tensor<f32>', expected f16, bf16 or f32 of rank 1 or more}}
onnx.parameter @parameter_c2_scalar = dense<1.0> : tensor<f32> frozen

// -----

// expected-error @below {{expected a typed value}}
onnx.parameter @parameter_untyped = unit trainable

// -----

func.func @constant_c7() {
  // expected-error @below {{there is no parameter @w}}
  %c = onnx.constant #onnx.parameter<@w : tensor<2xf32>>
  return
}

// -----

// expected-note @below {{the parameter is declared here}}
onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @constant_c7_type() {
  // expected-error @below {{views @w as 'tensor<2xf32>', it is 'tensor<3xf32>'}}
  %c = onnx.constant #onnx.parameter<@w : tensor<2xf32>>
  return
}

// -----

func.func @gradient_c1(%dw: tensor<3xf32>) {
  // expected-error @below {{there is no parameter @w}}
  onnx.gradient %dw of @w : tensor<3xf32>
  return
}

// -----

// expected-note @below {{the parameter is declared here}}
onnx.parameter @w = dense<1.0> : tensor<3xf32> frozen
func.func @gradient_c1_frozen(%dw: tensor<3xf32>) {
  // expected-error @below {{@w is frozen}}
  onnx.gradient %dw of @w : tensor<3xf32>
  return
}

// -----

onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @gradient_c1_type(%dw: tensor<3xf16>) {
  // expected-error @below {{adds 'tensor<3xf16>', expected f32}}
  onnx.gradient %dw of @w : tensor<3xf16>
  return
}

// -----

// expected-note @below {{the parameter is declared here}}
onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @gradient_c2(%dw: tensor<2xf32>) {
  // expected-error @below {{adds 2 elements to 3 of @w}}
  onnx.gradient %dw of @w : tensor<2xf32>
  return
}

// -----

onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @gradient_c3_rank(%dw: tensor<2xf32>) {
  // expected-error @below {{has 2 strides for a value of rank 1}}
  onnx.gradient %dw of @w view offset 0 strides [1, 1] : tensor<2xf32>
  return
}

// -----

// expected-note @below {{the parameter is declared here}}
onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @gradient_c3_outside(%dw: tensor<2xf32>) {
  // expected-error @below {{view touches elements 2 to 3 of 3 of @w}}
  onnx.gradient %dw of @w view offset 2 strides [1] : tensor<2xf32>
  return
}

// -----

onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @gradient_c3_twice(%dw: tensor<2x2xf32>) {
  // expected-error @below {{names elements twice with strides [1, 1] for 'tensor<2x2xf32>'}}
  onnx.gradient %dw of @w view offset 0 strides [1, 1] : tensor<2x2xf32>
  return
}

// -----

onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @gradient_c3_uncountable(%dw: tensor<3x3xf32>) {
  // expected-error @below {{view touches elements that cannot be counted}}
  onnx.gradient %dw of @w view offset 0 strides [9223372036854775807, 1] : tensor<3x3xf32>
  return
}

// -----

onnx.parameter @w = dense<1.0> : tensor<3xf32> trainable
func.func @gradient_offset_without_strides(%dw: tensor<3xf32>) {
  // expected-error @below {{has an offset but no strides}}
  "onnx.gradient"(%dw) {parameter = @w, offset = 1 : i64, operandSegmentSizes = array<i32: 1, 0>} : (tensor<3xf32>) -> ()
  return
}

// -----

onnx.parameter @w = dense<1.0> : tensor<3x2xf32> trainable
func.func @gradient_c4_view(%dw: tensor<4x2xf32>, %ids: tensor<4xi64>) {
  // expected-error @below {{has rows and a view, expected one of them}}
  onnx.gradient %dw of @w view offset 0 strides [2, 1] rows %ids : tensor<4x2xf32>, tensor<4xi64>
  return
}

// -----

// expected-note @below {{the parameter is declared here}}
onnx.parameter @w = dense<1.0> : tensor<3x2xf32> trainable
func.func @gradient_c4_ids(%dw: tensor<4x2xf32>, %ids: tensor<4xf32>) {
  // expected-error @below {{cannot add to rows 'tensor<4xf32>' of 'tensor<3x2xf32>'}}
  onnx.gradient %dw of @w rows %ids : tensor<4x2xf32>, tensor<4xf32>
  return
}

// -----

onnx.parameter @w = dense<1.0> : tensor<3x2xf32> trainable
// expected-note @below {{the operand is made here}}
func.func @gradient_c4_shape(%dw: tensor<4x3xf32>, %ids: tensor<4xi64>) {
  // expected-error @below {{value is 'tensor<4x3xf32>', expected 'tensor<4x2xf32>'}}
  onnx.gradient %dw of @w rows %ids : tensor<4x3xf32>, tensor<4xi64>
  return
}
