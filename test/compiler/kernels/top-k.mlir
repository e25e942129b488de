// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// Four features of a PE, in two blocks of two; two rounds. No load, and no branch: masks decide.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>
#everywhere = #wse.dist<rows = [0, 1], columns = []>

wse.program @main state(selected) mesh(2x1) machine("wse2") {
  region @r shape(2x1)
  input @x : tensor<1x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x1x8xf32, #tokens>
  // CHECK-LABEL: routine @top_k {
  // The number of the first feature.
  // CHECK:         vector add [[FIRST:@[a-z0-9_]+]][0, strides = [0]] = [[FIRST]][0, strides = [0]], 1.000000e+00 over (%{{.*}})
  // Keys, of -0 as of 0, then of each block.
  // CHECK:         vector add [[FLOATS:@[a-z0-9_]+]][0, strides = [1, 1]] = @{{[a-z0-9_]+}}[0, strides = [1, 1]], 0.000000e+00 over (4, 1)
  // CHECK:         for %{{.*}} < 2 {
  // CHECK-NEXT:      vector less [[MASK:@[a-z0-9_]+]][0, strides = [1, 1]] = [[KEYS:@[a-z0-9_]+]][%{{.*}} * 2, strides = [1, 1]], 0.000000e+00 over (2, 1)
  // CHECK-NEXT:      vector sub [[BLOCK:@[a-z0-9_]+]][0, strides = [1, 1]] = -2.14748365E+9, [[KEYS]]
  // CHECK-NEXT:      vector select [[KEYS]]{{.*}} = [[MASK]][0, strides = [1, 1]], [[BLOCK]][0, strides = [1, 1]] over (2, 1)
  // CHECK:         vector max [[BEST:@[a-z0-9_]+]][0, strides = [1, 0, 1]] = [[BEST]][0, strides = [1, 0, 1]], [[KEYS]][0, strides = [2, 1, 1]] over (2, 2, 1)
  // The rounds: the value, its first block, its place in that, the least index, and out it goes.
  // CHECK:         for %{{.*}} < 2 {
  // CHECK:           vector max [[OWN:@[a-z0-9_]+]][0, strides = [1]] = [[OWN]][0, strides = [1]], fabric({{.*}}, i32)
  // CHECK:           vector equal [[OF:@[a-z0-9_]+]][0, strides = [1, 1]] = [[BEST]][0, strides = [1, 1]], [[AGREED:@[a-z0-9_]+]][0, strides = [0, 1]] over (2, 1)
  // CHECK:           vector select [[NUMBER:@[a-z0-9_]+]][0, strides = [0, 1]] = [[OF]][1, strides = [-1, 1]], [[NUMBERS:@[a-z0-9_]+]][1, strides = [-1, 0]] over (2, 1)
  // CHECK:           vector select [[BLOCK]][0, strides = [0, 1, 1]] = [[OF]][0, strides = [1, 0, 1]], [[KEYS]][0, strides = [2, 1, 1]] over (2, 2, 1)
  // CHECK:           vector min [[PLACE:@[a-z0-9_]+]][0, strides = [1]] = [[PLACE]][0, strides = [1]], fabric({{.*}}, i32)
  // CHECK:           vector select [[KEYS]][0, strides = [2, 1, 1]] = [[OF]][0, strides = [1, 0, 1]], [[BLOCK]][0, strides = [0, 1, 1]] over (2, 2, 1)
  // CHECK:         }
  // CHECK-NOT:     load
  // CHECK:         await
  %best:2 = top_k %x on @r {nodes = ["best"]} : tensor<1x1x8xf32, #tokens> -> tensor<1x1x2xi32, #everywhere>, tensor<1x1x2xf32, #everywhere>
  store %best#0 to "i" on @r : tensor<1x1x2xi32, #everywhere> to tensor<1x2xi64>
  store %best#1 to "v" on @r : tensor<1x1x2xf32, #everywhere> to tensor<1x2xf32>
}
