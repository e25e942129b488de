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
