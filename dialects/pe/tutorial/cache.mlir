// 12. A cache: entries, arguments, and memory that outlives a call.
//
//    host --> (0, 0)  4 numbers of each row
//               |
//             (0, 1)  the next 4          --> host
//               |
//              ...                        cache: rows x 16 numbers
//
// Programs so far did one thing. This one can be called for three: `load` fills
// the first two rows of a cache from a file, `append` writes one row more, and
// `attend` sums up as many rows as there are. What a call leaves in a persistent
// buffer is there in the next one, and `wse-run --save-state` keeps it for
// another day.

pe.program @cache(rows = 64 from 2 to 1024) mesh [1, 4] machine "wse2" {
  tensor weight @past from <"past.bin" at 0> : tensor<2 x 16 x f32>
  tensor input @x : tensor<rows x 16 x f32>
  tensor output @y : tensor<4 x 4 x f32>

  // A row of numbers goes down the column, each PE takes its four.
  route 1 [0:1, 0:1] from west to [south, ramp]
  route 1 [0:1, 1:3] from north to [south, ramp]
  route 1 [0:1, 3:4] from north to [ramp]
  route 2 [0:1, 0:4] from ramp to [east]

  class @pes [0:1, 0:4] {
    %py = scalar py
    %first = scalar mul(%py, 4)
    buffer @cache rows * 16 bytes of f32 persistent
    buffer @sum 16 bytes of f32

    routine @fill {
      vector mov @cache[0, strides = [4, 1]] = fabric(1, depth = 2, window = %first of 16) over (2, 4)
    }

    // An argument is an integer that the launch carries. In addresses and
    // extents it costs what computed values cost: a cycle each time.
    routine @write(%position) {
      vector mov @cache[%position * 4, strides = [1]] = fabric(1, window = %first of 16) over (4)
    }

    routine @reduce(%length) {
      vector mov @sum[0, strides = [1]] = 0.0 over (4)
      vector add @sum[0, strides = [0, 1]] = @sum[0, strides = [0, 1]], @cache[0, strides = [4, 1]] over (%length, 4)
      vector mov fabric(2) = @sum[0, strides = [1]] over (4)
    }
  }

  stream in @loaded color 1 channels [0 -> 0:1] {
    segment @past[0, strides = [1]] over (16) lines 2 step 16
  }
  // A stream knows what its launch carries: here, which row of x to send.
  stream in @appended color 1 channels [0 -> 0:1] (%position) {
    %element = scalar mul(%position, 16)
    segment @x[%element, strides = [1]] over (16)
  }
  stream out @attended color 2 channels [0 -> 0:1, 1 -> 1:2, 2 -> 2:3, 3 -> 3:4] {
    %py = scalar py
    %element = scalar mul(%py, 4)
    segment @y[%element, strides = [1]] over (4)
  }

  entry @load {
    launch @fill streams [@loaded]
  }
  entry @append(%position from 0 to rows - 1) {
    launch @write(%position) streams [@appended]
  }
  entry @attend(%length from 1 to rows) {
    launch @reduce(%length) streams [@attended]
  }
}
