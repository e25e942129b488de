// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower -split-input-file -verify-diagnostics

// Too much to keep, of columns that have 7 or 8 features each.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @too_much state(selected) mesh(8x1) machine("wse2") {
  region @r shape(8x1)
  input @x : tensor<70x60xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x70x60xf32, #tokens>
  // expected-error @below {{multicasts 60 features of 70 tokens in blocks of 60, of which a PE has room for 2048 words and 512 blocks}}
  weight_gradient %x by %x to "w" on @r {nodes = ["fc"]} : tensor<1x70x60xf32, #tokens>, tensor<1x70x60xf32, #tokens> to tensor<60x60xf32>
}
