// 9. Histogram: PEs that wait for words instead of asking for them.
//
//   PE 0 --+--> PE 1 --+--> PE 2 --+--> PE 3 --+--> PE 4
//        0..7        8..15       16..23      24..31     the bins of each
//
// PE 0 says of each of 64 numbers which bin it falls into. All words pass all
// PEs; a filter lets those into a PE that are for its bins, and each of them
// starts the PE's task once. How many that will be, nobody needs to know.

pe.program @histogram mesh [5, 1] machine "wse2" {
  tensor input @x : tensor<1x64xi32>
  tensor output @y : tensor<4x8xi32>

  route 1 [0:1, 0:1] from ramp to [east]
  route 1 [1:4, 0:1] from west to [east, ramp]
  route 1 [4:5, 0:1] from west to [ramp]

  class @source [0:1, 0:1] {
    buffer @x 256 bytes of i32
    buffer @one 2 bytes of i16
    routine @main {
      store @one[0] = 1
      for %i < 64 {
        // The word itself is in 16 bits of a wavelet; the other 16 may hold an
        // index, which filters and data tasks look at.
        %bin = load @x[%i]
        vector mov fabric(1, i16, index = %bin) = @one[0, strides = [1]] over (1)
      }
    }
  }
  class @bins [1:5, 0:1] {
    %px = scalar px
    filter 1 range %px * 8 - 8 to %px * 8 - 1
    buffer @counts 32 bytes of i32
    buffer @amount 2 bytes of i16
    buffer @bin 2 bytes of i16

    // Runs once for every word of color 1 that comes through the filter. Before
    // it begins, the word and its index are stored for it.
    task @count data 1 word @amount index @bin {
      %bin = load @bin[0]
      %amount = load @amount[0]
      %count = load @counts[%bin - %px * 8 + 8]
      store @counts[%bin - %px * 8 + 8] = %count + %amount
    }
    // One piece of code at a time: words that come during the routine wait, so
    // no task can count before all counts are 0.
    routine @main {
      vector mov @counts[0, strides = [1]] = 0.0 over (8)
    }
  }

  copy in @x to @x [0:1, 0:1]
  launch @main
  copy out @y from @counts [1:5, 0:1]
}
