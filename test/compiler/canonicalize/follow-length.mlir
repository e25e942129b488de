// RUN: wse-opt %s --split-input-file --onnx-follow-length | FileCheck %s
// RUN: wse-opt %s --split-input-file --onnx-follow-length=rows=3 | FileCheck %s --check-prefix=DEALT

// Keys behind the length have no weight: the model's own mask hides them, or one that replaces scores.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[X:.*]]: tensor<1x8x4xf32> {onnx.length_axes = array<i64: 1>}
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<1xi64> {onnx.length = array<i64: 1, 8>, onnx.name = "tokens"}
// CHECK-SAME: -> (tensor<1x8x4xf32> {onnx.length_axes = array<i64: 1>})
// CHECK: %[[ALL:.*]] = onnx.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]>
// CHECK: %[[THERE:.*]] = onnx.binary less %[[ALL]], %[[N]]
// CHECK: %[[KEYS:.*]] = onnx.reshape %[[THERE]] {{.*}}-> tensor<1x1x1x8xi1>
// CHECK: %[[MASK:.*]] = onnx.where %[[KEYS]], %{{.*}} : (tensor<1x1x1x8xi1>, tensor<1x1x1x8xf32>, tensor<f32>)
// CHECK: onnx.attention {{.*}} masks %[[MASK]] {{.*}}terms = [#onnx.term<add operand 0>]}
// CHECK: %[[HIDDEN:.*]] = onnx.where {{.*}} : (tensor<1x1x1x8xi1>, tensor<f32>, tensor<f32>)
// CHECK: onnx.attention {{.*}} masks %[[HIDDEN]] {{.*}}terms = [#onnx.term<replace operand 0>, #onnx.term<zero_nan>]}
// CHECK-NOT: func.func @at_7
// DEALT-LABEL: func.func @attention
// DEALT: onnx.length_parts = 3
// DEALT: onnx.constant dense<[0, 3, 6, 1, 4, 7, 2, 5]>
// DEALT: onnx.matmul {{.*}}onnx.length_parts = 3
func.func @attention(%x: tensor<1x8x4xf32>, %mask: tensor<1x1x1x8xf32>) -> tensor<1x8x4xf32>
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "tokens"} {
  %w = onnx.constant dense<0.5> : tensor<4x4xf32>
  %q = onnx.matmul %x, %w : (tensor<1x8x4xf32>, tensor<4x4xf32>) -> tensor<1x8x4xf32>
  %y = onnx.attention %q, %x, %x masks %mask {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>]}
      : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x1x1x8xf32>) -> tensor<1x8x4xf32>
  %z = onnx.attention %y, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<zero_nan>]}
      : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  return %z : tensor<1x8x4xf32>
}
func.func @at_7(%x: tensor<1x7x4xf32>, %mask: tensor<1x1x1x7xf32>) -> tensor<1x7x4xf32>
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @attention} {
  %w = onnx.constant dense<0.5> : tensor<4x4xf32>
  %q = onnx.matmul %x, %w : (tensor<1x7x4xf32>, tensor<4x4xf32>) -> tensor<1x7x4xf32>
  %y = onnx.attention %q, %x, %x masks %mask {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>]}
      : (tensor<1x7x4xf32>, tensor<1x7x4xf32>, tensor<1x7x4xf32>, tensor<1x1x1x7xf32>) -> tensor<1x7x4xf32>
  %z = onnx.attention %y, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<zero_nan>]}
      : (tensor<1x7x4xf32>, tensor<1x7x4xf32>, tensor<1x7x4xf32>) -> tensor<1x7x4xf32>
  return %z : tensor<1x7x4xf32>
}

// -----

