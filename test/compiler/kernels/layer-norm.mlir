// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// The sum and the sum of squares go west; column 0 makes the mean and the
// reciprocal deviation of them and sends those back.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  parameter @g = dense<1.0> : tensor<8xf32>
  parameter @b = dense<0.5> : tensor<8xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>
  // CHECK-LABEL: routine @layer_norm {
  // CHECK:         vector add [[MEAN:@[a-z0-9_]+]][0, strides = [0, 1]] = [[MEAN]][0, strides = [0, 1]], [[X:@[a-z0-9_]+]][0, strides = [4, 1]] over (2, 4)
  // CHECK-NEXT:    vector mov fabric([[WEST:.*]]) = [[MEAN]][0, strides = [1]] over (4) where %[[LAST:.*]]
  // CHECK-NEXT:    vector add fabric([[WEST]]) = [[MEAN]][0, strides = [1]], fabric([[EAST:.*]]) over (4) where %{{.*}}
  // CHECK-NEXT:    vector add [[MEAN]][0, strides = [1]] = [[MEAN]][0, strides = [1]], fabric([[EAST]]) over (4) where %[[FIRST:.*]]
  // CHECK-NEXT:    vector mul [[MEAN]][0, strides = [1]] = [[MEAN]][0, strides = [1]], 1.250000e-01 over (4) where %[[FIRST]]
  // CHECK-NEXT:    vector mov fabric([[CAST:[0-9]+]]) = [[MEAN]][0, strides = [1]] over (4) where %[[FIRST]] thread 1
  // CHECK-NEXT:    vector mov [[ALL:@[a-z0-9_]+]][0, strides = [1]] = fabric([[CAST]]) over (4)
  // CHECK-NEXT:    vector sub [[Y:@[a-z0-9_]+]][0, strides = [4, 1]] = [[X]][0, strides = [4, 1]], [[ALL]][0, strides = [0, 1]] over (2, 4)
  // CHECK:         vector fmac [[DEVIATION:@[a-z0-9_]+]][0, strides = [0, 1]] = [[Y]][0, strides = [4, 1]], [[Y]][0, strides = [4, 1]] over (2, 4)
  // CHECK:         vector rsqrt [[DEVIATION]]
  // CHECK:         vector mov [[SHARED:@[a-z0-9_]+]][0, strides = [1]] = fabric([[CAST]]) over (4)
  // CHECK-NEXT:    vector mul [[Y]]{{.*}}, [[SHARED]][0, strides = [0, 1]] over (2, 4)
  // CHECK-NEXT:    vector mul [[Y]]{{.*}}, fabric({{[0-9]+}}) over (2, 4)
  // CHECK-NEXT:    vector add [[Y]]{{.*}}, fabric({{[0-9]+}}) over (2, 4)
  %y = layer_norm %x scale #wse.weight<@g : tensor<8xf32>> bias #wse.weight<@b : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["ln"]} : tensor<1x8x8xf32, #tokens>
  store %y to "y" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
}
