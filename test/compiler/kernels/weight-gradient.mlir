// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower -split-input-file | FileCheck %s

// One token a row. The row's features are multicast; then, block by block, products, the sums of the rows north and south toward
// the row of the column's exit, and there the words of the columns west, which go by while the next block is made.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x3) machine("wse2") {
  region @r shape(4x3)
  input @x : tensor<3x4xf32>
  input @dy : tensor<3x2048xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x4xf32, #tokens>
  %dy = load @dy on @r {nodes = ["dy"]} : tensor<1x3x2048xf32, #tokens>
  // CHECK-LABEL: routine @weight_gradient {
  // CHECK-NEXT:    vector mov [[FACTORS:@[a-z0-9_]+]][0, strides = [1, 1]] = fabric([[CAST:[0-9]+]], depth = 2) over (4, 1) thread 5
  // CHECK:         for [[BLOCK:%[a-z0-9_]+]] < 2
  // CHECK:           vector mul [[SUMS:@[a-z0-9_]+]][0, strides = [512, 1]] = [[FACTORS]]{{\[}}[[BLOCK]] * 2, strides = [1, 0]], @{{.*}} over (2, 512)
  // CHECK-NEXT:      vector mov fabric([[SOUTH:[^,]*]], depth = 2) = [[SUMS]]{{.*}} over (2, 512) where %{{[a-z0-9_]+$}}
  // CHECK-NEXT:      vector add fabric([[SOUTH]], depth = 2) = [[SUMS]]{{.*}}, fabric([[NORTH:[^,]*]], depth = 2) over (2, 512)
  // CHECK-NEXT:      vector add [[SUMS]]{{.*}} = [[SUMS]]{{.*}}, fabric([[NORTH]], depth = 2) over (2, 512)
  // CHECK-NEXT:      vector mov fabric([[UP:[^,]*]], depth = 2) = [[SUMS]]{{.*}} over (2, 512)
  // CHECK-NEXT:      vector add fabric([[UP]], depth = 2) = [[SUMS]]{{.*}}, fabric([[BELOW:[^,]*]], depth = 2) over (2, 512)
  // CHECK-NEXT:      await [4]
  // CHECK-NEXT:      vector add [[LEAVING:@[a-z0-9_]+]]{{.*}} = [[SUMS]]{{.*}}, fabric([[BELOW]], depth = 2) over (2, 512)
  // CHECK-NEXT:      vector mov [[LEAVING]]{{.*}} = [[SUMS]]{{.*}} over (2, 512)
  // CHECK-NEXT:      vector mov fabric([[EAST:[^,]*]], depth = 2) = [[LEAVING]]{{.*}} over (2, 512) where %{{.*}} thread 4
  // CHECK-NEXT:      await [4]
  // CHECK-NEXT:      vector mov fabric([[EAST]]) = fabric({{.*}}) over (%{{.*}} * 2) where %{{.*}} thread 4
  // CHECK-NEXT:    }
  // CHECK:       stream out @from_weight_gradient color {{[0-9]+}} channels [0 -> 0:1, 1 -> 1:2, 2 -> 2:3]
  // CHECK:         segment @w[{{.*}}, strides = [2048, 1]] over (2, %{{.*}}) lines 2 step 4096
  weight_gradient %dy by %x to "w" on @r {nodes = ["fc"]} : tensor<1x3x2048xf32, #tokens>, tensor<1x3x4xf32, #tokens> to tensor<4x2048xf32>
}

// -----

// An exit for each column: what it adds up goes to it at once. Too much for one multicast goes in as many parts as columns have features, one
// of each in a part.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @parts state(selected) mesh(4x4) machine("wse2") {
  region @r shape(4x4)
  input @x : tensor<1200x12xf32>
  input @dy : tensor<1200x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x1200x12xf32, #tokens>
  %dy = load @dy on @r {nodes = ["dy"]} : tensor<1x1200x8xf32, #tokens>
  // CHECK-LABEL: routine @weight_gradient {
  // CHECK-NEXT:    for [[PART:%[a-z0-9_]+]] < 3
  // CHECK:           vector mov [[FACTORS:@[a-z0-9_]+]][0, strides = [300, 1]] = fabric([[CAST:[0-9]+]], depth = 2) over (4, 300) thread 5
  // CHECK-NEXT:      vector mov fabric(%{{.*}}, depth = 2) = @{{[a-z0-9_]+}}{{\[}}[[PART]] * 300, strides = [300, 1]] over (1, 300) thread 1
  // CHECK:           vector mul [[SUMS:@[a-z0-9_]+]]
  // CHECK-NEXT:      vector fmac [[SUMS]]
  // CHECK-COUNT-2:   vector {{mov|add}} fabric(
  // CHECK-NEXT:      vector add [[SUMS]]
  // CHECK-COUNT-2:   vector {{mov|add}} fabric(
  // CHECK-NEXT:      vector add fabric([[EAST:[^,]*]], depth = 2) = [[SUMS]]{{.*}}, fabric({{.*}}, depth = 2) over (4, 2)
  // CHECK-NEXT:      vector mov fabric([[EAST]], depth = 2) = [[SUMS]]{{.*}} over (4, 2)
  // CHECK-NEXT:    }
  // CHECK:         segment @w[%{{.*}}, strides = [24, 1]] over (4, %{{.*}}) lines 1 step 96
  // CHECK-NEXT:    segment @w[%{{.*}} + 8, strides = [24, 1]] over (4, %{{.*}}) lines 1 step 96
  // CHECK-NEXT:    segment @w[%{{.*}} + 16, strides = [24, 1]] over (4, %{{.*}}) lines 1 step 96
  weight_gradient %dy by %x to "w" on @r {nodes = ["fc"]} : tensor<1x1200x8xf32, #tokens>, tensor<1x1200x12xf32, #tokens> to tensor<12x8xf32>
}
