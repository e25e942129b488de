// What computes in f32 though the model says float64 is counted in the report:
// what the model itself widened, and what the flag allows.
// RUN: split-file %s %t
// RUN: wsec %t/widened.mlir --mesh=4x4 -o %t/p.wafer --report=%t/p.json | FileCheck %s --check-prefix=WIDENED
// WIDENED: note           2 nodes of float64 compute in f32, whose operands the model widened from less
// RUN: %python %S/../../check_report.py %t/p.json
// RUN: wsec %t/allowed.mlir --mesh=4x4 -o %t/p.wafer --allow-f64-as-f32 | FileCheck %s --check-prefix=ALLOWED
// ALLOWED: note           1 nodes of float64 compute in f32, as --allow-f64-as-f32 says
// RUN: wsec %t/single.mlir --mesh=4x4 -o %t/p.wafer --allow-f64-as-f32 | FileCheck %s --check-prefix=SINGLE
// SINGLE-NOT: float64

//--- widened.mlir
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (!onnx.unknown {onnx.name = "y"}) {
  %n = onnx.constant dense<8.0> : tensor<f64>
  %w = onnx.node "Cast"(%x) with {to = 11 : i64} : (tensor<4x8xf32>) -> !onnx.unknown
  %s = onnx.node "ReduceSum"(%w) : (!onnx.unknown) -> !onnx.unknown
  %m = onnx.node "Div"(%s, %n) : (!onnx.unknown, tensor<f64>) -> !onnx.unknown
  %y = onnx.node "Cast"(%m) with {to = 1 : i64} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}
//--- allowed.mlir
func.func @main(%x: tensor<4x8xf64> {onnx.name = "x"}) -> (!onnx.unknown {onnx.name = "y"}) {
  %y = onnx.node "Tanh"(%x) : (tensor<4x8xf64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
//--- single.mlir
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (!onnx.unknown {onnx.name = "y"}) {
  %y = onnx.node "Tanh"(%x) : (tensor<4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
