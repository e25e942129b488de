// RUN: wse-opt %s --split-input-file --onnx-fuse-substitutions --onnx-common-subexpressions | FileCheck %s

// Two matrices; rows are selected and scattered, as PyTorch writes it.
// CHECK-LABEL: func.func @batched
// CHECK: %[[L:.*]] = onnx.unary neg
// CHECK: %[[C0:.*]] = onnx.where %{{.*}}, %[[L]]
// CHECK: %[[D1:.*]] = onnx.binary add %[[C0]], %[[I:[a-z0-9]+]]
// CHECK: %[[C1:.*]] = onnx.where %{{.*}}, %[[L]]
// CHECK: %[[P:.*]] = onnx.batch_matmul %[[D1]], %[[C1]]
// CHECK: %[[Q:.*]] = onnx.batch_matmul %[[P]], %[[D1]]
// CHECK: %[[D2:.*]] = onnx.binary add %[[Q]], %[[D1]]
// CHECK: %[[X:.*]] = onnx.binary sub %[[D2]], %[[I]] {node = "last", onnx.absorbed = ["row1", "row2"]}
// CHECK: return %[[X]]
func.func @batched(%m: tensor<2x3x3xf32>) -> tensor<2x3x3xf32> {
  %above = onnx.constant dense<[[true, true, true], [false, true, true], [false, false, true]]> : tensor<3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %w = onnx.where %above, %zero, %m : (tensor<3x3xi1>, tensor<f32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %l = onnx.unary neg %w : tensor<2x3x3xf32>
  %row1 = onnx.slice %l {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x3xf32> -> tensor<2x1x3xf32>
  %select1 = onnx.reshape %row1 : tensor<2x1x3xf32> -> tensor<2x3xf32>
  %old1 = onnx.slice %select1 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<2x3xf32> -> tensor<2x1xf32>
  %column1 = onnx.reshape %old1 : tensor<2x1xf32> -> tensor<2x1x1xf32>
  %block1 = onnx.slice %l {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x3xf32> -> tensor<2x1x1xf32>
  %product1 = onnx.binary mul %column1, %block1 : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %sum1 = onnx.reduce sum %product1 {axes = array<i64: 1>, keepdims = false} : tensor<2x1x1xf32> -> tensor<2x1xf32>
  %new1 = onnx.binary add %old1, %sum1 {node = "row1"} : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %turned1 = onnx.transpose %new1 {perm = array<i64: 1, 0>} : tensor<2x1xf32> -> tensor<1x2xf32>
  %all1 = onnx.transpose %select1 {perm = array<i64: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  %rest1 = onnx.slice %all1 {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x2xf32> -> tensor<2x2xf32>
  %joined1 = onnx.concat %turned1, %rest1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %back1 = onnx.transpose %joined1 {perm = array<i64: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
  %middle1 = onnx.reshape %back1 : tensor<2x3xf32> -> tensor<2x1x3xf32>
  %before1 = onnx.slice %l {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x3xf32> -> tensor<2x1x3xf32>
  %behind1 = onnx.slice %l {starts = array<i64: 0, 2, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x3xf32> -> tensor<2x1x3xf32>
  %x1 = onnx.concat %before1, %middle1, %behind1 {axis = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
  %row2 = onnx.slice %x1 {starts = array<i64: 0, 2, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x3xf32> -> tensor<2x1x3xf32>
  %select2 = onnx.reshape %row2 : tensor<2x1x3xf32> -> tensor<2x3xf32>
  %old2 = onnx.slice %select2 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<2x3xf32> -> tensor<2x2xf32>
  %column2 = onnx.reshape %old2 : tensor<2x2xf32> -> tensor<2x2x1xf32>
  %block2 = onnx.slice %x1 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x3xf32> -> tensor<2x2x2xf32>
  %product2 = onnx.binary mul %column2, %block2 : (tensor<2x2x1xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %sum2 = onnx.reduce sum %product2 {axes = array<i64: 1>, keepdims = false} : tensor<2x2x2xf32> -> tensor<2x2xf32>
  %new2 = onnx.binary add %old2, %sum2 {node = "row2"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %turned2 = onnx.transpose %new2 {perm = array<i64: 1, 0>} : tensor<2x2xf32> -> tensor<2x2xf32>
  %all2 = onnx.transpose %select2 {perm = array<i64: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  %rest2 = onnx.slice %all2 {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x2xf32> -> tensor<1x2xf32>
  %joined2 = onnx.concat %turned2, %rest2 {axis = 0 : i64} : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %back2 = onnx.transpose %joined2 {perm = array<i64: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
  %middle2 = onnx.reshape %back2 : tensor<2x3xf32> -> tensor<2x1x3xf32>
  %before2 = onnx.slice %x1 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x3xf32> -> tensor<2x2x3xf32>
  %x2 = onnx.concat %before2, %middle2 {axis = 1 : i64, node = "last"} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
  return %x2 : tensor<2x3x3xf32>
}

// -----

// Elements above the diagonal may be what they like.
// CHECK-LABEL: func.func @not_masked
// CHECK-NOT: onnx.batch_matmul
func.func @not_masked(%l: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %r1 = onnx.slice %l {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %s1 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %p1 = onnx.binary mul %r1, %s1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %t1 = onnx.reduce sum %p1 {axes = array<i64: 0>, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>
  %n1 = onnx.binary add %r1, %t1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %r2 = onnx.slice %l {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %c2 = onnx.transpose %r2 {perm = array<i64: 1, 0>} : tensor<1x2xf32> -> tensor<2x1xf32>
  %u0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %z1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %u1 = onnx.concat %n1, %z1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %u = onnx.concat %u0, %u1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %p2 = onnx.binary mul %c2, %u : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t2 = onnx.reduce sum %p2 {axes = array<i64: 0>, keepdims = true} : tensor<2x2xf32> -> tensor<1x2xf32>
  %n2 = onnx.binary add %t2, %r2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x3xf32>
  %x1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %x2 = onnx.slice %l {starts = array<i64: 2, 2>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %y1 = onnx.concat %n1, %x1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
  %y2 = onnx.concat %n2, %x2 {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %x = onnx.concat %x0, %y1, %y2 {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %x : tensor<3x3xf32>
}

// -----

// The diagonal is not 0.
// CHECK-LABEL: func.func @diagonal
// CHECK-NOT: onnx.batch_matmul
func.func @diagonal(%m: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %below = onnx.constant dense<[[true, false, false], [true, false, false], [true, true, false]]> : tensor<3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %l = onnx.where %below, %m, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %r1 = onnx.slice %l {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %s1 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %p1 = onnx.binary mul %r1, %s1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %t1 = onnx.reduce sum %p1 {axes = array<i64: 0>, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>
  %n1 = onnx.binary add %r1, %t1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %r2 = onnx.slice %l {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %c2 = onnx.transpose %r2 {perm = array<i64: 1, 0>} : tensor<1x2xf32> -> tensor<2x1xf32>
  %u0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %z1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %u1 = onnx.concat %n1, %z1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %u = onnx.concat %u0, %u1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %p2 = onnx.binary mul %c2, %u : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t2 = onnx.reduce sum %p2 {axes = array<i64: 0>, keepdims = true} : tensor<2x2xf32> -> tensor<1x2xf32>
  %n2 = onnx.binary add %t2, %r2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x3xf32>
  %x1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %x2 = onnx.slice %l {starts = array<i64: 2, 2>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %y1 = onnx.concat %n1, %x1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
  %y2 = onnx.concat %n2, %x2 {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %x = onnx.concat %x0, %y1, %y2 {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %x : tensor<3x3xf32>
}

// -----

// Row 2 is multiplied by a column.
// CHECK-LABEL: func.func @wrong_factor
// CHECK-NOT: onnx.batch_matmul
func.func @wrong_factor(%m: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %below = onnx.constant dense<[[false, false, false], [true, false, false], [true, true, false]]> : tensor<3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %l = onnx.where %below, %m, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %r1 = onnx.slice %l {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %s1 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %p1 = onnx.binary mul %r1, %s1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %t1 = onnx.reduce sum %p1 {axes = array<i64: 0>, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>
  %n1 = onnx.binary add %r1, %t1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %r2 = onnx.slice %l {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %c2 = onnx.slice %l {starts = array<i64: 0, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<2x1xf32>
  %u0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %z1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %u1 = onnx.concat %n1, %z1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %u = onnx.concat %u0, %u1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %p2 = onnx.binary mul %c2, %u : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t2 = onnx.reduce sum %p2 {axes = array<i64: 0>, keepdims = true} : tensor<2x2xf32> -> tensor<1x2xf32>
  %n2 = onnx.binary add %t2, %r2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x3xf32>
  %x1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %x2 = onnx.slice %l {starts = array<i64: 2, 2>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %y1 = onnx.concat %n1, %x1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
  %y2 = onnx.concat %n2, %x2 {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %x = onnx.concat %x0, %y1, %y2 {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %x : tensor<3x3xf32>
}

// -----

// Row 2 reads row 1 as it was.
// CHECK-LABEL: func.func @old_row
// CHECK-NOT: onnx.batch_matmul
func.func @old_row(%m: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %below = onnx.constant dense<[[false, false, false], [true, false, false], [true, true, false]]> : tensor<3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %l = onnx.where %below, %m, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %r1 = onnx.slice %l {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %s1 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %p1 = onnx.binary mul %r1, %s1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %t1 = onnx.reduce sum %p1 {axes = array<i64: 0>, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>
  %n1 = onnx.binary add %r1, %t1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %r2 = onnx.slice %l {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %c2 = onnx.transpose %r2 {perm = array<i64: 1, 0>} : tensor<1x2xf32> -> tensor<2x1xf32>
  %u0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %z1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %u1 = onnx.concat %r1, %z1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %u = onnx.concat %u0, %u1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %p2 = onnx.binary mul %c2, %u : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t2 = onnx.reduce sum %p2 {axes = array<i64: 0>, keepdims = true} : tensor<2x2xf32> -> tensor<1x2xf32>
  %n2 = onnx.binary add %t2, %r2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x3xf32>
  %x1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %x2 = onnx.slice %l {starts = array<i64: 2, 2>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %y1 = onnx.concat %n1, %x1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
  %y2 = onnx.concat %n2, %x2 {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %x = onnx.concat %x0, %y1, %y2 {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %x : tensor<3x3xf32>
}

// -----

// Row 1 stays what it was.
// CHECK-LABEL: func.func @old_result
// CHECK-NOT: onnx.batch_matmul
func.func @old_result(%m: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %below = onnx.constant dense<[[false, false, false], [true, false, false], [true, true, false]]> : tensor<3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %l = onnx.where %below, %m, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %r1 = onnx.slice %l {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %s1 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %p1 = onnx.binary mul %r1, %s1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %t1 = onnx.reduce sum %p1 {axes = array<i64: 0>, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>
  %n1 = onnx.binary add %r1, %t1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %r2 = onnx.slice %l {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %c2 = onnx.transpose %r2 {perm = array<i64: 1, 0>} : tensor<1x2xf32> -> tensor<2x1xf32>
  %u0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %z1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %u1 = onnx.concat %n1, %z1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %u = onnx.concat %u0, %u1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %p2 = onnx.binary mul %c2, %u : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t2 = onnx.reduce sum %p2 {axes = array<i64: 0>, keepdims = true} : tensor<2x2xf32> -> tensor<1x2xf32>
  %n2 = onnx.binary add %t2, %r2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x3xf32>
  %x1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %x2 = onnx.slice %l {starts = array<i64: 2, 2>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %y1 = onnx.concat %r1, %x1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
  %y2 = onnx.concat %n2, %x2 {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %x = onnx.concat %x0, %y1, %y2 {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %x : tensor<3x3xf32>
}

// -----

// Products are not added up.
// CHECK-LABEL: func.func @largest
// CHECK-NOT: onnx.batch_matmul
func.func @largest(%m: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %below = onnx.constant dense<[[false, false, false], [true, false, false], [true, true, false]]> : tensor<3x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %l = onnx.where %below, %m, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %r1 = onnx.slice %l {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %s1 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %p1 = onnx.binary mul %r1, %s1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %t1 = onnx.reduce sum %p1 {axes = array<i64: 0>, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>
  %n1 = onnx.binary add %r1, %t1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %r2 = onnx.slice %l {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %c2 = onnx.transpose %r2 {perm = array<i64: 1, 0>} : tensor<1x2xf32> -> tensor<2x1xf32>
  %u0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %z1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %u1 = onnx.concat %n1, %z1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %u = onnx.concat %u0, %u1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %p2 = onnx.binary mul %c2, %u : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t2 = onnx.reduce max %p2 {axes = array<i64: 0>, keepdims = true} : tensor<2x2xf32> -> tensor<1x2xf32>
  %n2 = onnx.binary add %t2, %r2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x3xf32>
  %x1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
  %x2 = onnx.slice %l {starts = array<i64: 2, 2>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
  %y1 = onnx.concat %n1, %x1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
  %y2 = onnx.concat %n2, %x2 {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %x = onnx.concat %x0, %y1, %y2 {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %x : tensor<3x3xf32>
}

// -----

// The condition is of n * n elements, and of other rows.
// CHECK-LABEL: func.func @condition_of_the_batch
// CHECK-NOT: onnx.batch_matmul
func.func @condition_of_the_batch(%m: tensor<3x3x3xf32>) -> tensor<3x3x3xf32> {
  %below = onnx.constant dense<[[[false, false, false]], [[true, false, false]], [[true, true, false]]]> : tensor<3x1x3xi1>
  %zero = onnx.constant dense<0.0> : tensor<f32>
  %l = onnx.where %below, %m, %zero : (tensor<3x1x3xi1>, tensor<3x3x3xf32>, tensor<f32>) -> tensor<3x3x3xf32>
  %r1 = onnx.slice %l {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x1xf32>
  %s1 = onnx.slice %l {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x1xf32>
  %p1 = onnx.binary mul %r1, %s1 : (tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %t1 = onnx.reduce sum %p1 {axes = array<i64: 1>, keepdims = true} : tensor<3x1x1xf32> -> tensor<3x1x1xf32>
  %n1 = onnx.binary add %r1, %t1 : (tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %r2 = onnx.slice %l {starts = array<i64: 0, 2, 0>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x2xf32>
  %c2 = onnx.transpose %r2 {perm = array<i64: 0, 2, 1>} : tensor<3x1x2xf32> -> tensor<3x2x1xf32>
  %u0 = onnx.slice %l {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x2xf32>
  %z1 = onnx.slice %l {starts = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x1xf32>
  %u1 = onnx.concat %n1, %z1 {axis = 2 : i64} : (tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> tensor<3x1x2xf32>
  %u = onnx.concat %u0, %u1 {axis = 1 : i64} : (tensor<3x1x2xf32>, tensor<3x1x2xf32>) -> tensor<3x2x2xf32>
  %p2 = onnx.binary mul %c2, %u : (tensor<3x2x1xf32>, tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %t2 = onnx.reduce sum %p2 {axes = array<i64: 1>, keepdims = true} : tensor<3x2x2xf32> -> tensor<3x1x2xf32>
  %n2 = onnx.binary add %r2, %t2 : (tensor<3x1x2xf32>, tensor<3x1x2xf32>) -> tensor<3x1x2xf32>
  %x0 = onnx.slice %l {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x3xf32>
  %x1 = onnx.slice %l {starts = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x2xf32>
  %x2 = onnx.slice %l {starts = array<i64: 0, 2, 2>, steps = array<i64: 1, 1, 1>} : tensor<3x3x3xf32> -> tensor<3x1x1xf32>
  %y1 = onnx.concat %n1, %x1 {axis = 2 : i64} : (tensor<3x1x1xf32>, tensor<3x1x2xf32>) -> tensor<3x1x3xf32>
  %y2 = onnx.concat %n2, %x2 {axis = 2 : i64} : (tensor<3x1x2xf32>, tensor<3x1x1xf32>) -> tensor<3x1x3xf32>
  %x = onnx.concat %x0, %y1, %y2 {axis = 1 : i64} : (tensor<3x1x3xf32>, tensor<3x1x3xf32>, tensor<3x1x3xf32>) -> tensor<3x3x3xf32>
  return %x : tensor<3x3x3xf32>
}
