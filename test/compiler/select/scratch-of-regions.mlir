// RUN: split-file %s %t
// RUN: wse-opt %t/model.mlir --wse-select-kernels="mesh=6x16 placement=%t/two.json within='scratch=5000:attention first 0'" | FileCheck %t/model.mlir

//--- two.json
{"version": 1, "machine": {"width": 6, "height": 16},
 "regions": [{"name": "r", "role": "part", "x": 0, "y": 0, "columns": 2, "rows": 2},
             {"name": "r1", "role": "part", "x": 2, "y": 0, "columns": 2, "rows": 16}]}
//--- model.mlir
// What a launch leaves to scratch on one region says nothing of the same kernel on another, whose PEs have fewer tokens each.
// CHECK: attention {{.*}}on @r {few_scores, nodes = ["first"]}
// CHECK: attention
// CHECK-NOT: few_scores
// CHECK-SAME: on @r1 {nodes = ["other"]}
func.func @main(%x: tensor<1x64x64xf32> {onnx.name = "x"}, %y: tensor<1x64x64xf32> {onnx.name = "y"})
    -> (tensor<1x64x64xf32> {onnx.name = "a"}, tensor<1x64x64xf32> {onnx.name = "b"}) {
  %a = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, node = "first"} : (tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %b = onnx.attention %y, %y, %y {num_heads = 2 : i64, scale = 0.5 : f32, node = "other"} : (tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  return %a, %b : tensor<1x64x64xf32>, tensor<1x64x64xf32>
}
