// RUN: split-file %s %t
// RUN: wse-opt %t/products.mlir --onnx-infer-and-fold --onnx-legalize-nodes | FileCheck %s
// RUN: not wse-opt %t/invalid.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=INVALID

//--- products.mlir
module attributes {onnx.opset = 24 : i64} {

// 256 terms at a time are exact in f32; their sums are integers.
// CHECK-LABEL: func.func @parts
// CHECK-COUNT-2: onnx.batch_matmul {{.*}}256{{.*}}
// CHECK: onnx.batch_matmul {{.*}} (tensor<2x88xf32>, tensor<88x3xf32>)
// CHECK: onnx.binary add {{.*}} tensor<2x3xi32>
func.func @parts(%a: tensor<2x600xui8>, %b: tensor<600x3xi8>) -> !onnx.unknown {
  %y = onnx.node "MatMulInteger"(%a, %b) : (tensor<2x600xui8>, tensor<600x3xi8>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Those of weights, less their zero points, stay integers where they are.
// CHECK-LABEL: func.func @weights
// CHECK: %[[W:.*]] = onnx.constant #onnx.quantized<dense<[{{\[}}1, 2, 3], [4, 5, 6{{.*}} : tensor<2x3xui8> scales dense<1.000000e+00> : tensor<1x3xf32> zeros dense<{{.*}}7, 8, 9{{.*}}> : tensor<1x3xui8> block 1>
// CHECK: onnx.matmul %{{.*}}, %[[W]]
func.func @weights(%a: tensor<4x2xui8>) -> !onnx.unknown {
  %b = onnx.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xui8>
  %z = onnx.constant dense<[7, 8, 9]> : tensor<3xui8>
  %none = onnx.none
  %y = onnx.node "MatMulInteger"(%a, %b, %none, %z) : (tensor<4x2xui8>, tensor<2x3xui8>, none, tensor<3xui8>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A cache is a table of its past and of what is written.
// CHECK-LABEL: func.func @cache
// CHECK: onnx.concat {{.*}} -> tensor<10x8xf32>
// CHECK: onnx.gather {{.*}} -> tensor<2x1x4x8xf32>
func.func @cache(%p: tensor<2x4x8xf32>, %u: tensor<2x1x8xf32>, %w: tensor<2xi64>) -> !onnx.unknown {
  %y = onnx.node "TensorScatter"(%p, %u, %w) : (tensor<2x4x8xf32>, tensor<2x1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// INVALID: MatMulInteger: operands are not matrices: node 'vector'
// INVALID: MatMulInteger: cannot multiply 2x6 by 2x6: node 'extents'
// INVALID: MatMulInteger: input 2 of shape 6, expected 1 or 2 elements: node 'rows'
// INVALID: QLinearMatMul: its result has several scales or zero points: node 'scales'
// INVALID: TensorScatter: mode is 'round', expected one of linear, circular: node 'mode'
// INVALID: TensorScatter: an update of shape 2x1x7, expected 2x1x8: node 'update'
// INVALID: TensorScatter: writes along its batch: node 'batch'
//--- invalid.mlir
module attributes {onnx.opset = 24 : i64} {
func.func @main(%v: tensor<6xui8>, %x: tensor<2x6xui8>, %y: tensor<6x2xui8>, %s: tensor<f32>, %six: tensor<6xf32>, %z: tensor<ui8>, %p: tensor<2x4x8xf32>, %u: tensor<2x1x8xf32>, %n: tensor<2x1x7xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %a = onnx.node "MatMulInteger"(%v, %y) {node = "vector"} : (tensor<6xui8>, tensor<6x2xui8>) -> !onnx.unknown
  %b = onnx.node "MatMulInteger"(%x, %x) {node = "extents"} : (tensor<2x6xui8>, tensor<2x6xui8>) -> !onnx.unknown
  %c = onnx.node "MatMulInteger"(%x, %y, %v) {node = "rows"} : (tensor<2x6xui8>, tensor<6x2xui8>, tensor<6xui8>) -> !onnx.unknown
  %d = onnx.node "QLinearMatMul"(%x, %s, %z, %y, %s, %z, %six, %z) {node = "scales"} : (tensor<2x6xui8>, tensor<f32>, tensor<ui8>, tensor<6x2xui8>, tensor<f32>, tensor<ui8>, tensor<6xf32>, tensor<ui8>) -> !onnx.unknown
  %e = onnx.node "TensorScatter"(%p, %u) with {mode = "round"} {node = "mode"} : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> !onnx.unknown
  %f = onnx.node "TensorScatter"(%p, %n) {node = "update"} : (tensor<2x4x8xf32>, tensor<2x1x7xf32>) -> !onnx.unknown
  %g = onnx.node "TensorScatter"(%p, %u) with {axis = 0 : i64} {node = "batch"} : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> !onnx.unknown
  return %a, %b, %c, %d, %e, %f, %g : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
