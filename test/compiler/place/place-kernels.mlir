// RUN: wse-opt %s --split-input-file --wsec-place | FileCheck %s

// With rows enough for all channels of its height, a region lies at the origin,
// where launches arrive first.
// CHECK-LABEL: wse.program @whole state(placed) mesh(4x5)
// CHECK: region @r shape(4x5) at (0, 0)
wse.program @whole state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
}

// -----

// 44 channels on 994 rows: the first 26 are 23 rows apart, the others 22. Of 23
// rows only those from such a row on have two.
// CHECK-LABEL: wse.program @two_channels
// CHECK: region @r shape(4x23) at (0, 598)
wse.program @two_channels state(selected) mesh(750x994) machine("wse2") {
  region @r shape(4x23)
}

// -----

// A position by hand is kept.
// CHECK-LABEL: wse.program @pinned
// CHECK: region @r shape(2x2) at (3, 1)
wse.program @pinned state(selected) mesh(8x5) machine("wse2") {
  region @r shape(2x2) at (3, 1)
}

// -----

// Nothing lies on what is kept out, nor by choice in rows with it, and regions lie
// near what they are told to.
// CHECK-LABEL: wse.program @around
// CHECK: region @a shape(4x2) at (4, 3)
// CHECK: region @b shape(2x2) at (1, 3)
wse.program @around state(selected) mesh(8x5) machine("wse2") {
  region @a shape(4x2)
  region @b shape(2x2)
  keep_out shape(1x2) at (3, 1)
  near @a to east
  near @b to (2, 4) weight 2
}

// -----

// A transfer is a wish, too: @c lies beside @a, not where launches come first.
// CHECK-LABEL: wse.program @transfers
// CHECK: region @a shape(2x2) at (5, 3)
// CHECK: region @c shape(2x2) at (5, 1)
wse.program @transfers state(selected) mesh(8x5) machine("wse2") {
  region @a shape(2x2) at (5, 3)
  region @c shape(2x2)
  input @x : tensor<6x6xf32>
  %x = load @x on @a {nodes = ["x"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  %y = transfer %x on @c {nodes = ["y"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}
