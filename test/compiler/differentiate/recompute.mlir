// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results" --onnx-common-subexpressions | FileCheck %s
// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=none" --onnx-common-subexpressions | FileCheck %s --check-prefix=ONCE
// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results elements-again=false" --onnx-common-subexpressions | FileCheck %s --check-prefix=WHOLE

// Two residual blocks. What the second begins with is kept as soon as it is
// there; the first block is computed again where its gradients are made. Of the
// second one functions of elements are, too, of what stays on the wafer.
// CHECK-LABEL: func.func @main
// CHECK: %[[INPUT:.*]] = onnx.keep %arg0
// CHECK: onnx.unary tanh %arg0 {node = "f0"}
// CHECK: %[[S:.*]] = onnx.binary add {{.*}} {node = "s0"}
// CHECK: %[[KEPT:.*]] = onnx.keep %[[S]] {node = "s0"}
// CHECK: onnx.unary tanh %[[S]] {node = "f1"}
// CHECK: %[[S1:.*]] = onnx.binary add {{.*}} {node = "s1"}
// CHECK: %[[STAYS:.*]] = onnx.keep %[[S1]] {node = "s1", on_wafer}
// CHECK: onnx.unary exp %[[S1]] {node = "f2"}
// CHECK: onnx.unary exp %[[STAYS]] {node = "f2/recompute"}
// CHECK: node = "f2/backward"
// CHECK: %[[AGAIN:.*]] = onnx.unary tanh %[[KEPT]] {node = "f1/recompute"}
// CHECK: onnx.binary mul %[[AGAIN]], %[[AGAIN]] {node = "f1/backward"}
// CHECK: %[[FIRST:.*]] = onnx.unary tanh %[[INPUT]] {node = "f0/recompute"}
// CHECK: onnx.binary mul %[[FIRST]], %[[FIRST]] {node = "f0/backward"}
// WHOLE-NOT: on_wafer
// WHOLE: onnx.unary exp {{.*}} {node = "f2"}
// WHOLE-NOT: {{node = "f2/recompute"}}
// WHOLE: node = "f2/backward"
// WHOLE: onnx.unary tanh {{.*}} {node = "f1/recompute"}
// WHOLE-NOT: on_wafer
// ONCE-NOT: onnx.keep
// ONCE-NOT: {{node = "[^"]*recompute}}
func.func @main(%x: tensor<2x8xf32> {onnx.name = "x"}) -> (tensor<2x8xf32> {onnx.name = "y"}) {
  %f0 = onnx.unary tanh %x {node = "f0"} : tensor<2x8xf32>
  %s0 = onnx.binary add %x, %f0 {node = "s0"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f1 = onnx.unary tanh %s0 {node = "f1"} : tensor<2x8xf32>
  %s1 = onnx.binary add %s0, %f1 {node = "s1"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f2 = onnx.unary exp %s1 {node = "f2"} : tensor<2x8xf32>
  %s2 = onnx.binary add %s1, %f2 {node = "s2"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %s2 : tensor<2x8xf32>
}
