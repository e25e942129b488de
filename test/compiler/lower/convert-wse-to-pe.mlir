// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// Results alternate between two buffers. The first and the third norm do the
// same with other weights: one routine for both, a stream of weights for each.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// CHECK-LABEL: pe.program @main mesh [4, 2] machine "wse2" launch_color
wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  // CHECK-DAG: tensor input @x : tensor<6x8xf32>
  // CHECK-DAG: tensor output @y : tensor<6x8xf32>
  // CHECK-DAG: tensor weight @g0 from <"w.bin" at 0> : tensor<8xf32>
  // CHECK-DAG: tensor weight @g2 from <"w.bin" at 64> : tensor<8xf32>
  input @x : tensor<6x8xf32>

  // CHECK: route {{[0-9]+}} [0:3, 0:1] from west to [south, east, ramp]
  // CHECK: class @every_pe [0:4, 0:2] {
  // CHECK: buffer @{{.*}} node "x"
  // CHECK: routine @load {
  // CHECK: await
  // CHECK: routine @rms_norm {
  // CHECK: routine @rms_norm_1 {
  // CHECK-NOT: routine @rms_norm_2
  // CHECK: routine @store {

  parameter @g0 = external<"w.bin", 0, 32> : tensor<8xf32>
  parameter @g1 = external<"w.bin", 32, 32> : tensor<8xf32>
  parameter @g2 = external<"w.bin", 64, 32> : tensor<8xf32>
  // Every scalar of a stream is used.
  // CHECK: stream in @to_load color
  // CHECK-NEXT: %[[PX:.*]] = scalar px
  // CHECK-NEXT: %[[TWO:.*]] = constant 2
  // CHECK-NEXT: %[[FIRST:.*]] = scalar mul(%[[PX]], %[[TWO]])
  // CHECK-NEXT: segment @x[%[[FIRST]], strides = [1]] over (2) lines 6 step 8
  // CHECK: kernel @[[X:.*]] kind "load" nodes ["x"] region [0:4, 0:2]
  // CHECK-NEXT: launch @load for @[[X]] streams [@to_load]
  %x = load @x on @r {nodes = ["x"]} : tensor<1x6x8xf32, #tokens>
  // CHECK: stream in @[[STREAM_0:.*]] color
  // CHECK: segment @g0
  // CHECK: launch @rms_norm for @first streams [@[[STREAM_0]]]
  %a = rms_norm %x scale <@g0 : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["first"]} : tensor<1x6x8xf32, #tokens>
  // CHECK: segment @g1
  // CHECK: launch @rms_norm_1 for @second
  %b = rms_norm %a scale <@g1 : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["second"]} : tensor<1x6x8xf32, #tokens>
  // CHECK: stream in @[[STREAM_2:.*]] color
  // CHECK: segment @g2
  // CHECK: launch @rms_norm for @third streams [@[[STREAM_2]]]
  %c = rms_norm %b scale <@g2 : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["third"]} : tensor<1x6x8xf32, #tokens>
  // CHECK: stream out @from_store color
  // CHECK: segment @y
  // CHECK: launch @store for @{{.*}} streams [@from_store]
  store %c to "y" on @r : tensor<1x6x8xf32, #tokens> to tensor<6x8xf32>
}
