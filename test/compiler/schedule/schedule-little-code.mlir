// RUN: wse-opt %s --wse-schedule-launches --wse-verify-scheduled | FileCheck %s

// Two results of 6400 bytes do not fit beside 10240 bytes for code: they end at
// the top of the SRAM, and code gets the 5120 bytes below, from byte 2048 on.

#tokens = #wse.tiled<batch = 1, tokens = 64, rows = split, group = 2, columns = balanced>

wse.program @main state(routed) mesh(4x2) machine("{\"base\": \"wse2\", \"sram_bytes\": 20480, \"runtime_bytes\": 2048}") {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<64x200xf32>
  // CHECK: load {{.*}}address = 7168 : i64
  %x = load @x on @r {nodes = ["embed"]} : tensor<1x64x200xf32, #tokens>
  // CHECK: softmax {{.*}}address = 13568 : i64
  %y = softmax %x on @r {nodes = ["attention/softmax"]} : tensor<1x64x200xf32, #tokens>
}
