// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower --split-input-file --verify-diagnostics

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @no_list_a_result state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<6x8xf32>
  // expected-error @below {{has as 'onnx.values' no list for each result of pairs of a name and a shape}}
  %x = load @x on @r {nodes = ["x"], onnx.values = [["x", array<i64: 6, 8>]]} : tensor<1x6x8xf32, #tokens>
  store %x to "y" on @r : tensor<1x6x8xf32, #tokens> to tensor<6x8xf32>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @more_lists_than_results state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<6x8xf32>
  // expected-error @below {{has as 'onnx.values' no list for each result of pairs of a name and a shape}}
  %x = load @x on @r {nodes = ["x"], onnx.values = [[], []]} : tensor<1x6x8xf32, #tokens>
  store %x to "y" on @r : tensor<1x6x8xf32, #tokens> to tensor<6x8xf32>
}
