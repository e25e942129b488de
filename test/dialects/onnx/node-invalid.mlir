// RUN: wse-opt %s --verify-diagnostics

func.func @node_c1(%x: tensor<4xf32>) {
  // expected-error @below {{has no operator name}}
  %y = onnx.node ""(%x) : (tensor<4xf32>) -> !onnx.unknown
  return
}
