// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=4x6 reorder-states})' | FileCheck %s

// All states go on from others, both those that grow and those that each call writes as a whole.

// CHECK-LABEL: wse.program @main
// CHECK: entry @decode(
// CHECK: entry @reorder(%[[A:.*]] from 0 to 1, %[[B:.*]] from 0 to 1, %[[C:.*]] from 0 to 8, %[[D:.*]] from 0 to 8) {
// CHECK-NEXT: reorder @k from %[[A]], %[[B]] at %[[C]], %[[D]] on @r {nodes = ["k"]}
// CHECK-NEXT: reorder @h from %[[A]], %[[B]] at %[[C]], %[[D]] on @r {nodes = ["h"]}
// CHECK-NEXT: }
func.func @decode(%x: tensor<2x1x4xf32> {onnx.name = "x"}, %h: tensor<2x1x4xf32> {onnx.state = "h", onnx.whole}, %k: tensor<2x8x4xf32> {onnx.state = "k"},
                  %at: tensor<2xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 7>})
    -> (tensor<2x1x4xf32> {onnx.name = "y"}, tensor<2x1x4xf32> {onnx.state = "h"}, tensor<2x8x4xf32> {onnx.state = "k"}) {
  %all = onnx.update %k, %x at %at {node = "write"} : (tensor<2x8x4xf32>, tensor<2x1x4xf32>, tensor<2xi64>) -> tensor<2x8x4xf32>
  %sum = onnx.binary add %x, %h {node = "sum"} : (tensor<2x1x4xf32>, tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  return %sum, %sum, %all : tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x8x4xf32>
}
