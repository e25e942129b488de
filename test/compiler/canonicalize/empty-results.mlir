// RUN: wse-opt %s --wsec-infer --wsec-canonicalize | FileCheck %s

module attributes {onnx.opset = 21 : i64} {

// Results without elements stay with the host, of any type.
// CHECK-LABEL: func.func @empty_results
// CHECK: %[[HALF:.*]] = onnx.constant dense<> : tensor<2x0xf16>
// CHECK: return %{{.*}}, %[[HALF]]
func.func @empty_results(%x: tensor<2x3xf16>) -> (!onnx.unknown, !onnx.unknown) {
  %zero = onnx.constant dense<0> : tensor<1xi64>
  %axis = onnx.constant dense<1> : tensor<1xi64>
  %none = onnx.node "Slice"(%x, %zero, %zero, %axis) : (tensor<2x3xf16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %all = onnx.node "Concat"(%none, %x) with {axis = 1 : i64} : (!onnx.unknown, tensor<2x3xf16>) -> !onnx.unknown
  return %all, %none : !onnx.unknown, !onnx.unknown
}

}
