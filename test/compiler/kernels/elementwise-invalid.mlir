// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower -verify-diagnostics

// A function without a vector instruction is refused where it is applied.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>
  %y = elementwise(%x) on @r {nodes = ["e"]} : (tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32):
    // expected-error @below {{has no vector instruction on a PE}}
    %f = math.cbrt %e : f32
    wse.yield %f : f32
  }
  store %y to "y" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
}
