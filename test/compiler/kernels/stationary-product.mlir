// RUN: wse-opt %s --split-input-file --wsec-place --wsec-route | FileCheck %s --check-prefix=ROUTE
// RUN: wse-opt %s --split-input-file --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// 8 -> 12 -> 8 -> 12 features of three tokens on four columns and two rows.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// Weights enter each row for all its PEs. Activations and results move along
// columns, sums along rows.
// ROUTE-LABEL: wse.program @main
// ROUTE: stream @row_west row_west
// ROUTE: stream @row_cast row_cast
// ROUTE: stream @channel_row channel_row colors [{{[0-9]+}}] rules
// ROUTE-SAME: <x = 0 to 3, y = 0 to 2>, west to east|ramp>
// ROUTE-SAME: <x = 3 to 4, y = 0 to 2>, west to ramp>
// ROUTE: stream @key_north key_north
// ROUTE: stream @key_cast key_cast rows <groups = 1, pitch = 2, used = 2>
wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  parameter @v = external<"w.bin", 384, 384> : tensor<12x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tokens>

  %y = matmul %x weight #wse.weight<@w : tensor<8x12xf32>> variant(broadcast) on @r {nodes = ["broadcast"]} : tensor<1x3x8xf32, #tokens> -> tensor<1x3x12xf32, #tokens>
  %z = matmul %y weight #wse.weight<@v : tensor<12x8xf32>> variant(reduce) on @r {nodes = ["reduce"]} : tensor<1x3x12xf32, #tokens> -> tensor<1x3x8xf32, #tokens>

  // CHECK-LABEL: routine @matmul_2 {
  // The first weights of a row come while activations are gathered.
  // CHECK:      vector mov [[WEIGHTS:@[a-z0-9_]+]][0, strides = [2, 2, 1]] = fabric([[CHANNEL:[0-9]+]], depth = 3, window = %{{.*}} of {{[0-9]+}}) over (1, {{[0-9]+}}, 2) thread 4
  // CHECK:      vector mov [[ALL:@[a-z0-9_]+]][0, strides = [1, 3]] = fabric([[CAST:[0-9]+]], depth = 2) over (3, 2) thread 5
  // Vectors run over tokens.
  // CHECK:      vector mul [[SUMS:@[a-z0-9_]+]][0, strides = [3, 1]] = [[WEIGHTS]][0, strides = [2, 0]], [[ALL]][0, strides = [0, 1]] over ({{[0-9]+}}, 3)
  // CHECK-NEXT: vector fmac [[SUMS]][0, strides = [3, 0, 1]] = [[WEIGHTS]][1, strides = [2, 1, 0]], [[ALL]][3, strides = [0, 3, 1]] over ({{[0-9]+}}, 1, 3)
  // 6 sums of a row for each of 3 tokens.
  // CHECK:      vector mov fabric([[WEST:.*]]) = [[SUMS]][0, strides = [1]] over (18) where
  // CHECK-NEXT: vector add fabric([[WEST]]) = [[SUMS]][0, strides = [1]], fabric([[EAST:.*]]) over (18) where
  // CHECK-NEXT: vector add [[SUMS]][0, strides = [1]] = [[SUMS]][0, strides = [1]], fabric([[EAST]]) over (18) where
  // CHECK-NEXT: vector add [[RESULT:@[a-z0-9_]+]][0, strides = {{.*}}] = [[RESULT]]{{.*}}, fabric([[CAST]], depth = 2, window = %{{.*}} of 3)
  %s = matmul %z weight #wse.weight<@w : tensor<8x12xf32>> variant(stationary) on @r {nodes = ["stationary"]} : tensor<1x3x8xf32, #tokens> -> tensor<1x3x12xf32, #tokens>
  store %s to "s" on @r : tensor<1x3x12xf32, #tokens> to tensor<3x12xf32>

  // All variants have one bound: 96 weights times 3 tokens over 8 PEs, 2.14
  // cycles each.
  // CHECK: kernel @{{.*}} kind "matmul" nodes ["broadcast"] {{.*}} of [[BOUND:77\.[0-9]+]] bound
  // CHECK: kernel @{{.*}} kind "matmul" nodes ["reduce"] {{.*}} of [[BOUND]] bound
  // CHECK: kernel @{{.*}} kind "matmul" nodes ["stationary"] {{.*}} of [[BOUND]] bound
}

// -----

