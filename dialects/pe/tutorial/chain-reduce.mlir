// 4. Chain reduce: the sum over a row, in its first PE.
//
//   PE 0 <---- PE 1 <---- PE 2 <- ... <- PE 7
//    +          +          +             sends
//
// The relay again, westward, with a word of the PE's own added to each that
// passes. B words over P PEs: about B + 6 (P - 1) cycles.

pe.program @chain_reduce(width = 8 from 3 to 750, words = 256 from 1 to 8192)
    mesh [width, 1] machine "wse2" {
  tensor input @x : tensor<width x words x f32>
  tensor output @y : tensor<1 x words x f32>

  chain @left even 1 odd 2 [0:width, 0:1] to west

  class @first [0:1, 0:1] {
    buffer @v words * 4 bytes of f32
    routine @main {
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], fabric(@left) over (words)
    }
  }
  class @inner [1:width - 1, 0:1] {
    buffer @v words * 4 bytes of f32
    routine @main {
      vector add fabric(@left) = @v[0, strides = [1]], fabric(@left) over (words)
    }
  }
  class @last [width - 1:width, 0:1] {
    buffer @v words * 4 bytes of f32
    routine @main {
      vector mov fabric(@left) = @v[0, strides = [1]] over (words)
    }
  }

  copy in @x to @v [0:width, 0:1]
  launch @main
  copy out @y from @v [0:1, 0:1]
}
