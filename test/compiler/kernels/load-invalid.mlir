// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower -split-input-file -verify-diagnostics

// Sources that a stream of the host cannot walk.

#tokens = #wse.dist<rows = [0, (1, 2, 3)], columns = [4]>

wse.program @too_many_dimensions state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<400xf32>
  // expected-error @below {{walks its source in 5 dimensions that do not continue one another; streams have at most 4}}
  %x = load @x strides [1, 100, 20, 3, 1] on @r {nodes = ["x"]} : tensor<2x3x4x2x8xf32, #tokens>
  store %x to "y" on @r : tensor<2x3x4x2x8xf32, #tokens> to tensor<2x3x4x2x8xf32>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @reshaped_view state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  parameter @t = external<"m.data", 0, 64> : tensor<16xf32>
  // expected-error @below {{reshapes a constant in a way that no strides describe}}
  %x = load <@t : tensor<8x2xf32> view 0 strides [1, 8]> on @r {nodes = ["x"]} : tensor<1x4x4xf32, #tokens>
  store %x to "y" on @r : tensor<1x4x4xf32, #tokens> to tensor<4x4xf32>
}
