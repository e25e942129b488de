// RUN: split-file %s %t
// RUN: wse-opt %t/group.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/group.mlir
// RUN: wse-opt %t/one-token.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/one-token.mlir
// RUN: wse-opt %t/few-tokens.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/few-tokens.mlir
// RUN: wse-opt %t/local.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/local.mlir

//--- group.mlir

// Two rows share a batch element: keys and values go north to its head row and
// come back south, on threads of their own.

#heads = #wse.tiled<batch = 1, tokens = 8, rows = split, group = 2, columns = heads, head_size = 4>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  input @x : tensor<8x8xf32>
  %x = load @x {nodes = ["x"]} : tensor<8x8xf32, #heads>
  // CHECK-LABEL: routine @attention {
  // CHECK-NEXT:    vector mov fabric([[KEYS:[0-9]+]], depth = 2) = [[X:@[a-z0-9_]+]][0, strides = [1, 4]] over (4, 4) where %[[HEAD:.*]] thread 2
  // CHECK:         vector mov fabric([[VALUES:[0-9]+]], depth = 2) = [[X]][0, strides = [1, 4]] over (4, 4) where %[[HEAD]] thread 3
  // CHECK:         vector fmac [[SCORES:@[a-z0-9_]+]][0, strides = [4, 0, 1]] = fabric([[KEYS]], depth = 2), [[X]][0, strides = [0, 4, 1]] over (8, 4, 4)
  // CHECK-NEXT:    vector mul [[SCORES]]{{.*}}, 5.000000e-01 over (8, 4)
  // CHECK:         vector exp [[SCORES]]
  // CHECK:         vector fmac [[RESULT:@[a-z0-9_]+]][0, strides = [0, 4, 1]] = fabric([[VALUES]], depth = 2), [[SCORES]][0, strides = [4, 0, 1]] over (8, 4, 4)
  // CHECK:         vector mul [[RESULT]]
  // CHECK-NEXT:    await [2, 3]
  %y = attention %x, %x, %x heads(2) scale(0.5) {nodes = ["attend"]} : tensor<8x8xf32, #heads>, tensor<8x8xf32, #heads>, tensor<8x8xf32, #heads> -> tensor<8x8xf32, #heads>
  store %y to "y" : tensor<8x8xf32, #heads> to tensor<8x8xf32>
}

//--- one-token.mlir

// One token a row: products run along the words as they arrive.

#heads = #wse.tiled<batch = 1, tokens = 2, rows = split, group = 2, columns = heads, head_size = 4>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  input @x : tensor<2x8xf32>
  %x = load @x {nodes = ["x"]} : tensor<2x8xf32, #heads>
  // CHECK-LABEL: routine @attention {
  // CHECK:         vector fmac [[SCORES:@[a-z0-9_]+]][0, strides = [1, 0]] = fabric({{.*}}, depth = 2), {{.*}}[0, strides = [0, 1]] over (2, 4)
  // CHECK:         vector fmac [[RESULT:@[a-z0-9_]+]][0, strides = [0, 1]] = fabric({{.*}}, depth = 2), [[SCORES]][0, strides = [1, 0]] over (2, 4)
  %y = attention %x, %x, %x heads(2) scale(0.5) {nodes = ["attend"]} : tensor<2x8xf32, #heads>, tensor<2x8xf32, #heads>, tensor<2x8xf32, #heads> -> tensor<2x8xf32, #heads>
  store %y to "y" : tensor<2x8xf32, #heads> to tensor<2x8xf32>
}

//--- few-tokens.mlir

// Fewer tokens a row than a head has features: each key is kept in a line
// buffer, vectors run along it.

#heads = #wse.tiled<batch = 1, tokens = 4, rows = split, group = 2, columns = heads, head_size = 8>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  input @x : tensor<4x16xf32>
  %x = load @x {nodes = ["x"]} : tensor<4x16xf32, #heads>
  // CHECK-LABEL: routine @attention {
  // CHECK:         vector fmac {{.*}} = fabric({{.*}}, depth = 2), {{.*}} over (4, 8, 2) line_buffer
  // CHECK:         vector fmac {{.*}} = fabric({{.*}}, depth = 2), {{.*}} over (4, 8, 2) line_buffer
  %y = attention %x, %x, %x heads(2) scale(0.5) {nodes = ["attend"]} : tensor<4x16xf32, #heads>, tensor<4x16xf32, #heads>, tensor<4x16xf32, #heads> -> tensor<4x16xf32, #heads>
  store %y to "y" : tensor<4x16xf32, #heads> to tensor<4x16xf32>
}

//--- local.mlir

// More batch elements than rows: nothing moves, sequences follow one another.

#heads = #wse.tiled<batch = 4, tokens = 2, rows = split, group = 0, columns = heads, head_size = 4>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  input @x : tensor<4x2x8xf32>
  %x = load @x {nodes = ["x"]} : tensor<4x2x8xf32, #heads>
  // CHECK-LABEL: routine @attention {
  // CHECK-NOT:     fabric
  // CHECK:         for %[[SEQUENCE:.*]] < 2 {
  // CHECK-NOT:     fabric
  // CHECK:           vector fmac [[SCORES:@[a-z0-9_]+]][0, strides = [2, 0, 1]] = [[X:@[a-z0-9_]+]][%[[SEQUENCE]] * 2, strides = [1, 4, 0]], [[X]][%[[SEQUENCE]] * 2, strides = [0, 4, 1]] over (2, 4, 2)
  // CHECK-NOT:     fabric
  // CHECK-LABEL: routine @store
  %y = attention %x, %x, %x heads(2) scale(0.5) {nodes = ["attend"]} : tensor<4x2x8xf32, #heads>, tensor<4x2x8xf32, #heads>, tensor<4x2x8xf32, #heads> -> tensor<4x2x8xf32, #heads>
  store %y to "y" : tensor<4x2x8xf32, #heads> to tensor<4x2x8xf32>
}
