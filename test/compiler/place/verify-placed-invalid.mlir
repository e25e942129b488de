// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-verify-placed

// expected-error @below {{expected a placed program, this one is selected}}
wse.program @main state(selected) mesh(2x2) machine("wse2") {
}

// -----

// expected-error @below {{a placed program has west_channels and east_channels}}
wse.program @main state(placed) mesh(2x2) machine("wse2") {
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 2, rows = split, group = 2, columns = balanced>

wse.program @main state(placed) mesh(2x2) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>],
                east_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>]} {
  input @x : tensor<2x2xf32>
  // expected-error @below {{kernel of a placed program has no region}}
  %x = load @x : tensor<1x2x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 2, rows = split, group = 2, columns = balanced>

wse.program @main state(placed) mesh(2x2) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>],
                east_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>]} {
  input @x : tensor<2x2xf32>
  // expected-error @below {{region of a kernel has gaps}}
  %x = load @x {region = #wse.rect<x = 0 to 2 step 2, y = 0 to 2>} : tensor<1x2x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 2, rows = split, group = 2, columns = balanced>

// P1. The other rules are tested in PlacementProblemTest.cpp.
// expected-error @below {{kernel 'embed' needs 2x2 PEs, its region is 2x1 at (0,0)}}
wse.program @main state(placed) mesh(2x2) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>],
                east_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>]} {
  input @x : tensor<2x2xf32>
  %x = load @x {nodes = ["embed"], region = #wse.rect<x = 0 to 2, y = 0 to 1>} : tensor<1x2x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 2, rows = split, group = 2, columns = balanced>

// P3.
// expected-error @below {{kernels 'a' and 'b' share tensors but not their origin: 2x1 at (0,0) and 2x1 at (0,1)}}
wse.program @main state(placed) mesh(2x2) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>],
                east_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>]} {
  input @x : tensor<1x2xf32>
  %a = load @x {nodes = ["a"], region = #wse.rect<x = 0 to 2, y = 0 to 1>} : tensor<1x1x2xf32, #wse.tiled<batch = 1, tokens = 1, rows = split, group = 2, columns = balanced>>
  %b = softmax %a {nodes = ["b"], region = #wse.rect<x = 0 to 2, y = 1 to 2>} : tensor<1x1x2xf32, #wse.tiled<batch = 1, tokens = 1, rows = split, group = 2, columns = balanced>>
}
