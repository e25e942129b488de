// RUN: wse-opt %s --verify-roundtrip | FileCheck %s

// Nodes as models state them: inputs left out, domains, attributes; results are
// called as their nodes.

// CHECK-LABEL: func.func @clip
func.func @clip(%x: tensor<4xf32>, %max: tensor<f32>) -> !onnx.unknown {
  // CHECK: %none = onnx.none
  %none = onnx.none
  // CHECK: %block.1_clip = onnx.node "Clip"(%{{.*}}, %none, %{{.*}}) {node = "/block.1/clip"} : (tensor<4xf32>, none, tensor<f32>) -> !onnx.unknown
  %y = onnx.node "Clip"(%x, %none, %max) {node = "/block.1/clip"} : (tensor<4xf32>, none, tensor<f32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// CHECK-LABEL: func.func @domain_and_attributes
func.func @domain_and_attributes(%x: tensor<2x4xf32>) -> !onnx.unknown {
  // CHECK: %probs = onnx.node "Softmax"(%{{.*}}) with {axis = -1 : i64} {node = "probs"} : (tensor<2x4xf32>) -> !onnx.unknown
  %s = onnx.node "Softmax"(%x) with {axis = -1 : i64} {node = "probs"} : (tensor<2x4xf32>) -> !onnx.unknown
  // CHECK: onnx.node "FastGelu" of "com.microsoft"(%probs) : (!onnx.unknown) -> !onnx.unknown
  %g = onnx.node "FastGelu" of "com.microsoft" (%s) : (!onnx.unknown) -> !onnx.unknown
  return %g : !onnx.unknown
}

// CHECK-LABEL: func.func @results
func.func @results(%x: tensor<4xf32>) -> (!onnx.unknown, !onnx.unknown) {
  // CHECK: %{{.*}}:2 = onnx.node "Split"(%{{.*}}) : (tensor<4xf32>) -> (!onnx.unknown, !onnx.unknown)
  %a, %b = onnx.node "Split"(%x) : (tensor<4xf32>) -> (!onnx.unknown, !onnx.unknown)
  return %a, %b : !onnx.unknown, !onnx.unknown
}
