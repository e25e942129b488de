// RUN: wse-opt %s --split-input-file --onnx-hold-states --verify-diagnostics

// expected-error@unknown {{a state that each call writes as a whole is of floats: state 'count'; leave it out of --states}}
func.func @integers(%x: tensor<1x4xi64>, %n: tensor<1x4xi64> {onnx.state = "count"}) -> (tensor<1x4xi64> {onnx.state = "count"}) {
  %sum = onnx.binary add %x, %n : (tensor<1x4xi64>, tensor<1x4xi64>) -> tensor<1x4xi64>
  return %sum : tensor<1x4xi64>
}

// -----

// expected-error@unknown {{a state that each call writes as a whole has its sequences in front, of which there are 2: state 'h'; export it so, or take a batch of 1}}
func.func @batch_behind(%x: tensor<2x4xf32>, %h: tensor<4x2xf32> {onnx.state = "h"}) -> (tensor<4x2xf32> {onnx.state = "h"}) {
  %t = onnx.transpose %x {perm = array<i64: 1, 0>} : tensor<2x4xf32> -> tensor<4x2xf32>
  %sum = onnx.binary add %t, %h : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %sum : tensor<4x2xf32>
}

// -----

// expected-error@unknown {{a call leaves another shape, 1x8x3, than it finds, 1x8x2: state 'c'; export what does not grow as it was taken, or leave --kv-capacity out}}
func.func @grows(%x: tensor<1x8x1xf32>, %c: tensor<1x8x2xf32> {onnx.state = "c", onnx.whole}) -> (tensor<1x8x3xf32> {onnx.state = "c"}) {
  %all = onnx.concat %c, %x {axis = 2 : i64} : (tensor<1x8x2xf32>, tensor<1x8x1xf32>) -> tensor<1x8x3xf32>
  return %all : tensor<1x8x3xf32>
}
