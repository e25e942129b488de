// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-route-streams

// expected-error @below {{only a placed program can be routed, this one is selected}}
wse.program @main state(selected) mesh(4x5) machine("wse2") {
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// expected-error @below {{ColorOverflow: the streams of the program need 3 colors, the machine has 2 for programs; a mesh or --region of fewer rows needs fewer}}
// expected-note @below {{RouteCongestion: there are no ways for stream 'channel' of @r in rows 0 to 1}}
// expected-note @below {{'the channel in row 0 to @r' and stream 'column' compete for color 1 of PE (0,0)}}
// expected-note @below {{of 2 colors none is left for 'the channel in row 0 to @r' and the 1 others that share its color}}
// expected-note @below {{place it elsewhere, or leave a lane of PEs free to the edge}}
wse.program @main state(placed) mesh(2x2) machine("{\"base\": \"wse2\", \"colors\": 5}") {
  region @r shape(2x2) at (0, 0)
  input @x : tensor<4x2xf32>
  %x = load @x on @r : tensor<1x4x2xf32, #tokens>
}

// -----

#two = #wse.dist<rows = [0, 1], columns = [2]>

// expected-error @below {{RouteCongestion: there are no ways for a transfer from @a in rows 0 to 1 to @b in rows 2 to 3}}
// expected-note @below {{'row 1 of @a to @b' and stream 'row_west' compete for color 4 of PE (0,1)}}
// expected-note @below {{of 5 colors none is left for 'row 1 of @a to @b'}}
// expected-note @below {{place both in the same rows, or leave columns free between them}}
wse.program @main state(placed) mesh(3x4) machine("{\"base\": \"wse2\", \"colors\": 8}") {
  region @a shape(3x2) at (0, 0)
  region @b shape(3x2) at (0, 2)
  input @x : tensor<2x4xf32>
  %x = load @x on @a : tensor<1x2x4xf32, #two>
  %t = transfer %x on @b : tensor<1x2x4xf32, #two> -> tensor<1x2x4xf32, #two>
  store %t to "y" on @b : tensor<1x2x4xf32, #two> to tensor<2x4xf32>
}
