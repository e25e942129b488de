// RUN: wse-opt %s --split-input-file --verify-diagnostics --onnx-follow-length

// expected-error@unknown {{slice: takes element 4 along the length, which has 3 at least: node 'fifth'; export the model without it, or compile for one length: --dim n=N}}
func.func @main(%x: tensor<8x4xf32>) -> tensor<1x4xf32>
    attributes {onnx.length = array<i64: 3, 8>, onnx.length_name = "n"} {
  %y = onnx.slice %x {node = "fifth", starts = array<i64: 4, 0>, steps = array<i64: 1, 1>} : tensor<8x4xf32> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}
func.func @at_7(%x: tensor<7x4xf32>) -> tensor<1x4xf32>
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %y = onnx.slice %x {node = "fifth", starts = array<i64: 4, 0>, steps = array<i64: 1, 1>} : tensor<7x4xf32> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

// expected-error@unknown {{reshape: gives the length another place, or joins it with others: node 'turned'}}
func.func @main(%x: tensor<8x2x4xf32>) -> tensor<2x8x4xf32>
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %y = onnx.reshape %x {node = "turned"} : tensor<8x2x4xf32> -> tensor<2x8x4xf32>
  return %y : tensor<2x8x4xf32>
}
func.func @at_7(%x: tensor<7x2x4xf32>) -> tensor<2x7x4xf32>
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %y = onnx.reshape %x {node = "turned"} : tensor<7x2x4xf32> -> tensor<2x7x4xf32>
  return %y : tensor<2x7x4xf32>
}

// -----

// expected-error@unknown {{layer norm: takes all elements along the length: node 'norm'}}
func.func @main(%x: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32>
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %y = onnx.layer_norm %x, %g {epsilon = 1.0e-5 : f32, node = "norm"} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
func.func @at_7(%x: tensor<4x7xf32>, %g: tensor<7xf32>) -> tensor<4x7xf32>
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %y = onnx.layer_norm %x, %g {epsilon = 1.0e-5 : f32, node = "norm"} : (tensor<4x7xf32>, tensor<7xf32>) -> tensor<4x7xf32>
  return %y : tensor<4x7xf32>
}

// -----

// expected-error@unknown {{tanh: is computed otherwise at length 7 than at 8: node 'first'}}
func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %y = onnx.unary tanh %x {node = "first"} : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
func.func @at_7(%x: tensor<7x4xf32>) -> tensor<7x4xf32>
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %y = onnx.binary add %x, %x {node = "second"} : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}

// -----

// expected-error@unknown {{constant: holds other numbers at each length, which neither begin alike nor are the length times a whole number: tensor 'root'}}
func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %root = onnx.constant dense<2.8284> : tensor<f32> {node = "root"}
  %y = onnx.binary mul %x, %root {node = "scaled"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
func.func @at_7(%x: tensor<7x4xf32>) -> tensor<7x4xf32>
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %root = onnx.constant dense<2.6458> : tensor<f32> {node = "root"}
  %y = onnx.binary mul %x, %root {node = "scaled"} : (tensor<7x4xf32>, tensor<f32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}
