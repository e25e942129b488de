// RUN: wse-opt %s --pass-pipeline='builtin.module(wse.program(wse-keep-weights,wse-verify-selected))' --split-input-file | FileCheck %s

#tiled = #wse.dist<rows = [0, 1], columns = [2]>

// A product takes the variant that holds weights, and reads the matrix the other
// way round; what several kernels read is resident once; tables and sparse
// products stream.
// CHECK-LABEL: wse.program @keeps
// CHECK-DAG: parameter @g.resident = <@g : tensor<1x8xf32>> resident on @r as !tokens_1x8_balanced
// CHECK-DAG: parameter @w.resident = <@w : tensor<1x12x8xf32> view 0 strides [96, 1, 12]> resident on @r as !tokens_1x12x8_balanced
// CHECK-DAG: parameter @b.resident = <@b : tensor<1x12xf32>> resident on @r as !tokens_1x12_balanced
// CHECK: entry @load {
// CHECK-DAG: fill @g.resident on @r {nodes = ["ln"]}
// CHECK-DAG: fill @w.resident on @r {nodes = ["fc"]}
// CHECK-DAG: fill @b.resident on @r {nodes = ["fc"]}
// CHECK-NEXT: }
// CHECK: gather <@table :
// CHECK: layer_norm %ids scale <@g.resident : tensor<8xf32>> epsilon
// CHECK: sparse_matmul {{.*}} weight <@w : tensor<8x12xf32>>
// CHECK: matmul %ln weight <@w.resident : tensor<8x12xf32> view 0 strides [1, 8]> bias <@b.resident : tensor<12xf32>> variant(stationary)
// CHECK: rms_norm {{.*}} scale <@g.resident : tensor<8xf32>>
wse.program @keeps state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @ids : tensor<1x3xi64>
  parameter @table = external<"w.bin", 384, 320> : tensor<10x8xf32>
  parameter @g = dense<1.0> : tensor<8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  parameter @b = dense<2.0> : tensor<12xf32>
  %ids = gather <@table : tensor<10x8xf32>> at @ids on @r {nodes = ["ids"]} : tensor<1x3x8xf32, #tiled>
  %n = layer_norm %ids scale <@g : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["ln"]} : tensor<1x3x8xf32, #tiled>
  %s = sparse_matmul %n weight <@w : tensor<8x12xf32>> sparsity <keep 1 of 4 rest 0 random seed 3> on @r {nodes = ["sparse"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x12xf32, #tiled>
  store %s to "s" on @r : tensor<1x3x12xf32, #tiled> to tensor<3x12xf32>
  %y = matmul %n weight <@w : tensor<8x12xf32>> bias <@b : tensor<12xf32>> variant(reduce) on @r {nodes = ["fc"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x12xf32, #tiled>
  store %y to "y" on @r : tensor<1x3x12xf32, #tiled> to tensor<3x12xf32>
  %r = rms_norm %n scale <@g : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["rms"]} : tensor<1x3x8xf32, #tiled>
  store %r to "r" on @r : tensor<1x3x8xf32, #tiled> to tensor<3x8xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>

// Of one of four entries all are resident, of each feature of the input beside
// one another; a product of one token and one of three read the same.
// CHECK-LABEL: wse.program @entries
// CHECK-COUNT-1: parameter @w.resident = <@w : tensor<12x8x4xf32> view 0 strides [1, 12, 96]> resident on @r as !tokens_1x12x32_heads
// CHECK: fill @w.resident
// CHECK-NOT: fill
// CHECK: matmul %x weight <@w.resident : tensor<8x12xf32> view 0 strides [4, 32]> variant(stationary) entry <@ids at 1 of 4 step 1>
// CHECK: matmul %z weight <@w.resident : tensor<8x12xf32> view 0 strides [4, 32]> variant(stationary) entry <@ids at 2 of 4 step 1>
wse.program @entries state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  input @z : tensor<1x8xf32>
  input @ids : tensor<4xi32>
  parameter @w = external<"w.bin", 0, 1536> : tensor<4x8x12xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  %z = load @z on @r {nodes = ["z"]} : tensor<1x1x8xf32, #tiled>
  %y = matmul %x weight <@w : tensor<8x12xf32>> variant(stationary) entry <@ids at 1 of 4 step 96> on @r {nodes = ["up"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x12xf32, #tiled>
  %u = matmul %z weight <@w : tensor<8x12xf32>> variant(reduce) entry <@ids at 2 of 4 step 96> on @r {nodes = ["up"]} : tensor<1x1x8xf32, #tiled> -> tensor<1x1x12xf32, #tiled>
  store %y to "y" on @r : tensor<1x3x12xf32, #tiled> to tensor<3x12xf32>
  store %u to "u" on @r : tensor<1x1x12xf32, #tiled> to tensor<1x12xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>

// A slice of a parameter that streams; of 13 result features one row holds one
// more than the other.
// CHECK-LABEL: wse.program @slices
// CHECK-DAG: parameter @load = external<"w.bin", 0, 160> : tensor<40xf32>
// CHECK-DAG: parameter @load.resident = <@load : tensor<1x8xf32> view 16 strides [8, 1]> resident on @r
// CHECK: entry @load_0 {
// CHECK: rms_norm %x scale <@load.resident : tensor<8xf32>>
// CHECK: matmul {{.*}} weight <@w.resident : tensor<8x13xf32> view 0 strides [1, 8]> bias <@b.resident : tensor<13xf32>> variant(stationary)
wse.program @slices state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  parameter @load = external<"w.bin", 0, 160> : tensor<40xf32>
  parameter @w = external<"w.bin", 0, 416> : tensor<8x13xf32>
  parameter @b = dense<2.0> : tensor<13xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  %r = rms_norm %x scale <@load : tensor<8xf32> view 16 strides [1]> epsilon(1.0e-5) on @r {nodes = ["rms"]} : tensor<1x3x8xf32, #tiled>
  %y = matmul %r weight <@w : tensor<8x13xf32>> bias <@b : tensor<13xf32>> variant(broadcast) on @r {nodes = ["fc"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x13xf32, #tiled>
  store %y to "y" on @r : tensor<1x3x13xf32, #tiled> to tensor<3x13xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>

// A constant that a stride of 0 repeats has fewer elements than its view.
// CHECK-LABEL: wse.program @repeated
// CHECK: parameter @w.resident = <@w : tensor<1x6x6xf32> view 0 strides [36, 0, 1]> resident on @r
// CHECK: matmul {{.*}} <@w.resident : tensor<6x6xf32> view 0 strides [1, 6]> variant(stationary)
wse.program @repeated state(selected) mesh(3x2) machine("wse2") {
  region @r shape(3x2)
  input @x : tensor<3x6xf32>
  parameter @w = external<"w.bin", 0, 24> : tensor<6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #tiled>
  %y = matmul %x weight <@w : tensor<6x6xf32> view 0 strides [1, 0]> variant(reduce) on @r {nodes = ["fc"]} : tensor<1x3x6xf32, #tiled> -> tensor<1x3x6xf32, #tiled>
  store %y to "y" on @r : tensor<1x3x6xf32, #tiled> to tensor<3x6xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>

// Nothing is stationary in one column: of what applies there the cheapest.
// CHECK-LABEL: wse.program @narrow
// CHECK: matmul {{.*}} bias <@b.resident : tensor<12xf32>> variant(broadcast)
wse.program @narrow state(selected) mesh(1x3) machine("wse2") {
  region @r shape(1x3)
  input @x : tensor<1x3x8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  parameter @b = external<"b.bin", 0, 48> : tensor<12xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  %y = matmul %x weight <@w : tensor<8x12xf32>> bias <@b : tensor<12xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x12xf32, #tiled>
  store %y to "y" on @r {nodes = ["fc"]} : tensor<1x3x12xf32, #tiled> to tensor<1x3x12xf32>
}
