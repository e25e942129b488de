// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// All features of the row pass every PE, which keeps a window of them.

#heads = #wse.dist<rows = [0, 1], columns = [2 by 4]>
#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #heads>
  // CHECK-LABEL: routine @redistribute {
  // CHECK:         vector mov @{{[a-z0-9_]+}}[0, strides = [0, 4, 1]] = fabric({{[0-9]+}}, depth = 3, window = %{{.*}} of 32) over (1, 2, 4)
  %y = redistribute %x on @r {nodes = ["r"]} : tensor<1x8x8xf32, #heads> -> tensor<1x8x8xf32, #tokens>
  store %y to "y" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
}
