func.func @main(%x: tensor<8xf32> {onnx.name = "x"}, %ids: tensor<8xi64> {onnx.name = "i"}) -> (tensor<8xf32> {onnx.name = "y"}, tensor<8xi64> {onnx.name = "ids"}, tensor<f32> {onnx.name = "one"}) {
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %y = onnx.binary max %x, %zero : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %one = onnx.reduce sum %y {axes = array<i64: 0>, keepdims = false} : tensor<8xf32> -> tensor<f32>
  return %y, %ids, %one : tensor<8xf32>, tensor<8xi64>, tensor<f32>
}
