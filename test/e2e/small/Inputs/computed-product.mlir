// A product of computed tensors behind one with a matrix: only the matrix can
// stay on the wafer.
func.func @main(%x: tensor<1x3x8xf32> {onnx.name = "x"}) -> (!onnx.unknown {onnx.name = "y"}) {
  %w = onnx.constant dense<0.25> : tensor<8x8xf32> {node = "w"}
  %h = onnx.node "MatMul"(%x, %w) {node = "h"} : (tensor<1x3x8xf32>, tensor<8x8xf32>) -> !onnx.unknown
  %t = onnx.node "Transpose"(%h) with {perm = [0, 2, 1]} {node = "t"} : (!onnx.unknown) -> !onnx.unknown
  %s = onnx.node "MatMul"(%h, %t) {node = "s"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %p = onnx.node "Tanh"(%s) {node = "p"} : (!onnx.unknown) -> !onnx.unknown
  %y = onnx.node "MatMul"(%p, %h) {node = "y"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}
