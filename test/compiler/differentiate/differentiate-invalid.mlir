// RUN: wse-opt %s --split-input-file --verify-diagnostics --onnx-differentiate="loss=result inputs=x"
// RUN: not wse-opt --onnx-differentiate="loss=hinge" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not wse-opt --onnx-differentiate="loss=mean-square reduction=most" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=REDUCTION
// RUN: not wse-opt --onnx-differentiate="loss=cross-entropy label-smoothing=2" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=SMOOTHING
// RUN: not wse-opt --onnx-differentiate="loss=mean-square of=z" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not wse-opt --onnx-differentiate="loss=mean-square inputs=z" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not wse-opt --onnx-differentiate="loss=mean-square of=ids" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not wse-opt --onnx-differentiate="loss=mean-square" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not wse-opt --onnx-differentiate="loss=cross-entropy of=one inputs=x" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not wse-opt --onnx-differentiate="loss=cross-entropy loss-scale=x" %S/Inputs/relu.mlir 2>&1 | FileCheck %s --check-prefix=SCALE
// LOSS: error: loss is 'hinge', expected result, cross-entropy, mean-square
// REDUCTION: error: reduction is 'most', expected mean, sum
// SMOOTHING: error: label-smoothing is 2.000000e+00, expected 0 to 1
// SCALE: error: the model has an input 'x', as that of the loss scale is called; rename it
// RESULT: error: the model has no result 'z' to take a loss of; it has 'y', 'ids', 'one'
// INPUT: error: there is no input 'z' of f32 to get a gradient of
// INTEGERS: error: a loss is of f32, and result 'ids' is 'tensor<8xi64>'; name another one of the model
// NOTHING: error: nothing trains: no parameter is left to change
// CLASSES: error: cross-entropy is of classes along the last axis, and the result is 'tensor<f32>'

// expected-error @below {{a loss is one number, and the result is 'tensor<8xf32>'; name another one, or a loss of it: cross-entropy or mean-square}}
func.func @main(%x: tensor<8xf32> {onnx.name = "x"}) -> (tensor<8xf32> {onnx.name = "y"}) {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<1xf32> {onnx.name = "y"}) {
  // expected-error @unknown {{LSTM: has no gradient: node 'cell'; what trains may not lie before it: --freeze leaves parameters as they are}}
  %y = onnx.node "LSTM"(%x) {node = "cell"} : (tensor<2xf32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

func.func @main(%x: tensor<7xf32> {onnx.name = "x"}, %z: tensor<5x7xf32> {onnx.name = "z"}, %c: tensor<5xi64> {onnx.name = "c"}) -> (tensor<f32> {onnx.name = "y"}) {
  // expected-error @unknown {{cross entropy: has no gradient of the weights of classes: node 'ce'; --freeze leaves parameters as they are}}
  %y = onnx.cross_entropy mean %z, %c weights %x {label_smoothing = 0.0 : f32, node = "ce"} : (tensor<5x7xf32>, tensor<5xi64>, tensor<7xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @main(%x: tensor<1x6x4xf32> {onnx.name = "x"}, %z: tensor<1x6x8xf32> {onnx.name = "z"}) -> (tensor<f32> {onnx.name = "y"}) {
  // expected-error @unknown {{rotary: has no gradient of angles: node 'turn'; --freeze leaves parameters as they are}}
  %t = onnx.rotary %z, %x, %x {num_heads = 2 : i64, rotary_dim = 4 : i64, node = "turn"} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
  %y = onnx.reduce sum %t {axes = array<i64: 0, 1, 2>, keepdims = false} : tensor<1x6x8xf32> -> tensor<f32>
  return %y : tensor<f32>
}
