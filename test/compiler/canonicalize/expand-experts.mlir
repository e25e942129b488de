// RUN: wse-opt %s --split-input-file --onnx-expand-experts --onnx-common-subexpressions | FileCheck %s
// RUN: wse-opt %s --split-input-file --onnx-expand-experts="columns=4 rows=4 channels=4 latency=1700" --onnx-common-subexpressions | FileCheck %s --check-prefix=APART
// RUN: wse-opt %s --split-input-file --onnx-expand-experts="columns=4 rows=4 channels=4 latency=1700 held" --onnx-common-subexpressions | FileCheck %s --check-prefix=HELD

// Each row selects its expert's product; of a number that is none NaN is left.
// CHECK-LABEL: func.func @rows
// CHECK-DAG: %[[NAN:.*]] = onnx.constant dense<0x7FC00000> : tensor<f32>
// CHECK-DAG: %[[IDS:.*]] = onnx.reshape %arg1 {{.*}} -> tensor<6x1xi32>
// CHECK: %[[P0:.*]] = onnx.matmul %arg0, %{{.*}} -> tensor<6x2xf32>
// CHECK: %[[H0:.*]] = onnx.binary equal %[[IDS]], %{{.*}} -> tensor<6x1xi1>
// CHECK: %[[Y0:.*]] = onnx.where %[[H0]], %[[P0]], %[[NAN]]
// CHECK: %[[P1:.*]] = onnx.matmul %arg0, %{{.*}} -> tensor<6x2xf32>
// CHECK: %[[H1:.*]] = onnx.binary equal %[[IDS]], %{{.*}} -> tensor<6x1xi1>
// CHECK: %[[Y1:.*]] = onnx.where %[[H1]], %[[P1]], %[[Y0]]
// CHECK: return %[[Y1]]
func.func @rows(%x: tensor<6x3xf32>, %ids: tensor<6xi32>) -> tensor<6x2xf32> {
  %w = onnx.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 1.0], [2.0, 3.0]]]> : tensor<2x3x2xf32>
  %y = onnx.experts %x, %ids, %w : (tensor<6x3xf32>, tensor<6xi32>, tensor<2x3x2xf32>) -> tensor<6x2xf32>
  return %y : tensor<6x2xf32>
}

// -----

