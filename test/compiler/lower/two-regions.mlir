// RUN: wsec %s --stop-after=lower -o - | FileCheck %s

// A class for each region; a transfer is a routine of one name in both, started
// by one launch. The first launch has a command, which the others follow.

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @two state(selected) mesh(6x2) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  region @b shape(3x2) at (3, 0)
  input @x : tensor<2x4xf32>
  %x = load @x on @a {nodes = ["x"]} : tensor<1x2x4xf32, #split>
  %t = transfer %x on @b {nodes = ["t"]} : tensor<1x2x4xf32, #split> -> tensor<1x2x4xf32, #split>
  store %t to "y" on @b {nodes = ["t"]} : tensor<1x2x4xf32, #split> to tensor<2x4xf32>
}

// CHECK: class @every_pe [0:2, 0:2] {
// CHECK: routine @load {
// CHECK: routine @transfer {
// CHECK-NOT: routine @store
// CHECK: class @every_pe_1 [3:6, 0:2] {
// CHECK-NOT: routine @load
// CHECK: routine @transfer {
// CHECK: routine @store {
// CHECK: launch @load for @x_1
// CHECK: launch @transfer follows for @t
// CHECK: launch @store follows for @t_1
