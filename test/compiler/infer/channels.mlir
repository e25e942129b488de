// RUN: split-file %s %t
// RUN: wse-opt %t/pools.mlir --onnx-infer-and-fold --onnx-legalize-nodes --onnx-common-subexpressions | FileCheck %s
// RUN: not wse-opt %t/invalid.mlir --wsec-infer --wsec-canonicalize 2>&1 | FileCheck %s --check-prefix=INVALID

//--- pools.mlir
module attributes {onnx.opset = 28 : i64} {

// Patches are reduced where they are.
// CHECK-LABEL: func.func @patches
// CHECK: onnx.reshape %arg0 {{.*}} -> tensor<1x3x2x2x3x2xf32>
// CHECK: onnx.reduce max {{.*}} -> tensor<1x3x2x1x3x1xf32>
func.func @patches(%x: tensor<1x3x4x6xf32>) -> !onnx.unknown {
  %y = onnx.node "MaxPool"(%x) with {kernel_shape = [2, 2], strides = [2, 2]} : (tensor<1x3x4x6xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Others: a slice for each element of the window, and how many there are.
// CHECK-LABEL: func.func @windows
// CHECK-DAG: onnx.constant dense<{{\[\[\[}}2.000000e+00, 3.000000e+00, 2.000000e+00]]]> : tensor<1x1x3xf32>
// CHECK: onnx.concat {{.*}} -> tensor<1x4x7xf32>
// CHECK: onnx.slice
// CHECK: onnx.slice
// CHECK: onnx.slice
// CHECK: onnx.binary div
func.func @windows(%x: tensor<1x4x5xf32>) -> !onnx.unknown {
  %y = onnx.node "AveragePool"(%x) with {kernel_shape = [3], strides = [2], pads = [1, 1]} : (tensor<1x4x5xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// The mask of a Dropout that drops nothing.
// CHECK-LABEL: func.func @mask
// CHECK: %[[ALL:.*]] = onnx.constant dense<true> : tensor<2x3xi1>
// CHECK: return %arg0, %[[ALL]]
func.func @mask(%x: tensor<2x3xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %y, %m = onnx.node "Dropout"(%x) : (tensor<2x3xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %y, %m : !onnx.unknown, !onnx.unknown
}

// The state goes before the input; its end is the next state.
// CHECK-LABEL: func.func @convolution_with_state
// CHECK: %[[ALL:.*]] = onnx.concat %arg1, %arg0 {{.*}} -> tensor<1x2x5xf32>
// CHECK: onnx.slice %[[ALL]] {{.*}} -> tensor<1x2x2xf32>
func.func @convolution_with_state(%x: tensor<1x2x3xf32>, %s: tensor<1x2x2xf32>) -> (!onnx.unknown, !onnx.unknown) {
  %w = onnx.constant dense<1.0> : tensor<2x1x3xf32>
  %none = onnx.none
  %y, %n = onnx.node "CausalConvWithState"(%x, %w, %none, %s) with {activation = "silu"} : (tensor<1x2x3xf32>, tensor<2x1x3xf32>, none, tensor<1x2x2xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %y, %n : !onnx.unknown, !onnx.unknown
}
}

// INVALID: MaxPool: pools 2x3: node 'flat'
// INVALID: AveragePool: kernel_shape does not fit 1 axes: node 'kernel'
// INVALID: MaxPool: a window of 9 over 6 elements, pads counted: node 'wide'
// INVALID: BatchNormalization: it is in training mode: node 'training'; export
// INVALID: BatchNormalization: numbers of channels of shape 6, expected 4: node 'numbers'
// INVALID: InstanceNormalization: an operand of shape 6: node 'vector'
// INVALID: GroupNormalization: 3 groups of the channels of 1x4x6: node 'groups'
// INVALID: GroupNormalization: computes in ONNX element type 10: node 'half'
// INVALID: GroupNormalization: a scale or bias of shape 6, expected 4: node 'scale'
// INVALID: CausalConvWithState: weights of shape 4x2x3, expected 4x1x3: node 'weights'
// INVALID: CausalConvWithState: activation is 'relu', expected one of none, silu, swish: node 'activation'
// INVALID: CausalConvWithState: convolves 2x3 with 4x1x3: node 'matrix'
// INVALID: SwiGLU: a second operand of shape 6, expected 2x3: node 'gate'
// INVALID: MeanVarianceNormalization: axis 3 is outside rank 3: node 'axes'
// INVALID: MaxPool: result 1 is used: node 'places'
//--- invalid.mlir
module attributes {onnx.opset = 28 : i64} {
func.func @main(%f: tensor<2x3xf32>, %v: tensor<6xf32>, %four: tensor<4xf32>, %x: tensor<1x4x6xf32>, %w: tensor<4x1x3xf32>, %two: tensor<4x2x3xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %a = onnx.node "MaxPool"(%f) with {kernel_shape = []} {node = "flat"} : (tensor<2x3xf32>) -> !onnx.unknown
  %b = onnx.node "AveragePool"(%x) with {kernel_shape = [2, 2]} {node = "kernel"} : (tensor<1x4x6xf32>) -> !onnx.unknown
  %c = onnx.node "MaxPool"(%x) with {kernel_shape = [9]} {node = "wide"} : (tensor<1x4x6xf32>) -> !onnx.unknown
  %d = onnx.node "BatchNormalization"(%x, %four, %four, %four, %four) with {training_mode = 1 : i64} {node = "training"} : (tensor<1x4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
  %e = onnx.node "BatchNormalization"(%x, %four, %four, %four, %v) {node = "numbers"} : (tensor<1x4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<6xf32>) -> !onnx.unknown
  %g = onnx.node "InstanceNormalization"(%v, %v, %v) {node = "vector"} : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> !onnx.unknown
  %h = onnx.node "GroupNormalization"(%x, %four, %four) with {num_groups = 3 : i64} {node = "groups"} : (tensor<1x4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
  %i = onnx.node "GroupNormalization"(%x, %four, %four) with {num_groups = 2 : i64, stash_type = 10 : i64} {node = "half"} : (tensor<1x4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
  %j = onnx.node "GroupNormalization"(%x, %four, %v) with {num_groups = 2 : i64} {node = "scale"} : (tensor<1x4x6xf32>, tensor<4xf32>, tensor<6xf32>) -> !onnx.unknown
  %k, %k1 = onnx.node "CausalConvWithState"(%x, %two) {node = "weights"} : (tensor<1x4x6xf32>, tensor<4x2x3xf32>) -> (!onnx.unknown, !onnx.unknown)
  %l, %l1 = onnx.node "CausalConvWithState"(%x, %w) with {activation = "relu"} {node = "activation"} : (tensor<1x4x6xf32>, tensor<4x1x3xf32>) -> (!onnx.unknown, !onnx.unknown)
  %m, %m1 = onnx.node "CausalConvWithState"(%f, %w) {node = "matrix"} : (tensor<2x3xf32>, tensor<4x1x3xf32>) -> (!onnx.unknown, !onnx.unknown)
  %n = onnx.node "SwiGLU"(%f, %v) {node = "gate"} : (tensor<2x3xf32>, tensor<6xf32>) -> !onnx.unknown
  %o = onnx.node "MeanVarianceNormalization"(%x) {node = "axes"} : (tensor<1x4x6xf32>) -> !onnx.unknown
  %p, %q = onnx.node "MaxPool"(%x) with {kernel_shape = [2]} {node = "places"} : (tensor<1x4x6xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %a, %b, %c, %d, %e, %g, %h, %i, %j, %k, %l, %m, %n, %o, %q : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
