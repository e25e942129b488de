// 5. Two-phase reduce: groups first, then their leaders, with switches.
//
//   PE 0 <-- 1 <-- 2 <-- 3    PE 4 <-- 5 <-- 6 <-- 7    PE 8 <-- ...   phase 1
//   PE 0 <------------------- PE 4 <------------------- PE 8 <-- ...   phase 2
//
// Every PE of a chain adds, which takes longer than being a wire. With P PEs in
// groups of S only S - 1 + P / S - 1 add one after the other, for twice the
// words: with few words on a long row that wins. Here S = 4 and P = 16.
//
// In phase 2 the PEs between two leaders must be wires. They become so by
// themselves: a switch has further positions, and a control wavelet behind the
// data moves the switches it passes. Colors, with a = 1, b = 2 in even groups
// and the reverse in odd ones:
//
//            leader     next        third       last
//   phase 1         <-a-       <-b-        <-a-
//   phase 2  <-b-   <-a-------- a --------- a -------- leader of the next group,
//                                                      whose b is this group's a
//
// So color a needs the switches: where it came from the ramp it then comes from
// the east, and where it ended at the ramp it then goes on to the west. Words of
// the next leader that come too early wait in the routers until then.

pe.program @two_phase_reduce mesh [16, 1] machine "wse2" {
  tensor input @x : tensor<16x256xf32>
  tensor output @y : tensor<1x256xf32>

  // Even groups: a = 1, b = 2.
  route 1 [0:16:8, 0:1] from east to [ramp]
  route 2 [8:16:8, 0:1] from ramp to [west]
  route 1 [1:16:8, 0:1] from ramp to [west] switch [from east]
  route 2 [1:16:8, 0:1] from east to [ramp]
  route 2 [2:16:8, 0:1] from ramp to [west]
  route 1 [2:16:8, 0:1] from east to [ramp] switch [to [west]]
  route 1 [3:16:8, 0:1] from ramp to [west] switch [from east]
  // Odd groups: a = 2, b = 1.
  route 2 [4:16:8, 0:1] from east to [ramp]
  route 1 [4:16:8, 0:1] from ramp to [west]
  route 2 [5:16:8, 0:1] from ramp to [west] switch [from east]
  route 1 [5:16:8, 0:1] from east to [ramp]
  route 1 [6:16:8, 0:1] from ramp to [west]
  route 2 [6:16:8, 0:1] from east to [ramp] switch [to [west]]
  route 2 [7:16:8, 0:1] from ramp to [west] switch [from east]

  class @root [0:1, 0:1] {
    buffer @v 1024 bytes of f32
    routine @main {
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], fabric(1) over (256)
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], fabric(1) over (256)
    }
  }
  class @leaders [4:12:4, 0:1] {
    %px = scalar px
    %group = scalar div(%px, 4)
    %odd = scalar mod(%group, 2)
    buffer @v 1024 bytes of f32
    routine @main {
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], fabric(%odd + 1) over (256)
      vector add fabric(2 - %odd) = @v[0, strides = [1]], fabric(%odd + 1) over (256)
    }
  }
  // No leader is east of the last one: both phases in one instruction.
  class @last_leader [12:13, 0:1] {
    buffer @v 1024 bytes of f32
    routine @main {
      vector add fabric(1) = @v[0, strides = [1]], fabric(2) over (256)
    }
  }
  class @next [1:16:4, 0:1] {
    %px = scalar px
    %group = scalar div(%px, 4)
    %odd = scalar mod(%group, 2)
    buffer @v 1024 bytes of f32
    routine @main {
      // `advance` moves the switch of this PE alone, behind the last word.
      vector add fabric(%odd + 1) = @v[0, strides = [1]], fabric(2 - %odd) over (256) advance
    }
  }
  class @third [2:16:4, 0:1] {
    %px = scalar px
    %group = scalar div(%px, 4)
    %odd = scalar mod(%group, 2)
    buffer @v 1024 bytes of f32
    routine @main {
      vector add fabric(2 - %odd) = @v[0, strides = [1]], fabric(%odd + 1) over (256)
    }
  }
  class @last [3:16:4, 0:1] {
    %px = scalar px
    %group = scalar div(%px, 4)
    %odd = scalar mod(%group, 2)
    buffer @v 1024 bytes of f32
    routine @main {
      vector mov fabric(%odd + 1) = @v[0, strides = [1]] over (256)
      // Nobody pops the command: it moves the switch here and the one of the
      // third PE, where the wavelet ends. Without a task it enters no PE.
      control fabric(%odd + 1) [advance]
    }
  }

  copy in @x to @v [0:16, 0:1]
  launch @main
  copy out @y from @v [0:1, 0:1]
}
