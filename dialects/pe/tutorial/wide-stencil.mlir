// 11. Wide stencil: 25 points, four neighbours away, on one color per direction.
//
//   y(x, y, z) = sum over d = -4..4 of  cz(d) v(x, y, z + d)
//              + sum over d =  1..4 of  c(d) (v(x +- d, y, z) + v(x, y +- d, z))
//
// A PE has a column of 32 cells, z, and needs the columns of four PEs to its
// west, east, north and south. In each direction they go in turns, here to the
// east, on color 1:
//
//   PE     0     1     2     3     4     5     6     7     8     9
//   turn 0 send  pass  pass  pass  end   send  pass  pass  pass  end
//   turn 1 (end) send  pass  pass  pass  end   send  pass  pass  end
//   turn 2 (end) (end) send  pass  pass  pass  end   send  pass  end
//
// So every router goes around these positions, a ring. Each changes what the one
// before it left, so from `send` to `end`, where both ports change, it takes two
// positions:
//
//   0  from ramp to [east]           send
//   1  from ramp to [ramp]           the transmit port has changed
//   2  from west to [ramp]           end: ... and now the receive port
//   3  from west to [east, ramp]     pass: the PE takes the words and sends them on
//
// Who has sent ends the turn with two control wavelets. Routers on the way take
// off the first command each (pop always). The first wavelet follows the words:
// its sender goes on to position 1, the neighbour from 3 to 0, which makes it the
// next to send, two PEs stay, and the last goes from 2 to 3. The second finds
// position 1 and so ends in its sender's own router, which it moves to 2.

