// 12. Streams of the host: sums over samples that are never on the wafer at
//     once, in 16 bits on the way and in f32 in the store.
//
//            x, sample by sample                  y += x * x
//     west --> (0,0)  squares of half the features ------------> east
//     west ----------------> (1,1)  those of the other half ---> east
//
// The host sends blocks: for each line, here a sample, one for each column. Two
// f16 are in a wavelet, the odd last one of a block travels alone; whoever
// receives says the same. What goes out is added up in the store: y starts at
// zero, and every block is added to it in f32 as it comes. Both launches take
// all of the stream, so that y has every sample twice.

pe.program @mean_square(samples = 6, words = 5) mesh [2, 2] machine "wse2" {
  tensor input @x : tensor<samples x 2 x words x f32>
  tensor output @y : tensor<2 x words x f32>

  route 1 [0:1, 0:1] from west to [ramp]
  route 1 [0:1, 1:2] from west to [east]
  route 1 [1:2, 1:2] from west to [ramp]
  route 2 [0:1, 0:1] from ramp to [east]
  route 2 [1:2, 0:1] from west to [east]
  route 2 [1:2, 1:2] from ramp to [east]

  class @squares [0:1, 0:1], [1:2, 1:2] {
    buffer @v words * 2 bytes of f16
    routine @main {
      // An instruction for each block: its end is where a word is half full.
      for %sample < samples {
        vector mov @v[0, strides = [1]] = fabric(1, f16, pair) over (words)
        vector mul fabric(2, f16, pair) = @v[0, strides = [1]], @v[0, strides = [1]] over (words)
      }
    }
  }

  stream in @samples color 1 type f16 pair channels [0 -> 0:1, 1 -> 1:2] {
    %px = scalar px
    segment @x[%px * words, strides = [1]] over (words) lines samples step words * 2
  }
  // Every PE of a row has a block; those that send nothing an empty one.
  stream out @squares_sent color 2 type f16 pair channels [0 -> 0:1, 1 -> 1:2] {
    %px = scalar px
    %py = scalar py
    %sends = scalar equal(%px, %py)
    %n = scalar mul(%sends, words)
    segment @y[%py * words, strides = [1]] over (%n) lines samples step 0 accumulate
  }
  launch @main streams [@samples, @squares_sent]
  launch @main streams [@samples, @squares_sent]
}
