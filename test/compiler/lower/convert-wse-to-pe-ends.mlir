// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// Inputs and outputs keep their names, whatever they are: the class, the
// constants, kernels and routines take others.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// CHECK: tensor input @every_pe
// CHECK: tensor output @load
// CHECK: tensor constant @[[ONE:c_[0-9]]]
// CHECK: tensor output @b alias @[[ONE]] :
// CHECK: tensor constant @[[OTHER:b_[0-9]]]
// CHECK: tensor output @c alias @[[OTHER]] :
// CHECK: class @every_pe_1
// CHECK: routine @load_1
wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @every_pe : tensor<6x8xf32>
  parameter @c = dense<[1.0, 2.0]> : tensor<2xf32>
  parameter @b = dense<[3.0, 4.0]> : tensor<2xf32>
  %x = load @every_pe on @r {nodes = ["x"]} : tensor<1x6x8xf32, #tokens>
  store %x to "load" on @r : tensor<1x6x8xf32, #tokens> to tensor<6x8xf32>
  alias "b" = <@c : tensor<2xf32>> : tensor<2xf32>
  alias "c" = <@b : tensor<2xf32>> : tensor<2xf32>
}
