// RUN: wse-opt %s --split-input-file --verify-diagnostics --wsec-place

// expected-error @below {{only a selected program can be placed, this one is placed}}
wse.program @main state(placed) mesh(4x5) machine("wse2") {
}

// -----

// A pin is held against the same rules.
// expected-error @below {{P3: region @r, 2x30 at (0,1), begins at a row without an I/O channel; the nearest with one are 0 and 23}}
wse.program @main state(selected) mesh(750x994) machine("wse2") {
  region @r shape(2x30) at (0, 1)
}
