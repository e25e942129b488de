// RUN: split-file %s %t
// RUN: wse-opt %t/named.mlir --wse-mark-sparse='sparsity=0.75 filter=fc1*' | FileCheck %t/named.mlir --check-prefix=MARK
// RUN: wse-opt %t/named.mlir --pass-pipeline='builtin.module(wse-mark-sparse{sparsity=0.75 filter=fc1* seed=5},wsec-select{mesh=4x3 region=4x3})' | FileCheck %t/named.mlir --check-prefix=SELECT
// RUN: wse-opt %t/named.mlir --wse-mark-sparse='sparsity=0.5 method=topk filter=w2,*up*' | FileCheck %t/named.mlir --check-prefix=BOTH
// RUN: wse-opt %t/named.mlir --wse-mark-sparse | FileCheck %t/named.mlir --check-prefix=DENSE
// RUN: wse-opt %t/common.mlir --wse-mark-sparse='sparsity=0.9' | FileCheck %t/common.mlir
// RUN: wse-opt %t/trains.mlir --wse-mark-sparse='sparsity=0.75 method=topk filter=fc1*' | FileCheck %t/trains.mlir
// RUN: wse-opt %t/frozen.mlir --wse-mark-sparse='sparsity=0.75 filter=fc1' | FileCheck %t/frozen.mlir
// RUN: not wse-opt %t/trains.mlir --wse-mark-sparse='sparsity=0.75 filter=fc1' 2>&1 | FileCheck %t/trains.mlir --check-prefix=RANDOM
// RUN: wse-opt %t/trains.mlir --pass-pipeline='builtin.module(wse-mark-sparse{sparsity=0.75 method=topk filter=fc1},wsec-select{mesh=4x3 region=4x3})' | FileCheck %t/trains.mlir --check-prefix=KERNELS

//--- named.mlir

// A quarter of whole groups of 64 result features is kept, and of the rest.

// MARK: onnx.matmul %arg0, %{{.*}} {node = "fc1/up", wse.sparsity = #wse.sparsity<keep 16 of 64 rest 1 random seed 0>}
// MARK: onnx.matmul %{{.*}} {node = "fc2"}

// SELECT: sparse_matmul %{{.*}} weight <@w1 {{.*}}> sparsity <keep 16 of 64 rest 1 random seed 5> on @r {nodes = ["fc1/up"]}
// SELECT: matmul %{{.*}} weight <@w2 {{.*}} variant(

// BOTH: {node = "fc1/up", wse.sparsity = #wse.sparsity<keep 32 of 64 rest 2 topk seed 0>}
// BOTH: {node = "fc2", wse.sparsity = #wse.sparsity<keep 32 of 64 rest 4 topk seed 0>}

