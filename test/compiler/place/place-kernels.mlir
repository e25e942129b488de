// RUN: wse-opt %s --wsec-place | FileCheck %s

// Regions are the whole width and the rows with tokens. The two halves of the
// program share no tensor; weight streaming lets both lie at the channels.

#split = #wse.tiled<batch = 1, tokens = 3, rows = split, group = 5, columns = balanced>
#pair = #wse.tiled<batch = 2, tokens = 4, rows = split, group = 2, columns = balanced>
#many = #wse.tiled<batch = 6, tokens = 2, rows = split, group = 0, columns = balanced>

// CHECK-LABEL: wse.program @main state(placed) mesh(4x5)
// CHECK-SAME: east_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>
// CHECK-SAME: west_channels = [#wse.channel<row 0, serves 0 to 1>, #wse.channel<row 1, serves 1 to 2>, #wse.channel<row 2, serves 2 to 3>, #wse.channel<row 3, serves 3 to 4>, #wse.channel<row 4, serves 4 to 4>]
wse.program @main state(selected) mesh(4x5) machine("wse2") {
  input @x : tensor<3x8xf32>
  input @y : tensor<2x4x8xf32>
  input @z : tensor<6x2x8xf32>
  // CHECK: load @x {nodes = ["a"], region = #wse.rect<x = 0 to 4, y = 0 to 3>}
  %a = load @x {nodes = ["a"]} : tensor<1x3x8xf32, #split>
  // CHECK: softmax {{.*}} {nodes = ["b"], region = #wse.rect<x = 0 to 4, y = 0 to 3>}
  %b = softmax %a {nodes = ["b"]} : tensor<1x3x8xf32, #split>
  // CHECK: store {{.*}} {region = #wse.rect<x = 0 to 4, y = 0 to 3>}
  store %b to "b" : tensor<1x3x8xf32, #split> to tensor<3x8xf32>
  // CHECK: load @y {nodes = ["c"], region = #wse.rect<x = 0 to 4, y = 0 to 4>}
  %c = load @y {nodes = ["c"]} : tensor<2x4x8xf32, #pair>
  store %c to "c" : tensor<2x4x8xf32, #pair> to tensor<2x4x8xf32>
  // CHECK: load @z {nodes = ["d"], region = #wse.rect<x = 0 to 4, y = 0 to 5>}
  %d = load @z {nodes = ["d"]} : tensor<6x2x8xf32, #many>
  store %d to "d" : tensor<6x2x8xf32, #many> to tensor<6x2x8xf32>
}
