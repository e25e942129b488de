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

    // One text for four directions: a call is replaced by the body, names by
    // names and scalars by expressions. `where` leaves an instruction out where
    // its scalar is zero.
    procedure @send(@way, %there, %thread) {
      vector mov fabric(@way) = @v[0, strides = [1]] over (32) where %there thread %thread
    }
    procedure @receive(@way, %there) {
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(@way) over (32) where %there
    }

    routine @main {
      call @send(@east, %east, 0)
      call @send(@west, %px, 1)
      call @send(@south, %south, 2)
      call @send(@north, %py, 3)
      vector mul @sum[0, strides = [1]] = @v[0, strides = [1]], -4.0 over (32)
      call @receive(@east, %px)
      call @receive(@west, %east)
      call @receive(@south, %py)
      call @receive(@north, %south)
      // The sends read @v as they go: it changes when they are done.
      await [0, 1, 2, 3]
      vector fmac @v[0, strides = [1]] = @sum[0, strides = [1]], 0.1 over (32)
    }
  }

  copy in @x to @v [0:width, 0:height]
  launch @main
  copy out @y from @v [0:width, 0:height]
}
