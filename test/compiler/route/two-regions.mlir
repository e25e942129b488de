// RUN: wse-opt %s --pass-pipeline='builtin.module(wse.program(wse-route-streams,wse-verify-routed))' | FileCheck %s

// Each region has streams of its own; launches are of both.

#split = #wse.dist<rows = [0, 1], columns = [2]>
// CHECK-LABEL: wse.program @two
wse.program @two state(placed) mesh(6x2) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  region @b shape(3x2) at (3, 0)
  input @x : tensor<2x4xf32>
  // Down all columns of a region, not down column 2 between the two.
  // CHECK: stream @launch launch colors [[[L:[0-9]+]]] rules [#wse.rule<color [[L]], <x = 0 to 1, y = 0 to 1>, west to south|east|ramp>,
  // CHECK-SAME: #wse.rule<color [[L]], <x = 2 to 3, y = 0 to 1>, west to east>,
  // CHECK: stream @row_west row_west on @a
  // CHECK: stream @row_east row_east on @a
  // From the last column of @a past column 2 to @b.
  // CHECK: stream @transfer transfer on @a to @b colors [[[T:[0-9]+]]] rules [#wse.rule<color [[T]], <x = 1 to 2, y = 0 to 2>, ramp to east>, #wse.rule<color [[T]], <x = 2 to 3, y = 0 to 2>, west to east>, #wse.rule<color [[T]], <x = 3 to 5, y = 0 to 2>, west to east|ramp>, #wse.rule<color [[T]], <x = 5 to 6, y = 0 to 2>, west to ramp>]
  // CHECK: stream @row_west_1 row_west on @b
  %x = load @x on @a : tensor<1x2x4xf32, #split>
  %s = softmax %x on @a : tensor<1x2x4xf32, #split>
  // CHECK: transfer {{.*}} {streams = [@row_east, @transfer]}
  %t = transfer %s on @b : tensor<1x2x4xf32, #split> -> tensor<1x2x4xf32, #split>
  // CHECK: softmax {{.*}} {streams = [@row_west_1, @row_cast_1]}
  %u = softmax %t on @b : tensor<1x2x4xf32, #split>
}

// Channels that are shared out: words for both regions have one color.
// CHECK-LABEL: wse.program @shares
wse.program @shares state(placed) mesh(6x4) machine("wse2") {
  region @a shape(3x4) at (0, 0) channels(1 from 0 group 0)
  region @b shape(3x4) at (3, 0) channels(3 from 1 group 0)
  input @x : tensor<4x4xf32>
  // CHECK: stream @channel channel on @a colors [[[C:[0-9]+]]] rules [#wse.rule<color [[C]], <x = 0 to 2, y = 0 to 1>, west to east|ramp>
  // CHECK: stream @channel_1 channel on @b colors [[[C]]] rules [#wse.rule<color [[C]], <x = 0 to 3, y = 1 to 2>, west to east>
  // CHECK: region @a shape(3x4) at (0, 0) channels(1 from 0 group 0)
  %x = load @x on @a : tensor<1x4x4xf32, #split>
  %s = softmax %x on @a : tensor<1x4x4xf32, #split>
  %y = load @x on @b : tensor<1x4x4xf32, #split>
  %t = transfer %s on @b : tensor<1x4x4xf32, #split> -> tensor<1x4x4xf32, #split>
  %u = softmax %y on @b : tensor<1x4x4xf32, #split>
}
