// RUN: wse-opt %s --wsec-place --wsec-route | FileCheck %s

// Both norms share their streams; the input named @channel keeps its name. One
// channel at row 0 serves columns 0 and 1, one at row 2 columns 2 and 3.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// CHECK-LABEL: wse.program @main state(routed)
wse.program @main state(selected) mesh(4x4) machine("{\"base\": \"wse2\", \"channels\": 2}") {
  region @r shape(4x4)
  // Every PE hears the launches.
  // CHECK: stream @launch launch colors [[LAUNCH:\[[0-9]+\]]] rules
  // CHECK-SAME: <x = 0 to 3, y = 0 to 1>, west to south|east|ramp>
  // CHECK-SAME: <x = 0 to 3, y = 1 to 3>, north to south|ramp>
  // CHECK-SAME: <x = 0 to 3, y = 3 to 4>, north to ramp>

  // CHECK: stream @[[CHANNEL:channel_[0-9]+]] channel colors [{{[0-9]+}}] rules
  // CHECK-SAME: <x = 0 to 1, y = 0 to 1>, west to east|ramp>
  // CHECK-SAME: <x = 1 to 2, y = 0 to 1>, west to ramp>
  // CHECK-SAME: <x = 0 to 2, y = 2 to 3>, west to east>

  // Row 3 holds no tokens and gets no rule.
  // CHECK: stream @column column rows <groups = 1, pitch = 4, used = 3> colors [{{[0-9]+}}] rules
  // CHECK-SAME: <x = 0 to 2, y = 0 to 1>, ramp to south|ramp>
  // CHECK-SAME: <x = 0 to 2, y = 1 to 2>, north to south|ramp>
  // CHECK-SAME: <x = 0 to 2, y = 2 to 3>, north to ramp>
  // CHECK-SAME: <x = 2 to 4, y = 0 to 1>, south to ramp>
  // CHECK-SAME: <x = 2 to 4, y = 1 to 2>, south to north|ramp>
  // CHECK-SAME: <x = 2 to 4, y = 2 to 3>, ramp to north|ramp>

  // CHECK: stream @row_west row_west colors [[[EVEN:[0-9]+]], [[ODD:[0-9]+]]] rules
  // CHECK-SAME: <color [[EVEN]], <x = 2 to 4 step 2, y = 0 to 4>, ramp to west>
  // CHECK-SAME: <color [[EVEN]], <x = 1 to 3 step 2, y = 0 to 4>, east to ramp>
  // CHECK-SAME: <color [[ODD]], <x = 1 to 4 step 2, y = 0 to 4>, ramp to west>
  // CHECK-SAME: <color [[ODD]], <x = 0 to 3 step 2, y = 0 to 4>, east to ramp>
  // CHECK: stream @row_cast row_cast
  // CHECK: stream @out_exit out_exit
  // CHECK: input @channel
  input @channel : tensor<3x8xf32>

  parameter @g = dense<1.0> : tensor<8xf32>
  // CHECK: load @channel {{.*}}streams = [@[[CHANNEL]], @column]
  %x = load @channel on @r : tensor<1x3x8xf32, #tokens>
  // CHECK: layer_norm {{.*}}streams = [@[[CHANNEL]], @column, @row_west, @row_cast]
  %a = layer_norm %x scale #wse.weight<@g : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["first"]} : tensor<1x3x8xf32, #tokens>
  // CHECK: layer_norm {{.*}}streams = [@[[CHANNEL]], @column, @row_west, @row_cast]
  %b = layer_norm %a scale #wse.weight<@g : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["second"]} : tensor<1x3x8xf32, #tokens>
  // CHECK: store {{.*}}streams = [@row_east, @out_north, @out_exit]
  store %b to "y" on @r : tensor<1x3x8xf32, #tokens> to tensor<3x8xf32>
}
