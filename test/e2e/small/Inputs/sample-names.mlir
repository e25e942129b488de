// What is called "x#1" here is what sample 1 of "x" would be called.
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}, %other: tensor<2x4xf32> {onnx.name = "x#1"}) -> (tensor<2x4xf32> {onnx.name = "y"}) {
  %y = onnx.binary add %x, %other {node = "plus"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
