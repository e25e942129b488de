// RUN: wse-opt %s --wsec-infer | FileCheck %s

// A transform is a product with a matrix; its axis comes beside the parts of
// the numbers before, and goes back.
// CHECK-LABEL: func.func @along_tokens
// CHECK: %[[T:.*]] = onnx.transpose %{{.*}} {{.*}} : tensor<1x4x3x2xf32> -> tensor<1x3x4x2xf32>
// CHECK: %[[X:.*]] = onnx.reshape %[[T]] {{.*}}: tensor<1x3x4x2xf32> -> tensor<1x3x8xf32>
// CHECK: %[[Y:.*]] = onnx.matmul %[[X]], %{{.*}} : (tensor<1x3x8xf32>, tensor<8x8xf32>) -> tensor<1x3x8xf32>
// CHECK: %[[S:.*]] = onnx.reshape %[[Y]] {{.*}}: tensor<1x3x8xf32> -> tensor<1x3x4x2xf32>
// CHECK: onnx.transpose %[[S]] {{.*}} : tensor<1x3x4x2xf32> -> tensor<1x4x3x2xf32>
func.func @along_tokens(%x: tensor<1x4x3x2xf32>) -> !onnx.unknown {
  %none = onnx.none
  %axis = onnx.constant dense<1> : tensor<i64>
  %y = onnx.node "DFT"(%x, %none, %axis) {node = "dft"} : (tensor<1x4x3x2xf32>, none, tensor<i64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// Of a one-sided spectrum as many elements as are not mirror images; of numbers
// back from it as many as stated.
// CHECK-LABEL: func.func @onesided
// CHECK: onnx.matmul %{{.*}}, %{{.*}} : (tensor<3x5xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>
// CHECK: onnx.matmul %{{.*}}, %{{.*}} : (tensor<3x6xf32>, tensor<6x5xf32>) -> tensor<3x5xf32>
func.func @onesided(%x: tensor<3x5x1xf32>) -> !onnx.unknown {
  %five = onnx.constant dense<5> : tensor<i64>
  %f = onnx.node "DFT"(%x) with {onesided = 1 : i64} {node = "there"} : (tensor<3x5x1xf32>) -> !onnx.unknown
  %y = onnx.node "DFT"(%f, %five) with {onesided = 1 : i64, inverse = 1 : i64} {node = "back"} : (!onnx.unknown, tensor<i64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
