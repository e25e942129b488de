// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-schedule-launches

// expected-error @below {{only a routed program can be scheduled, this one is placed}}
wse.program @main state(placed) mesh(4x5) machine("wse2") {
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(routed) mesh(4x2) machine("{\"base\": \"wse2\", \"sram_bytes\": 14336, \"runtime_bytes\": 2048}") {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<64x200xf32>
  %x = load @x on @r {nodes = ["embed"]} : tensor<1x64x200xf32, #tokens>
  // expected-error @below {{kernel 'attention/softmax' needs 6400 bytes of SRAM per PE for its result; of 12288 bytes for buffers, 6400 are in use; largest: 6400 bytes for the result of 'embed'; compile for a larger mesh or for fewer tokens}}
  %y = softmax %x on @r {nodes = ["attention/softmax"]} : tensor<1x64x200xf32, #tokens>
}
