// RUN: split-file %s %t
// RUN: wse-opt %t/stated.mlir --onnx-forget-parameters --onnx-common-subexpressions | FileCheck %s
// RUN: cd %t && cat numbers.txt numbers.txt others.txt > weights
// RUN: wse-opt files.mlir --onnx-forget-parameters --onnx-common-subexpressions | FileCheck %s --check-prefixes=FILES,TRAINS
// RUN: sed 's/ trainable/ frozen/' files.mlir | wse-opt --onnx-forget-parameters --onnx-common-subexpressions | FileCheck %s --check-prefixes=FILES,CALLED

//--- stated.mlir

// Angles that are frozen are constants, equal ones one; equal weights stay two,
// and what trains stays what it is.
// CHECK-LABEL: func.func @main
// CHECK: %[[TURNS:.*]] = onnx.constant dense<1.000000e+00> : tensor<1x6x4xf32>
// CHECK-DAG: %[[A:.*]] = onnx.constant #onnx.parameter<@a : tensor<8xf32>>
// CHECK-DAG: %[[B:.*]] = onnx.constant #onnx.parameter<@b : tensor<8xf32>>
// CHECK-DAG: %[[LEARNT:.*]] = onnx.constant #onnx.parameter<@learnt : tensor<1x6x4xf32>>
// CHECK: onnx.rms_norm %{{.*}}, %[[A]]
// CHECK: onnx.rotary %{{.*}}, %[[TURNS]], %[[TURNS]]
// CHECK: onnx.rms_norm %{{.*}}, %[[B]]
// CHECK: onnx.rotary %{{.*}}, %[[LEARNT]], %[[TURNS]]
onnx.parameter @turns.0 = dense<1.0> : tensor<1x6x4xf32> frozen
onnx.parameter @turns.1 = dense<1.0> : tensor<1x6x4xf32> frozen
onnx.parameter @learnt = dense<1.0> : tensor<1x6x4xf32> trainable
onnx.parameter @a = dense<1.0> : tensor<8xf32> frozen
onnx.parameter @b = dense<1.0> : tensor<8xf32> frozen
func.func @main(%x: tensor<1x6x8xf32>) -> tensor<1x6x8xf32> {
  %0 = onnx.constant #onnx.parameter<@turns.0 : tensor<1x6x4xf32>>
  %1 = onnx.constant #onnx.parameter<@turns.1 : tensor<1x6x4xf32>>
  %l = onnx.constant #onnx.parameter<@learnt : tensor<1x6x4xf32>>
  %a = onnx.constant #onnx.parameter<@a : tensor<8xf32>>
  %b = onnx.constant #onnx.parameter<@b : tensor<8xf32>>
  %n = onnx.rms_norm %x, %a {epsilon = 0.5 : f32} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %y = onnx.rotary %n, %0, %1 {num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
  %m = onnx.rms_norm %y, %b {epsilon = 0.5 : f32} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %z = onnx.rotary %m, %l, %1 {num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
  return %z : tensor<1x6x8xf32>
}

//--- files.mlir
// Where something trains angles of a file are one if their bytes are equal;
// those that differ, and weights, stay what they are. What cannot be read does,
// too.
// FILES-LABEL: func.func @main
// FILES: %[[A:.*]] = onnx.constant #onnx.parameter<@a : tensor<4xf32>>
// FILES: %[[B:.*]] = onnx.constant #onnx.parameter<@b : tensor<4xf32>>
// FILES: %[[FIRST:.*]] = onnx.constant external<"weights", 0, 16>
// FILES: %[[OTHER:.*]] = onnx.constant external<"weights", 32, 16>
// FILES: %[[ABSENT:.*]] = onnx.constant external<"absent", 0, 16>
// TRAINS: onnx.rotary %{{.*}}, %[[FIRST]], %[[FIRST]]
// CALLED-NOT: onnx.rotary %{{.*}}, %[[FIRST]], %[[FIRST]]
// FILES: onnx.rotary %{{.*}}, %[[OTHER]], %[[ABSENT]]
onnx.parameter @first = external<"weights", 0, 16> : tensor<1x2x2xf32> frozen
onnx.parameter @second = external<"weights", 16, 16> : tensor<1x2x2xf32> frozen
onnx.parameter @other = external<"weights", 32, 16> : tensor<1x2x2xf32> frozen
onnx.parameter @absent = external<"absent", 0, 16> : tensor<1x2x2xf32> frozen
onnx.parameter @a = external<"weights", 0, 16> : tensor<4xf32> trainable
onnx.parameter @b = external<"weights", 16, 16> : tensor<4xf32> frozen
func.func @main(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %a = onnx.constant #onnx.parameter<@a : tensor<4xf32>>
  %b = onnx.constant #onnx.parameter<@b : tensor<4xf32>>
  %0 = onnx.constant #onnx.parameter<@first : tensor<1x2x2xf32>>
  %1 = onnx.constant #onnx.parameter<@second : tensor<1x2x2xf32>>
  %2 = onnx.constant #onnx.parameter<@other : tensor<1x2x2xf32>>
  %3 = onnx.constant #onnx.parameter<@absent : tensor<1x2x2xf32>>
  %m = onnx.rms_norm %x, %a {epsilon = 0.5 : f32} : (tensor<1x2x4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>
  %n = onnx.rms_norm %m, %b {epsilon = 0.5 : f32} : (tensor<1x2x4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>
  %y = onnx.rotary %n, %0, %1 {num_heads = 1 : i64, rotary_dim = 4 : i64} : (tensor<1x2x4xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x4xf32>
  %z = onnx.rotary %y, %2, %3 {num_heads = 1 : i64, rotary_dim = 4 : i64} : (tensor<1x2x4xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x4xf32>
  return %z : tensor<1x2x4xf32>
}

//--- numbers.txt
456789012345678
//--- others.txt
987654321098765
