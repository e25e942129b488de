// 2. Relay: words travel from PE to PE and change on the way.
//
//   PE 0 ----> PE 1 ----> PE 2 ----> PE 3
//        1          2          1            the color of each link
//
// A router has one rule for a color: PE 1 cannot receive color 1 from the west
// and send the same color to the east. So links take turns with two colors: PEs
// in even columns send on 1 and receive on 2, those in odd ones the other way
// round. A chain says all that at once.
//
// Parameters have names instead of numbers, and defaults: with
// `wsec relay.mlir --param width=32,words=100` the row is longer.

pe.program @relay(width = 4 from 3 to 750, words = 8 from 1 to 4096)
    mesh [width, 1] machine "wse2" {
  tensor input @x : tensor<1 x words x f32>
  tensor input @bias : tensor<width x 1xf32>
  tensor output @y : tensor<1 x words x f32>

  // It stands for routes of 1 and of 2, from the `ramp`, the link between a
  // router and its own PE, to the east, and from the west to the ramp.
  chain @right even 1 odd 2 [0:width, 0:1] to east

  class @first [0:1, 0:1] {
    buffer @v words * 4 bytes of f32
    buffer @b 4 bytes of f32
    routine @main {
      vector add fabric(@right) = @v[0, strides = [1]], @b[0, strides = [0]] over (words)
    }
  }
  class @inner [1:width - 1, 0:1] {
    buffer @b 4 bytes of f32
    routine @main {
      // Receives, adds and sends on, a word at a time: no word waits for the
      // last. A chain of such PEs takes 2 ramps + 1 cycle + 1 hop for each.
      vector add fabric(@right) = fabric(@right), @b[0, strides = [0]] over (words)
    }
  }
  class @last [width - 1:width, 0:1] {
    buffer @v words * 4 bytes of f32
    buffer @b 4 bytes of f32
    routine @main {
      vector add @v[0, strides = [1]] = fabric(@right), @b[0, strides = [0]] over (words)
    }
  }

  copy in @x to @v [0:1, 0:1]
  copy in @bias to @b [0:width, 0:1]
  launch @main
  copy out @y from @v [width - 1:width, 0:1]
}
