// 2. Relay: words travel from PE to PE and change on the way.
//
//   PE 0 ----> PE 1 ----> PE 2 ----> PE 3
//        1          2          1            the color of each link
//
// A router has one rule for a color: PE 1 cannot receive color 1 from the west
// and send the same color to the east. So links take turns with two colors, and
// a PE finds its own by the parity of its column.

pe.program @relay mesh [4, 1] machine "wse2" {
  tensor input @x : tensor<1x8xf32>
  tensor input @bias : tensor<4x1xf32>
  tensor output @y : tensor<1x8xf32>

  // `ramp` is the link between a router and its own PE.
  route 1 [0:3:2, 0:1] from ramp to [east]
  route 1 [1:4:2, 0:1] from west to [ramp]
  route 2 [1:3:2, 0:1] from ramp to [east]
  route 2 [2:4:2, 0:1] from west to [ramp]

  class @first [0:1, 0:1] {
    buffer @v 32 bytes of f32
    buffer @b 4 bytes of f32
    routine @main {
      vector add fabric(1) = @v[0, strides = [1]], @b[0, strides = [0]] over (8)
    }
  }
  class @inner [1:3, 0:1] {
    %px = scalar px
    %c2 = constant 2
    %odd = scalar mod(%px, %c2)
    buffer @b 4 bytes of f32
    routine @main {
      // Receives, adds and sends on, a word at a time: no word waits for the
      // last. A chain of such PEs takes 2 ramps + 1 cycle + 1 hop for each.
      vector add fabric(%odd + 1) = fabric(2 - %odd), @b[0, strides = [0]] over (8)
    }
  }
  class @last [3:4, 0:1] {
    buffer @v 32 bytes of f32
    buffer @b 4 bytes of f32
    routine @main {
      vector add @v[0, strides = [1]] = fabric(1), @b[0, strides = [0]] over (8)
    }
  }

  copy in @x to @v [0:1, 0:1]
  copy in @bias to @b [0:4, 0:1]
  launch @main
  copy out @y from @v [3:4, 0:1]
}
