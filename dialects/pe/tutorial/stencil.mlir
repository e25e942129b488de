// 6. Stencil: one step of heat on a grid, a column of 32 cells in each PE.
//
//   y = v + 0.1 * (west + east + north + south - 4 v),  0 beyond the edges
//
// All PEs send in four directions while they receive from four: each send runs
// on a microthread of its own, so that nobody waits for a neighbour who waits
// for him. Links take turns with two colors in each direction: east 1 and 2,
// west 3 and 4, south 5 and 6, north 7 and 8. A PE in an even column or row
// sends on the first of them.

pe.program @stencil mesh [4, 4] machine "wse2" {
  tensor input @x : tensor<4x4x32xf32>
  tensor output @y : tensor<4x4x32xf32>

  route 1 [0:3:2, 0:4] from ramp to [east]
  route 1 [1:4:2, 0:4] from west to [ramp]
  route 2 [1:3:2, 0:4] from ramp to [east]
  route 2 [2:4:2, 0:4] from west to [ramp]
  route 3 [2:4:2, 0:4] from ramp to [west]
  route 3 [1:3:2, 0:4] from east to [ramp]
  route 4 [1:4:2, 0:4] from ramp to [west]
  route 4 [0:3:2, 0:4] from east to [ramp]
  route 5 [0:4, 0:3:2] from ramp to [south]
  route 5 [0:4, 1:4:2] from north to [ramp]
  route 6 [0:4, 1:3:2] from ramp to [south]
  route 6 [0:4, 2:4:2] from north to [ramp]
  route 7 [0:4, 2:4:2] from ramp to [north]
  route 7 [0:4, 1:3:2] from south to [ramp]
  route 8 [0:4, 1:4:2] from ramp to [north]
  route 8 [0:4, 0:3:2] from south to [ramp]

  class @grid [0:4, 0:4] {
    %px = scalar px
    %py = scalar py
    %c2 = constant 2
    %c3 = constant 3
    // Which neighbours there are. Px and py say that of the west and north.
    %east = scalar less(%px, %c3)
    %south = scalar less(%py, %c3)
    %x = scalar mod(%px, %c2)
    %y = scalar mod(%py, %c2)
    buffer @v 128 bytes of f32
    buffer @sum 128 bytes of f32

    routine @main {
      // `where` leaves an instruction out where its scalar is zero.
      vector mov fabric(%x + 1) = @v[0, strides = [1]] over (32) where %east thread 0
      vector mov fabric(%x + 3) = @v[0, strides = [1]] over (32) where %px thread 1
      vector mov fabric(%y + 5) = @v[0, strides = [1]] over (32) where %south thread 2
      vector mov fabric(%y + 7) = @v[0, strides = [1]] over (32) where %py thread 3
      vector mul @sum[0, strides = [1]] = @v[0, strides = [1]], -4.0 over (32)
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(2 - %x) over (32) where %px
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(4 - %x) over (32) where %east
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(6 - %y) over (32) where %py
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(8 - %y) over (32) where %south
      // The sends read @v as they go: it changes when they are done.
      await [0, 1, 2, 3]
      vector fmac @v[0, strides = [1]] = @sum[0, strides = [1]], 0.1 over (32)
    }
  }

  copy in @x to @v [0:4, 0:4]
  launch @main
  copy out @y from @v [0:4, 0:4]
}
