// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-route-streams

// expected-error @below {{only a placed program can be routed, this one is selected}}
wse.program @main state(selected) mesh(4x5) machine("wse2") {
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// expected-error @below {{ColorOverflow: the streams of the program need 3 colors, the machine has 2 for programs: launch channel column; kernels with equal batch groups share streams}}
wse.program @main state(placed) mesh(2x2) machine("{\"base\": \"wse2\", \"colors\": 5}") {
  region @r shape(2x2) at (0, 0)
  input @x : tensor<4x2xf32>
  %x = load @x on @r : tensor<1x4x2xf32, #tokens>
}
