// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// A kernel has the name of its node, whatever else wants it: two kernels of
// "add" may be numbered as exporters number equal nodes, a weight may be called
// like a node.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// CHECK-LABEL: pe.program @main
wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<6x8xf32>
  parameter @add = external<"w.bin", 0, 32> : tensor<8xf32>
  parameter @g = external<"w.bin", 32, 32> : tensor<8xf32>
  parameter @h = external<"w.bin", 64, 32> : tensor<8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x6x8xf32, #tokens>
  // CHECK-DAG: kernel @add kind "rms_norm" nodes ["add"]
  // CHECK-DAG: tensor weight @add_3 from <"w.bin" at 0>
  %a = rms_norm %x scale <@add : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["add"]} : tensor<1x6x8xf32, #tokens>
  // CHECK-DAG: kernel @add_1 kind "rms_norm" nodes ["add_1"]
  %b = rms_norm %a scale <@g : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["add_1"]} : tensor<1x6x8xf32, #tokens>
  // CHECK-DAG: kernel @add_2 kind "rms_norm" nodes ["add_2"]
  %c = rms_norm %b scale <@h : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["add_2"]} : tensor<1x6x8xf32, #tokens>
  store %c to "y" on @r : tensor<1x6x8xf32, #tokens> to tensor<6x8xf32>
}
