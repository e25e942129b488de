// RUN: wse-opt %s --split-input-file --verify-diagnostics

// Each rule of onnx.constant, broken alone.

func.func @constant_c1() {
  // expected-error @below {{value is neither dense elements, #onnx.external, #onnx.quantized nor #onnx.parameter}}
  %c = onnx.constant 1 : i32 -> tensor<1xi32>
  return
}

// -----

func.func @constant_c2() {
  // expected-error @below {{stored elements are 'i32', those of the result 'f32'}}
  %c = onnx.constant dense<1> : tensor<1xi32> -> tensor<1xf32>
  return
}

// -----

func.func @constant_c2_narrowed() {
  // expected-error @below {{stored elements are 'f32', expected floats other than f32}}
  %c = onnx.constant external<"w.bin", 0, 16, f32> : tensor<4xf16>
  return
}

// -----

func.func @constant_c3_widened() {
  // expected-error @below {{stores 8 elements, the result has 4}}
  %c = onnx.constant external<"w.bin", 0, 16, f16> : tensor<4xf32>
  return
}

// -----

func.func @constant_c3() {
  // expected-error @below {{stores 4 elements, the result has 5}}
  %c = onnx.constant external<"w.bin", 0, 16> : tensor<5xf32>
  return
}

// -----

func.func @constant_c4() {
  // expected-error @below {{has 1 strides for a result of rank 2}}
  %c = onnx.constant external<"w.bin", 0, 16> view offset 0 strides [1] : tensor<2x2xf32>
  return
}

// -----

func.func @constant_c5_after_the_end() {
  // expected-error @below {{view touches elements 1 to 4 of 4 stored}}
  %c = onnx.constant external<"w.bin", 0, 16> view offset 1 strides [2, 1] : tensor<2x2xf32>
  return
}

// -----

func.func @constant_c5_before_the_start() {
  // expected-error @below {{view touches elements -1 to 0 of 4 stored}}
  %c = onnx.constant external<"w.bin", 0, 16> view offset 0 strides [-1] : tensor<2xf32>
  return
}

// -----

func.func @constant_offset_without_strides() {
  // expected-error @below {{has an offset but no strides}}
  %c = "onnx.constant"() {value = #onnx.external<"w.bin", 0, 16>, offset = 4 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @constant_untyped() {
  // expected-error @below {{expected a typed value}}
  %c = onnx.constant unit
  return
}

// -----

func.func @external_c1_before_the_file() {
  // expected-error @below {{bytes 18446744073709551615 to 18446744073709551615 + 16 are in no file}}
  %c = onnx.constant external<"w.bin", -1, 16> : tensor<4xf32>
  return
}

// -----

func.func @external_c2() {
  // expected-error @below {{stored elements are 'complex<f32>', expected floats other than f32}}
  %c = onnx.constant external<"w.bin", 0, 16, complex<f32>> : tensor<4xf32>
  return
}

// -----

func.func @constant_c5_uncountable() {
  // expected-error @below {{view touches elements that cannot be counted}}
  %c = onnx.constant external<"w.bin", 0, 16> view offset 1 strides [9223372036854775807, 9223372036854775807] : tensor<2x2xf32>
  return
}

// -----

func.func @constant_c6() {
  // expected-error @below {{holds no tensor of countable numbers, but 'tensor<2xcomplex<f32>>'}}
  %c = onnx.constant external<"w.bin", 0, 16> : tensor<2xcomplex<f32>>
  return
}

// -----

func.func @constant_c6_uncountable() {
  // expected-error @below {{holds no tensor of countable numbers, but 'tensor<4294967296x4294967296xf32>'}}
  %c = onnx.constant external<"w.bin", 0, 0> : tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @quantized_c1() {
  // expected-error @below {{expected integers of 4 or 8 bits, scales of f32 and zero points as the integers, found 'tensor<4xi16>' and 'tensor<1xf32>'}}
  %c = onnx.constant #onnx.quantized<dense<1> : tensor<4xi16> scales dense<1.0> : tensor<1xf32> block 1> -> tensor<4xf32>
  return
}

// -----

func.func @quantized_c2() {
  // expected-error @below {{scales of 'tensor<3xf32>' for 'tensor<4xi8>' in blocks of 2}}
  %c = onnx.constant #onnx.quantized<dense<1> : tensor<4xi8> scales dense<1.0> : tensor<3xf32> block 2> -> tensor<4xf32>
  return
}

// -----

func.func @quantized_c3() {
  // expected-error @below {{zero points of 'tensor<1xi8>' for scales of 'tensor<2xf32>'}}
  %c = onnx.constant #onnx.quantized<dense<1> : tensor<4xi8> scales dense<1.0> : tensor<2xf32> zeros dense<1> : tensor<1xi8> block 2> -> tensor<4xf32>
  return
}
