// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-place-kernels

// expected-error @below {{only a selected program can be placed, this one is placed}}
wse.program @main state(placed) mesh(4x5) machine("wse2") {
}
