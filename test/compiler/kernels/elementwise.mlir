// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// The instructions follow the body; the one temporary lies in the result. The
// vector is used as it arrives, once per use.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  parameter @b = dense<1.0> : tensor<8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>
  // CHECK-LABEL: routine @elementwise {
  // CHECK-NEXT:    vector mov fabric([[COLUMN:[0-9]+]], depth = 2) = fabric({{.*}}) over (2, 2) where %{{.*}} thread 0
  // CHECK-NEXT:    vector add [[Y:@[a-z0-9_]+]][0, strides = [4, 1]] = [[X:@[a-z0-9_]+]][0, strides = [4, 1]], fabric([[COLUMN]]) over (2, 4)
  // CHECK-NEXT:    vector erf [[Y]][0, strides = [4, 1]] = [[Y]][0, strides = [4, 1]] over (2, 4)
  // CHECK-NEXT:    vector mul [[Y]][0, strides = [4, 1]] = [[Y]][0, strides = [4, 1]], fabric([[COLUMN]]) over (2, 4)
  // CHECK-NEXT:    vector max [[Y]][0, strides = [4, 1]] = [[Y]][0, strides = [4, 1]], 0.000000e+00 over (2, 4)
  // CHECK-NEXT:    await [0]
  %y = elementwise(%x) vectors [#wse.weight<@b : tensor<8xf32>>] on @r {nodes = ["e"]} : (tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %e, %b : f32
    %f = math.erf %s : f32
    %p = arith.mulf %f, %b : f32
    %r = arith.maximumf %p, %zero : f32
    wse.yield %r : f32
  }
  // The quotient is one function, whatever computes its parts.
  // CHECK-LABEL: routine @elementwise_1 {
  // CHECK-NEXT:    vector sigmoid [[S:@[a-z0-9_]+]][0, strides = [4, 1]] = {{@.*}} over (2, 4)
  // CHECK-NEXT:    vector mul [[S]][0, strides = [4, 1]] = {{@.*}}, {{@.*}} over (2, 4)
  // CHECK-NOT:     vector
  // CHECK:       }
  %silu = elementwise(%x) on @r {nodes = ["silu"]} : (tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %e : f32
    %p = math.exp %n : f32
    %s = arith.addf %p, %one : f32
    %q = arith.divf %one, %s : f32
    %r = arith.mulf %e, %q : f32
    wse.yield %r : f32
  }
  // CHECK-LABEL: routine @elementwise_2 {
  // CHECK:         vector div
  %other = elementwise(%x) on @r {nodes = ["other"]} : (tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32):
    %one = arith.constant 1.0 : f32
    %p = math.exp %e : f32
    %s = arith.addf %p, %one : f32
    %q = arith.divf %one, %s : f32
    wse.yield %q : f32
  }
  store %silu to "s" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
  store %other to "o" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
  store %x to "z" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
  store %y to "y" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
}
