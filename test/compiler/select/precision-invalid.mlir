// RUN: not wse-opt %s --wse-select-kernels="mesh=2x2 precision=f8" 2>&1 | FileCheck %s
// CHECK: error: precision 'f8' is none of f32, f16, bf16 and cb16
// RUN: not wse-opt %s --wse-select-kernels="mesh=2x2 kv-precision=f32" 2>&1 | FileCheck %s --check-prefix=KEPT
// KEPT: error: kv-precision 'f32' is none of f16, bf16, cb16 and int8
// RUN: not wse-opt %s --wse-select-kernels="mesh=2x2 kv-precision=f16" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --kv-precision=f16: no keys and values stay on the wafer, and states of recurrences are as activations; give --kv-capacity or --states, or leave it out
// RUN: not wse-opt %s --wse-select-kernels="mesh=2x2 precision-opt-level=1" 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: precision-opt-level=1: says what of 16 bits is summed in as many, and everything is f32; give --precision=f16, bf16 or cb16
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.name = "y"}) {
  %y = onnx.unary tanh %x {node = "tanh"} : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
