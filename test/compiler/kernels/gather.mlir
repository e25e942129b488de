// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// The host finds the rows; PEs keep their own tokens of what passes.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @ids : tensor<8xi64>
  parameter @table = external<"m.data", 0, 320> : tensor<10x8xf32>
  // CHECK-LABEL: routine @gather {
  // CHECK-NEXT:    vector mov fabric([[COLUMN:[0-9]+]], depth = 2) = fabric({{.*}}) over (8, 2) where %{{.*}} thread 0
  // CHECK-NEXT:    vector mov @{{[a-z0-9_]+}}[0, strides = [0, 1, 4]] = fabric([[COLUMN]], depth = 3, window = %{{.*}} of 16) over (1, 4, 2)
  // CHECK:       segment @table[%{{.*}}, strides = [1]] over (2) lines 8 step 0 indexed @ids step 8 rows 10
  %x = gather <@table : tensor<10x8xf32>> at @ids on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>
  store %x to "y" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
}
