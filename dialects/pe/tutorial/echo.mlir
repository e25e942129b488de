// 10. Echo: one color, first to the east, then back to the west.
//
//   PE 0 ---> PE 1 ---> PE 2 ---> PE 3     x to everybody
//   PE 0 <------------------------ PE 3    x + 1 back, past PEs 1 and 2
//
// A switch has positions that are known before. A teardown is for more than
// that: a router that passes the command on closes the color behind it, and
// words wait before it until its own PE has set a new route. So no word can
// take the old way by mistake, however late a PE is.

pe.program @echo mesh [4, 1] machine "wse2" {
  tensor input @x : tensor<1x8xf32>
  tensor output @y : tensor<4x8xf32>
  tensor output @z : tensor<1x8xf32>

  // PE 0 hears itself: its own command tells it that its router is closed.
  route 1 [0:1, 0:1] from ramp to [east, ramp]
  route 1 [1:3, 0:1] from west to [east, ramp]
  route 1 [3:4, 0:1] from west to [ramp]

  class @root [0:1, 0:1] {
    buffer @x 32 bytes of f32
    buffer @v 32 bytes of f32
    buffer @back 32 bytes of f32
    routine @main {
      vector mov @v[0, strides = [1]] = fabric(1) over (8) thread 0
      vector mov fabric(1) = @x[0, strides = [1]] over (8)
      // A control wavelet: commands for the routers on its path, and a control
      // task for the PEs it is delivered to. It stays behind the data.
      control fabric(1) [teardown] task 3
    }
    task @closed control 3 {
      set_route 1 from east to [ramp]
      vector mov @back[0, strides = [1]] = fabric(1) over (8)
    }
  }
  class @between [1:3, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      vector mov @v[0, strides = [1]] = fabric(1) over (8)
    }
    task @closed control 3 {
      set_route 1 from east to [west]
    }
  }
  class @last [3:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      vector mov @v[0, strides = [1]] = fabric(1) over (8)
    }
    task @closed control 3 {
      set_route 1 from ramp to [west]
      vector add fabric(1) = @v[0, strides = [1]], 1.0 over (8)
    }
  }

  copy in @x to @x [0:1, 0:1]
  launch @main
  copy out @y from @v [0:4, 0:1]
  copy out @z from @back [0:1, 0:1]
}
