// RUN: wse-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(wsec-select{mesh=4x3})'

// All that no kernel can do is said at once; what only depends on it is not.
// expected-error@below {{no kernel for 2 operators:}}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "y"}, tensor<8x6xf32> {onnx.name = "z"}) {
  %w = onnx.constant external<"m.data", 0, 256> : tensor<8x8xf32>
  %h = onnx.matmul %x, %w {node = "fc"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  // expected-note@below {{'swap' (onnx.transpose) is here}}
  %t = onnx.transpose %h {perm = array<i64: 1, 0>, node = "swap"} : tensor<6x8xf32> -> tensor<8x6xf32>
  %u = onnx.unary tanh %t {node = "tanh"} : tensor<8x6xf32>
  %h2 = onnx.matmul %w, %w {node = "square"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-note@below {{'product' (onnx.matmul) is here}}
  %p = onnx.matmul %h, %h2 {node = "product"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  return %p, %u : tensor<6x8xf32>, tensor<8x6xf32>
}

// -----

// expected-error@below {{'move' (onnx.reshape): moves elements between tokens and features (8 features become 4)}}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<12x4xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 256> : tensor<8x8xf32>
  %h = onnx.matmul %x, %w {node = "fc"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  // expected-note@below {{is here}}
  %r = onnx.reshape %h {node = "move"} : tensor<6x8xf32> -> tensor<12x4xf32>
  %y = onnx.softmax %r {node = "softmax"} : tensor<12x4xf32>
  return %y : tensor<12x4xf32>
}

// -----

// expected-error@below {{'total' (onnx.reduce): reduces other axes than the tokens of each batch element}}
func.func @main(%x: tensor<2x3x8xf32> {onnx.name = "x"}) -> (tensor<3x8xf32> {onnx.name = "y"}) {
  // expected-note@below {{is here}}
  %y = onnx.reduce sum %x {axes = array<i64: 0>, keepdims = false, node = "total"} : tensor<2x3x8xf32> -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// expected-error@below {{'largest' (onnx.reduce): takes the maximum over the last axis}}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x1xf32> {onnx.name = "y"}) {
  // expected-note@below {{is here}}
  %y = onnx.reduce max %x {axes = array<i64: 1>, keepdims = true, node = "largest"} : tensor<6x8xf32> -> tensor<6x1xf32>
  return %y : tensor<6x1xf32>
}

// -----

// expected-error@below {{'lookup' (onnx.gather): its ids are computed or repeated; the store looks up whole inputs and constants only}}
func.func @main(%ids: tensor<6xi64> {onnx.name = "ids"}) -> (tensor<6x8xf32> {onnx.name = "y"}) {
  %table = onnx.constant external<"m.data", 0, 320> : tensor<10x8xf32>
  %next = onnx.binary add %ids, %ids {node = "double"} : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  // expected-note@below {{is here}}
  %y = onnx.gather %table, %next {node = "lookup"} : (tensor<10x8xf32>, tensor<6xi64>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// expected-error@below {{'half' (onnx.binary): divides integers, which would have to round towards zero}}
func.func @main(%x: tensor<6xi64> {onnx.name = "x"}) -> (tensor<6xi64> {onnx.name = "y"}) {
  // expected-note@below {{is here}}
  %y = onnx.binary div %x, %x {node = "half"} : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  return %y : tensor<6xi64>
}

// -----

// expected-error@below {{'exact' (onnx.binary): computes in f64, the wafer in f32}}
func.func @main(%x: tensor<6xf64> {onnx.name = "x"}) -> (tensor<6xf64> {onnx.name = "y"}) {
  // expected-note@below {{is here}}
  %y = onnx.binary add %x, %x {node = "exact"} : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
  return %y : tensor<6xf64>
}

// -----

// expected-error@below {{'center' (onnx.binary): repeats a tensor of one token over the tokens of another}}
func.func @main(%x: tensor<2x3x8xf32> {onnx.name = "x"}) -> (tensor<2x3x8xf32> {onnx.name = "y"}) {
  %mean = onnx.reduce mean %x {axes = array<i64: 1>, keepdims = true, node = "mean"} : tensor<2x3x8xf32> -> tensor<2x1x8xf32>
  // expected-note@below {{is here}}
  %y = onnx.binary sub %x, %mean {node = "center"} : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// expected-error@below {{'attend' (onnx.attention): its bias depends on activations}}
func.func @main(%x: tensor<1x6x6xf32> {onnx.name = "x"}) -> (tensor<1x6x6xf32> {onnx.name = "y"}) {
  %s = onnx.softmax %x {node = "softmax"} : tensor<1x6x6xf32>
  %bias = onnx.reshape %s {node = "bias"} : tensor<1x6x6xf32> -> tensor<1x1x6x6xf32>
  // expected-note@below {{is here}}
  %y = onnx.attention %x, %x, %x bias %bias {num_heads = 2 : i64, scale = 1.0 : f32, node = "attend"} : (tensor<1x6x6xf32>, tensor<1x6x6xf32>, tensor<1x6x6xf32>, tensor<1x1x6x6xf32>) -> tensor<1x6x6xf32>
  return %y : tensor<1x6x6xf32>
}

// -----

// expected-error@below {{'some' (onnx.slice): takes neither one token of each batch element nor features of all tokens}}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<2x8xf32> {onnx.name = "y"}) {
  %s = onnx.softmax %x {node = "softmax"} : tensor<6x8xf32>
  // expected-note@below {{is here}}
  %y = onnx.slice %s {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>, node = "some"} : tensor<6x8xf32> -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// expected-error@below {{has no function @main to select kernels for}}
module {
}

// -----

// Inputs and outputs are bound by name.
// expected-error@below {{output 'x' is called as another input or output; each needs a name of its own, and an Identity gives a value a second one}}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "x"}) {
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
