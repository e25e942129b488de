// RUN: wse-opt %s --convert-wse-to-pe --split-input-file --verify-diagnostics

// expected-error @below {{only a scheduled program can be lowered, this one is placed}}
wse.program @too_early state(placed) mesh(4x1) machine("wse2") {
}

// -----

// expected-error @below {{has no launch stream to start kernels with}}
wse.program @no_command state(scheduled) mesh(4x1) machine("wse2") {
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 6, rows = split, group = 1, columns = balanced>

wse.program @no_slot state(scheduled) mesh(4x1) machine("wse2") {
  region @r shape(4x1) at (0, 0)
  stream @launch launch colors [0] rules []
  input @x : tensor<6x8xf32>
  // expected-error @below {{lacks its slot, its streams or the place of its region}}
  %x = load @x on @r : tensor<1x6x8xf32, #tokens>
}