// Positions begin alike, and are dealt; the second token lies where it is dealt to. A mean is of the tokens that are there; 3 is 2 more than the length, of 8.
// CHECK-LABEL: func.func @numbers
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<1xi64> {onnx.length
// CHECK: onnx.constant dense<{{.*}}0.000000e+00{{.*}}1.000000e+00{{.*}}2.000000e+00
// CHECK: onnx.slice {{.*}}starts = array<i64: 1, 0>
// CHECK: onnx.where
// CHECK: %[[SUM:.*]] = onnx.reduce sum
// CHECK: onnx.cast %[[N]] {{.*}}-> tensor<1xf32>
// CHECK: onnx.binary div %[[SUM]]
// DEALT-LABEL: func.func @numbers
// DEALT: onnx.constant dense<{{.*}}0.000000e+00{{.*}}3.000000e+00{{.*}}6.000000e+00
// DEALT: onnx.slice {{.*}}starts = array<i64: 3, 0>
func.func @numbers(%x: tensor<8x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
    attributes {onnx.length = array<i64: 2, 8>, onnx.length_name = "tokens"} {
  %positions = onnx.constant dense<[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]> : tensor<8x1xf32>
  %more = onnx.constant dense<10.0> : tensor<1x1xf32>
  %y = onnx.binary add %x, %positions : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  %second = onnx.slice %y {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<8x1xf32> -> tensor<1x1xf32>
  %mean = onnx.reduce mean %y {axes = array<i64: 0>, keepdims = true} : tensor<8x1xf32> -> tensor<1x1xf32>
  %scaled = onnx.binary mul %mean, %more : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return %second, %mean, %scaled : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}
func.func @at_6(%x: tensor<6x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
    attributes {onnx.length = array<i64: 6, 6>, onnx.length_of = @numbers} {
  %positions = onnx.constant dense<[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]> : tensor<6x1xf32>
  %more = onnx.constant dense<8.0> : tensor<1x1xf32>
  %y = onnx.binary add %x, %positions : (tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<6x1xf32>
  %second = onnx.slice %y {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<6x1xf32> -> tensor<1x1xf32>
  %mean = onnx.reduce mean %y {axes = array<i64: 0>, keepdims = true} : tensor<6x1xf32> -> tensor<1x1xf32>
  %scaled = onnx.binary mul %mean, %more : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return %second, %mean, %scaled : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}

// -----

// A softmax and the product behind it are of the tokens that are there, which what is divided by others may not spoil.
// CHECK-LABEL: func.func @weights
// CHECK: %[[MASKED:.*]] = onnx.where {{.*}} : (tensor<1x8xi1>, tensor<8x8xf32>
// CHECK: %[[P:.*]] = onnx.softmax %[[MASKED]]
// CHECK: %[[V:.*]] = onnx.where {{.*}} : (tensor<8x1xi1>, tensor<8x4xf32>
// CHECK: onnx.batch_matmul %[[P]], %[[V]]
func.func @weights(%s: tensor<8x8xf32>, %x: tensor<8x4xf32>, %by: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "tokens"} {
  %p = onnx.softmax %s : tensor<8x8xf32>
  %v = onnx.binary div %x, %by : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = onnx.batch_matmul %p, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
func.func @at_5(%s: tensor<5x5xf32>, %x: tensor<5x4xf32>, %by: tensor<5x4xf32>) -> tensor<5x4xf32>
    attributes {onnx.length = array<i64: 5, 5>, onnx.length_of = @weights} {
  %p = onnx.softmax %s : tensor<5x5xf32>
  %v = onnx.binary div %x, %by : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %y = onnx.batch_matmul %p, %v : (tensor<5x5xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// Tokens that see none behind them are told how they are dealt, and what is summed up in order is put in order before. Of the sums from the end those behind
// the length are 0. Two heads have a bias each for 8 keys, or 7, one behind the other.
// CHECK-LABEL: func.func @order
// CHECK: %[[THERE:.*]] = onnx.binary less
// CHECK: %[[FIRST:.*]] = onnx.where {{.*}} : (tensor<1x8xi1>, tensor<1x8xf32>, tensor<f32>)
// CHECK: onnx.running_sum %[[FIRST]] reverse
// CHECK: onnx.attention {{.*}}terms = [#onnx.term<add later
// DEALT-LABEL: func.func @order
// DEALT: %[[BIAS:.*]] = onnx.constant dense<"0x00000000000040400000C0400000803F000080400000E040000000400000A0400000000000004040
// DEALT: onnx.gather %{{.*}}, %{{.*}} : (tensor<8x1xf32>, tensor<8xi64>) -> tensor<8x1xf32>
// DEALT: onnx.running_sum
// DEALT: onnx.gather
// DEALT: onnx.attention {{.*}} masks %[[BIAS]]{{.*}}onnx.length_parts = 3
func.func @order(%x: tensor<1x8x4xf32>, %m: tensor<1x8xf32>) -> (tensor<1x8x4xf32>, tensor<1x8xf32>)
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "tokens"} {
  %bias = onnx.constant dense<[[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]]> : tensor<1x8x16xf32>
  %sums = onnx.running_sum %m reverse {axis = 1 : i64} : tensor<1x8xf32>
  %y = onnx.attention %x, %x, %x masks %bias {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<add later -1.0e4 : f32>, #onnx.term<add operand 0>]}
      : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x16xf32>) -> tensor<1x8x4xf32>
  return %y, %sums : tensor<1x8x4xf32>, tensor<1x8xf32>
}
func.func @at_7(%x: tensor<1x7x4xf32>, %m: tensor<1x7xf32>) -> (tensor<1x7x4xf32>, tensor<1x7xf32>)
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @order} {
  %bias = onnx.constant dense<[[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]]> : tensor<1x7x14xf32>
  %sums = onnx.running_sum %m reverse {axis = 1 : i64} : tensor<1x7xf32>
  %y = onnx.attention %x, %x, %x masks %bias {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<add later -1.0e4 : f32>, #onnx.term<add operand 0>]}
      : (tensor<1x7x4xf32>, tensor<1x7x4xf32>, tensor<1x7x4xf32>, tensor<1x7x14xf32>) -> tensor<1x7x4xf32>
  return %y, %sums : tensor<1x7x4xf32>, tensor<1x7xf32>
}
