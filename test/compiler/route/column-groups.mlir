// RUN: wse-opt %s --wsec-place --wsec-route | FileCheck %s

// Streams of groups of columns: norms of a wide region reduce in two phases, an
// attention casts in the columns of each head.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>
#heads = #wse.dist<rows = [0, 1], columns = [2 by 6 over 4]>

// CHECK-LABEL: wse.program @main state(routed)
wse.program @main state(selected) mesh(13x2) machine("wse2") {
  region @r shape(13x2)

  // Groups of 3 columns: roots 0, 3, 6, 9, 12, and the columns that they pass.
  // CHECK: stream @root_west root_west rows <groups = 5, pitch = 3, used = 1> colors [[[EVEN:[0-9]+]], [[ODD:[0-9]+]]] rules
  // CHECK-SAME: <color [[EVEN]], <x = 6 to 13 step 6, y = 0 to 2>, ramp to west>
  // CHECK-SAME: <color [[EVEN]], <x = 3 to 10 step 6, y = 0 to 2>, east to ramp>
  // CHECK-SAME: <color [[EVEN]], <x = 4 to 6, y = 0 to 2>, east to west>
  // CHECK-SAME: <color [[EVEN]], <x = 10 to 12, y = 0 to 2>, east to west>
  // CHECK-SAME: <color [[ODD]], <x = 3 to 13 step 6, y = 0 to 2>, ramp to west>
  // CHECK-SAME: <color [[ODD]], <x = 0 to 10 step 6, y = 0 to 2>, east to ramp>
  // CHECK-SAME: <color [[ODD]], <x = 1 to 3, y = 0 to 2>, east to west>
  // CHECK-SAME: <color [[ODD]], <x = 7 to 9, y = 0 to 2>, east to west>

  // Heads in columns 0 to 3, 4 to 7 and 8 to 11; column 12 has none.
  // CHECK: stream @head_cast head_cast rows <groups = 3, pitch = 4, used = 4> colors [[[CAST:[0-9]+]]] rules
  // CHECK-SAME: <x = 0 to 9 step 4, y = 0 to 2>, ramp to east|ramp>
  // CHECK-SAME: <x = 1 to 10 step 4, y = 0 to 2>, west to east|ramp>
  // CHECK-SAME: <x = 2 to 11 step 4, y = 0 to 2>, west to east|ramp>
  // CHECK-SAME: <x = 3 to 12 step 4, y = 0 to 2>, west to ramp>
  input @x : tensor<2x18xf32>
  parameter @g = dense<1.0> : tensor<18xf32>
  %x = load @x on @r : tensor<1x2x18xf32, #tokens>
  // CHECK: layer_norm {{.*}}@row_west, @row_cast, @root_west]
  %a = layer_norm %x scale #wse.weight<@g : tensor<18xf32>> epsilon(1.0e-5) on @r {nodes = ["norm"]} : tensor<1x2x18xf32, #tokens>
  store %a to "a" on @r : tensor<1x2x18xf32, #tokens> to tensor<2x18xf32>
  %h = load @x on @r : tensor<1x2x18xf32, #heads>
  // CHECK: attention {{.*}}streams = [@row_west, @head_cast,
  %y = attention %h, %h, %h heads(3) scale(1.0) on @r {nodes = ["attn"]} : tensor<1x2x18xf32, #heads>, tensor<1x2x18xf32, #heads>, tensor<1x2x18xf32, #heads> -> tensor<1x2x18xf32, #heads>
  store %y to "y" on @r : tensor<1x2x18xf32, #heads> to tensor<2x18xf32>
}
