// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-verify-placed

// expected-error @below {{expected a placed program, this one is selected}}
wse.program @main state(selected) mesh(2x2) machine("wse2") {
}

// -----

wse.program @main state(placed) mesh(2x2) machine("wse2") {
  // expected-error @below {{region of a placed program has no position}}
  region @r shape(2x2)
}

// -----

// P3. The other rules are tested in PlacementProblemTest.cpp.
// expected-error @below {{P3: region @r, 2x30 at (4,30), begins at a row without an I/O channel; the nearest with one are 23 and 46}}
wse.program @main state(placed) mesh(750x994) machine("wse2") {
  // expected-note @below {{the region is here}}
  region @r shape(2x30) at (4, 30)
}

// -----

// expected-error @below {{P5: region @r, 2x2 at (2,0), has PEs of the keep-out of 1x2 at (3,1)}}
wse.program @main state(placed) mesh(8x5) machine("wse2") {
  // expected-note @below {{the region is here}}
  region @r shape(2x2) at (2, 0)
  // expected-note @below {{they are kept out here}}
  keep_out shape(1x2) at (3, 1)
}
