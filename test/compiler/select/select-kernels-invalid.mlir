// RUN: wse-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(wsec-select{mesh=4x3})'

// All that no kernel can do is said at once; what only depends on it is not.
// expected-error@unknown {{div: computes in f64: node 'half'; --allow-f64-as-f32 computes in f32}}
// expected-error@unknown {{batch matmul: multiplies matrices of integers, which f32 does not hold exactly: node 'product', and 1 node that needs it; cast to float first}}
func.func @main(%x: tensor<6x6xi64> {onnx.name = "x"}, %f: tensor<6xf64> {onnx.name = "f"}) -> (tensor<6xf64> {onnx.name = "y"}, tensor<6x6xi64> {onnx.name = "z"}) {
  %h = onnx.binary div %f, %f {node = "half"} : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
  %u = onnx.unary neg %h {node = "negate"} : tensor<6xf64>
  %p = onnx.batch_matmul %x, %x {node = "product"} : (tensor<6x6xi64>, tensor<6x6xi64>) -> tensor<6x6xi64>
  %q = onnx.unary abs %p {node = "size"} : tensor<6x6xi64>
  return %u, %q : tensor<6xf64>, tensor<6x6xi64>
}

// -----

// expected-error@unknown {{add: computes with the constant 4294967296, which 32 bits do not hold: node 'large'}}
func.func @main(%x: tensor<6xi64> {onnx.name = "x"}) -> (tensor<6xi64> {onnx.name = "y"}) {
  %c = onnx.constant dense<4294967296> : tensor<i64>
  %y = onnx.binary add %x, %c {node = "large"} : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
  return %y : tensor<6xi64>
}

// -----

// expected-error@unknown {{add: computes in f64: node 'exact'; --allow-f64-as-f32 computes in f32}}
func.func @main(%x: tensor<6xf64> {onnx.name = "x"}) -> (tensor<6xf64> {onnx.name = "y"}) {
  %y = onnx.binary add %x, %x {node = "exact"} : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
  return %y : tensor<6xf64>
}

// -----

// expected-error@below {{has no function to select kernels for}}
module {
}

// -----

// Inputs and outputs are bound by name.
// expected-error@below {{output 'x' is called as another input or output; each needs a name of its own, and an Identity gives a value a second one}}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "x"}) {
  return %x : tensor<6x8xf32>
}

// -----

// Parameters share their names.
// expected-error@below {{parameter 'x' is called as an input or output; rename one of them}}
onnx.parameter @x = dense<1.0> : tensor<8xf32> trainable
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "y"}) {
  return %x : tensor<6x8xf32>
}

// -----

// expected-error@below {{output 'y' is called as another input or output}}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "y"}, tensor<6x8xf32> {onnx.name = "y"}) {
  %y = onnx.unary tanh %x {node = "tanh"} : tensor<6x8xf32>
  return %y, %y : tensor<6x8xf32>, tensor<6x8xf32>
}

// -----

// expected-error@below {{an input has no name; onnx.name gives it one}}
func.func @main(%x: tensor<6x8xf32>) -> (tensor<6x8xf32> {onnx.name = "y"}) {
  %y = onnx.unary tanh %x {node = "tanh"} : tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// Rows with an expert each, more than PEs have room for at a time.
// expected-error@unknown {{experts: multiplies 6000 rows of 16 features by an expert of each, for which PEs have no room: node 'expert'; give fewer tokens, or a larger mesh}}
func.func @main(%x: tensor<6000x16xf32> {onnx.name = "x"}, %p: tensor<6000x8xf32> {onnx.name = "p"}) -> (tensor<6000x8xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 4096> : tensor<8x16x8xf32>
  %i, %v = onnx.top_k %p {node = "best", onnx.experts = 8 : i64} : tensor<6000x8xf32> -> tensor<6000x1xi64>, tensor<6000x1xf32>
  %ids = onnx.reshape %i : tensor<6000x1xi64> -> tensor<6000xi64>
  %y = onnx.experts %x, %ids, %w {node = "expert"} : (tensor<6000x16xf32>, tensor<6000xi64>, tensor<8x16x8xf32>) -> tensor<6000x8xf32>
  return %y : tensor<6000x8xf32>
}
