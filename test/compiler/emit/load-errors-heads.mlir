// In each column one PE sends, that of a row which the column says: the one
// without a route is found, and others may have none.
// RUN: not wsec %s -o %t.wafer --quiet 2>&1 | FileCheck %s
// CHECK: 'pe.vector' op cannot run: MissingRoute: sends on color 3 in PE (3, 2), where no route of the color receives from the ramp
pe.program @heads mesh [4, 4] machine "wse2" launch_color 0 {
  route 0 [0:3, 0:1] from west to [east, south, ramp]
  route 0 [3:4, 0:1] from west to [south, ramp]
  route 0 [0:4, 1:3] from north to [south, ramp]
  route 0 [0:4, 3:4] from north to [ramp]
  route 3 [0:1, 0:1] from ramp to [ramp]
  route 3 [1:2, 1:2] from ramp to [ramp]
  route 3 [2:3, 2:3] from ramp to [ramp]
  class @all [0:4, 0:4] {
    %px = scalar px
    %py = scalar py
    %row = scalar min(%px, 2)
    %head = scalar equal(%py, %row)
    buffer @v at 8192, 16 bytes of f32
    routine @main {
      vector mov fabric(3) = 1.0 over (4) where %head thread 0
      vector mov @v[0, strides = [1]] = fabric(3) over (4) where %head
      await [0]
    }
  }
  launch @main
}
