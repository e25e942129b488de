// RUN: wse-opt %s --pass-pipeline='builtin.module(wse-select-kernels{mesh=8x8 region=8x8})' | FileCheck %s
// RUN: wse-opt %s --pass-pipeline='builtin.module(wse-select-kernels{mesh=8x8 region=8x8 within=code=20000})' | FileCheck %s
// RUN: wse-opt %s --pass-pipeline='builtin.module(wse-select-kernels{mesh=8x8 region=8x8 within=code=30000})' | FileCheck %s --check-prefix=MUCH
// RUN: wse-opt %s --pass-pipeline='builtin.module(wse-select-kernels{mesh=1x8 region=1x8 within=code=45000})' | FileCheck %s --check-prefix=COLUMN

// The fastest variant multicasts its activations into 6 kB of scratch, beside
// 24 kB of result: where it is known that there is so much code, they stay.

// CHECK: matmul {{.*}} variant(broadcast)
// MUCH: matmul {{.*}} variant(reduce)

// In one column weights cannot stay: no variant, however little it takes.
// COLUMN: matmul {{.*}} variant({{reduce|broadcast}})
func.func @main(%x: tensor<48x256xf32> {onnx.name = "x"}) -> (tensor<48x1024xf32> {onnx.name = "y"}) {
  %w = onnx.constant external<"m.data", 0, 1048576> : tensor<256x1024xf32> {node = "w"}
  %y = onnx.matmul %x, %w {node = "up"} : (tensor<48x256xf32>, tensor<256x1024xf32>) -> tensor<48x1024xf32>
  return %y : tensor<48x1024xf32>
}
