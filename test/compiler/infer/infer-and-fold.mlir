// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold | FileCheck %s

module attributes {onnx.opset = 17 : i64} {

// Views of weights: nothing is read (the file does not even exist).
// CHECK-LABEL: func.func @views_of_weights
// CHECK-DAG: %[[T:.*]] = onnx.constant external<"none.bin", 0, 512> view offset 0 strides [1, 8]{{.*}} tensor<8x16xf32>
// CHECK-DAG: %[[P0:.*]] = onnx.constant external<"none.bin", 0, 512> view offset 0 strides [8, 1]{{.*}} tensor<16x2xf32>
// CHECK-DAG: %[[P1:.*]] = onnx.constant external<"none.bin", 0, 512> view offset 2 strides [8, 1]{{.*}} tensor<16x6xf32>
// CHECK-DAG: %[[R:.*]] = onnx.constant external<"none.bin", 0, 512> view offset 16 strides [8, 1]{{.*}} tensor<4x8xf32>
// CHECK-DAG: %[[G:.*]] = onnx.constant external<"none.bin", 0, 512> view offset 8 strides [24, 8, 1]{{.*}} tensor<1x3x8xf32>
// CHECK: return %[[T]], %[[P0]], %[[P1]], %[[R]], %[[G]]
func.func @views_of_weights() -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32>
  %t = onnx.node "Transpose"(%w) {node = "t"} : (tensor<16x8xf32>) -> !onnx.unknown
  %sizes = onnx.constant dense<[2, 6]> : tensor<2xi64>
  %p:2 = onnx.node "Split"(%w, %sizes) with {axis = 1 : i64} {node = "p"} : (tensor<16x8xf32>, tensor<2xi64>) -> (!onnx.unknown, !onnx.unknown)
  %start = onnx.constant dense<2> : tensor<1xi64>
  %end = onnx.constant dense<6> : tensor<1xi64>
  %r = onnx.node "Slice"(%w, %start, %end) {node = "r"} : (tensor<16x8xf32>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %ids = onnx.constant dense<[[1, 2, 3]]> : tensor<1x3xi64>
  %g = onnx.node "Gather"(%w, %ids) {node = "g"} : (tensor<16x8xf32>, tensor<1x3xi64>) -> !onnx.unknown
  return %t, %p#0, %p#1, %r, %g : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// How often axes repeat, as an exporter of PyTorch says it: once, and k times in the axis of a number.
// CHECK-LABEL: func.func @repeats
// CHECK: %[[REPEATS:.*]] = onnx.constant dense<[1, 3, 1]> : tensor<3xi64>
// CHECK: onnx.node "Tile"(%{{.*}}, %[[REPEATS]]) {{.*}} -> tensor<4x6x8xf32>
// CHECK: onnx.constant dense<{{\[\[5, 0, 0\], \[0, 5, 0\]\]}}> : tensor<2x3xi64>
func.func @repeats(%x: tensor<4x2x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %axis = onnx.constant dense<[1]> : tensor<1xi64>
  %rank = onnx.constant dense<3> : tensor<i64>
  %values = onnx.constant dense<[1, 3]> : tensor<2xi64>
  %row = onnx.node "OneHot"(%axis, %rank, %values) : (tensor<1xi64>, tensor<i64>, tensor<2xi64>) -> !onnx.unknown
  %flat = onnx.constant dense<-1> : tensor<1xi64>
  %repeats = onnx.node "Reshape"(%row, %flat) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Tile"(%x, %repeats) {node = "tile"} : (tensor<4x2x8xf32>, !onnx.unknown) -> !onnx.unknown
  %places = onnx.constant dense<[0, -1, 7]> : tensor<3xi64>
  %two = onnx.constant dense<2> : tensor<i64>
  %flags = onnx.constant dense<[0, 5]> : tensor<2xi64>
  %columns = onnx.node "OneHot"(%places, %two, %flags) with {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>, tensor<2xi64>) -> !onnx.unknown
  return %y, %columns : !onnx.unknown, !onnx.unknown
}

// The shape arithmetic of exporters disappears.
// CHECK-LABEL: func.func @shape_arithmetic
// CHECK-SAME: %[[X:.*]]: tensor<2x12x48xf32>) -> tensor<2x12x4x12xf32>
// CHECK: %[[SHAPE:.*]] = onnx.constant dense<[2, 12, 4, 12]> : tensor<4xi64>
// CHECK: %[[Y:.*]] = onnx.node "Reshape"(%[[X]], %[[SHAPE]])
// CHECK: return %[[Y]] : tensor<2x12x4x12xf32>
func.func @shape_arithmetic(%x: tensor<2x12x48xf32>) -> !onnx.unknown {
  %shape = onnx.node "Shape"(%x) : (tensor<2x12x48xf32>) -> !onnx.unknown
  %zero = onnx.constant dense<0> : tensor<i64>
  %one = onnx.constant dense<1> : tensor<i64>
  %axes = onnx.constant dense<0> : tensor<1xi64>
  %b = onnx.node "Gather"(%shape, %zero) with {axis = 0 : i64} : (!onnx.unknown, tensor<i64>) -> !onnx.unknown
  %s = onnx.node "Gather"(%shape, %one) with {axis = 0 : i64} : (!onnx.unknown, tensor<i64>) -> !onnx.unknown
  %b1 = onnx.node "Unsqueeze"(%b, %axes) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %s1 = onnx.node "Unsqueeze"(%s, %axes) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %h = onnx.constant dense<4> : tensor<1xi64>
  %d = onnx.constant dense<12> : tensor<1xi64>
  %to = onnx.node "Concat"(%b1, %s1, %h, %d) with {axis = 0 : i64} : (!onnx.unknown, !onnx.unknown, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Reshape"(%x, %to) : (tensor<2x12x48xf32>, !onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// A causal mask out of Range, LessOrEqual and Where.
// CHECK-LABEL: func.func @causal_mask
// CHECK: %[[M:.*]] = onnx.constant dense<{{\[\[}}0.000000e+00, -1.000000e+04], [0.000000e+00, 0.000000e+00]]> {{.*}}: tensor<2x2xf32>
// CHECK: return %[[M]]
func.func @causal_mask() -> !onnx.unknown {
  %zero = onnx.constant dense<0> : tensor<i64>
  %one = onnx.constant dense<1> : tensor<i64>
  %two = onnx.constant dense<2> : tensor<i64>
  %axis = onnx.constant dense<1> : tensor<1xi64>
  %j = onnx.node "Range"(%zero, %two, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> !onnx.unknown
  %i = onnx.node "Unsqueeze"(%j, %axis) : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %keep = onnx.node "LessOrEqual"(%j, %i) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %open = onnx.constant dense<0.0> : tensor<f32>
  %shut = onnx.constant dense<-10000.0> : tensor<f32>
  %m = onnx.node "Where"(%keep, %open, %shut) : (!onnx.unknown, tensor<f32>, tensor<f32>) -> !onnx.unknown
  return %m : !onnx.unknown
}

// Squeeze with axes as input (from opset 13 on); before, as attribute.
// CHECK-LABEL: func.func @axes_of_new_age
// CHECK-SAME: -> (tensor<4x8xf32>, tensor<4x1xf32>)
func.func @axes_of_new_age(%x: tensor<4x1x8xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %axes = onnx.constant dense<-2> : tensor<1xi64>
  %b = onnx.node "Squeeze"(%x, %axes) : (tensor<4x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %c = onnx.node "ReduceMean"(%x) with {axes = [-1], keepdims = 0 : i64} : (tensor<4x1x8xf32>) -> !onnx.unknown
  return %b, %c : !onnx.unknown, !onnx.unknown
}

// A backward slice to the very first element; a split with a smaller last part.
// CHECK-LABEL: func.func @odd_bounds
// CHECK-DAG: %[[R:.*]] = onnx.constant dense<[3, 2, 1, 0]>
// CHECK-DAG: %[[P:.*]] = onnx.constant dense<[0, 1]>
// CHECK-DAG: %[[Q:.*]] = onnx.constant dense<2>
// CHECK: return %[[R]], %[[P]], %[[Q]] : tensor<4xi64>, tensor<2xi64>, tensor<1xi64>
func.func @odd_bounds() -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %x = onnx.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %y = onnx.constant dense<[0, 1, 2]> : tensor<3xi64>
  %start = onnx.constant dense<-1> : tensor<1xi64>
  %end = onnx.constant dense<-9223372036854775807> : tensor<1xi64>
  %axis = onnx.constant dense<0> : tensor<1xi64>
  %step = onnx.constant dense<-1> : tensor<1xi64>
  %r = onnx.node "Slice"(%x, %start, %end, %axis, %step) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %p:2 = onnx.node "Split"(%y) with {axis = 0 : i64} : (tensor<3xi64>) -> (!onnx.unknown, !onnx.unknown)
  return %r, %p#0, %p#1 : !onnx.unknown, !onnx.unknown, !onnx.unknown
}

// Integers fold as integers: beyond 2^53 a double would round, and past 2^63
// they wrap.
// CHECK-LABEL: func.func @exact_integers
// CHECK: %[[SUM:.*]] = onnx.constant dense<9007199254740994>
// CHECK: %[[PRODUCT:.*]] = onnx.constant dense<9007199254740993>
// CHECK-NEXT: %[[MAX:.*]] = onnx.constant dense<9223372036854775807>
// CHECK-DAG: %[[RUNNING:.*]] = onnx.constant dense<[9007199254740993, 9007199254740994]>
// CHECK-DAG: %[[SCALAR:.*]] = onnx.constant dense<[9007199254740995, -9223372036854775808]>
// CHECK-DAG: %[[POWER:.*]] = onnx.constant dense<[0, 0, -1, 1]>
// CHECK-DAG: %[[RANGE:.*]] = onnx.constant dense<[-9223372036854775807, 0]>
// CHECK: return %[[SUM]], %[[PRODUCT]], %[[MAX]], %[[RUNNING]], %[[SCALAR]], %[[POWER]], %[[RANGE]]
func.func @exact_integers() -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %x = onnx.constant dense<[9007199254740993, 1]> : tensor<2xi64>
  %large = onnx.constant dense<[9223372036854775807, 1]> : tensor<2xi64>
  %columns = onnx.constant dense<[[1, 1], [2, 1]]> : tensor<2x2xi64>
  %zero = onnx.constant dense<0> : tensor<i64>
  %base = onnx.constant dense<[2, 0, -1, 1]> : tensor<4xi64>
  %exponent = onnx.constant dense<[-1, 1099511627776, 9223372036854775807, -9]> : tensor<4xi64>
  %least = onnx.constant dense<-9223372036854775807> : tensor<i64>
  %most = onnx.constant dense<9223372036854775807> : tensor<i64>
  %sum = onnx.node "ReduceSum"(%x) with {keepdims = 0 : i64} : (tensor<2xi64>) -> !onnx.unknown
  %product = onnx.node "ReduceProd"(%x) with {keepdims = 0 : i64} : (tensor<2xi64>) -> !onnx.unknown
  %max = onnx.node "ReduceMax"(%large) with {keepdims = 0 : i64} : (tensor<2xi64>) -> !onnx.unknown
  %running = onnx.node "CumSum"(%x, %zero) : (tensor<2xi64>, tensor<i64>) -> !onnx.unknown
  %dot = onnx.node "MatMul"(%x, %columns) : (tensor<2xi64>, tensor<2x2xi64>) -> !onnx.unknown
  %wrap = onnx.constant dense<[0, 9214364837600034814]> : tensor<2xi64>
  %sums = onnx.node "Add"(%dot, %wrap) : (!onnx.unknown, tensor<2xi64>) -> !onnx.unknown
  %power = onnx.node "Pow"(%base, %exponent) : (tensor<4xi64>, tensor<4xi64>) -> !onnx.unknown
  %range = onnx.node "Range"(%least, %most, %most) : (tensor<i64>, tensor<i64>, tensor<i64>) -> !onnx.unknown
  return %sum, %product, %max, %running, %sums, %power, %range : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}

}

// -----

module attributes {onnx.opset = 12 : i64} {

// CHECK-LABEL: func.func @axes_of_old_age
// CHECK-SAME: -> tensor<4x8xf32>
func.func @axes_of_old_age(%x: tensor<4x1x8xf32>) -> !onnx.unknown {
  %a = onnx.node "Squeeze"(%x) with {axes = [1]} : (tensor<4x1x8xf32>) -> !onnx.unknown
  return %a : !onnx.unknown
}

}

// -----

module attributes {onnx.opset = 18 : i64} {

// CHECK-LABEL: func.func @stated_outputs
// CHECK-SAME: -> (tensor<2xf32>, tensor<1xf32>)
func.func @stated_outputs(%x: tensor<3xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %p:2 = onnx.node "Split"(%x) with {num_outputs = 2 : i64} : (tensor<3xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %p#0, %p#1 : !onnx.unknown, !onnx.unknown
}

}
