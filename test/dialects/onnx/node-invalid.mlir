// RUN: wse-opt %s --split-input-file --verify-diagnostics

// Each rule of onnx.node, broken alone.

func.func @node_c1(%x: tensor<4xf32>) {
  // expected-error @below {{has no operator name}}
  %y = onnx.node ""(%x) : (tensor<4xf32>) -> !onnx.unknown
  return
}

// -----

func.func @node_c2(%x: tensor<4xf32>) {
  // expected-error @below {{has no results}}
  onnx.node "Relu"(%x) : (tensor<4xf32>) -> ()
  return
}
