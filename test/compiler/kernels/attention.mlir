// RUN: split-file %s %t
// RUN: wse-opt %t/group.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/group.mlir
// RUN: wse-opt %t/few-tokens.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/few-tokens.mlir
// RUN: wse-opt %t/local.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/local.mlir

//--- group.mlir

// Two rows share a batch element: keys and values go north to the root of its group and
// come back south, on threads of their own, into a buffer.

#heads = #wse.dist<rows = [0, 1], columns = [2 by 4]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<8x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #heads>
  // CHECK-LABEL: routine @attention {
  // CHECK:         vector mov [[ALL:@[a-z0-9_]+]][0, strides = [4, 1]] = fabric([[KEYS:[0-9]+]], depth = 2) over (8, 4) thread 5
  // The root sends on the color of the multicast, the others on those of a chain.
  // CHECK-NEXT:    vector mov fabric([[ONWARD:%[a-z0-9_]+]], depth = 2) = [[X:@[a-z0-9_]+]][0, strides = [1, 4]] over (4, 4) thread 2
  // CHECK-NEXT:    await [2]
  // CHECK-NEXT:    vector mov fabric([[ONWARD]]) = fabric({{.*}}) over ({{.*}}) where %{{.*}} thread 2
  // CHECK:         await [5]
  // CHECK-NEXT:    vector fmac [[SCORES:@[a-z0-9_]+]][0, strides = [0, 1, 4]] = [[ALL]][0, strides = [1, 0, 4]], [[X]][0, strides = [4, 1, 0]] over (4, 4, 8)
  // CHECK-NEXT:    vector mul [[SCORES]]{{.*}}, 5.000000e-01 over (8, 4)
  // CHECK:         vector exp [[SCORES]]
  // CHECK:         vector mov [[ALL]][0, strides = [4, 1]] = fabric([[VALUES:[0-9]+]], depth = 2) over (8, 4) thread 5
  // CHECK-NEXT:    vector mov fabric([[NORTH:%[a-z0-9_]+]], depth = 2) = [[X]][0, strides = [1, 4]] over (4, 4) thread 3
  // CHECK-NEXT:    await [3]
  // CHECK-NEXT:    vector mov fabric([[NORTH]]) = fabric({{.*}}) over ({{.*}}) where %{{.*}} thread 3
  // CHECK:         await [5]
  // CHECK-NEXT:    vector fmac [[RESULT:@[a-z0-9_]+]][0, strides = [4, 1, 0]] = [[ALL]][0, strides = [1, 0, 4]], [[SCORES]][0, strides = [0, 1, 4]] over (4, 4, 8)
  // CHECK:         vector mul [[RESULT]]
  // CHECK-NEXT:    await [2, 3]
  %y = attention %x, %x, %x heads(2) scale(0.5) on @r {nodes = ["attend"]} : tensor<1x8x8xf32, #heads>, tensor<1x8x8xf32, #heads>, tensor<1x8x8xf32, #heads> -> tensor<1x8x8xf32, #heads>
  store %y to "y" on @r : tensor<1x8x8xf32, #heads> to tensor<8x8xf32>
}

//--- few-tokens.mlir

// Few tokens a row: vectors run along the features of a head.

#heads = #wse.dist<rows = [0, 1], columns = [2 by 8]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<4x16xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x16xf32, #heads>
  // CHECK-LABEL: routine @attention {
  // CHECK:         vector fmac {{.*}}[0, strides = [2, 1, 0]] = {{.*}}[0, strides = [8, 0, 1]], {{.*}}[0, strides = [0, 1, 2]] over (4, 2, 8)
  // CHECK:         vector fmac {{.*}}[0, strides = [0, 1, 2]] = {{.*}}[0, strides = [8, 0, 1]], {{.*}}[0, strides = [2, 1, 0]] over (4, 2, 8)
  %y = attention %x, %x, %x heads(2) scale(0.5) on @r {nodes = ["attend"]} : tensor<1x4x16xf32, #heads>, tensor<1x4x16xf32, #heads>, tensor<1x4x16xf32, #heads> -> tensor<1x4x16xf32, #heads>
  store %y to "y" on @r : tensor<1x4x16xf32, #heads> to tensor<4x16xf32>
}

//--- local.mlir

// More batch elements than rows: nothing moves, sequences follow one another.

#heads = #wse.dist<rows = [0, 1], columns = [2 by 4]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<4x2x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<4x2x8xf32, #heads>
  // CHECK-LABEL: routine @attention {
  // CHECK-NOT:     fabric
  // CHECK:         for %[[SEQUENCE:.*]] < 2 {
  // CHECK-NOT:     fabric
  // CHECK:           vector fmac [[SCORES:@[a-z0-9_]+]][0, strides = [2, 1, 0]] = [[X:@[a-z0-9_]+]][%[[SEQUENCE]] * 2, strides = [1, 0, 4]], [[X]][%[[SEQUENCE]] * 2, strides = [0, 1, 4]] over (2, 2, 4)
  // CHECK-NOT:     fabric
  // CHECK-LABEL: routine @store
  %y = attention %x, %x, %x heads(2) scale(0.5) on @r {nodes = ["attend"]} : tensor<4x2x8xf32, #heads>, tensor<4x2x8xf32, #heads>, tensor<4x2x8xf32, #heads> -> tensor<4x2x8xf32, #heads>
  store %y to "y" on @r : tensor<4x2x8xf32, #heads> to tensor<4x2x8xf32>
}
