// RUN: wse-opt %s --onnx-fuse-rotary | FileCheck %s

// Halves, heads behind a transpose; angles repeated over the batch and heads.
// CHECK-LABEL: func.func @halves
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x5x12xf32>, %[[C:[a-z0-9]+]]: tensor<1x1x5x4xf32>
// CHECK-DAG: %[[X:.*]] = onnx.reshape %[[C]] {{.*}} -> tensor<1x5x4xf32>
// CHECK: %[[Y:.*]] = onnx.rotary %[[Q]], %{{.*}}, %{{.*}} {{{.*}}num_heads = 3 : i64, rotary_dim = 4 : i64}
// CHECK: %[[S:.*]] = onnx.reshape %[[Y]]
// CHECK: %[[T:.*]] = onnx.transpose %[[S]]
// CHECK: return %[[T]]
func.func @halves(%q: tensor<2x5x12xf32>, %cos: tensor<1x1x5x4xf32>, %sin: tensor<1x1x5x4xf32>) -> tensor<2x3x5x4xf32> {
  %r = onnx.reshape %q : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %x = onnx.transpose %r {perm = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x3x5x4xf32> -> tensor<2x3x5x2xf32>
  %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x3x5x4xf32> -> tensor<2x3x5x2xf32>
  %n = onnx.unary neg %b : tensor<2x3x5x2xf32>
  %o = onnx.concat %n, %a {axis = 3 : i64} : (tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x5x4xf32>
  %c = onnx.binary mul %x, %cos : (tensor<2x3x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<2x3x5x4xf32>
  %s = onnx.binary mul %sin, %o : (tensor<1x1x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %y = onnx.binary add %s, %c : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// Pairs of the first four of six features, tokens before heads.
// CHECK-LABEL: func.func @pairs_of_some
// CHECK: %[[Y:.*]] = onnx.rotary %{{.*}} {interleaved, {{.*}}num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x5x12xf32>, tensor<1x5x4xf32>, tensor<1x5x4xf32>) -> tensor<1x5x12xf32>
// CHECK-NEXT: %[[R:.*]] = onnx.reshape %[[Y]]
// CHECK: return %[[R]]
func.func @pairs_of_some(%q: tensor<1x5x2x6xf32>, %cos: tensor<1x5x1x4xf32>, %sin: tensor<1x5x1x4xf32>) -> tensor<1x5x2x6xf32> {
  %x = onnx.slice %q {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x5x2x6xf32> -> tensor<1x5x2x4xf32>
  %rest = onnx.slice %q {starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x5x2x6xf32> -> tensor<1x5x2x2xf32>
  %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 2>} : tensor<1x5x2x4xf32> -> tensor<1x5x2x2xf32>
  %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 1>, steps = array<i64: 1, 1, 1, 2>} : tensor<1x5x2x4xf32> -> tensor<1x5x2x2xf32>
  %n = onnx.unary neg %b : tensor<1x5x2x2xf32>
  %n1 = onnx.reshape %n : tensor<1x5x2x2xf32> -> tensor<1x5x2x2x1xf32>
  %a1 = onnx.reshape %a : tensor<1x5x2x2xf32> -> tensor<1x5x2x2x1xf32>
  %p = onnx.concat %n1, %a1 {axis = 4 : i64} : (tensor<1x5x2x2x1xf32>, tensor<1x5x2x2x1xf32>) -> tensor<1x5x2x2x2xf32>
  %o = onnx.reshape %p : tensor<1x5x2x2x2xf32> -> tensor<1x5x2x4xf32>
  %c = onnx.binary mul %x, %cos : (tensor<1x5x2x4xf32>, tensor<1x5x1x4xf32>) -> tensor<1x5x2x4xf32>
  %s = onnx.binary mul %o, %sin : (tensor<1x5x2x4xf32>, tensor<1x5x1x4xf32>) -> tensor<1x5x2x4xf32>
  %t = onnx.binary add %c, %s : (tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>) -> tensor<1x5x2x4xf32>
  %y = onnx.concat %t, %rest {axis = 3 : i64} : (tensor<1x5x2x4xf32>, tensor<1x5x2x2xf32>) -> tensor<1x5x2x6xf32>
  return %y : tensor<1x5x2x6xf32>
}

// The halves of another tensor, or in another order, are none.
// CHECK-LABEL: func.func @no_rotation
// CHECK-NOT: onnx.rotary
func.func @no_rotation(%x: tensor<1x2x5x4xf32>, %z: tensor<1x2x5x4xf32>, %cos: tensor<1x1x5x4xf32>) -> (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) {
  %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x5x4xf32> -> tensor<1x2x5x2xf32>
  %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x5x4xf32> -> tensor<1x2x5x2xf32>
  %nb = onnx.unary neg %b : tensor<1x2x5x2xf32>
  %na = onnx.unary neg %a : tensor<1x2x5x2xf32>
  %right = onnx.concat %nb, %a {axis = 3 : i64} : (tensor<1x2x5x2xf32>, tensor<1x2x5x2xf32>) -> tensor<1x2x5x4xf32>
  %wrong = onnx.concat %na, %b {axis = 3 : i64} : (tensor<1x2x5x2xf32>, tensor<1x2x5x2xf32>) -> tensor<1x2x5x4xf32>
  %c = onnx.binary mul %z, %cos : (tensor<1x2x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x2x5x4xf32>
  %s = onnx.binary mul %right, %cos : (tensor<1x2x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x2x5x4xf32>
  %y = onnx.binary add %c, %s : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  %d = onnx.binary mul %x, %cos : (tensor<1x2x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x2x5x4xf32>
  %t = onnx.binary mul %wrong, %cos : (tensor<1x2x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x2x5x4xf32>
  %u = onnx.binary add %d, %t : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  return %y, %u : tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>
}

// Angles that differ between heads are more than onnx.rotary says.
// CHECK-LABEL: func.func @angles_of_heads
// CHECK-NOT: onnx.rotary
func.func @angles_of_heads(%x: tensor<1x2x5x4xf32>, %cos: tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32> {
  %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x5x4xf32> -> tensor<1x2x5x2xf32>
  %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x2x5x4xf32> -> tensor<1x2x5x2xf32>
  %n = onnx.unary neg %b : tensor<1x2x5x2xf32>
  %o = onnx.concat %n, %a {axis = 3 : i64} : (tensor<1x2x5x2xf32>, tensor<1x2x5x2xf32>) -> tensor<1x2x5x4xf32>
  %c = onnx.binary mul %x, %cos : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  %s = onnx.binary mul %o, %cos : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  %y = onnx.binary add %c, %s : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  return %y : tensor<1x2x5x4xf32>
}

// Of a tensor that is [batch, heads, token, feature] itself no view is [batch,
// token, feature].
// CHECK-LABEL: func.func @heads_of_their_own
// CHECK-NOT: onnx.rotary
func.func @heads_of_their_own(%x: tensor<2x3x5x4xf32>, %cos: tensor<1x1x5x4xf32>) -> tensor<2x3x5x4xf32> {
  %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x3x5x4xf32> -> tensor<2x3x5x2xf32>
  %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x3x5x4xf32> -> tensor<2x3x5x2xf32>
  %n = onnx.unary neg %b : tensor<2x3x5x2xf32>
  %o = onnx.concat %n, %a {axis = 3 : i64} : (tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x5x4xf32>
  %c = onnx.binary mul %x, %cos : (tensor<2x3x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<2x3x5x4xf32>
  %s = onnx.binary mul %o, %cos : (tensor<2x3x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<2x3x5x4xf32>
  %y = onnx.binary add %c, %s : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// What turns of a slice may be all that is asked for.
// CHECK-LABEL: func.func @slice_alone
// CHECK: onnx.rotary %{{.*}} {{{.*}}num_heads = 1 : i64, rotary_dim = 4 : i64}
func.func @slice_alone(%q: tensor<1x5x1x6xf32>, %cos: tensor<1x5x1x4xf32>) -> tensor<1x5x1x4xf32> {
  %x = onnx.slice %q {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x5x1x6xf32> -> tensor<1x5x1x4xf32>
  %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x5x1x4xf32> -> tensor<1x5x1x2xf32>
  %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x5x1x4xf32> -> tensor<1x5x1x2xf32>
  %n = onnx.unary neg %b : tensor<1x5x1x2xf32>
  %o = onnx.concat %n, %a {axis = 3 : i64} : (tensor<1x5x1x2xf32>, tensor<1x5x1x2xf32>) -> tensor<1x5x1x4xf32>
  %c = onnx.binary mul %x, %cos : (tensor<1x5x1x4xf32>, tensor<1x5x1x4xf32>) -> tensor<1x5x1x4xf32>
  %s = onnx.binary mul %o, %cos : (tensor<1x5x1x4xf32>, tensor<1x5x1x4xf32>) -> tensor<1x5x1x4xf32>
  %y = onnx.binary add %c, %s : (tensor<1x5x1x4xf32>, tensor<1x5x1x4xf32>) -> tensor<1x5x1x4xf32>
  return %y : tensor<1x5x1x4xf32>
}

// Integers are not turned.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: onnx.rotary
func.func @integers(%q: tensor<1x5x2x4xi32>, %cos: tensor<1x5x1x4xi32>) -> tensor<1x5x2x4xi32> {
  %a = onnx.slice %q {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x5x2x4xi32> -> tensor<1x5x2x2xi32>
  %b = onnx.slice %q {starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x5x2x4xi32> -> tensor<1x5x2x2xi32>
  %n = onnx.unary neg %b : tensor<1x5x2x2xi32>
  %o = onnx.concat %n, %a {axis = 3 : i64} : (tensor<1x5x2x2xi32>, tensor<1x5x2x2xi32>) -> tensor<1x5x2x4xi32>
  %c = onnx.binary mul %q, %cos : (tensor<1x5x2x4xi32>, tensor<1x5x1x4xi32>) -> tensor<1x5x2x4xi32>
  %s = onnx.binary mul %o, %cos : (tensor<1x5x2x4xi32>, tensor<1x5x1x4xi32>) -> tensor<1x5x2x4xi32>
  %y = onnx.binary add %c, %s : (tensor<1x5x2x4xi32>, tensor<1x5x2x4xi32>) -> tensor<1x5x2x4xi32>
  return %y : tensor<1x5x2x4xi32>
}
