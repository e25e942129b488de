// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=32x4 within=stages=64,keep-weights})' | FileCheck %s --implicit-check-not='as stage'
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=32x4 within=stages=64})' | FileCheck %s --check-prefix=STREAM

// Weights that no stages hold beside what kernels make: these are not cut into the stages that they would have if weights
// came anew, for which room would be looked for in vain, plan after plan. One region is left; what it has no room for streams.

// CHECK: region @r shape(32x4)
// CHECK: matmul {{.*}} weight <@a.resident
// CHECK: matmul {{.*}} weight <@b.resident
// STREAM: region @r1 {{.*}} as stage from 1
func.func @main(%x: tensor<1x256x768xf32> {onnx.name = "x"}) -> (tensor<1x256x768xf32> {onnx.name = "y"}) {
  %a = onnx.constant external<"m.data", 0, 2359296> : tensor<768x768xf32> {node = "a"}
  %b = onnx.constant external<"m.data", 2359296, 2359296> : tensor<768x768xf32> {node = "b"}
  %0 = onnx.matmul %x, %a {node = "first"} : (tensor<1x256x768xf32>, tensor<768x768xf32>) -> tensor<1x256x768xf32>
  %1 = onnx.matmul %0, %b {node = "second"} : (tensor<1x256x768xf32>, tensor<768x768xf32>) -> tensor<1x256x768xf32>
  return %1 : tensor<1x256x768xf32>
}
