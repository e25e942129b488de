// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// 8 -> 20 features on four columns and two rows of four tokens each. Of groups of
// 8 result features each input feature keeps 3, of the last four 1.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  parameter @w = external<"w.bin", 0, 640> : tensor<8x20xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>

  // The store makes 8 x (2 x (2 + 3) + (1 + 1)) words: two indices in a word, in
  // steps of four channels, then values.
  // CHECK: tensor weight @w from <"w.bin" at 0> : tensor<8x20xf32>
  // CHECK: tensor weight @w.sparse sparse <@w at 0 strides [20, 1] rows 8 columns 20 keep 3 of 8 rest 1 random seed {{[0-9]+}} step 4> : tensor<96xf32>

  // A buffer of records is read as indices, too.
  // CHECK: buffer [[$RECORDS:@scratch_[0-9]+]] at [[AT:[0-9]+]], 40 bytes of f32
  // CHECK: buffer [[$OTHERS:@scratch_[0-9]+]] at {{[0-9]+}}, 40 bytes of f32
  // CHECK: buffer [[$PARTIAL:@scratch_[0-9]+]] at {{[0-9]+}}, 128 bytes of f32
  // CHECK: buffer [[$INDICES:@scratch_[0-9]+_halves]] at [[AT]], 40 bytes of i16

  // Records of the next group come while those of this one are used. Both whole
  // groups, then the rest: its three indices of a feature are in two words.
  // CHECK-LABEL: routine @sparse_matmul {
  // CHECK:         vector mov fabric([[COLUMN:[0-9]+]], depth = 2) = fabric({{.*}}) over (2, 10) where %{{.*}} thread 0
  // CHECK:         vector mov [[$RECORDS]][0, strides = [1]] = fabric([[COLUMN]]) over (10) thread 4
  // CHECK-NEXT:    await [4]
  // CHECK-NEXT:    vector mov [[$OTHERS]][0, strides = [1]] = fabric([[COLUMN]]) over (10) thread 4
  // CHECK-NEXT:    vector mov [[$PARTIAL]][0, strides = [4, 1]] = 0.{{.*}} over (8, 4)
  // CHECK-NEXT:    for %[[K:.*]] < 2 {
  // CHECK-NEXT:      %[[N:.*]] = load [[$INDICES]][%[[K]] * 10]
  // CHECK-NEXT:      vector fmac [[$PARTIAL]][%[[N]], strides = [1]] = [[X:@[a-z0-9_]+]][%[[K]] * 4, strides = [1]], [[$RECORDS]][%[[K]] * 5 + 2, strides = [0]] over (4)
  // CHECK-NEXT:      %[[N1:.*]] = load [[$INDICES]][%[[K]] * 10 + 1]
  // CHECK-NEXT:      vector fmac [[$PARTIAL]][%[[N1]], strides = [1]] = [[X]][%[[K]] * 4, strides = [1]], [[$RECORDS]][%[[K]] * 5 + 3, strides = [0]] over (4)
  // CHECK-NEXT:      %[[N2:.*]] = load [[$INDICES]][%[[K]] * 10 + 2]
  // CHECK-NEXT:      vector fmac [[$PARTIAL]][%[[N2]], strides = [1]] = [[X]][%[[K]] * 4, strides = [1]], [[$RECORDS]][%[[K]] * 5 + 4, strides = [0]] over (4)
  // CHECK-NEXT:    }
  // CHECK-NEXT:    vector mov fabric([[ONWARD:%[a-z0-9_]+]], depth = 2) = [[$PARTIAL]][0, strides = [4, 1]] over (8, 4) where %{{.*}}
  // CHECK-NEXT:    vector add fabric([[ONWARD]], depth = 2) = [[$PARTIAL]][0, strides = [4, 1]], fabric({{.*}}, depth = 2) over (8, 4) where %{{.*}}
  // CHECK:         vector mov fabric([[COLUMN]], depth = 2) = fabric({{.*}}) over (1, 4) where %{{.*}} thread 0
  // CHECK:         over (4, 4)
  %y = sparse_matmul %x weight #wse.weight<@w : tensor<8x20xf32>> sparsity <keep 3 of 8 rest 1 random seed 7> on @r {nodes = ["fc"]} : tensor<1x8x8xf32, #tokens> -> tensor<1x8x20xf32, #tokens>
  store %y to "y" on @r : tensor<1x8x20xf32, #tokens> to tensor<8x20xf32>

  // A line for each group, then one for the rest.
  // CHECK: segment @w.sparse[%{{.*}}, strides = [1]] over (10) lines 2 step 40
  // CHECK: segment @w.sparse[%{{.*}} + 80, strides = [1]] over (4)
}
