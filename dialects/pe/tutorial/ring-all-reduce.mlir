// 8. Ring all-reduce: everybody gets the sum, and nobody handles all of it.
//
//   PE (0,0), rank 0 --1--> PE (1,0), rank 1        four shares of four words:
//          ^                       |                each step sends one share on
//          2                       2                and receives another
//          |                       v
//   PE (0,1), rank 3 <--1-- PE (1,1), rank 2
//
// In three steps every share travels around and is summed up on its way; after
// them rank r has the whole sum of share r + 1. In three more these sums travel
// around once again. Links take turns with two colors, by the rank's parity.

pe.program @ring_all_reduce mesh [2, 2] machine "wse2" {
  tensor input @x : tensor<4x16xf32>
  tensor output @y : tensor<4x16xf32>

  route 1 [0:1, 0:1] from ramp to [east]
  route 1 [1:2, 0:1] from west to [ramp]
  route 2 [1:2, 0:1] from ramp to [south]
  route 2 [1:2, 1:2] from north to [ramp]
  route 1 [1:2, 1:2] from ramp to [west]
  route 1 [0:1, 1:2] from east to [ramp]
  route 2 [0:1, 1:2] from ramp to [north]
  route 2 [0:1, 0:1] from south to [ramp]

  class @ring [0:2, 0:2] {
    // Expressions add multiples of scalars. A product of two scalars, or a
    // remainder, is a scalar of its own: here rank = px + py * (3 - 2 px).
    %px = scalar px
    %py = scalar py
    %twice = scalar mul(%px, 2)
    %rest = scalar sub(3, %twice)
    %below = scalar mul(%py, %rest)
    %rank = scalar add(%px, %below)
    %odd = scalar mod(%rank, 2)
    buffer @v 64 bytes of f32

    routine @main {
      // The loop variable counts from 0. What depends on it is computed as the
      // PE runs: `compute` is for code what `scalar` is for the class.
      for %step < 3 {
        %mine = compute mod(%rank - %step + 4, 4)
        %next = compute mod(%rank - %step + 3, 4)
        // Everybody sends and receives, so sends have a thread of their own.
        vector mov fabric(%odd + 1) = @v[%mine * 4, strides = [1]] over (4) thread 0
        vector add @v[%next * 4, strides = [1]] = @v[%next * 4, strides = [1]], fabric(2 - %odd) over (4)
        // A thread runs one instruction at a time: giving it the next one
        // before would be `MicrothreadBusy`.
        await [0]
      }
      for %step < 3 {
        %mine = compute mod(%rank - %step + 5, 4)
        %next = compute mod(%rank - %step + 4, 4)
        vector mov fabric(%odd + 1) = @v[%mine * 4, strides = [1]] over (4) thread 0
        vector mov @v[%next * 4, strides = [1]] = fabric(2 - %odd) over (4)
        await [0]
      }
    }
  }

  copy in @x to @v [0:2, 0:2]
  launch @main
  copy out @y from @v [0:2, 0:2]
}
