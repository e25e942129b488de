// RUN: wse-opt %s --onnx-hold-states --wse-select-kernels=mesh=4x2 --verify-diagnostics

// expected-error@unknown {{add: reads a state of 3 batch elements, each of which takes a row of PEs, of which there are 2: node 'sum'; take a mesh of more rows}}
func.func @main(%x: tensor<3x4x8xf32> {onnx.name = "x"}, %h: tensor<3x4x8xf32> {onnx.state = "h"}) -> (tensor<3x4x8xf32> {onnx.state = "h"}) {
  %sum = onnx.binary add %x, %h {node = "sum"} : (tensor<3x4x8xf32>, tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
  return %sum : tensor<3x4x8xf32>
}
