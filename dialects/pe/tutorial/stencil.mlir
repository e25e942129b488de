// 6. Stencil: one step of heat on a grid, a column of 32 cells in each PE.
//
//   y = v + 0.1 * (west + east + north + south - 4 v),  0 beyond the edges
//
// All PEs send in four directions while they receive from four: each send runs
// on a microthread of its own, so that nobody waits for a neighbour who waits
// for him. Each direction has a chain, and so two colors.

pe.program @stencil(width = 4 from 2 to 750, height = 4 from 2 to 994)
    mesh [width, height] machine "wse2" {
  tensor input @x : tensor<height x width x 32xf32>
  tensor output @y : tensor<height x width x 32xf32>

  chain @east even 1 odd 2 [0:width, 0:height] to east
  chain @west even 3 odd 4 [0:width, 0:height] to west
  chain @south even 5 odd 6 [0:width, 0:height] to south
  chain @north even 7 odd 8 [0:width, 0:height] to north

  class @grid [0:width, 0:height] {
    %px = scalar px
    %py = scalar py
    // Which neighbours there are. Px and py say that of the west and north.
    %east = scalar less(%px, width - 1)
    %south = scalar less(%py, height - 1)
    buffer @v 128 bytes of f32
    buffer @sum 128 bytes of f32

    routine @main {
      // `where` leaves an instruction out where its scalar is zero.
      vector mov fabric(@east) = @v[0, strides = [1]] over (32) where %east thread 0
      vector mov fabric(@west) = @v[0, strides = [1]] over (32) where %px thread 1
      vector mov fabric(@south) = @v[0, strides = [1]] over (32) where %south thread 2
      vector mov fabric(@north) = @v[0, strides = [1]] over (32) where %py thread 3
      vector mul @sum[0, strides = [1]] = @v[0, strides = [1]], -4.0 over (32)
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(@east) over (32) where %px
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(@west) over (32) where %east
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(@south) over (32) where %py
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(@north) over (32) where %south
      // The sends read @v as they go: it changes when they are done.
      await [0, 1, 2, 3]
      vector fmac @v[0, strides = [1]] = @sum[0, strides = [1]], 0.1 over (32)
    }
  }

  copy in @x to @v [0:width, 0:height]
  launch @main
  copy out @y from @v [0:width, 0:height]
}
