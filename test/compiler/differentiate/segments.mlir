// Of four pieces the last one is not computed again; what of others waits, and
// where, is asked for.
// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=pieces segment=2" --onnx-common-subexpressions | FileCheck %s --check-prefix=REBUILT
// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results recompute=segments segment=2 inputs-at=wafer" --onnx-common-subexpressions | FileCheck %s --check-prefix=WHOLE
// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results kept=2" --onnx-common-subexpressions | FileCheck %s --check-prefix=KEPT
// RUN: wse-opt %s --onnx-differentiate="loss=mean-square inputs=x gradients-as-results repeats=1" --onnx-common-subexpressions | FileCheck %s --check-prefix=FEW
// RUN: not wse-opt %s --onnx-differentiate="loss=mean-square inputs=x kept=5" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not wse-opt %s --onnx-differentiate="loss=mean-square inputs=x kept=5 repeats=1" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not wse-opt %s --onnx-differentiate="loss=mean-square inputs=x segment=5" 2>&1 | FileCheck %s --check-prefix=LONG
// MANY: error: a training plan with kept=5: pieces of the model are 4; give kept=1 to 4
// LONG: error: a training plan with segment=5: pieces of the model are 4; give segment=1 to 4

// Pieces 0 and 1 are a segment, of which only the input waits: that of piece 1
// is made again, and waits, too; then piece 0 is computed again.
// REBUILT-LABEL: func.func @main
// REBUILT: %[[X:.*]] = onnx.keep %arg0
// REBUILT: %[[X0:.*]] = onnx.keep %[[X]]
// REBUILT: %[[S1:.*]] = onnx.binary add {{.*}} {node = "s1"}
// REBUILT: %[[K1:.*]] = onnx.keep %[[S1]] {node = "s1"}
// REBUILT-NOT: {{onnx.keep [^,]*[}]}}
// REBUILT: {node = "f3/backward"}
// REBUILT: onnx.unary tanh %[[K1]] {node = "f2/recompute"}
// REBUILT: %[[F0:.*]] = onnx.unary tanh %[[X]] {node = "f0/recompute"}
// REBUILT: %[[S0:.*]] = onnx.binary add %[[X]], %[[F0]] {node = "s0/recompute"}
// REBUILT: %[[K0:.*]] = onnx.keep %[[S0]] {node = "s0/recompute"}
// REBUILT: onnx.unary tanh %[[K0]] {node = "f1/recompute"}
// REBUILT: onnx.unary tanh %[[X0]] {node = "f0/recompute"}

// WHOLE-LABEL: func.func @main
// WHOLE: %[[X:.*]] = onnx.keep %arg0
// WHOLE: %[[S1:.*]] = onnx.binary add {{.*}} {node = "s1"}
// WHOLE: %[[K1:.*]] = onnx.keep %[[S1]] {node = "s1", on_wafer}
// WHOLE: onnx.unary tanh %[[K1]] {node = "f2/recompute"}
// WHOLE: %[[F0:.*]] = onnx.unary tanh %[[X]] {node = "f0/recompute"}
// WHOLE: %[[S0:.*]] = onnx.binary add %[[X]], %[[F0]] {node = "s0/recompute"}
// WHOLE: onnx.unary tanh %[[S0]] {node = "f1/recompute"}
// WHOLE-NOT: f0/recompute

// KEPT-LABEL: func.func @main
// KEPT: %[[S1:.*]] = onnx.keep %{{.*}} {node = "s1", on_wafer}
// KEPT: onnx.unary tanh %[[S1]] {node = "f2/recompute"}
// KEPT: f1/recompute

// Pieces 1 to 3 are alike but for the loss; two of them are, and one is left.
// FEW: onnx.pieces = array<i64: 4, 1, 2>
// FEW-LABEL: func.func @main
// FEW: f1
// FEW-NOT: f2
// FEW: f3
func.func @main(%x: tensor<2x8xf32> {onnx.name = "x"}) -> (tensor<2x8xf32> {onnx.name = "y"}) {
  %f0 = onnx.unary tanh %x {node = "f0"} : tensor<2x8xf32>
  %s0 = onnx.binary add %x, %f0 {node = "s0"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f1 = onnx.unary tanh %s0 {node = "f1"} : tensor<2x8xf32>
  %s1 = onnx.binary add %s0, %f1 {node = "s1"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f2 = onnx.unary tanh %s1 {node = "f2"} : tensor<2x8xf32>
  %s2 = onnx.binary add %s1, %f2 {node = "s2"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f3 = onnx.unary exp %s2 {node = "f3"} : tensor<2x8xf32>
  %s3 = onnx.binary add %s2, %f3 {node = "s3"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %s3 : tensor<2x8xf32>
}
