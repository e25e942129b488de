// RUN: wsec %s -o %t.wafer --allow-absent-weights | FileCheck %s

// The 102,400 lines of a layer of megatron-1t come in so many blocks that their buffers take what those of any product do, and nobody waits for ever.
// CHECK: SRAM peak      1{{[34]...}} of 49152 bytes
// CHECK: deadlock       proved impossible
#d = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @main state(selected) mesh(750x994) machine("wse2") {
  region @r shape(750x994)
  input @x : tensor<2048x25600xf32>
  parameter @w = external<"w.data", 0, 10485760000> : tensor<25600x102400xf32>
  %x = load @x on @r : tensor<1x2048x25600xf32, #d>
  %y = matmul %x weight <@w : tensor<25600x102400xf32>> variant(reduce) on @r {nodes = ["fc"]} : tensor<1x2048x25600xf32, #d> -> tensor<1x2048x102400xf32, #d>
  store %y to "y" on @r : tensor<1x2048x102400xf32, #d> to tensor<2048x102400xf32>
}
