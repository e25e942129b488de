// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// One channel for two rows: rows go east, the last column north, row 0 off the
// wafer. The host takes the rows of the channel in order, columns from the east.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("{\"base\": \"wse2\", \"channels\": 1}") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>
  // CHECK-LABEL: routine @store {
  // CHECK-NEXT:    vector mov fabric([[EAST:.*]], depth = 2) = [[X:@[a-z0-9_]+]][0, strides = [1, 4]] over (4, 2) where %{{.*}} thread 1
  // CHECK-NEXT:    await [1]
  // CHECK-NEXT:    vector mov fabric([[EAST]]) = fabric([[FROM_WEST:.*]]) over (%{{.*}}) where %{{.*}} thread 1
  // CHECK-NEXT:    vector mov fabric([[ONWARD:%[a-z0-9_]+]], depth = 2) = [[X]][0, strides = [1, 4]] over (4, 2) where %{{.*}} thread 1
  // CHECK:         await [1]
  // CHECK-NEXT:    vector mov fabric([[ONWARD]]) = fabric([[FROM_WEST]]) over (%{{.*}}) where %{{.*}} thread 1
  // CHECK:         await [1]
  // CHECK-NEXT:    vector mov fabric([[ONWARD]]) = fabric({{.*}}) over (%{{.*}} * 8) where %{{.*}} thread 1
  // CHECK:         await [1]
  // CHECK:       stream out @from_store color {{[0-9]+}} channels [0 -> 0:2]
  // CHECK:         segment @y[{{.*}}, strides = [8, 1]] over (4, 2)
  store %x to "y" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
}
