// RUN: wse-opt %s --onnx-fuse-matmul | FileCheck %s

// The torch form of a projection: two reshapes around a product and a bias.
// CHECK-LABEL: func.func @reshapes_cancel
// CHECK-SAME: %[[X:.*]]: tensor<2x5x8xf32>)
// CHECK: %[[Y:.*]] = onnx.matmul %[[X]], %{{.*}} bias %{{.*}} : (tensor<2x5x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<2x5x16xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reshapes_cancel(%x: tensor<2x5x8xf32>) -> tensor<2x5x16xf32> {
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<8x16xf32>
  %b = onnx.constant dense<1.0> : tensor<1x16xf32>
  %flat = onnx.reshape %x : tensor<2x5x8xf32> -> tensor<10x8xf32>
  %y = onnx.matmul %flat, %w : (tensor<10x8xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
  %s = onnx.binary add %b, %y : (tensor<1x16xf32>, tensor<10x16xf32>) -> tensor<10x16xf32>
  %z = onnx.reshape %s : tensor<10x16xf32> -> tensor<2x5x16xf32>
  return %z : tensor<2x5x16xf32>
}

// Fused Q, K and V: three products by views of one weight.
// CHECK-LABEL: func.func @parts
// CHECK-DAG: %[[W0:.*]] = onnx.constant external<"none.bin", 0, 384> view offset 0 strides [12, 1] {{.*}}tensor<8x4xf32>
// CHECK-DAG: %[[W1:.*]] = onnx.constant external<"none.bin", 0, 384> view offset 4 strides [12, 1] {{.*}}tensor<8x8xf32>
// CHECK-DAG: %[[P0:.*]] = onnx.matmul %{{.*}}, %[[W0]]
// CHECK-DAG: %[[P1:.*]] = onnx.matmul %{{.*}}, %[[W1]]
// CHECK: return %[[P0]], %[[P1]]
func.func @parts(%x: tensor<2x5x8xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x8xf32>) {
  %w = onnx.constant external<"none.bin", 0, 384> : tensor<8x12xf32>
  %y = onnx.matmul %x, %w : (tensor<2x5x8xf32>, tensor<8x12xf32>) -> tensor<2x5x12xf32>
  %p = onnx.slice %y {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x5x12xf32> -> tensor<2x5x4xf32>
  %q = onnx.slice %y {starts = array<i64: 0, 0, 4>, steps = array<i64: 1, 1, 1>} : tensor<2x5x12xf32> -> tensor<2x5x8xf32>
  return %p, %q : tensor<2x5x4xf32>, tensor<2x5x8xf32>
}

// Tokens first, as torch's attention has them: the transposes meet and cancel.
// CHECK-LABEL: func.func @transposes_cancel
// CHECK-NOT: transpose
// CHECK: %[[Y:.*]] = onnx.matmul %{{.*}} -> tensor<2x5x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @transposes_cancel(%x: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %w = onnx.constant external<"none.bin", 0, 256> : tensor<8x8xf32>
  %t = onnx.transpose %x {perm = array<i64: 1, 0, 2>} : tensor<2x5x8xf32> -> tensor<5x2x8xf32>
  %y = onnx.matmul %t, %w : (tensor<5x2x8xf32>, tensor<8x8xf32>) -> tensor<5x2x8xf32>
  %z = onnx.transpose %y {perm = array<i64: 1, 0, 2>} : tensor<5x2x8xf32> -> tensor<2x5x8xf32>
  return %z : tensor<2x5x8xf32>
}

