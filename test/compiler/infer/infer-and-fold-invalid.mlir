// Nodes whose rule fails keep their unknown type, and say why: no fault of a
// model crashes the compiler or becomes a shape that no tensor has.
// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold | FileCheck %s

module attributes {onnx.opset = 17 : i64} {

// CHECK-LABEL: func.func @shapes_no_tensor_has
// CHECK: "ConstantOfShape"{{.*}}onnx.reason = "shape -1x8 has a negative extent"
// CHECK: "Expand"{{.*}}onnx.reason = "shape -1x8 has a negative extent"
// CHECK: "Reshape"{{.*}}onnx.reason = "shape leaves two dimensions open"
// CHECK: "Expand"{{.*}}onnx.reason = "shape 4611686018427387904x8 has too many elements, expected fewer than 2^60"
// CHECK: "Reshape"{{.*}}onnx.reason = "shape 4611686018427387904x8 has too many elements, expected fewer than 2^60"
// CHECK: "Tile"{{.*}}onnx.reason = "repeats are negative or too large"
// CHECK: "Tile"{{.*}}onnx.reason = "repeats are negative or too large"
// CHECK: "Tile"{{.*}}onnx.reason = "shape 4611686018427387904x8 has too many elements, expected fewer than 2^60"
// CHECK: "Pad"{{.*}}onnx.reason = "pads are too large"
// CHECK: "Pad"{{.*}}onnx.reason = "shape 0x-1 has a negative extent"
// CHECK: "TopK"{{.*}}onnx.reason = "shape 1x-1 has a negative extent"
// CHECK: "Relu"{{.*}}onnx.reason = "operand of tensor<4611686018427387904x8xf32>"
func.func @shapes_no_tensor_has(%x: tensor<1x8xf32>, %huge: tensor<4611686018427387904x8xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %negative = onnx.constant dense<[-1, 8]> : tensor<2xi64>
  %open = onnx.constant dense<[-1, -1]> : tensor<2xi64>
  %many = onnx.constant dense<[4611686018427387904, 8]> : tensor<2xi64>
  %pads = onnx.constant dense<[0, 9223372036854775807, 0, 9223372036854775807]> : tensor<4xi64>
  %crop = onnx.constant dense<[0, -5, -1, -4]> : tensor<4xi64>
  %k = onnx.constant dense<-1> : tensor<1xi64>
  %repeat = onnx.constant dense<[-1, 1]> : tensor<2xi64>
  %wide = onnx.constant dense<[1, 9223372036854775807]> : tensor<2xi64>
  %tall = onnx.constant dense<[4611686018427387904, 1]> : tensor<2xi64>
  %a = onnx.node "ConstantOfShape"(%negative) : (tensor<2xi64>) -> !onnx.unknown
  %b = onnx.node "Expand"(%x, %negative) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %c = onnx.node "Reshape"(%x, %open) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %d = onnx.node "Expand"(%x, %many) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %e = onnx.node "Reshape"(%x, %many) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %f = onnx.node "Tile"(%x, %wide) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %g = onnx.node "Tile"(%x, %repeat) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %m = onnx.node "Tile"(%x, %tall) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %h = onnx.node "Pad"(%x, %pads) : (tensor<1x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %i = onnx.node "Pad"(%x, %crop) : (tensor<1x8xf32>, tensor<4xi64>) -> !onnx.unknown
  %j:2 = onnx.node "TopK"(%x, %k) : (tensor<1x8xf32>, tensor<1xi64>) -> (!onnx.unknown, !onnx.unknown)
  %l = onnx.node "Relu"(%huge) : (tensor<4611686018427387904x8xf32>) -> !onnx.unknown
  return %a, %b, %c, %d, %e, %f, %g, %m, %h, %i, %j#0, %l : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// What has no elements is known.
// CHECK-LABEL: func.func @nothing_left
// CHECK-NOT: onnx.node
// CHECK: return {{.*}} : tensor<1x0xf32>, tensor<0x8xf32>, tensor<1x0xf32>
func.func @nothing_left(%x: tensor<1x8xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %starts = onnx.constant dense<[0, 5]> : tensor<2xi64>
  %ends = onnx.constant dense<[1, 2]> : tensor<2xi64>
  %empty = onnx.constant dense<> : tensor<0x8xf32>
  %weight = onnx.constant dense<> : tensor<8x0xf32>
  %a = onnx.node "Slice"(%x, %starts, %ends) : (tensor<1x8xf32>, tensor<2xi64>, tensor<2xi64>) -> !onnx.unknown
  %b = onnx.node "Add"(%x, %empty) : (tensor<1x8xf32>, tensor<0x8xf32>) -> !onnx.unknown
  %c = onnx.node "MatMul"(%x, %weight) : (tensor<1x8xf32>, tensor<8x0xf32>) -> !onnx.unknown
  return %a, %b, %c : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// CHECK-LABEL: func.func @wrong_parts
// CHECK: "Split"{{.*}}onnx.reason = "a part of -1, the axis has 8"
// CHECK: "Split"{{.*}}onnx.reason = "a part of 9223372036854775807, the axis has 8"
// CHECK: "Slice"{{.*}}onnx.reason = "the step along axis 0 is 0"
// CHECK: "Slice"{{.*}}onnx.reason = "axis 2 is outside rank 2"
// CHECK: "Slice"{{.*}}onnx.reason = "axis 1 is sliced twice"
// CHECK: "Unsqueeze"{{.*}}onnx.reason = "an axis is stated twice"
// CHECK: "Range"{{.*}}onnx.reason = "the range has more than 67108864 bytes"
// CHECK: "Range"{{.*}}onnx.reason = "the range has more than 67108864 bytes"
func.func @wrong_parts(%x: tensor<1x8xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %negative = onnx.constant dense<[-1, 9]> : tensor<2xi64>
  %huge = onnx.constant dense<[9223372036854775807, 9]> : tensor<2xi64>
  %zero = onnx.constant dense<0> : tensor<1xi64>
  %one = onnx.constant dense<1> : tensor<1xi64>
  %two = onnx.constant dense<2> : tensor<1xi64>
  %least = onnx.constant dense<-9223372036854775808> : tensor<1xi64>
  %most = onnx.constant dense<9223372036854775807> : tensor<1xi64>
  %zeroF = onnx.constant dense<0.0> : tensor<1xf32>
  %nan = onnx.constant dense<0x7FC00000> : tensor<1xf32>
  %a:2 = onnx.node "Split"(%x, %negative) with {axis = 1 : i64} : (tensor<1x8xf32>, tensor<2xi64>) -> (!onnx.unknown, !onnx.unknown)
  %b:2 = onnx.node "Split"(%x, %huge) with {axis = 1 : i64} : (tensor<1x8xf32>, tensor<2xi64>) -> (!onnx.unknown, !onnx.unknown)
  %c = onnx.node "Slice"(%x, %zero, %one, %zero, %zero) : (tensor<1x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %d = onnx.node "Slice"(%x, %zero, %one, %two) : (tensor<1x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %zeros = onnx.constant dense<0> : tensor<2xi64>
  %twice = onnx.constant dense<[1, -1]> : tensor<2xi64>
  %ones = onnx.constant dense<1> : tensor<2xi64>
  %g = onnx.node "Slice"(%x, %zeros, %ones, %twice) : (tensor<1x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> !onnx.unknown
  %h = onnx.node "Unsqueeze"(%x, %ones) : (tensor<1x8xf32>, tensor<2xi64>) -> !onnx.unknown
  %e = onnx.node "Range"(%least, %most, %one) : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %f = onnx.node "Range"(%zeroF, %nan, %nan) : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> !onnx.unknown
  return %a#0, %b#0, %c, %d, %g, %h, %e, %f : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// CHECK-LABEL: func.func @wrong_kinds
// CHECK: "Transpose"{{.*}}onnx.reason = "attribute 'perm' is not a list of integers"
// CHECK: "Gather"{{.*}}onnx.reason = "attribute 'axis' is not an integer"
// CHECK: "Gather"{{.*}}onnx.reason = "input 1 is of f32, which the operator does not take"
// CHECK: "Reshape"{{.*}}onnx.reason = "input 1 is of f32, which the operator does not take"
// CHECK: "Where"{{.*}}onnx.reason = "input 0 is of f32, which the operator does not take"
// CHECK: "Add"{{.*}}onnx.reason = "inputs 0 and 1 differ in type, f32 and i64"
// CHECK: "Add"{{.*}}onnx.reason = "input 1 is missing"
// CHECK: "Relu"{{.*}}onnx.reason = "2 inputs, the operator takes 1"
func.func @wrong_kinds(%x: tensor<1x8xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %i = onnx.constant dense<0> : tensor<1xi64>
  %f = onnx.constant dense<[8.0, 1.0]> : tensor<2xf32>
  %a = onnx.node "Transpose"(%x) with {perm = [1.0, 0.0]} : (tensor<1x8xf32>) -> !onnx.unknown
  %b = onnx.node "Gather"(%x, %i) with {axis = "1"} : (tensor<1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %c = onnx.node "Gather"(%x, %f) : (tensor<1x8xf32>, tensor<2xf32>) -> !onnx.unknown
  %d = onnx.node "Reshape"(%x, %f) : (tensor<1x8xf32>, tensor<2xf32>) -> !onnx.unknown
  %e = onnx.node "Where"(%x, %x, %x) : (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> !onnx.unknown
  %g = onnx.node "Add"(%x, %i) : (tensor<1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %h = onnx.node "Add"(%x) : (tensor<1x8xf32>) -> !onnx.unknown
  %j = onnx.node "Relu"(%x, %x) : (tensor<1x8xf32>, tensor<1x8xf32>) -> !onnx.unknown
  return %a, %b, %c, %d, %e, %g, %h, %j : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}


}

// -----

module attributes {onnx.opset = 24 : i64} {

// As many as features, and yet not of their shape.
// CHECK-LABEL: func.func @scale_that_does_not_broadcast
// CHECK: "LayerNormalization"{{.*}}onnx.reason = "input 1 of shape 16 does not broadcast to 2x4x4"
func.func @scale_that_does_not_broadcast(%x: tensor<2x4x4xf32>, %s: tensor<16xf32>, %b: tensor<4xf32>) -> !onnx.unknown {
  %y = onnx.node "LayerNormalization"(%x, %s, %b) with {axis = 1 : i64} : (tensor<2x4x4xf32>, tensor<16xf32>, tensor<4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// What the operators' second and third operands have to be, naming relies on.
// CHECK-LABEL: func.func @operands_that_do_not_fit
// CHECK: "PRelu"{{.*}}onnx.reason = "input 1 is missing"
// CHECK: "PRelu"{{.*}}onnx.reason = "input 1 of shape 5 does not broadcast to 1x8"
// CHECK: "Clip"{{.*}}onnx.reason = "a bound of shape 5, expected a scalar"
// CHECK: "Clip"{{.*}}onnx.reason = "inputs 0 and 1 differ in type, f32 and i64"
// CHECK: "Gemm"{{.*}}onnx.reason = "input 2 of shape 5 does not broadcast to 1x1"
// CHECK: "MatMul"{{.*}}onnx.reason = "inputs 0 and 1 differ in type, f32 and i64"
// CHECK: "LayerNormalization"{{.*}}onnx.reason = "input 1 of shape 5, expected 8 elements, one for each feature"
// CHECK: "SkipLayerNormalization"{{.*}}onnx.reason = "operands are scalars"
// CHECK: "Attention"{{.*}}onnx.reason = "an operand of shape 1x8 and q_num_heads = 0, expected rank 4, or rank 3 and a number of heads that divides its features"
// CHECK: "MultiHeadAttention"{{.*}}onnx.reason = "a bias of shape 5, expected 24"
// CHECK: "Attention"{{.*}}onnx.reason = "1 features are not queries, keys as wide, and values"
func.func @operands_that_do_not_fit(%x: tensor<1x8xf32>, %w: tensor<8x1xf32>, %five: tensor<5xf32>, %i: tensor<8x1xi64>, %s: tensor<f32>, %q: tensor<1x1x8xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %a = onnx.node "PRelu"(%x) : (tensor<1x8xf32>) -> !onnx.unknown
  %b = onnx.node "PRelu"(%x, %five) : (tensor<1x8xf32>, tensor<5xf32>) -> !onnx.unknown
  %c = onnx.node "Clip"(%x, %five) : (tensor<1x8xf32>, tensor<5xf32>) -> !onnx.unknown
  %d = onnx.node "Clip"(%x, %i) : (tensor<1x8xf32>, tensor<8x1xi64>) -> !onnx.unknown
  %e = onnx.node "Gemm"(%x, %w, %five) : (tensor<1x8xf32>, tensor<8x1xf32>, tensor<5xf32>) -> !onnx.unknown
  %f = onnx.node "MatMul"(%x, %i) : (tensor<1x8xf32>, tensor<8x1xi64>) -> !onnx.unknown
  %g = onnx.node "LayerNormalization"(%x, %five) : (tensor<1x8xf32>, tensor<5xf32>) -> !onnx.unknown
  %h = onnx.node "SkipLayerNormalization" of "com.microsoft"(%s, %s, %s) : (tensor<f32>, tensor<f32>, tensor<f32>) -> !onnx.unknown
  %j = onnx.node "Attention"(%x, %x, %x) : (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> !onnx.unknown
  %k = onnx.node "MultiHeadAttention" of "com.microsoft"(%q, %q, %q, %five) with {num_heads = 2 : i64} : (tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<5xf32>) -> !onnx.unknown
  %l = onnx.node "Attention" of "com.microsoft"(%q, %w) with {num_heads = 2 : i64} : (tensor<1x1x8xf32>, tensor<8x1xf32>) -> !onnx.unknown
  return %a, %b, %c, %d, %e, %f, %g, %h, %j, %k, %l : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// Attributes that rules refuse, and values of them.
// CHECK-LABEL: func.func @attributes_of_some_values
// CHECK: "Split"{{.*}}onnx.reason = "num_outputs is 3, there are 2 outputs"
// CHECK: "Attention"{{.*}}onnx.reason = "softmax in ONNX element type 12"
func.func @attributes_of_some_values(%x: tensor<4xf32>, %q: tensor<1x2x3x4xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %p:2 = onnx.node "Split"(%x) with {num_outputs = 3 : i64} : (tensor<4xf32>) -> (!onnx.unknown, !onnx.unknown)
  %a = onnx.node "Attention"(%q, %q, %q) with {softmax_precision = 12 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> !onnx.unknown
  return %p#0, %p#1, %a : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

}
