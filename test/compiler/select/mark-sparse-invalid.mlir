// RUN: not wse-opt %s --wse-mark-sparse='sparsity=1.5' 2>&1 | FileCheck %s --check-prefix=SHARE
// RUN: not wse-opt %s --wse-mark-sparse='sparsity=0.5 method=magnitude' 2>&1 | FileCheck %s --check-prefix=METHOD
// RUN: not wse-opt %s --wse-mark-sparse='sparsity=0.5 filter=fc2,w*' 2>&1 | FileCheck %s --check-prefix=FILTER
// RUN: not wse-opt %s --wse-mark-sparse='sparsity=0.5 filter=[w' 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not wse-opt %s --wse-mark-sparse='sparsity=0.5' 2>&1 | FileCheck %s --check-prefix=COMMON
// RUN: not wse-opt %s --wse-mark-sparse='sparsity=0.95 filter=w' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not wse-opt %s --pass-pipeline='builtin.module(wse-mark-sparse{sparsity=0.5 filter=big},wsec-select{mesh=1x1})' 2>&1 | FileCheck %s --check-prefix=PIECES

// SHARE: error: sparsity 1.5{{0*}}{{.*}} is not between 0 and 1: it is the share of weights that count as zero
// METHOD: error: sparsity method 'magnitude' is neither random nor topk
// FILTER: error: sparsity filter 'fc2' names no weight of a product; there are 'w' of 'first', 'big'
// GLOB: error: sparsity filter '[w': {{.*}}invalid glob
// COMMON: error: no weight is called as those of attention and feed-forward blocks are, name some with a sparsity filter; there are 'w' of 'first', 'big'
// NONE: error: sparsity 9.500000e-01 keeps none of 8 weights of 'w'; less than 9.375000e-01 keeps some
// PIECES: its result leaves in {{[0-9]+}} pieces, of which the weights are streamed dense: node 'big'; let no sparsity filter name it, or use a larger mesh
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "y"}, tensor<6x9000xf32> {onnx.name = "z"}) {
  %w = onnx.constant external<"m.data", 0, 256> : tensor<8x8xf32> {node = "w"}
  %big = onnx.constant external<"m.data", 256, 288000> : tensor<8x9000xf32> {node = "big"}
  %y = onnx.matmul %x, %w {node = "first"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %z = onnx.matmul %x, %big {node = "big"} : (tensor<6x8xf32>, tensor<8x9000xf32>) -> tensor<6x9000xf32>
  return %y, %z : tensor<6x8xf32>, tensor<6x9000xf32>
}
