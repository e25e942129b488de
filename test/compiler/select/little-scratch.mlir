// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=16x8 region=16x8})' | FileCheck %s
// RUN: wse-opt %s --wse-select-kernels="mesh=16x8 region=16x8 within=little-scratch" | FileCheck %s --check-prefix=LITTLE
// RUN: echo '{"base": "wse2", "colors": 4, "reserved_colors": 1}' > %t.json
// RUN: wse-opt %s --wse-select-kernels="mesh=16x8 region=16x8 machine=%t.json within=little-scratch,few-colors" | FileCheck %s --check-prefix=LITTLE

// Where a program did not fit, stores have no code of their own, however few
// colors there are.
// CHECK: store {{.*}} to "double" by_columns on @r
// LITTLE: store {{.*}} to "double" on @r
func.func @main(%ids: tensor<64xi64> {onnx.name = "ids"}) -> (tensor<64x8xf32> {onnx.name = "y"}) {
  %table = onnx.constant external<"m.data", 0, 320> : tensor<10x8xf32>
  %next = onnx.binary add %ids, %ids {node = "double"} : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  %y = onnx.gather %table, %next {node = "lookup"} : (tensor<10x8xf32>, tensor<64xi64>) -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}
