// RUN: wse-opt %s --verify-roundtrip | FileCheck %s

// What trains has a name, and what is added to its gradient says where.

#split = #wse.dist<rows = [0, 1], columns = [2]>
// CHECK-LABEL: wse.program @main
wse.program @main state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // CHECK: parameter @w = external<"m.data", 0, 144> : tensor<6x6xf32> trainable
  parameter @w = external<"m.data", 0, 144> : tensor<6x6xf32> trainable
  // CHECK: gradient "w.gradient" of @w view 3 strides [1, 6] : tensor<3x6xf32>
  gradient "w.gradient" of @w view 3 strides [1, 6] : tensor<3x6xf32>
  // CHECK: gradient "w.rows" of @w rows @ids : tensor<3x6xf32>
  gradient "w.rows" of @w rows @ids : tensor<3x6xf32>
  // CHECK: parameter @b = dense<0.000000e+00> : tensor<18xf32> trainable
  parameter @b = dense<0.0> : tensor<18xf32> trainable
  // CHECK: gradient "b.gradient" of @b : tensor<3x6xf32>
  gradient "b.gradient" of @b : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #split>
  store %x to "w.gradient" on @r : tensor<1x3x6xf32, #split> to tensor<3x6xf32>
  store %x to "w.rows" on @r : tensor<1x3x6xf32, #split> to tensor<3x6xf32>
  alias "b.gradient" = @x : tensor<3x6xf32>
}
