// 3. Broadcast: one PE sends, all others receive.
//
//   PE 0 --+--> PE 1 --+--> PE 2 --+--> ...
//          ramp        ramp
//
// A router may pass a word through several ports at once. That is free: B words
// to P PEs take about B + P cycles, not B * P.

pe.program @broadcast mesh [8, 1] machine "wse2" {
  tensor input @x : tensor<1x64xf32>
  tensor output @y : tensor<7x64xf32>
  tensor output @sum : tensor<7x1xf32>

  route 1 [0:1, 0:1] from ramp to [east]
  route 1 [1:7, 0:1] from west to [east, ramp]
  route 1 [7:8, 0:1] from west to [ramp]

  class @root [0:1, 0:1] {
    buffer @v 256 bytes of f32
    routine @main {
      vector mov fabric(1) = @v[0, strides = [1]] over (64)
    }
  }
  class @others [1:8, 0:1] {
    buffer @v 256 bytes of f32
    buffer @total 4 bytes of f32

    // A local task runs when something has activated it, and nothing else runs.
    task @received local 0 {
      vector mov @total[0, strides = [0]] = 0.0 over (1)
      vector add @total[0, strides = [0]] = @total[0, strides = [0]], @v[0, strides = [1]] over (64)
    }
    routine @main {
      // With a thread the instruction goes on by itself, and the routine with
      // it: here it ends. What comes next is the task of the completion.
      vector mov @v[0, strides = [1]] = fabric(1) over (64) thread 0 then activate @received
    }
  }

  copy in @x to @v [0:1, 0:1]
  launch @main
  copy out @y from @v [1:8, 0:1]
  copy out @sum from @total [1:8, 0:1]
}
