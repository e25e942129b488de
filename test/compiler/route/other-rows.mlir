// RUN: wse-opt %s --pass-pipeline='builtin.module(wse.program(wse-route-streams,wse-verify-routed))' | FileCheck %s

// A transfer to other rows: its ways are searched for, one lane for each row
// between the regions. Row 0 leaves by the outer lane, row 1 by the inner one.

#split = #wse.dist<rows = [0, 1], columns = [2]>
// CHECK-LABEL: wse.program @lanes
// CHECK: stream @transfer transfer on @a to @b colors [[[C:[0-9]+]]] rules
// CHECK-DAG: #wse.rule<color [[C]], <x = 1 to 2, y = 0 to 2>, ramp to east>
// CHECK-DAG: #wse.rule<color [[C]], <x = 2 to 3, y = 1 to 2>, west to south>
// CHECK-DAG: #wse.rule<color [[C]], <x = 2 to 3, y = 3 to 4>, north to east>
// CHECK-DAG: #wse.rule<color [[C]], <x = 3 to 4, y = 0 to 1>, west to south>
// CHECK-DAG: #wse.rule<color [[C]], <x = 3 to 4, y = 2 to 3>, north to east|ramp>
// CHECK-DAG: #wse.rule<color [[C]], <x = 5 to 6, y = 2 to 4>, west to ramp>
wse.program @lanes state(placed) mesh(6x4) machine("wse2") {
  region @a shape(2x2) at (0, 0)
  region @b shape(3x2) at (3, 2)
  input @x : tensor<2x4xf32>
  %x = load @x on @a : tensor<1x2x4xf32, #split>
  %t = transfer %x on @b : tensor<1x2x4xf32, #split> -> tensor<1x2x4xf32, #split>
  store %t to "y" on @b : tensor<1x2x4xf32, #split> to tensor<2x4xf32>
}

// One above the other, nothing beside them: rows cross on one color, so they
// take two in turn.

// CHECK-LABEL: wse.program @above
// CHECK: stream @transfer transfer on @a to @b colors [{{[0-9]+}}, {{[0-9]+}}] rules
wse.program @above state(placed) mesh(3x4) machine("wse2") {
  region @a shape(3x2) at (0, 0)
  region @b shape(3x2) at (0, 2)
  input @x : tensor<2x4xf32>
  %x = load @x on @a : tensor<1x2x4xf32, #split>
  %t = transfer %x on @b : tensor<1x2x4xf32, #split> -> tensor<1x2x4xf32, #split>
  store %t to "y" on @b : tensor<1x2x4xf32, #split> to tensor<2x4xf32>
}
