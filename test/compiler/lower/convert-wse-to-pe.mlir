// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s
// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS

// Two equal layers: one routine for both, one stream of weights for each.

#tokens = #wse.tiled<batch = 1, tokens = 6, rows = split, group = 2, columns = balanced>

// STATISTICS: 1 merged-routines
// STATISTICS: 3 routines

// CHECK-LABEL: pe.program @main mesh [4, 2] machine "wse2" command
wse.program @main state(selected) mesh(4x2) machine("wse2") {
  // CHECK: tensor input @x : tensor<6x8xf32>
  // CHECK: tensor output @y : tensor<6x8xf32>
  // CHECK: tensor weight @g0 from <"w.bin" at 0> : tensor<8xf32>
  // CHECK: tensor weight @g1 from <"w.bin" at 32> : tensor<8xf32>
  input @x : tensor<6x8xf32>

  // The command reaches every PE.
  // CHECK: route {{[0-9]+}} [0:3, 0:1] from west to [south, east, ramp]
  // CHECK: class @every_pe [0:4, 0:2] {
  // CHECK: buffer @{{.*}} node "x"
  // CHECK: routine @load {
  // CHECK: await
  // CHECK: routine @rms_norm {
  // CHECK-NOT: routine @rms_norm_1
  // CHECK: routine @store {

  // CHECK: stream in @to_load color
  // CHECK-NEXT: {{.*}} = scalar px
  // CHECK: segment @x
  // CHECK: kernel @x_{{.*}} kind "load" nodes ["x"] region [0:4, 0:2]
  // CHECK-NEXT: launch @load for @x_{{.*}} streams [@to_load]
  %x = load @x {nodes = ["x"]} : tensor<1x6x8xf32, #tokens>
  // CHECK: stream in @[[FIRST:.*]] color
  // CHECK: segment @g0
  // CHECK: launch @rms_norm for @first streams [@[[FIRST]]]
  %a = rms_norm %x scale <"g0" : tensor<8xf32> file "w.bin" offset 0 bytes 32> epsilon(1.0e-5) {nodes = ["first"]} : tensor<1x6x8xf32, #tokens>
  // CHECK: stream in @[[SECOND:.*]] color
  // CHECK: segment @g1
  // CHECK: launch @rms_norm for @second streams [@[[SECOND]]]
  %b = rms_norm %a scale <"g1" : tensor<8xf32> file "w.bin" offset 32 bytes 32> epsilon(1.0e-5) {nodes = ["second"]} : tensor<1x6x8xf32, #tokens>
  // CHECK: stream out @from_store color
  // CHECK: segment @y
  // CHECK: launch @store for @{{.*}} streams [@from_store]
  store %b to "y" : tensor<1x6x8xf32, #tokens> to tensor<6x8xf32>
}