// Three tokens chose two of two experts each, which are two products with a bias
// and an activation: all is done for tokens, and added where one is chosen.
// CHECK-LABEL: func.func @tokens
// CHECK-NOT: onnx.expand
// CHECK: %[[U:.*]] = onnx.matmul %arg0, %{{.*}} -> tensor<3x4xf32>
// CHECK: %[[B:.*]] = onnx.binary add %[[U]], %{{.*}} : (tensor<3x4xf32>, tensor<4xf32>)
// CHECK: %[[S:.*]] = onnx.unary sigmoid %[[B]]
// CHECK: %[[D:.*]] = onnx.matmul %[[S]], %{{.*}} -> tensor<3x5xf32>
// CHECK: %[[H0:.*]] = onnx.binary equal %{{.*}} -> tensor<3x1xi1>
// CHECK: %[[W0:.*]] = onnx.where %[[H0]], %{{.*}} -> tensor<3x1xf32>
// CHECK: %[[H1:.*]] = onnx.binary equal %{{.*}} -> tensor<3x1xi1>
// CHECK: %[[CHOSEN:.*]] = onnx.binary or %[[H0]], %[[H1]]
// CHECK: %[[S1:.*]] = onnx.binary add %[[W0]], %{{.*}} -> tensor<3x1xf32>
// CHECK: %[[WEIGHT:.*]] = onnx.where %[[H1]], %[[S1]], %[[W0]]
// CHECK: %[[TERM:.*]] = onnx.binary mul %[[D]], %[[WEIGHT]]
// CHECK: %[[FIRST:.*]] = onnx.where %[[CHOSEN]], %[[TERM]], %{{.*}} -> tensor<3x5xf32>
// CHECK: onnx.matmul
// CHECK: %[[ADDED:.*]] = onnx.binary add %[[FIRST]], %{{.*}} -> tensor<3x5xf32>
// CHECK: %[[SUM:.*]] = onnx.where %{{.*}}, %[[ADDED]], %[[FIRST]]
// CHECK: return %[[SUM]]
// Where weights stay, rows are one product, however few they are.
// HELD-LABEL: func.func @tokens
// HELD-NOT: onnx.matmul
// HELD: onnx.experts {{.*}} -> tensor<6x4xf32>
// HELD: onnx.experts {{.*}} -> tensor<6x5xf32>
func.func @tokens(%x: tensor<3x7xf32>, %p: tensor<3x2xf32>) -> tensor<3x5xf32> {
  %up = onnx.constant dense<0.5> : tensor<2x7x4xf32>
  %bias = onnx.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %down = onnx.constant dense<0.25> : tensor<2x4x5xf32>
  %ids, %values = onnx.top_k %p : tensor<3x2xf32> -> tensor<3x2xi64>, tensor<3x2xf32>
  %numbers = onnx.reshape %ids : tensor<3x2xi64> -> tensor<6xi64>
  %one = onnx.reshape %x : tensor<3x7xf32> -> tensor<3x1x7xf32>
  %twice = onnx.expand %one : tensor<3x1x7xf32> -> tensor<3x2x7xf32>
  %rows = onnx.reshape %twice : tensor<3x2x7xf32> -> tensor<6x7xf32>
  %u = onnx.experts %rows, %numbers, %up : (tensor<6x7xf32>, tensor<6xi64>, tensor<2x7x4xf32>) -> tensor<6x4xf32>
  %biases = onnx.gather %bias, %numbers : (tensor<2x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %b = onnx.binary add %u, %biases : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %s = onnx.unary sigmoid %b : tensor<6x4xf32>
  %d = onnx.experts %s, %numbers, %down : (tensor<6x4xf32>, tensor<6xi64>, tensor<2x4x5xf32>) -> tensor<6x5xf32>
  %column = onnx.reshape %values : tensor<3x2xf32> -> tensor<6x1xf32>
  %m = onnx.binary mul %d, %column : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  %r = onnx.reshape %m : tensor<6x5xf32> -> tensor<3x2x5xf32>
  %y = onnx.reduce sum %r {axes = array<i64: 1>, keepdims = false} : tensor<3x2x5xf32> -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// Tokens of two sequences: what is added lies along their axes.
// CHECK-LABEL: func.func @sequences
// CHECK: onnx.binary equal {{.*}} -> tensor<2x3x1xi1>
// CHECK: onnx.where {{.*}} -> tensor<2x3x5xf32>
// CHECK: onnx.binary add {{.*}} -> tensor<2x3x5xf32>
// CHECK: %[[SUM:.*]] = onnx.where {{.*}} -> tensor<2x3x5xf32>
// CHECK: onnx.reshape %[[SUM]] {{.*}} -> tensor<6x5xf32>
func.func @sequences(%x: tensor<2x3x7xf32>, %p: tensor<6x2xf32>) -> tensor<6x5xf32> {
  %up = onnx.constant dense<0.5> : tensor<2x7x4xf32>
  %bias = onnx.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %down = onnx.constant dense<0.25> : tensor<2x4x5xf32>
  %ids, %values = onnx.top_k %p : tensor<6x2xf32> -> tensor<6x2xi64>, tensor<6x2xf32>
  %numbers = onnx.reshape %ids : tensor<6x2xi64> -> tensor<12xi64>
  %one = onnx.reshape %x : tensor<2x3x7xf32> -> tensor<6x1x7xf32>
  %twice = onnx.expand %one : tensor<6x1x7xf32> -> tensor<6x2x7xf32>
  %rows = onnx.reshape %twice : tensor<6x2x7xf32> -> tensor<12x7xf32>
  %u = onnx.experts %rows, %numbers, %up : (tensor<12x7xf32>, tensor<12xi64>, tensor<2x7x4xf32>) -> tensor<12x4xf32>
  %biases = onnx.gather %bias, %numbers : (tensor<2x4xf32>, tensor<12xi64>) -> tensor<12x4xf32>
  %b = onnx.binary add %u, %biases : (tensor<12x4xf32>, tensor<12x4xf32>) -> tensor<12x4xf32>
  %s = onnx.unary sigmoid %b : tensor<12x4xf32>
  %d = onnx.experts %s, %numbers, %down : (tensor<12x4xf32>, tensor<12xi64>, tensor<2x4x5xf32>) -> tensor<12x5xf32>
  %column = onnx.reshape %values : tensor<6x2xf32> -> tensor<12x1xf32>
  %m = onnx.binary mul %d, %column : (tensor<12x5xf32>, tensor<12x1xf32>) -> tensor<12x5xf32>
  %r = onnx.reshape %m : tensor<12x5xf32> -> tensor<6x2x5xf32>
  %y = onnx.reduce sum %r {axes = array<i64: 1>, keepdims = false} : tensor<6x2x5xf32> -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// Numbers that no top_k made may be out of range: rows keep to themselves.
// CHECK-LABEL: func.func @numbers_from_outside
// CHECK: onnx.expand
// CHECK: onnx.constant dense<0x7FC00000>
// CHECK: onnx.reduce sum {{.*}} : tensor<3x2x5xf32> -> tensor<3x5xf32>
func.func @numbers_from_outside(%x: tensor<3x1x7xf32>, %numbers: tensor<6xi64>, %column: tensor<6x1xf32>) -> tensor<3x5xf32> {
  %w = onnx.constant dense<0.5> : tensor<2x7x5xf32>
  %twice = onnx.expand %x : tensor<3x1x7xf32> -> tensor<3x2x7xf32>
  %rows = onnx.reshape %twice : tensor<3x2x7xf32> -> tensor<6x7xf32>
  %u = onnx.experts %rows, %numbers, %w : (tensor<6x7xf32>, tensor<6xi64>, tensor<2x7x5xf32>) -> tensor<6x5xf32>
  %m = onnx.binary mul %u, %column : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  %r = onnx.reshape %m : tensor<6x5xf32> -> tensor<3x2x5xf32>
  %y = onnx.reduce sum %r {axes = array<i64: 1>, keepdims = false} : tensor<3x2x5xf32> -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// A part of what an expert makes is made by these columns of its weights alone.
// CHECK-LABEL: func.func @gated
// CHECK: %[[W0:.*]] = onnx.constant dense<{{\[\[}}2.{{[0e+]*}}, 4.{{[0e+]*}}], [6.{{.*}} : tensor<3x2xf32>
// CHECK: %[[P0:.*]] = onnx.matmul %arg0, %[[W0]] {{.*}} -> tensor<3x2xf32>
// CHECK: onnx.binary add %[[P0]], %{{.*}} : (tensor<3x2xf32>, tensor<2xf32>)
// CHECK-NOT: onnx.slice {{.*}} : tensor<3x4xf32>
func.func @gated(%x: tensor<3x3xf32>, %p: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = onnx.constant dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 3.0, 5.0, 7.0]], [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [2.0, 4.0, 6.0, 8.0]]]> : tensor<2x3x4xf32>
  %bias = onnx.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %ids, %values = onnx.top_k %p : tensor<3x2xf32> -> tensor<3x1xi64>, tensor<3x1xf32>
  %numbers = onnx.reshape %ids : tensor<3x1xi64> -> tensor<3xi64>
  %u = onnx.experts %x, %numbers, %w : (tensor<3x3xf32>, tensor<3xi64>, tensor<2x3x4xf32>) -> tensor<3x4xf32>
  %biases = onnx.gather %bias, %numbers : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %b = onnx.binary add %u, %biases : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %odd = onnx.slice %b {starts = array<i64: 0, 1>, steps = array<i64: 1, 2>} : tensor<3x4xf32> -> tensor<3x2xf32>
  %m = onnx.binary mul %odd, %values : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %r = onnx.reshape %m : tensor<3x2xf32> -> tensor<3x1x2xf32>
  %y = onnx.reduce sum %r {axes = array<i64: 1>, keepdims = false} : tensor<3x1x2xf32> -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// One token that chose two of four experts: each is two products by the weights
// of a number, with a bias of that number; of what is gated columns alone.
// CHECK-LABEL: func.func @few
// CHECK: onnx.top_k %arg1 {onnx.experts = 4 : i64}
// CHECK: %[[ID0:.*]] = onnx.slice %{{.*}} {starts = array<i64: 0>, steps = array<i64: 1>} : tensor<2xi64> -> tensor<1xi64>
// CHECK-DAG: %[[U0:.*]] = onnx.experts %arg0, %[[ID0]], %[[ODD:.*]] : (tensor<1x3xf32>, tensor<1xi64>, tensor<4x3x2xf32>) -> tensor<1x2xf32>
// CHECK-DAG: %[[B0:.*]] = onnx.gather %[[BIAS:.*]], %[[ID0]] : (tensor<4x2xf32>, tensor<1xi64>) -> tensor<1x2xf32>
// CHECK: %[[S0:.*]] = onnx.binary add %[[U0]], %[[B0]]
// CHECK: %[[W0:.*]] = onnx.slice %{{.*}} -> tensor<1x1xf32>
// CHECK: %[[T0:.*]] = onnx.binary mul %[[S0]], %[[W0]]
// CHECK: %[[ID1:.*]] = onnx.slice %{{.*}} {starts = array<i64: 1>, steps = array<i64: 1>} : tensor<2xi64> -> tensor<1xi64>
// CHECK: onnx.experts %arg0, %[[ID1]], %[[ODD]]
// CHECK: %[[T1:.*]] = onnx.binary mul
// CHECK: %[[SUM:.*]] = onnx.binary add %[[T0]], %[[T1]]
// CHECK-NOT: onnx.expand
// CHECK: return %[[SUM]]
// HELD-LABEL: func.func @few
// HELD-COUNT-2: onnx.experts %arg0, {{.*}} -> tensor<1x2xf32>
func.func @few(%x: tensor<1x3xf32>, %p: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = onnx.constant dense<0.5> : tensor<4x3x4xf32>
  %bias = onnx.constant dense<0.25> : tensor<4x4xf32>
  %ids, %values = onnx.top_k %p : tensor<1x4xf32> -> tensor<1x2xi64>, tensor<1x2xf32>
  %numbers = onnx.reshape %ids : tensor<1x2xi64> -> tensor<2xi64>
  %one = onnx.reshape %x : tensor<1x3xf32> -> tensor<1x1x3xf32>
  %twice = onnx.expand %one : tensor<1x1x3xf32> -> tensor<1x2x3xf32>
  %rows = onnx.reshape %twice : tensor<1x2x3xf32> -> tensor<2x3xf32>
  %u = onnx.experts %rows, %numbers, %w : (tensor<2x3xf32>, tensor<2xi64>, tensor<4x3x4xf32>) -> tensor<2x4xf32>
  %biases = onnx.gather %bias, %numbers : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %b = onnx.binary add %u, %biases : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %odd = onnx.slice %b {starts = array<i64: 0, 1>, steps = array<i64: 1, 2>} : tensor<2x4xf32> -> tensor<2x2xf32>
  %column = onnx.reshape %values : tensor<1x2xf32> -> tensor<2x1xf32>
  %m = onnx.binary mul %odd, %column : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %r = onnx.reshape %m : tensor<2x2xf32> -> tensor<1x2x2xf32>
  %y = onnx.reduce sum %r {axes = array<i64: 1>, keepdims = false} : tensor<1x2x2xf32> -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

// Rows that nothing adds up are put beside one another.
// CHECK-LABEL: func.func @few_alone
// CHECK-COUNT-2: onnx.experts {{.*}} -> tensor<1x2xf32>
// CHECK: onnx.concat {{.*}} -> tensor<2x2xf32>
// Of two tokens, where weights stay, they are one product.
// HELD-LABEL: func.func @few_alone
// HELD: onnx.experts %arg0, {{.*}} -> tensor<2x2xf32>
func.func @few_alone(%x: tensor<2x3xf32>, %p: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = onnx.constant dense<0.5> : tensor<4x3x2xf32>
  %ids, %values = onnx.top_k %p : tensor<2x4xf32> -> tensor<2x1xi64>, tensor<2x1xf32>
  %numbers = onnx.reshape %ids : tensor<2x1xi64> -> tensor<2xi64>
  %y = onnx.experts %x, %numbers, %w : (tensor<2x3xf32>, tensor<2xi64>, tensor<4x3x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// All weights stream past three rows that chose of four experts.
// CHECK-LABEL: func.func @not_few
// CHECK-COUNT-4: onnx.binary equal
// CHECK-NOT: onnx.experts %
func.func @not_few(%x: tensor<3x3xf32>, %p: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = onnx.constant dense<0.5> : tensor<4x3x2xf32>
  %ids, %values = onnx.top_k %p : tensor<3x4xf32> -> tensor<3x1xi64>, tensor<3x1xf32>
  %numbers = onnx.reshape %ids : tensor<3x1xi64> -> tensor<3xi64>
  %y = onnx.experts %x, %numbers, %w : (tensor<3x3xf32>, tensor<3xi64>, tensor<4x3x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// On a mesh that has room for the weights of 32 experts rows keep their own, and
// a token adds up parts of them; half of a product's columns are a product.
// CHECK-LABEL: func.func @apart
// CHECK: onnx.matmul
// CHECK-NOT: onnx.experts %
// APART-LABEL: func.func @apart
// APART-NOT: onnx.matmul
// APART: %[[ROWS:.*]] = onnx.reshape %{{.*}} : tensor<3x12x7xf32> -> tensor<36x7xf32>
// APART: onnx.experts %[[ROWS]], %{{.*}}, %{{.*}} : (tensor<36x7xf32>, tensor<36xi64>, tensor<32x7x4xf32>) -> tensor<36x4xf32>
// APART-NOT: onnx.slice {{.*}} -> tensor<36x4xf32>
// APART: %[[Y:.*]] = onnx.reshape %{{.*}} : tensor<36x4xf32> -> tensor<3x12x4xf32>
// APART: onnx.slice %[[Y]] {starts = array<i64: 0, 11, 0>, steps = array<i64: 1, 1, 1>} : tensor<3x12x4xf32> -> tensor<3x1x4xf32>
// APART-NOT: onnx.reduce
func.func @apart(%x: tensor<3x7xf32>, %p: tensor<3x32xf32>) -> tensor<3x4xf32> {
  %up = onnx.constant dense<0.5> : tensor<32x7x8xf32>
  %ids, %values = onnx.top_k %p : tensor<3x32xf32> -> tensor<3x12xi64>, tensor<3x12xf32>
  %numbers = onnx.reshape %ids : tensor<3x12xi64> -> tensor<36xi64>
  %one = onnx.reshape %x : tensor<3x7xf32> -> tensor<3x1x7xf32>
  %each = onnx.expand %one : tensor<3x1x7xf32> -> tensor<3x12x7xf32>
  %rows = onnx.reshape %each : tensor<3x12x7xf32> -> tensor<36x7xf32>
  %u = onnx.experts %rows, %numbers, %up : (tensor<36x7xf32>, tensor<36xi64>, tensor<32x7x8xf32>) -> tensor<36x8xf32>
  %half = onnx.slice %u {starts = array<i64: 0, 4>, steps = array<i64: 1, 1>} : tensor<36x8xf32> -> tensor<36x4xf32>
  %column = onnx.reshape %values : tensor<3x12xf32> -> tensor<36x1xf32>
  %m = onnx.binary mul %half, %column : (tensor<36x4xf32>, tensor<36x1xf32>) -> tensor<36x4xf32>
  %r = onnx.reshape %m : tensor<36x4xf32> -> tensor<3x12x4xf32>
  %y = onnx.reduce sum %r {axes = array<i64: 1>, keepdims = false} : tensor<3x12x4xf32> -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
