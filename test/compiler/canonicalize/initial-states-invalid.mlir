// RUN: wse-opt %s --split-input-file --onnx-hold-states=initial --verify-diagnostics

// expected-error@unknown {{--initial-states: no state is written as a whole; leave it out, or give --states}}
func.func @no_state(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  return %x : tensor<1x4xf32>
}

// -----

// expected-error@unknown {{--initial-states adds an entry 'begin'; give the one of --entry another name}}
func.func @begin(%x: tensor<1x4xf32>, %h: tensor<1x4xf32> {onnx.state = "h"}) -> (tensor<1x4xf32> {onnx.state = "h"}) {
  %sum = onnx.binary add %x, %h : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  return %sum : tensor<1x4xf32>
}

// -----

// expected-error@unknown {{--initial-states: takes no keys and values, of which tokens before the first call are: state 'k'; make calls of these, and keep what they leave (--save-state, Session.state)}}
func.func @keys(%x: tensor<1x1x4xf32>, %h: tensor<1x4xf32> {onnx.state = "h"}, %k: tensor<1x8x4xf32> {onnx.state = "k"}, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 7>})
    -> (tensor<1x4xf32> {onnx.state = "h"}, tensor<1x8x4xf32> {onnx.state = "k"}) {
  %all = onnx.update %k, %x at %at : (tensor<1x8x4xf32>, tensor<1x1x4xf32>, tensor<1xi64>) -> tensor<1x8x4xf32>
  %sum = onnx.binary add %h, %h : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  return %sum, %all : tensor<1x4xf32>, tensor<1x8x4xf32>
}
