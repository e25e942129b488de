// 4. Chain reduce: the sum over a row, in its first PE.
//
//   PE 0 <---- PE 1 <---- PE 2 <- ... <- PE 7
//    +          +          +             sends
//
// The relay again, westward, with a word of the PE's own added to each that
// passes. B words over P PEs: about B + 6 (P - 1) cycles.

pe.program @chain_reduce mesh [8, 1] machine "wse2" {
  tensor input @x : tensor<8x256xf32>
  tensor output @y : tensor<1x256xf32>

  // PE x sends on color 1 + x % 2 and receives on the other one.
  route 1 [2:8:2, 0:1] from ramp to [west]
  route 1 [1:7:2, 0:1] from east to [ramp]
  route 2 [1:8:2, 0:1] from ramp to [west]
  route 2 [0:7:2, 0:1] from east to [ramp]

  class @first [0:1, 0:1] {
    buffer @v 1024 bytes of f32
    routine @main {
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], fabric(2) over (256)
    }
  }
  class @inner [1:7, 0:1] {
    %px = scalar px
    %c2 = constant 2
    %odd = scalar mod(%px, %c2)
    buffer @v 1024 bytes of f32
    routine @main {
      vector add fabric(%odd + 1) = @v[0, strides = [1]], fabric(2 - %odd) over (256)
    }
  }
  class @last [7:8, 0:1] {
    buffer @v 1024 bytes of f32
    routine @main {
      vector mov fabric(2) = @v[0, strides = [1]] over (256)
    }
  }

  copy in @x to @v [0:8, 0:1]
  launch @main
  copy out @y from @v [0:1, 0:1]
}
