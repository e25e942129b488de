// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// 4 features of a column, 16 result features: two words of lines for each, and the scales of these lines.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<8x8xf32>
  parameter @w = #onnx.quantized<dense<1> : tensor<8x16xi4> scales dense<[[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]]> : tensor<1x16xf32> block 1>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>
  // Rows of 4 words and 8 scales. Fields of a half word are masked where they
  // are, the three lower ones less 8 times what they are too large; the highest
  // has its sign.
  // CHECK: tensor constant @w.packed = {{.*}} : tensor<2x24xf32>
  // CHECK-LABEL: routine @matmul {
  // CHECK: vector mov [[PACKED:@[a-z0-9_]+]][0, strides = [12, 1]] = fabric({{[0-9]+}}, depth = 2) over (2, 12) thread 4
  // CHECK-NEXT: await [4]
  // CHECK-NEXT: vector bit_and [[FIELDS:@[a-z0-9_]+]][0, strides = [8, 1, 2]] = [[HALVES:@[a-z0-9_]+_halves]][0, strides = [24, 1, 2]], 1.500000e+01 over (2, 2, 4)
  // CHECK-NEXT: vector sub [[FIELDS]][0, strides = [8, 1, 2]] = [[FIELDS]][0, strides = [8, 1, 2]], 8.000000e+00 over (2, 2, 4)
  // CHECK-NEXT: vector mov [[WORK:@[a-z0-9_]+]][0, strides = [32, 16, 1]] = [[FIELDS]][0, strides = [8, 1, 2]] over (2, 2, 4)
  // CHECK-NEXT: vector bit_and [[FIELDS]]{{.*}} = [[HALVES]]{{.*}}, 2.400000e+02 over (2, 2, 4)
  // CHECK-NEXT: vector sub [[FIELDS]]{{.*}}, 1.280000e+02 over (2, 2, 4)
  // CHECK-NEXT: vector mov [[WORK]][4, strides = [32, 16, 1]]
  // CHECK-NEXT: vector bit_and {{.*}}, 3.840000e+03 over (2, 2, 4)
  // CHECK-NEXT: vector sub {{.*}}, 2.048000e+03 over (2, 2, 4)
  // CHECK-NEXT: vector mov [[WORK]][8, strides = [32, 16, 1]]
  // CHECK-NEXT: vector bit_and {{.*}}, -4.096000e+03 over (2, 2, 4)
  // CHECK-NEXT: vector mov [[WORK]][12, strides = [32, 16, 1]]
  // CHECK-NEXT: vector mul [[WORK]][0, strides = [1, 32, 4]] = [[WORK]][0, strides = [1, 32, 4]], [[PACKED]][4, strides = [0, 12, 1]] over (4, 2, 8)
  // CHECK-NEXT: vector mul {{.*}} = [[WORK]][0, strides = [0, 4]], {{.*}} over (4, 16)
  // CHECK-NEXT: vector fmac {{.*}} = [[WORK]][1, strides = [1, 0, 4]], {{.*}} over (3, 4, 16)
  // CHECK: segment @w.packed[%{{.*}}, strides = [1]] over (12) lines 2 step 24
  %y = matmul %x weight <@w : tensor<8x16xf32>> variant(reduce) packed on @r {nodes = ["fc"]} : tensor<1x8x8xf32, #tokens> -> tensor<1x8x16xf32, #tokens>
  store %y to "y" on @r {nodes = ["y"]} : tensor<1x8x16xf32, #tokens> to tensor<8x16xf32>
}
