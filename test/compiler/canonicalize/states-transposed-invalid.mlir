// RUN: wse-opt %s --wsec-infer --wsec-canonicalize --verify-diagnostics

// Features and tokens in the wrong order, as many of both.
module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{what is returned as the present of a state is not what was written to it: state 'k'; export the cache as TensorScatter(past, new, write_indices), whose result is the present and what Attention reads, or leave it out of --states}}
func.func @transposed(%x: tensor<1x1x8xf32>, %at: tensor<1xi64>, %k: tensor<1x8x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} : (tensor<1x8x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %z = onnx.node "Transpose"(%y) with {perm = [0, 2, 1]} : (!onnx.unknown) -> !onnx.unknown
  return %z : !onnx.unknown
}
}
