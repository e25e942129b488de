// 1. Hello: four PEs, no fabric.
//
// Every PE of a class runs the same code. What differs is computed from its
// coordinates: here each PE doubles its eight numbers, adds its column, and
// says how many cycles that took.

pe.program @hello mesh [4, 1] machine "wse2" {
  // Tensors of the host. @x has a row of eight numbers for each PE.
  tensor input @x : tensor<4x8xf32>
  tensor output @y : tensor<4x8xf32>
  tensor output @cycles : tensor<4x2xi32>

  class @row [0:4, 0:1] {
    // A scalar every PE knows at load.
    %px = scalar px
    // SRAM of every PE. Without an address, emission finds one.
    buffer @v 32 bytes of f32
    buffer @column 4 bytes of f32
    buffer @time 8 bytes of i32

    routine @main {
      clock @time[0]
      store @column[0] = %px
      // An instruction names each operand's first element, and for each extent
      // how far one step goes. A stride of 0 stays where it is.
      vector mul @v[0, strides = [1]] = @v[0, strides = [1]], 2.0 over (8)
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], @column[0, strides = [0]] over (8)
      clock @time[1]
    }
  }

  // Without a launch color launches are calls: the host waits until all
  // PEs are at rest. Copies happen where they stand and take no cycles.
  copy in @x to @v [0:4, 0:1]
  launch @main
  copy out @y from @v [0:4, 0:1]
  copy out @cycles from @time [0:4, 0:1]
}
