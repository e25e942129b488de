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
