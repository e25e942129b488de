// RUN: wse-opt %s --split-input-file --wsec-place --wsec-route --wsec-schedule --wsec-lower -verify-diagnostics

// One column: nothing to sum over.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(1x2) machine("wse2") {
  region @r shape(1x2)
  input @x : tensor<4x8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x8xf32, #tokens>
  // expected-error @below {{cannot keep its weights in the 1x2 PEs: this needs several columns and rows, for weights that stream as many result features as I/O channels, and 24576 bytes of SRAM at most}}
  %y = matmul %x weight #wse.weight<@w : tensor<8x12xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x4x8xf32, #tokens> -> tensor<1x4x12xf32, #tokens>
  store %y to "y" on @r : tensor<1x4x12xf32, #tokens> to tensor<4x12xf32>
}

// -----

// One row.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x1) machine("wse2") {
  region @r shape(4x1)
  input @x : tensor<4x8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x8xf32, #tokens>
  // expected-error @below {{cannot keep its weights in the 4x1 PEs: this needs several columns and rows, for weights that stream as many result features as I/O channels, and 24576 bytes of SRAM at most}}
  %y = matmul %x weight #wse.weight<@w : tensor<8x12xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x4x8xf32, #tokens> -> tensor<1x4x12xf32, #tokens>
  store %y to "y" on @r : tensor<1x4x12xf32, #tokens> to tensor<4x12xf32>
}

// -----

// One result feature for two rows with a channel, whose weights stream.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<4x8xf32>
  parameter @w = external<"w.bin", 0, 32> : tensor<8x1xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x8xf32, #tokens>
  // expected-error @below {{cannot keep its weights in the 4x2 PEs: this needs several columns and rows, for weights that stream as many result features as I/O channels, and 24576 bytes of SRAM at most}}
  %y = matmul %x weight #wse.weight<@w : tensor<8x1xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x4x8xf32, #tokens> -> tensor<1x4x1xf32, #tokens>
  store %y to "y" on @r : tensor<1x4x1xf32, #tokens> to tensor<4x1xf32>
}

// -----

// 80 x 80 weights of a PE are 25600 bytes, and the sums of all tokens at a time
// no fewer.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<40x160xf32>
  parameter @w = external<"w.bin", 0, 102400> : tensor<160x160xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x40x160xf32, #tokens>
  // expected-error @below {{cannot keep its weights in the 2x2 PEs: this needs several columns and rows, for weights that stream as many result features as I/O channels, and 24576 bytes of SRAM at most}}
  %y = matmul %x weight #wse.weight<@w : tensor<160x160xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x40x160xf32, #tokens> -> tensor<1x40x160xf32, #tokens>
  store %y to "y" on @r : tensor<1x40x160xf32, #tokens> to tensor<40x160xf32>
}