// Thirteen result features in two rows: the second takes one less, last.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// CHECK-LABEL: pe.program @uneven
// CHECK:      %size = scalar tile_size(%c13, %c2, %py)
// CHECK:      %sub{{.*}} = scalar sub(%size, %c2)
// CHECK:      routine @matmul {
// CHECK:      vector mov @{{.*}} = fabric({{.*}}) over (1, 2, 2) thread 4
// CHECK:      vector mov @{{.*}} = fabric({{.*}}) over (1, [[LAST:%sub[_0-9]*]], 2) thread 4
// CHECK:      vector mul @{{.*}} over ([[LAST]], 4)
// CHECK:      vector add [[SUMS:@[a-z0-9_]+]][0, strides = [1]] = [[SUMS]][0, strides = [1]], fabric({{.*}}) over (%size * 4) where
// CHECK:      stream in @to_rows_of_matmul
// CHECK:      segment @w[%{{.*}} * 13 + %start, strides = [1, 13]] over (2, 2) lines 1 step 2
// CHECK:      segment @w[%{{.*}} * 13 + %start + 2, strides = [1, 13]] over (%sub, 2) lines 1 step 5
wse.program @uneven state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<4x8xf32>
  parameter @w = external<"w.bin", 0, 416> : tensor<8x13xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x8xf32, #tokens>
  %y = matmul %x weight #wse.weight<@w : tensor<8x13xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x4x8xf32, #tokens> -> tensor<1x4x13xf32, #tokens>
  store %y to "y" on @r : tensor<1x4x13xf32, #tokens> to tensor<4x13xf32>
}

// -----

// A channel for each of rows 0 and 2 of four: these two have six result features
// each, the others none, and hand the results of rows behind them on.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// ROUTE-LABEL: wse.program @channels
// ROUTE: stream @channel_row channel_row
// ROUTE-SAME: <x = 0 to 3, y = 0 to 3 step 2>, west to east|ramp>
// CHECK-LABEL: pe.program @channels
// CHECK:      [[ROWS:%mul[_0-9]*]] = scalar mul([[HAS:%less[_0-9]*]], %c6)
// CHECK:      routine @matmul {
// CHECK-NEXT: vector mov [[WEIGHTS:@[a-z0-9_]+]][0, strides = [2, 2, 1]] = fabric({{.*}}) over (1, 4, 2) where [[HAS]] thread 4
// CHECK:      vector mov fabric([[ON:.*]], depth = 2) = @{{.*}} over (%size, 2) thread 2
// CHECK:      vector mov fabric([[ON]]) = fabric([[SOUTH:.*]]) over ({{.*}}) where [[NEXT:%.*]] thread 2
// CHECK:      vector fmac [[SUMS:@[a-z0-9_]+]][0, strides = [1, 0]] = [[WEIGHTS]]{{.*}} over (4, 2) where [[HAS]]
// CHECK:      vector add [[SUMS]][0, strides = [1]] = [[SUMS]][0, strides = [1]], fabric({{.*}}) over ([[ROWS]]) where
// CHECK:      vector mov fabric([[ON]]) = fabric([[SOUTH]]) over ({{.*}}) where [[NEXT]] thread 2
// CHECK:      stream in @to_rows_of_matmul
wse.program @channels state(selected) mesh(4x4) machine("{\"base\": \"wse2\", \"channels\": 2}") {
  region @r shape(4x4)
  input @x : tensor<1x8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x1x8xf32, #tokens>
  %y = matmul %x weight #wse.weight<@w : tensor<8x12xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x1x8xf32, #tokens> -> tensor<1x1x12xf32, #tokens>
  store %y to "y" on @r : tensor<1x1x12xf32, #tokens> to tensor<1x12xf32>
}

// -----

// In tall regions results go north in two phases: in groups of seven rows to
// their heads, and from head to head.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// ROUTE-LABEL: wse.program @tall
// ROUTE: stream @key_north key_north
// ROUTE: stream @root_north root_north rows <groups = 12, pitch = 7, used = 1> colors [[[EVEN:[0-9]+]], [[ODD:[0-9]+]]]
// ROUTE-SAME: <color [[EVEN]], <x = 0 to 2, y = 7 to 64 step 14>, south to ramp>
// ROUTE-SAME: <color [[EVEN]], <x = 0 to 2, y = 8 to 14>, south to north>
// ROUTE: matmul {{.*}}@root_north]
// CHECK-LABEL: pe.program @tall
// CHECK:      routine @matmul {
// CHECK:      vector mov fabric({{.*}}) = fabric({{.*}}) over ({{.*}}) where [[NEXT:%and[_0-9]*]] thread 2
// CHECK-NEXT: await [2]
// CHECK-NEXT: vector mov fabric({{.*}}) = fabric({{.*}}) over ({{.*}}) where [[HEAD:%and[_0-9]*]] thread 2
wse.program @tall state(selected) mesh(2x84) machine("wse2") {
  region @r shape(2x84)
  input @x : tensor<1x4xf32>
  parameter @w = external<"w.bin", 0, 1600> : tensor<4x100xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x1x4xf32, #tokens>
  %y = matmul %x weight #wse.weight<@w : tensor<4x100xf32>> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x1x4xf32, #tokens> -> tensor<1x1x100xf32, #tokens>
  store %y to "y" on @r : tensor<1x1x100xf32, #tokens> to tensor<1x100xf32>
}
