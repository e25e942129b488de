// RUN: wse-opt %s --split-input-file --wsec-select="mesh=4x4" | FileCheck %s

// The store has it as soon as it is there, and what is computed of it later is
// computed of what comes back, not of what may still be on the wafer.
// CHECK-LABEL: wse.program @main
// CHECK: %[[X:.*]] = layer_norm
// CHECK: intermediate @[[KEPT:.*]] : tensor<1x6x8xf32>
// CHECK: store %[[X]] to "[[KEPT]]"
// CHECK: layer_norm %[[X]]
// CHECK: %[[BACK:.*]] = load @[[KEPT]]
// CHECK: softmax %[[BACK]]
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}, %g: tensor<8xf32> {onnx.name = "g"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}, tensor<1x6x8xf32> {onnx.name = "z"}) {
  %scale = onnx.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %n = onnx.layer_norm %x, %scale {epsilon = 0.5 : f32, node = "first"} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %kept = onnx.keep %n {node = "first"} : tensor<1x6x8xf32>
  %y = onnx.layer_norm %n, %scale {epsilon = 0.5 : f32, node = "second"} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %z = onnx.softmax %kept {node = "third"} : tensor<1x6x8xf32>
  return %y, %z : tensor<1x6x8xf32>, tensor<1x6x8xf32>
}

// -----

// Where that begins, constants are brought once more, and take no SRAM in between.
// CHECK-LABEL: wse.program @main
// CHECK: %[[FIRST:.*]] = load <@{{.*}} : tensor<1x6x8xf32>
// CHECK: elementwise({{.*}}, %[[FIRST]])
// CHECK: elementwise({{.*}}, %[[FIRST]])
// CHECK: %[[BACK:.*]] = load @first
// CHECK: %[[AGAIN:.*]] = load <@{{.*}} : tensor<1x6x8xf32>
// CHECK: elementwise(%[[BACK]], %[[AGAIN]])
func.func @main(%x: tensor<1x6x8xf32> {onnx.name = "x"}, %g: tensor<8xf32> {onnx.name = "g"}) -> (tensor<1x6x8xf32> {onnx.name = "y"}, tensor<1x6x8xf32> {onnx.name = "z"}) {
  %mask = onnx.constant dense<"0x0000004000000140000002400000034000000440000005400000064000000740000008400000094000000a4000000b4000000c4000000d4000000e4000000f400000104000001140000012400000134000001440000015400000164000001740000018400000194000001a4000001b4000001c4000001d4000001e4000001f400000204000002140000022400000234000002440000025400000264000002740000028400000294000002a4000002b4000002c4000002d4000002e4000002f40"> : tensor<1x6x8xf32>
  %n = onnx.softmax %x {node = "first"} : tensor<1x6x8xf32>
  %kept = onnx.keep %n {node = "first.kept"} : tensor<1x6x8xf32>
  %a = onnx.binary add %n, %mask {node = "a"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %b = onnx.softmax %a {node = "b"} : tensor<1x6x8xf32>
  %y = onnx.binary mul %b, %mask {node = "y"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %z = onnx.binary mul %kept, %mask {node = "z"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  return %y, %z : tensor<1x6x8xf32>, tensor<1x6x8xf32>
}
