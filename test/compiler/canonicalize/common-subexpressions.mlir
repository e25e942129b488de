// RUN: wse-opt %s --onnx-common-subexpressions | FileCheck %s

// Names of nodes do not make values different; attributes do.
// CHECK-LABEL: func.func @names_do_not_matter
// CHECK: %[[A:.*]] = onnx.unary tanh %{{.*}} {node = "first", onnx.absorbed = ["second"]}
// CHECK-NEXT: %[[B:.*]] = onnx.unary exp
// CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
func.func @names_do_not_matter(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = onnx.unary tanh %x {node = "first"} : tensor<4xf32>
  %b = onnx.unary tanh %x {node = "second"} : tensor<4xf32>
  %c = onnx.unary exp %x {node = "third"} : tensor<4xf32>
  %dead = onnx.unary exp %c : tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
