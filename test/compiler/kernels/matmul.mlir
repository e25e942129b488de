// RUN: split-file %s %t
// RUN: wse-opt %t/variants.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/variants.mlir
// RUN: wse-opt %t/buffers.mlir --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/buffers.mlir

//--- variants.mlir

// 8 -> 12 -> 8 features on four columns and two rows of four tokens each.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
  parameter @b = dense<1.0> : tensor<12xf32>
  parameter @v = external<"w.bin", 384, 384> : tensor<12x8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>

  // The bias starts the result. Activations go west and come back as a
  // multicast, which a microthread takes into a buffer; own words are awaited
  // before those of the east are relayed. Weights go into a buffer: used as they
  // arrive they would hold up the injector. Vectors run along input features.
  // CHECK-LABEL: routine @matmul {
  // CHECK-NEXT:    vector mov fabric([[$COLUMN:[0-9]+]], depth = 2) = fabric([[CHANNEL:[0-9]+]], depth = 2, window = {{.*}}) over (1, 3) where %{{.*}} thread 0
  // CHECK-NEXT:    vector mov [[RESULT:@[a-z0-9_]+]][0, strides = [4, 1]] = fabric([[$COLUMN]]) over (3, 4)
  // CHECK-NEXT:    await [0]
  // CHECK-NEXT:    vector mov fabric([[$COLUMN]], depth = 2) = fabric([[CHANNEL]], depth = 2, window = {{.*}}) over (8, 3) where %{{.*}} thread 0
  // CHECK-NEXT:    vector mov [[ALL:@[a-z0-9_]+]][0, strides = [4, 1]] = fabric([[$CAST:[0-9]+]], depth = 2) over (8, 4) thread 5
  // CHECK-NEXT:    vector mov fabric([[$ONWARD:%[a-z0-9_]+]], depth = 2) = [[X:@[a-z0-9_]+]][0, strides = [4, 1]] over (2, 4) thread 1
  // CHECK-NEXT:    await [1]
  // CHECK-NEXT:    vector mov fabric([[$ONWARD]]) = fabric({{.*}}) over ({{.*}}) where %{{.*}} thread 1
  // CHECK-NEXT:    await [5]
  // CHECK-NEXT:    vector mov [[WEIGHTS:@[a-z0-9_]+]][0, strides = [3, 1]] = fabric([[$COLUMN]], depth = 2) over (8, 3) thread 4
  // CHECK-NEXT:    await [4]
  // CHECK-NEXT:    vector fmac [[RESULT]][0, strides = [4, 1, 0]] = [[WEIGHTS]][0, strides = [1, 0, 3]], [[ALL]][0, strides = [0, 1, 4]] over (3, 4, 8)
  // CHECK-NEXT:    await [0, 1]
  %y = matmul %x weight #wse.weight<@w : tensor<8x12xf32>> bias #wse.weight<@b : tensor<12xf32>> variant(broadcast) on @r {nodes = ["fc1"]} : tensor<1x8x8xf32, #tokens> -> tensor<1x8x12xf32, #tokens>

  // Weights go into a buffer. Their products with own features are summed, the
  // first term being a product; vectors run along result features. Partial
  // results go west; the first column multicasts the sums, and every PE adds
  // its own to the result as they pass.
  // CHECK-LABEL: routine @matmul_1 {
  // CHECK:         vector add [[OWN:@[a-z0-9_]+]][0, strides = [0, 4, 1]] = [[OWN]][0, strides = [0, 4, 1]], fabric([[$CAST]], depth = 3, window = %{{.*}} of 32) over (1, 2, 4) thread 1
  // CHECK-NEXT:    vector mov [[WEIGHTS:@[a-z0-9_]+]][0, strides = [3, 1]] = fabric([[$COLUMN]], depth = 2) over (8, 3) thread 4
  // CHECK-NEXT:    await [4]
  // CHECK-NEXT:    vector mul [[PARTIAL:@[a-z0-9_]+]][0, strides = [1, 4]] = [[WEIGHTS]][0, strides = [0, 3]], [[Y:@[a-z0-9_]+]][0, strides = [1, 0]] over (4, 8)
  // CHECK-NEXT:    vector fmac [[PARTIAL]][0, strides = [0, 1, 4]] = [[WEIGHTS]][1, strides = [1, 0, 3]], [[Y]][4, strides = [4, 1, 0]] over (2, 4, 8)
  // CHECK-NEXT:    vector mov fabric([[$ONWARD]], depth = 2) = [[PARTIAL]][0, strides = [4, 1]] over (8, 4) where %{{.*}}
  // CHECK-NEXT:    vector add fabric([[$ONWARD]], depth = 2) = [[PARTIAL]][0, strides = [4, 1]], fabric({{.*}}, depth = 2) over (8, 4) where %{{.*}}
  // CHECK-NEXT:    await [0, 1]
  %z = matmul %y weight #wse.weight<@v : tensor<12x8xf32>> variant(reduce) on @r {nodes = ["fc2"]} : tensor<1x8x12xf32, #tokens> -> tensor<1x8x8xf32, #tokens>
  store %z to "z" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>

  // The reduction wants the weights n after n: the host walks down columns.
  // CHECK: segment @w[%{{.*}}, strides = [1]] over (3) lines 8 step 12
  // CHECK: segment @v[%{{.*}} * 8, strides = [8]] over (3) lines 8 step 1
}

//--- buffers.mlir

// More weights than a buffer holds: a microthread fills one of two while the
// other is used, and is awaited before it goes on.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<4x64xf32>
  parameter @w = external<"w.bin", 0, 65536> : tensor<64x256xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x4x64xf32, #tokens>
  // CHECK-LABEL: routine @matmul {
  // CHECK:         vector mov [[A:@[a-z0-9_]+]][0, strides = [32, 1]] = fabric([[COLUMN:[0-9]+]], depth = 2) over ([[LINES:[0-9]+]], 32) thread 4
  // CHECK-NEXT:    for %{{.*}} < {{[0-9]+}} {
  // CHECK-NEXT:      await [4]
  // CHECK-NEXT:      vector mov [[B:@[a-z0-9_]+]][0, strides = [32, 1]] = fabric([[COLUMN]], depth = 2) over ([[LINES]], 32) thread 4
  // CHECK-NEXT:      vector mul {{.*}} = [[A]]
  // CHECK-NEXT:      vector fmac {{.*}} = [[A]]
  // CHECK-NOT:       await
  // CHECK:           await [4]
  // CHECK-NEXT:      vector mov [[A]][0, strides = [32, 1]] = fabric([[COLUMN]], depth = 2) over ([[LINES]], 32) thread 4
  // CHECK-NEXT:      vector mul {{.*}} = [[B]]
  // CHECK-NEXT:      vector fmac {{.*}} = [[B]]
  // CHECK-NOT:       await
  // CHECK:         }
  // CHECK-NEXT:    await [4]
  %y = matmul %x weight #wse.weight<@w : tensor<64x256xf32>> variant(reduce) on @r {nodes = ["fc"]} : tensor<1x4x64xf32, #tokens> -> tensor<1x4x256xf32, #tokens>
  store %y to "y" on @r : tensor<1x4x256xf32, #tokens> to tensor<4x256xf32>
}
