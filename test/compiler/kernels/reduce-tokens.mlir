// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// Own tokens first, then partial sums north to the root of the group.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>
#pooled = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>
  // CHECK-LABEL: routine @reduce_tokens {
  // CHECK:         vector add [[SUM:@[a-z0-9_]+]][0, strides = [1, 1, 0]] = [[SUM]][0, strides = [1, 1, 0]], @{{[a-z0-9_]+}}[0, strides = [4, 0, 1]] over (2, 1, 4)
  // CHECK-NEXT:    vector mov fabric({{.*}}) = [[SUM]][0, strides = [1]] over (2) where %{{.*}} thread 2
  // CHECK-NEXT:    vector add [[SUM]][0, strides = [1]] = [[SUM]][0, strides = [1]], fabric({{.*}}) over (2) where %{{.*}} thread 2
  // CHECK-NEXT:    await [2]
  // CHECK-NEXT:    vector mul [[SUM]][0, strides = [1, 1]] = [[SUM]][0, strides = [1, 1]], 1.250000e-01 over (2, 1)
  %y = reduce_tokens mean %x on @r {nodes = ["pool"]} : tensor<1x8x8xf32, #tokens> -> tensor<1x1x8xf32, #pooled>
  store %y to "y" on @r : tensor<1x1x8xf32, #pooled> to tensor<1x8xf32>
}