// Channels in front, as exporters of images have them, between two products: what is done to elements in between is done
// with channels last.
// CHECK-LABEL: func.func @transposes_sink_below_elements
// CHECK-NOT: transpose
// CHECK: %[[P:.*]] = onnx.matmul %{{.*}} -> tensor<2x3x5x8xf32>
// CHECK: %[[S:.*]] = onnx.unary sigmoid %[[P]] : tensor<2x3x5x8xf32>
// CHECK: %[[M:.*]] = onnx.binary mul %[[P]], %[[S]]
// CHECK: %[[H:.*]] = onnx.binary add %[[M]], %{{.*}} : (tensor<2x3x5x8xf32>, tensor<f32>) -> tensor<2x3x5x8xf32>
// CHECK: onnx.matmul %[[H]]
// CHECK-NOT: transpose
// CHECK: return
func.func @transposes_sink_below_elements(%x: tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32> {
  %w = onnx.constant external<"none.bin", 0, 256> : tensor<8x8xf32>
  %one = onnx.constant dense<1.0> : tensor<f32>
  %p = onnx.matmul %x, %w : (tensor<2x3x5x8xf32>, tensor<8x8xf32>) -> tensor<2x3x5x8xf32>
  %t = onnx.transpose %p {perm = array<i64: 0, 3, 1, 2>} : tensor<2x3x5x8xf32> -> tensor<2x8x3x5xf32>
  %s = onnx.unary sigmoid %t : tensor<2x8x3x5xf32>
  %m = onnx.binary mul %t, %s : (tensor<2x8x3x5xf32>, tensor<2x8x3x5xf32>) -> tensor<2x8x3x5xf32>
  %h = onnx.binary add %m, %one : (tensor<2x8x3x5xf32>, tensor<f32>) -> tensor<2x8x3x5xf32>
  %b = onnx.transpose %h {perm = array<i64: 0, 2, 3, 1>} : tensor<2x8x3x5xf32> -> tensor<2x3x5x8xf32>
  %y = onnx.matmul %b, %w : (tensor<2x3x5x8xf32>, tensor<8x8xf32>) -> tensor<2x3x5x8xf32>
  return %y : tensor<2x3x5x8xf32>
}

// Two that are transposed in different ways stay: one of them has to move.
// CHECK-LABEL: func.func @other_transposes_stay
// CHECK: onnx.transpose
// CHECK: onnx.transpose
// CHECK: onnx.binary add
func.func @other_transposes_stay(%x: tensor<2x8x8xf32>, %y: tensor<8x2x8xf32>) -> tensor<2x8x8xf32> {
  %t = onnx.transpose %x {perm = array<i64: 0, 2, 1>} : tensor<2x8x8xf32> -> tensor<2x8x8xf32>
  %s = onnx.transpose %y {perm = array<i64: 1, 2, 0>} : tensor<8x2x8xf32> -> tensor<2x8x8xf32>
  %z = onnx.binary add %t, %s : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  return %z : tensor<2x8x8xf32>
}

// A mask expanded over features, as mean pooling has it.
// CHECK-LABEL: func.func @expand_sinks_and_goes
// CHECK-NOT: onnx.expand
// CHECK: %[[COUNT:.*]] = onnx.reduce sum %{{.*}} : tensor<2x5x1xf32> -> tensor<2x1xf32>
// CHECK: %[[SAFE:.*]] = onnx.binary max %[[COUNT]], %{{.*}} -> tensor<2x1xf32>
// CHECK: onnx.binary div %{{.*}}, %[[SAFE]] : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
func.func @expand_sinks_and_goes(%sum: tensor<2x8xf32>, %m: tensor<2x5x1xi64>) -> tensor<2x8xf32> {
  %tiny = onnx.constant dense<1.0e-9> : tensor<f32>
  %wide = onnx.expand %m : tensor<2x5x1xi64> -> tensor<2x5x8xi64>
  %f = onnx.cast %wide : tensor<2x5x8xi64> -> tensor<2x5x8xf32>
  %count = onnx.reduce sum %f {axes = array<i64: 1>, keepdims = false} : tensor<2x5x8xf32> -> tensor<2x8xf32>
  %safe = onnx.binary max %count, %tiny : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %y = onnx.binary div %sum, %safe : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// A product that is also read whole stays whole.
// CHECK-LABEL: func.func @also_read_whole
// CHECK: %[[Y:.*]] = onnx.matmul %{{.*}} -> tensor<2x5x12xf32>
// CHECK: onnx.slice %[[Y]]
func.func @also_read_whole(%x: tensor<2x5x8xf32>) -> (tensor<2x5x12xf32>, tensor<2x5x4xf32>) {
  %w = onnx.constant external<"none.bin", 0, 384> : tensor<8x12xf32>
  %y = onnx.matmul %x, %w : (tensor<2x5x8xf32>, tensor<8x12xf32>) -> tensor<2x5x12xf32>
  %p = onnx.slice %y {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x5x12xf32> -> tensor<2x5x4xf32>
  return %y, %p : tensor<2x5x12xf32>, tensor<2x5x4xf32>
}

// Zeros that are written to piece by piece, transposed as a scatter wants it,
// are the pieces joined.
// CHECK-LABEL: func.func @written_in_pieces
// CHECK: %[[ALL:.*]] = onnx.concat %arg0, %arg1 {axis = 2 : i64{{.*}}} : (tensor<2x4x8xf32>, tensor<2x4x4xf32>) -> tensor<2x4x12xf32>
// CHECK: return %[[ALL]]
func.func @written_in_pieces(%a: tensor<2x4x8xf32>, %b: tensor<2x4x4xf32>) -> tensor<2x4x12xf32> {
  %zeros = onnx.constant dense<0.0> : tensor<f32> view offset 0 strides [0, 0, 0] -> tensor<12x4x2xf32>
  %ta = onnx.transpose %a {perm = array<i64: 2, 1, 0>} : tensor<2x4x8xf32> -> tensor<8x4x2xf32>
  %tb = onnx.transpose %b {perm = array<i64: 2, 1, 0>} : tensor<2x4x4xf32> -> tensor<4x4x2xf32>
  %rest = onnx.slice %zeros {starts = array<i64: 8, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<12x4x2xf32> -> tensor<4x4x2xf32>
  %first = onnx.concat %ta, %rest {axis = 0 : i64} : (tensor<8x4x2xf32>, tensor<4x4x2xf32>) -> tensor<12x4x2xf32>
  %kept = onnx.slice %first {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<12x4x2xf32> -> tensor<8x4x2xf32>
  %second = onnx.concat %kept, %tb {axis = 0 : i64} : (tensor<8x4x2xf32>, tensor<4x4x2xf32>) -> tensor<12x4x2xf32>
  %y = onnx.transpose %second {perm = array<i64: 2, 1, 0>} : tensor<12x4x2xf32> -> tensor<2x4x12xf32>
  return %y : tensor<2x4x12xf32>
}

// A slice of elements of both parts stays.
// CHECK-LABEL: func.func @across_parts
// CHECK: %[[ALL:.*]] = onnx.concat
// CHECK: onnx.slice %[[ALL]] {{.*}} -> tensor<2x2xf32>
// CHECK: onnx.slice %arg1 {{.*}}starts = array<i64: 1, 3>, steps = array<i64: 1, -2>{{.*}} : tensor<2x4xf32> -> tensor<1x2xf32>
func.func @across_parts(%a: tensor<2x8xf32>, %b: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<1x2xf32>) {
  %all = onnx.concat %a, %b {axis = 1 : i64} : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<2x12xf32>
  %y = onnx.slice %all {starts = array<i64: 0, 7>, steps = array<i64: 1, 1>} : tensor<2x12xf32> -> tensor<2x2xf32>
  %z = onnx.slice %all {starts = array<i64: 1, 11>, steps = array<i64: 1, -2>} : tensor<2x12xf32> -> tensor<1x2xf32>
  return %y, %z : tensor<2x2xf32>, tensor<1x2xf32>
}
