// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower -verify-diagnostics

// Tokens that are dealt to three rows, on two of which they lie.

#heads = #wse.dist<rows = [0, 1], columns = [2 by 2]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<4x4xf32>
  entry @main(%length from 1 to 4) {
    %x = load @x on @r {nodes = ["x"]} : tensor<1x4x4xf32, #heads>
    // expected-error @below {{hides later tokens, which are dealt to 3 rows, and lie in 2}}
    %y = attention %x, %x, %x heads(2) scale(0.5) terms [#onnx.term<add later -1.000000e+04 : f32>] on @r {nodes = ["attn"], onnx.length_parts = 3 : i64} : tensor<1x4x4xf32, #heads>, tensor<1x4x4xf32, #heads>, tensor<1x4x4xf32, #heads> -> tensor<1x4x4xf32, #heads>
    store %y to "y" on @r : tensor<1x4x4xf32, #heads> to tensor<4x4xf32>
  }
}
