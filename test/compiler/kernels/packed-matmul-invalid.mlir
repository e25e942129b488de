// RUN: wse-opt %s --split-input-file --wsec-place --wsec-route --wsec-schedule --wsec-lower -verify-diagnostics

// A scale for each input feature.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<4x8xf32>
  parameter @w = #onnx.quantized<dense<1> : tensor<8x12xi8> scales dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]> : tensor<8x1xf32> block 1>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x8xf32, #tokens>
  // expected-error @below {{streams "w" packed, whose scales are not of blocks of input features that its view leaves whole; leave `packed` out}}
  %y = matmul %x weight #wse.weight<@w : tensor<8x12xf32>> variant(reduce) packed on @r {nodes = ["fc"]} : tensor<1x4x8xf32, #tokens> -> tensor<1x4x12xf32, #tokens>
  store %y to "y" on @r : tensor<1x4x12xf32, #tokens> to tensor<4x12xf32>
}

// -----

// A view that begins within a block of 8.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<4x8xf32>
  parameter @w = #onnx.quantized<dense<1> : tensor<16x12xi8> scales dense<[[1.0], [2.0]]> : tensor<2x1xf32> block 8>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x8xf32, #tokens>
  // expected-error @below {{streams "w" packed, whose scales are not of blocks of input features that its view leaves whole; leave `packed` out}}
  %y = matmul %x weight #wse.weight<@w : tensor<8x12xf32> view 48 strides [12, 1]> variant(reduce) packed on @r {nodes = ["fc"]} : tensor<1x4x8xf32, #tokens> -> tensor<1x4x12xf32, #tokens>
  store %y to "y" on @r : tensor<1x4x12xf32, #tokens> to tensor<4x12xf32>
}
