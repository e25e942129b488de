// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --split-input-file --verify-diagnostics

// Resident weights that lie where the kernel does not look for them.

#tiled = #wse.dist<rows = [0, 1], columns = [2]>
#held = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @variant_that_streams state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  // expected-note @below {{it is resident here}}
  parameter @w.resident = <@w : tensor<1x12x8xf32>> resident on @r as tensor<1x12x8xf32, #held>
  parameter @w = dense<1.0> : tensor<12x8xf32>
  fill @w.resident on @r {nodes = ["fc"]}
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  // expected-error @below {{reads @w.resident, which is resident, and can only stream it}}
  %y = matmul %x weight <@w.resident : tensor<8x12xf32> view 0 strides [1, 8]> variant(reduce) on @r {nodes = ["fc"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x12xf32, #tiled>
  store %y to "y" on @r : tensor<1x3x12xf32, #tiled> to tensor<3x12xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @other_distribution state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  // expected-note @below {{it is resident here}}
  parameter @g.resident = <@g : tensor<1x8xf32>> resident on @r as tensor<1x1x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @g = dense<1.0> : tensor<8xf32>
  fill @g.resident on @r {nodes = ["rms"]}
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  // expected-error @below {{reads @g.resident, which is resident on @r as 'tensor<1x1x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>', expected 'tensor<1x8xf32, #wse.dist<rows = [replicated over 2], columns = [1]>>' on @r}}
  %y = rms_norm %x scale <@g.resident : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["rms"]} : tensor<1x3x8xf32, #tiled>
  store %y to "y" on @r : tensor<1x3x8xf32, #tiled> to tensor<3x8xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>
#held = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @other_view state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  // expected-note @below {{it is resident here}}
  parameter @w.resident = <@w : tensor<1x8x8xf32>> resident on @r as tensor<1x8x8xf32, #held>
  parameter @w = dense<1.0> : tensor<8x8xf32>
  fill @w.resident on @r {nodes = ["fc"]}
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  // expected-error @below {{reads @w.resident at 0 with strides [8, 1], expected 0 and [1, 8]: all of what is resident}}
  %y = matmul %x weight <@w.resident : tensor<8x8xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x8xf32, #tiled>
  store %y to "y" on @r : tensor<1x3x8xf32, #tiled> to tensor<3x8xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>
#held = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @too_much state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  parameter @w.resident = <@w : tensor<2000x8xf32>> resident on @r as tensor<1x2000x8xf32, #held>
  parameter @w = dense<1.0> : tensor<2000x8xf32>
  fill @w.resident on @r {nodes = ["fc"]}
  // expected-error @below {{SramOverflow: 'k' needs 40000 bytes of SRAM per PE that stay; of}}
  state @k on @r : tensor<1x10000x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  store %x to "y" on @r : tensor<1x3x8xf32, #tiled> to tensor<3x8xf32>
}

// -----

#tiled = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @where_nobody_is state(selected) mesh(4x2) machine("wse2") {
  region @r shape(2x2)
  region @s shape(2x2)
  input @x : tensor<3x8xf32>
  // expected-error @below {{stays on @s, which no kernel is on}}
  state @k on @s : tensor<1x3x8xf32, #tiled>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  store %x to "y" on @r : tensor<1x3x8xf32, #tiled> to tensor<3x8xf32>
}
