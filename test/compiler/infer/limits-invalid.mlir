// RUN: not wse-opt %s --split-input-file --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s

// Numbers that nodes state and that nothing can be computed with: refused
// before they are divided by, added up, or made a tensor of.

// CHECK-DAG: DepthToSpace: blocks of 4294967296 do not fit 1x4x2x2: node 'blocks'
func.func @blocks(%x: tensor<1x4x2x2xf32>) -> !onnx.unknown {
  %y = onnx.node "DepthToSpace"(%x) with {blocksize = 4294967296 : i64} {node = "blocks"} : (tensor<1x4x2x2xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: Conv: convolves 1x1x4x4 with 1x1x0x0, expected {{.*}}: node 'empty filter'
func.func @filter(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x0x0xf32>) -> !onnx.unknown {
  %y = onnx.node "Conv"(%x, %w) {node = "empty filter"} : (tensor<1x1x4x4xf32>, tensor<1x1x0x0xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: MaxPool: strides has 4611686018427387904, expected 1 to 16777216: node 'strides'
func.func @strides(%x: tensor<1x1x4x4xf32>) -> !onnx.unknown {
  %y = onnx.node "MaxPool"(%x) with {kernel_shape = array<i64: 2, 2>, strides = array<i64: 4611686018427387904, 1>} {node = "strides"} : (tensor<1x1x4x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: AveragePool: kernel_shape has 0, expected 1 to 16777216: node 'no window'
func.func @window(%x: tensor<1x1x4x4xf32>) -> !onnx.unknown {
  %y = onnx.node "AveragePool"(%x) with {kernel_shape = array<i64: 0, 2>} {node = "no window"} : (tensor<1x1x4x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: MaxPool: its windows have more than 4096 elements, each of which is a slice: node 'taps'; use windows that neither overlap nor leave gaps, or a product
func.func @taps(%x: tensor<1x1x60001xf32>) -> !onnx.unknown {
  %y = onnx.node "MaxPool"(%x) with {kernel_shape = array<i64: 60000>} {node = "taps"} : (tensor<1x1x60001xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: CausalConvWithState: its weights have no taps: node 'no taps'
module attributes {onnx.opset = 28 : i64} {
  func.func @causal(%x: tensor<1x4x8xf32>, %w: tensor<4x1x0xf32>) -> (!onnx.unknown, !onnx.unknown) {
    %y:2 = onnx.node "CausalConvWithState"(%x, %w) {node = "no taps"} : (tensor<1x4x8xf32>, tensor<4x1x0xf32>) -> (!onnx.unknown, !onnx.unknown)
    return %y#0, %y#1 : !onnx.unknown, !onnx.unknown
  }
}

// -----

// CHECK-DAG: MeanVarianceNormalization: an axis comes twice: node 'twice'
func.func @twice(%x: tensor<2x3xf32>) -> !onnx.unknown {
  %y = onnx.node "MeanVarianceNormalization"(%x) with {axes = array<i64: 0, -2>} {node = "twice"} : (tensor<2x3xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: MeanVarianceNormalization: axis 2 is outside rank 2: node 'outside'
func.func @outside(%x: tensor<2x3xf32>) -> !onnx.unknown {
  %y = onnx.node "MeanVarianceNormalization"(%x) with {axes = array<i64: 2>} {node = "outside"} : (tensor<2x3xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: MatMulNBits of com.microsoft: 17x1 weights of 4 bits in blocks of 17, expected 2, 4 or 8 bits in blocks of 16, 32, ..., 1048576: node 'bits'
func.func @bits(%x: tensor<1x17xf32>, %w: tensor<1x1x8xui8>, %s: tensor<1xf32>) -> !onnx.unknown {
  %y = onnx.node "MatMulNBits" of "com.microsoft"(%x, %w, %s) with {K = 17 : i64, N = 1 : i64, bits = 4 : i64, block_size = 17 : i64} {node = "bits"} : (tensor<1x17xf32>, tensor<1x1x8xui8>, tensor<1xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: MatMulInteger: sums of 0 products, expected 1 to 33025: node 'no terms'
func.func @noTerms(%a: tensor<2x0xui8>, %b: tensor<0x2xui8>) -> !onnx.unknown {
  %y = onnx.node "MatMulInteger"(%a, %b) {node = "no terms"} : (tensor<2x0xui8>, tensor<0x2xui8>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: MatMulInteger: sums of 30000000 products, expected 1 to 33025: node 'terms'
func.func @terms(%a: tensor<2x30000000xui8>, %b: tensor<30000000x2xui8>) -> !onnx.unknown {
  %y = onnx.node "MatMulInteger"(%a, %b) {node = "terms"} : (tensor<2x30000000xui8>, tensor<30000000x2xui8>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: Einsum: its label '...' has 2 and 3 elements: node 'dots'
func.func @dots(%a: tensor<2x4xf32>, %b: tensor<3x4xf32>) -> !onnx.unknown {
  %y = onnx.node "Einsum"(%a, %b) with {equation = "...i,...i->...i"} {node = "dots"} : (tensor<2x4xf32>, tensor<3x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: Hardmax: counts 16777217 places along an axis in f32, which tells 16777216 apart: node 'places'
func.func @places(%x: tensor<2x16777217xf32>) -> !onnx.unknown {
  %y = onnx.node "Hardmax"(%x) {node = "places"} : (tensor<2x16777217xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: CumSum: a tensor of shape 1099511627776 has more than 2147483647 elements along an axis: node 'elements'
func.func @elements(%x: tensor<1099511627776xf32>) -> !onnx.unknown {
  %axis = onnx.constant dense<0> : tensor<i64>
  %y = onnx.node "CumSum"(%x, %axis) {node = "elements"} : (tensor<1099511627776xf32>, tensor<i64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: EyeLike: a constant of shape 1099511627776x4 has more than 67108864 bytes: node 'eye'
func.func @eye(%x: tensor<1099511627776x4xf32>) -> !onnx.unknown {
  %y = onnx.node "EyeLike"(%x) {node = "eye"} : (tensor<1099511627776x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: Gather: picks from an axis of no elements: node 'nothing'
func.func @nothing(%x: tensor<0x4xf32>, %i: tensor<2xi64>) -> !onnx.unknown {
  %y = onnx.node "Gather"(%x, %i) {node = "nothing"} : (tensor<0x4xf32>, tensor<2xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// CHECK-DAG: DequantizeLinear: blocks of -4: node 'negative'
func.func @negative(%x: tensor<8x4xi8>, %s: tensor<2x4xf32>) -> !onnx.unknown {
  %y = onnx.node "DequantizeLinear"(%x, %s) with {axis = 0 : i64, block_size = -4 : i64} {node = "negative"} : (tensor<8x4xi8>, tensor<2x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