pe.program @wide_stencil mesh [10, 10] machine "wse2" {
  tensor input @x : tensor<10x10x40xf32>      // with four zeros at both ends of z
  tensor output @y : tensor<10x10x32xf32>

  // East, the turns of x mod 5; nobody is east of PE 9.
  route 1 [0:9:5, 0:10] from ramp to [east]
      switch [to [ramp], from west, to [east, ramp]] ring pop always
  route 1 [1:4, 0:10] from ramp to [east]
      switch [to [ramp], from west, to [east, ramp]] ring pop always initial 3
  route 1 [6:9, 0:10] from ramp to [east]
      switch [to [ramp], from west, to [east, ramp]] ring pop always initial 3
  route 1 [4:9:5, 0:10] from ramp to [east]
      switch [to [ramp], from west, to [east, ramp]] ring pop always initial 2
  route 1 [9:10, 0:10] from west to [ramp]
  // West, the turns of (9 - x) mod 5.
  route 2 [4:10:5, 0:10] from ramp to [west]
      switch [to [ramp], from east, to [west, ramp]] ring pop always
  route 2 [1:4, 0:10] from ramp to [west]
      switch [to [ramp], from east, to [west, ramp]] ring pop always initial 3
  route 2 [6:9, 0:10] from ramp to [west]
      switch [to [ramp], from east, to [west, ramp]] ring pop always initial 3
  route 2 [5:6, 0:10] from ramp to [west]
      switch [to [ramp], from east, to [west, ramp]] ring pop always initial 2
  route 2 [0:1, 0:10] from east to [ramp]
  // South, the turns of y mod 5.
  route 3 [0:10, 0:9:5] from ramp to [south]
      switch [to [ramp], from north, to [south, ramp]] ring pop always
  route 3 [0:10, 1:4] from ramp to [south]
      switch [to [ramp], from north, to [south, ramp]] ring pop always initial 3
  route 3 [0:10, 6:9] from ramp to [south]
      switch [to [ramp], from north, to [south, ramp]] ring pop always initial 3
  route 3 [0:10, 4:9:5] from ramp to [south]
      switch [to [ramp], from north, to [south, ramp]] ring pop always initial 2
  route 3 [0:10, 9:10] from north to [ramp]
  // North, the turns of (9 - y) mod 5.
  route 4 [0:10, 4:10:5] from ramp to [north]
      switch [to [ramp], from south, to [north, ramp]] ring pop always
  route 4 [0:10, 1:4] from ramp to [north]
      switch [to [ramp], from south, to [north, ramp]] ring pop always initial 3
  route 4 [0:10, 6:9] from ramp to [north]
      switch [to [ramp], from south, to [north, ramp]] ring pop always initial 3
  route 4 [0:10, 5:6] from ramp to [north]
      switch [to [ramp], from south, to [north, ramp]] ring pop always initial 2
  route 4 [0:10, 0:1] from south to [ramp]

  class @grid [0:10, 0:10] {
    %px = scalar px
    %py = scalar py
    // How many PEs there are on each side, up to four, ...
    %east = scalar sub(9, %px)
    %south = scalar sub(9, %py)
    %west_n = scalar min(%px, 4)
    %east_n = scalar min(%east, 4)
    %north_n = scalar min(%py, 4)
    %south_n = scalar min(%south, 4)
    // ... and whose turn it is when: in turn t of x mod 5 the words come from
    // (x - t) mod 5 PEs away, so from x mod 5, one less each turn, down to 1, and
    // then from 4 on.
    %x = scalar mod(%px, 5)
    %x_back = scalar mod(%east, 5)
    %y = scalar mod(%py, 5)
    %y_back = scalar mod(%south, 5)
    buffer @v 160 bytes of f32
    buffer @c 32 bytes of f32                 // c(1), .. c(4), c(1), .. c(4)
    buffer @cz 36 bytes of f32                // cz(-4), .. cz(4)
    buffer @from_west 128 bytes of f32
    buffer @from_east 128 bytes of f32
    buffer @from_north 128 bytes of f32
    buffer @from_south 128 bytes of f32
    buffer @y 128 bytes of f32

    routine @main {
      vector mov fabric(1) = @v[4, strides = [1]] over (32) where %east thread 4
      vector mov fabric(2) = @v[4, strides = [1]] over (32) where %px thread 5
      vector mov fabric(3) = @v[4, strides = [1]] over (32) where %south thread 6
      vector mov fabric(4) = @v[4, strides = [1]] over (32) where %py thread 7

      vector mov @c[0, strides = [4]] = 0.5 over (2)
      vector mov @c[1, strides = [4]] = 0.25 over (2)
      vector mov @c[2, strides = [4]] = 0.125 over (2)
      vector mov @c[3, strides = [4]] = -0.0625 over (2)
      vector mov @from_west[0, strides = [1]] = 0.0 over (32)
      vector mov @from_east[0, strides = [1]] = 0.0 over (32)
      vector mov @from_north[0, strides = [1]] = 0.0 over (32)
      vector mov @from_south[0, strides = [1]] = 0.0 over (32)
      // All columns that come from one side, each times its coefficient.
      vector fmac @from_west[0, strides = [0, 1]] = fabric(1, depth = 2), @c[%x + 3, strides = [-1, 0]]
          over (%west_n, 32) thread 0
      vector fmac @from_east[0, strides = [0, 1]] = fabric(2, depth = 2), @c[%x_back + 3, strides = [-1, 0]]
          over (%east_n, 32) thread 1
      vector fmac @from_north[0, strides = [0, 1]] = fabric(3, depth = 2), @c[%y + 3, strides = [-1, 0]]
          over (%north_n, 32) thread 2
      vector fmac @from_south[0, strides = [0, 1]] = fabric(4, depth = 2), @c[%y_back + 3, strides = [-1, 0]]
          over (%south_n, 32) thread 3

      await [4]
      if %east {
        control fabric(1) [advance, advance, nop, nop, advance]
        control fabric(1) [advance]
      }
      await [5]
      if %px {
        control fabric(2) [advance, advance, nop, nop, advance]
        control fabric(2) [advance]
      }
      await [6]
      if %south {
        control fabric(3) [advance, advance, nop, nop, advance]
        control fabric(3) [advance]
      }
      await [7]
      if %py {
        control fabric(4) [advance, advance, nop, nop, advance]
        control fabric(4) [advance]
      }

      // What is above and below comes from the PE's own column.
      vector mov @cz[0, strides = [8]] = -0.0625 over (2)
      vector mov @cz[1, strides = [6]] = 0.125 over (2)
      vector mov @cz[2, strides = [4]] = 0.25 over (2)
      vector mov @cz[3, strides = [2]] = 0.5 over (2)
      vector mov @cz[4, strides = [1]] = -2.0 over (1)
      vector mul @y[0, strides = [1]] = @v[0, strides = [1]], @cz[0, strides = [0]] over (32)
      vector fmac @y[0, strides = [0, 1]] = @v[1, strides = [1, 1]], @cz[1, strides = [1, 0]]
          over (8, 32)
      await [0, 1, 2, 3]
      vector add @y[0, strides = [1]] = @y[0, strides = [1]], @from_west[0, strides = [1]] over (32)
      vector add @y[0, strides = [1]] = @y[0, strides = [1]], @from_east[0, strides = [1]] over (32)
      vector add @y[0, strides = [1]] = @y[0, strides = [1]], @from_north[0, strides = [1]] over (32)
      vector add @y[0, strides = [1]] = @y[0, strides = [1]], @from_south[0, strides = [1]] over (32)
    }
  }

  copy in @x to @v [0:10, 0:10]
  launch @main
  copy out @y from @y [0:10, 0:10]
}
