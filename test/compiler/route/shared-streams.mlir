// RUN: split-file %s %t
// RUN: wse-opt %t/columns.mlir --wsec-route --wsec-schedule --wsec-lower | FileCheck %t/columns.mlir
// RUN: sed 's/: 8}")/: 9}")/' %t/columns.mlir | wse-opt --wsec-route | FileCheck %s --check-prefix=ENOUGH
// RUN: wse-opt %t/casts.mlir --wsec-route | FileCheck %t/casts.mlir

// Two columns of words share a stream where there is a color less than they
// ask for. Rows 3 to 7 let those of @z go by.
// ENOUGH-COUNT-2: stream @column{{.*}} column

//--- columns.mlir
!all = tensor<1x8x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>
!some = tensor<1x3x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>
// CHECK: route
// CHECK: routine @load
// CHECK: routine @load_1
// CHECK-NEXT: vector mov fabric([[COLUMN:[0-9]+]], depth = 2) = fabric({{[0-9]+}}, depth = 2) over (3, 1)
// All rows hear it, and a window of nothing drops it.
// CHECK-NEXT: vector mov @{{.*}} = fabric([[COLUMN]], depth = 3, window = {{.*}} of 3) over (1, %{{.*}}, 1)
// CHECK-NOT: where
// CHECK-NEXT: await [0]
wse.program @main state(placed) mesh(4x8) machine("{\"base\": \"wse2\", \"colors\": 8}") {
  region @r shape(4x8) at (0, 0)
  input @x : tensor<8x4xf32>
  input @z : tensor<3x4xf32>
  %x = load @x on @r : !all
  store %x to "y" on @r : !all to tensor<8x4xf32>
  %z = load @z on @r : !some
  store %z to "w" on @r : !some to tensor<3x4xf32>
}

//--- casts.mlir
// Keys of two rows and of four: the heads of both groups are the same. Those
// of groups of other rows have others, and a stream of their own.
!four = tensor<2x4x4xf32, #wse.dist<rows = [0, 1], columns = [2 by 2]>>
!two = tensor<2x2x4xf32, #wse.dist<rows = [0, 1], columns = [2 by 2]>>
!alone = tensor<1x8x4xf32, #wse.dist<rows = [0, 1], columns = [2 by 2]>>
// CHECK: stream @key_cast key_cast rows <groups = 2, pitch = 4, used = 4>
// CHECK: stream @[[OTHER:key_cast_[0-9]+]] key_cast rows <groups = 1, pitch = 8, used = 8>
// CHECK-NOT: stream @key_cast{{.*}} key_cast
wse.program @main state(placed) mesh(2x8) machine("{\"base\": \"wse2\", \"colors\": 17}") {
  region @r shape(2x8) at (0, 0)
  input @x : tensor<2x4x4xf32>
  input @y : tensor<2x2x4xf32>
  input @z : tensor<1x8x4xf32>
  %x = load @x on @r : !four
  // CHECK: attention {{.*}}@key_cast,
  %a = attention %x, %x, %x heads(2) scale(0.5) on @r {nodes = ["a"]} : !four, !four, !four -> !four
  store %a to "p" on @r : !four to tensor<2x4x4xf32>
  %y = load @y on @r : !two
  // CHECK: attention {{.*}}@key_cast,
  %b = attention %y, %y, %y heads(2) scale(0.5) on @r {nodes = ["b"]} : !two, !two, !two -> !two
  store %b to "q" on @r : !two to tensor<2x2x4xf32>
  %z = load @z on @r : !alone
  // CHECK: attention {{.*}}@[[OTHER]],
  %c = attention %z, %z, %z heads(2) scale(0.5) on @r {nodes = ["c"]} : !alone, !alone, !alone -> !alone
  store %c to "s" on @r : !alone to tensor<1x8x4xf32>
}