// DENSE-NOT: sparsity
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "y"}) {
  %w1 = onnx.constant external<"m.data", 0, 2176> : tensor<8x68xf32> {node = "w1"}
  %w2 = onnx.constant external<"m.data", 2176, 2176> : tensor<68x8xf32> {node = "w2"}
  %h = onnx.matmul %x, %w1 {node = "fc1/up"} : (tensor<6x8xf32>, tensor<8x68xf32>) -> tensor<6x68xf32>
  %y = onnx.matmul %h, %w2 {node = "fc2"} : (tensor<6x68xf32>, tensor<68x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

//--- common.mlir

// Without a filter names of attention and feed-forward blocks are; a head is not.

// CHECK: {node = "q", wse.sparsity = #wse.sparsity<keep 6 of 64 rest 1 random seed 0>}
// CHECK: {node = "lm_head"}
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "y"}) {
  %w1 = onnx.constant external<"m.data", 0, 256> : tensor<8x8xf32> {node = "layers.0.q_proj.weight"}
  %w2 = onnx.constant external<"m.data", 256, 256> : tensor<8x8xf32> {node = "lm_head.weight"}
  %h = onnx.matmul %x, %w1 {node = "q"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %y = onnx.matmul %h, %w2 {node = "lm_head"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

//--- trains.mlir

// Of weights that train the largest are kept; the gradient of the input sees the
// same words, whatever its node is called. Computed again, a product is itself.
// Of weights beside these that do not train all are kept.

// CHECK: {node = "fc1", wse.sparsity = #wse.sparsity<keep 16 of 64 rest 1 topk seed 0>}
// CHECK: {node = "other"}
// CHECK: {node = "fc1_frozen"}
// CHECK: {node = "fc1/recompute", wse.sparsity = #wse.sparsity<keep 16 of 64 rest 1 topk seed 0>}
// CHECK: {node = "dx", wse.sparsity = #wse.sparsity<keep 16 of 64 rest 1 topk seed 0>, wse.transposed}
// KERNELS: sparse_matmul %{{.*}} weight <@w : {{.*}}> sparsity <keep 16 of 64 rest 1 topk seed 0> on
// KERNELS: sparse_matmul %{{.*}} weight <@w : tensor<68x8xf32> view 0 strides [1, 68]> sparsity <keep 16 of 64 rest 1 topk seed 0> transposed on
// RANDOM: sparsity filter 'fc1' names no weight of a product
onnx.parameter @w = external<"m.data", 0, 2176> : tensor<8x68xf32> trainable
onnx.parameter @v = external<"m.data", 2176, 2176> : tensor<8x68xf32> trainable
onnx.parameter @u = external<"m.data", 4352, 2176> : tensor<8x68xf32> frozen
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x68xf32> {onnx.name = "h"}, tensor<6x68xf32> {onnx.name = "g"}, tensor<6x68xf32> {onnx.name = "f"}, tensor<6x68xf32> {onnx.name = "again"}, tensor<6x8xf32> {onnx.name = "dx"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<8x68xf32>>
  %v = onnx.constant #onnx.parameter<@v : tensor<8x68xf32>>
  %h = onnx.matmul %x, %w {node = "fc1"} : (tensor<6x8xf32>, tensor<8x68xf32>) -> tensor<6x68xf32>
  %g = onnx.matmul %x, %v {node = "other"} : (tensor<6x8xf32>, tensor<8x68xf32>) -> tensor<6x68xf32>
  %u = onnx.constant #onnx.parameter<@u : tensor<8x68xf32>>
  %f = onnx.matmul %x, %u {node = "fc1_frozen"} : (tensor<6x8xf32>, tensor<8x68xf32>) -> tensor<6x68xf32>
  %again = onnx.matmul %x, %w {node = "fc1/recompute"} : (tensor<6x8xf32>, tensor<8x68xf32>) -> tensor<6x68xf32>
  %t = onnx.transpose %w {perm = array<i64: 1, 0>, node = "t"} : tensor<8x68xf32> -> tensor<68x8xf32>
  %dx = onnx.matmul %h, %t {node = "dx"} : (tensor<6x68xf32>, tensor<68x8xf32>) -> tensor<6x8xf32>
  return %h, %g, %f, %again, %dx : tensor<6x68xf32>, tensor<6x68xf32>, tensor<6x68xf32>, tensor<6x68xf32>, tensor<6x8xf32>
}

//--- frozen.mlir

// Where nothing trains, too, the gradient of the input is of the same words.

// CHECK: {node = "fc1", wse.sparsity = #wse.sparsity<keep 16 of 64 rest 1 random seed 0>}
// CHECK: {node = "dx", wse.sparsity = #wse.sparsity<keep 16 of 64 rest 1 random seed 0>, wse.transposed}
onnx.parameter @w = external<"m.data", 0, 2176> : tensor<8x68xf32> frozen
func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x8xf32> {onnx.name = "dx"}) {
  %w = onnx.constant #onnx.parameter<@w : tensor<8x68xf32>>
  %h = onnx.matmul %x, %w {node = "fc1"} : (tensor<6x8xf32>, tensor<8x68xf32>) -> tensor<6x68xf32>
  %t = onnx.transpose %w {perm = array<i64: 1, 0>, node = "t"} : tensor<8x68xf32> -> tensor<68x8xf32>
  %dx = onnx.matmul %h, %t {node = "dx"} : (tensor<6x68xf32>, tensor<68x8xf32>) -> tensor<6x8xf32>
  return %dx : tensor<6x8xf32>
}
