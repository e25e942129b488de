// RUN: wse-opt %s --split-input-file --wse-select-kernels='mesh=4x2 reorder-states' --verify-diagnostics

// expected-error@below {{--reorder-states: the model has no states; give --states or --kv-capacity}}
func.func @main(%x: tensor<1x4xf32> {onnx.name = "x"}) -> (tensor<1x4xf32> {onnx.name = "y"}) {
  %y = onnx.unary tanh %x {node = "tanh"} : tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

// expected-error@below {{--reorder-states: state 'h' has one sequence, which can go on from no other; take a batch of as many as there are beams}}
func.func @main(%x: tensor<1x1x4xf32> {onnx.name = "x"}, %h: tensor<1x1x4xf32> {onnx.state = "h", onnx.whole}, %at: tensor<1xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 7>})
    -> (tensor<1x1x4xf32> {onnx.state = "h"}) {
  %sum = onnx.binary add %x, %h {node = "sum"} : (tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  return %sum : tensor<1x1x4xf32>
}

// -----

// expected-error@below {{--reorder-states: state 'h' has 3 sequences, each of which takes a row of PEs, of which there are 2; take a mesh of more rows}}
func.func @main(%x: tensor<3x1x4xf32> {onnx.name = "x"}, %h: tensor<3x1x4xf32> {onnx.state = "h", onnx.whole}, %at: tensor<1xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 7>})
    -> (tensor<3x1x4xf32> {onnx.state = "h"}) {
  %sum = onnx.binary add %x, %h {node = "sum"} : (tensor<3x1x4xf32>, tensor<3x1x4xf32>) -> tensor<3x1x4xf32>
  return %sum : tensor<3x1x4xf32>
}

// -----

// expected-error@below {{--reorder-states: adds an entry 'reorder'; give what is called so another name}}
func.func @reorder(%x: tensor<2x1x4xf32> {onnx.name = "x"}, %h: tensor<2x1x4xf32> {onnx.state = "h", onnx.whole}, %at: tensor<1xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 7>})
    -> (tensor<2x1x4xf32> {onnx.state = "h"}) {
  %sum = onnx.binary add %x, %h {node = "sum"} : (tensor<2x1x4xf32>, tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  return %sum : tensor<2x1x4xf32>
}
