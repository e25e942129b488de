// RUN: wse-opt %s --split-input-file --wsec-place --wsec-route --wsec-schedule --wsec-lower -verify-diagnostics

// A weight that streams.

#split = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<1x8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x1x8xf32, #split>
  // expected-error @below {{needs "w" on the wafer}}
  %y:2 = products %x weights [#wse.weight<@w : tensor<8x12xf32>>, #wse.weight<@w : tensor<8x12xf32>>] on @r {nodes = ["a", "b"]} : tensor<1x1x8xf32, #split> -> tensor<1x1x12xf32, #split>, tensor<1x1x12xf32, #split>
  store %y#0 to "a" on @r : tensor<1x1x12xf32, #split> to tensor<1x12xf32>
  store %y#1 to "b" on @r : tensor<1x1x12xf32, #split> to tensor<1x12xf32>
}

// -----

// Of one result feature a row has none.

#split = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<1x8xf32>
  parameter @held = <@w : tensor<1x1x8xf32>> resident on @r as tensor<1x1x8xf32, #split>
  parameter @w = external<"w.bin", 0, 32> : tensor<1x1x8xf32>
  entry @load {
    fill @held on @r {nodes = ["w"]}
  }
  %x = load @x on @r {nodes = ["x"]} : tensor<1x1x8xf32, #split>
  // expected-error @below {{cannot keep its weights in the 4x2 PEs: each has as many result features as rows, and more than one row and column}}
  %y = products %x weights [#wse.weight<@held : tensor<8x1xf32> view 0 strides [1, 8]>] on @r {nodes = ["a"]} : tensor<1x1x8xf32, #split> -> tensor<1x1x1xf32, #split>
  store %y to "a" on @r : tensor<1x1x1xf32, #split> to tensor<1x1xf32>
}
