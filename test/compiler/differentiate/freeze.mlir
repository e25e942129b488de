// RUN: wse-opt %s --onnx-freeze | FileCheck %s

// CHECK: onnx.parameter @turns {{.*}} frozen {onnx.why = "angle"}
onnx.parameter @turns = dense<1.0> : tensor<1x6x4xf32> trainable
// CHECK: onnx.parameter @mask {{.*}} frozen {onnx.why = "mask"}
onnx.parameter @mask = dense<0.0> : tensor<1x1x6x6xf32> trainable
// CHECK: onnx.parameter @added {{.*}} frozen {onnx.why = "mask"}
onnx.parameter @added = dense<0.0> : tensor<6x6xf32> trainable
// Values tell a bias that is learned.
// CHECK: onnx.parameter @learned {{.*}} trainable
onnx.parameter @learned = dense<[[0.0, 0.5], [-3.0, 1.0]]> : tensor<2x2xf32> trainable
// CHECK: onnx.parameter @low {{.*}} frozen {onnx.why = "mask"}
onnx.parameter @low = dense<[[0.0, -1.0e4], [0.0, 0xFF800000]]> : tensor<2x2xf32> trainable
// What is asked for by its name trains whatever it looks like.
// CHECK: onnx.parameter @zeros {{.*}} trainable {onnx.named}
onnx.parameter @zeros = dense<0.0> : tensor<2x2xf32> trainable {onnx.named}
// CHECK: onnx.parameter @gain {{.*}} trainable {onnx.named}
onnx.parameter @gain = dense<2.0> : tensor<1xf32> trainable {onnx.named}
// CHECK: onnx.parameter @nowhere {{.*}} frozen {onnx.named, onnx.why = "unused"}
onnx.parameter @nowhere = dense<2.0> : tensor<1xf32> trainable {onnx.named}
// CHECK: onnx.parameter @frequency {{.*}} frozen {onnx.why = "angle"}
onnx.parameter @frequency = dense<2.0> : tensor<2xf32> trainable
// CHECK: onnx.parameter @factor {{.*}} frozen {onnx.why = "scalar"}
onnx.parameter @factor = dense<2.0> : tensor<1xf32> trainable
// CHECK: onnx.parameter @idle {{.*}} frozen {onnx.why = "unused"}
onnx.parameter @idle = dense<2.0> : tensor<8xf32> trainable
// CHECK: onnx.parameter @stated {{.*}} frozen{{$}}
onnx.parameter @stated = dense<2.0> : tensor<8xf32> frozen
// CHECK: onnx.parameter @scale {{.*}} trainable
onnx.parameter @scale = dense<1.0> : tensor<8xf32> trainable
// So are rows of a table, by position.
// CHECK: onnx.parameter @rows_of_angles {{.*}} frozen {onnx.why = "angle"}
onnx.parameter @rows_of_angles = dense<1.0> : tensor<9x4xf32> trainable
// A table of biases by position trains, though it masks.
// CHECK: onnx.parameter @positions {{.*}} trainable
onnx.parameter @positions = dense<1.0> : tensor<4x2xf32> trainable
// CHECK: onnx.parameter @bias {{.*}} trainable
onnx.parameter @bias = dense<1.0> : tensor<1xf32> trainable
// CHECK: onnx.parameter @weight {{.*}} trainable
onnx.parameter @weight = dense<1.0> : tensor<8x1xf32> trainable
func.func @main(%x: tensor<1x6x8xf32>, %ids: tensor<6x6xi64>, %v: tensor<2x2xf32>, %at: tensor<1x6xi64>) -> (tensor<1x6x1xf32>, tensor<6x6xf32>, tensor<2x2xf32>) {
  %t = onnx.constant #onnx.parameter<@turns : tensor<1x6x4xf32>> -> tensor<1x6x4xf32>
  %c = onnx.unary cos %t : tensor<1x6x4xf32>
  %m = onnx.constant #onnx.parameter<@mask : tensor<1x1x6x6xf32>> -> tensor<1x1x6x6xf32>
  %a = onnx.constant #onnx.parameter<@added : tensor<6x6xf32>> -> tensor<6x6xf32>
  %f = onnx.constant #onnx.parameter<@factor : tensor<1xf32>> -> tensor<1xf32>
  %s = onnx.constant #onnx.parameter<@scale : tensor<8xf32>> -> tensor<8xf32>
  %u = onnx.constant #onnx.parameter<@stated : tensor<8xf32>> -> tensor<8xf32>
  %p = onnx.constant #onnx.parameter<@positions : tensor<4x2xf32>> -> tensor<4x2xf32>
  %b = onnx.constant #onnx.parameter<@bias : tensor<1xf32>> -> tensor<1xf32>
  %w = onnx.constant #onnx.parameter<@weight : tensor<8x1xf32>> -> tensor<8x1xf32>
  %n = onnx.layer_norm %x, %s bias %u {epsilon = 0.5 : f32} : (tensor<1x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %r = onnx.rotary %n, %c, %c {num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
  %table = onnx.constant #onnx.parameter<@rows_of_angles : tensor<9x4xf32>> -> tensor<9x4xf32>
  %looked = onnx.gather %table, %at : (tensor<9x4xf32>, tensor<1x6xi64>) -> tensor<1x6x4xf32>
  %turned = onnx.rotary %r, %looked, %looked {num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
  %g = onnx.gather %p, %ids : (tensor<4x2xf32>, tensor<6x6xi64>) -> tensor<6x6x2xf32>
  %gt = onnx.transpose %g {perm = array<i64: 0, 2, 1>} : tensor<6x6x2xf32> -> tensor<6x2x6xf32>
  %gm = onnx.reshape %gt : tensor<6x2x6xf32> -> tensor<1x6x12xf32>
  %o = onnx.attention %turned, %r, %r masks %m, %gm {num_heads = 2 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>, #onnx.term<add operand 1>]} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x1x6x6xf32>, tensor<1x6x12xf32>) -> tensor<1x6x8xf32>
  %scaled = onnx.binary mul %o, %f : (tensor<1x6x8xf32>, tensor<1xf32>) -> tensor<1x6x8xf32>
  %y = onnx.matmul %scaled, %w bias %b : (tensor<1x6x8xf32>, tensor<8x1xf32>, tensor<1xf32>) -> tensor<1x6x1xf32>
  %rows = onnx.reshape %scaled : tensor<1x6x8xf32> -> tensor<6x8xf32>
  %columns = onnx.transpose %rows {perm = array<i64: 1, 0>} : tensor<6x8xf32> -> tensor<8x6xf32>
  %scores = onnx.batch_matmul %rows, %columns : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %masked = onnx.binary add %scores, %a : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %probabilities = onnx.softmax %masked : tensor<6x6xf32>
  %l = onnx.constant #onnx.parameter<@learned : tensor<2x2xf32>> -> tensor<2x2xf32>
  %w0 = onnx.constant #onnx.parameter<@low : tensor<2x2xf32>> -> tensor<2x2xf32>
  %z = onnx.constant #onnx.parameter<@zeros : tensor<2x2xf32>> -> tensor<2x2xf32>
  %e = onnx.constant #onnx.parameter<@gain : tensor<1xf32>> -> tensor<1xf32>
  %q = onnx.constant #onnx.parameter<@frequency : tensor<2xf32>> -> tensor<2xf32>
  %sines = onnx.unary sin %q : tensor<2xf32>
  %s0 = onnx.binary mul %v, %sines : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %s1 = onnx.binary mul %s0, %e : (tensor<2x2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
  %s2 = onnx.binary add %s1, %l : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %p2 = onnx.softmax %s2 : tensor<2x2xf32>
  %s3 = onnx.binary add %p2, %w0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %p3 = onnx.softmax %s3 : tensor<2x2xf32>
  %s4 = onnx.binary add %p3, %z : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %p4 = onnx.softmax %s4 : tensor<2x2xf32>
  return %y, %probabilities, %p4 : tensor<1x6x1xf32>, tensor<6x6xf32>, tensor<2x2xf32>
}
