// RUN: wse-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

//===----------------------------------------------------------------------===//
// program
//===----------------------------------------------------------------------===//

// expected-error @below {{mesh is [width, height], both positive}}
pe.program @program_c1 mesh [4] machine "wse2" launch_color 0 {
}

// -----

// expected-note @below {{the program with this mesh}}
pe.program @program_c2_route mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{has a rectangle that reaches to (4, 1), but the mesh is 4x2}}
  route 1 [0:5, 0:2] from west to [ramp]
}

// -----

// expected-note @below {{the program with this mesh}}
pe.program @program_c2_class mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{has a rectangle that reaches to (3, 2), but the mesh is 4x2}}
  class @all [0:4, 0:3] {
  }
}

// -----

// expected-note @below {{the program with this mesh}}
pe.program @program_c2_kernel mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{has a rectangle that reaches to (8, 0), but the mesh is 4x2}}
  kernel @k kind "test" nodes [] region [0:9, 0:1] cycles 0.0 of 0.0 bound "compute"
}

// -----

// expected-note @below {{the program with this mesh}}
pe.program @program_c2_channel mesh [4, 2] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf32>
  // expected-error @below {{has channel 2 -> 0:4 outside the mesh 4x2}}
  stream in @s color 1 channels [2 -> 0:4] {
    segment @x[0, strides = [1]] over (4)
  }
}

// -----

//===----------------------------------------------------------------------===//
// route, rectangles and channels
//===----------------------------------------------------------------------===//

pe.program @route_c1 mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{transmits through no port}}
  route 1 [0:4, 0:2] from west to []
}

// -----

pe.program @route_c2 mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{sends wavelets back through the port they came from: west}}
  route 1 [0:4, 0:2] from west to [ramp, west]
}

// -----

pe.program @port mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{'up' is not a port}}
  route 1 [0:4, 0:2] from west to [up]
}

// -----

pe.program @rect_c1 mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{rectangle [3:3, 0:2] is empty or has negative coordinates}}
  route 1 [3:3, 0:2] from west to [ramp]
}

// -----

pe.program @rect_c2 mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{rectangle has step 0, expected a positive one}}
  route 1 [0:4:0, 0:2] from west to [ramp]
}

// -----

pe.program @rect_c3_step mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{rectangle has step 2147483648, the largest is 2147483647}}
  route 1 [0:4:2147483648, 0:2] from west to [ramp]
}

// -----

pe.program @rect_c3_step_y mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{rectangle has step 5000000000, the largest is 2147483647}}
  route 1 [0:4, 0:2:5000000000] from west to [ramp]
}

// -----

pe.program @rect_c3_bound mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{rectangle reaches to 4294967300, the largest bound is 2147483647}}
  route 1 [0:4294967300, 0:2] from west to [ramp]
}

// -----

// expected-error @below {{has a mesh of 4294967300 PEs along a side, the limit is 2147483647}}
pe.program @program_c1_large mesh [4294967300, 2] machine "wse2" launch_color 0 {
}

// -----

pe.program @channel_c1 mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{channel 0 -> 3:2 is empty or has negative coordinates}}
  stream in @s color 1 channels [0 -> 3:2] {
  }
}

// -----

pe.program @channel_step mesh [4, 2] machine "wse2" launch_color 0 {
  // expected-error @below {{the span of a channel has no step}}
  stream in @s color 1 channels [0 -> 0:4:2] {
  }
}

// -----

// expected-error @below {{a switch position has either one receive port or some transmit ports}}
"test.op"() {position_c1 = #pe.position<to []>} : () -> ()

// -----

// expected-error @below {{affine expression has 1 values and 2 scales}}
"test.op"() {affine_c1 = #pe.affine<1, values = [0], scales = [1, 2]>} : () -> ()

// -----

//===----------------------------------------------------------------------===//
// scalars
//===----------------------------------------------------------------------===//

pe.program @constant_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    // expected-error @below {{has value 2147483648, more than 32 bits hold}}
    %c = constant 2147483648
  }
}

// -----

pe.program @scalar_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    %px = scalar px
    // expected-error @below {{tile_size takes 3 operands, found 1}}
    %n = scalar tile_size(%px)
  }
}

// -----

pe.program @scalar_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    %px = scalar px
    routine @r {
      for %i < 4 {
        // expected-error @below {{depends on a loop variable}}
        %n = scalar add(%px, %i)
      }
    }
  }
}

// -----

pe.program @scalar_c1_numbers mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{mod takes 2 operands, found 3}}
    %n = scalar mod(7, 2, 1)
  }
}

// -----

pe.program @scalar_c1_places mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    %px = scalar px
    // expected-error @below {{has numbers in 1 places of 2}}
    %n = "pe.scalar"(%px) <{kind = 8 : i32, literals = array<i64: 4>}> : (!pe.scalar) -> !pe.scalar
  }
}

// -----

pe.program @scalar_c3 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    %px = scalar px
    // expected-error @below {{has operand -2147483649, more than 32 bits hold}}
    %n = scalar mod(%px, -2147483649)
  }
}

// -----

//===----------------------------------------------------------------------===//
// chain
//===----------------------------------------------------------------------===//

pe.program @chain_c1 mesh [4, 1] machine "wse2" {
  // expected-error @below {{leads to the ramp, expected north, south, east or west}}
  chain @c even 1 odd 2 [0:4, 0:1] to ramp
}

// -----

pe.program @chain_c2 mesh [4, 1] machine "wse2" {
  // expected-error @below {{sends on color 1 only, expected two colors}}
  chain @c even 1 odd 1 [0:4, 0:1] to east
}

// -----

pe.program @chain_c3 mesh [4, 1] machine "wse2" {
  // expected-error @below {{leaves PEs out, expected a rectangle without steps}}
  chain @c even 1 odd 2 [0:4:2, 0:1] to east
}

// -----

// expected-note @below {{the program with this mesh}}
pe.program @chain_outside mesh [4, 1] machine "wse2" {
  // expected-error @below {{has a rectangle that reaches to (4, 0), but the mesh is 4x1}}
  chain @c even 1 odd 2 [0:5, 0:1] to east
}

// -----

pe.program @class_c4 mesh [4, 1] machine "wse2" {
  chain @right even 1 odd 2 [0:4, 0:1] to east
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{names chain @left, which does not exist; there is: right}}
      vector mov @v[0, strides = [1]] = fabric(@left) over (8)
    }
  }
}

// -----

//===----------------------------------------------------------------------===//
// class and buffer
//===----------------------------------------------------------------------===//

"pe.program"() <{sym_name = "class_c1", mesh = array<i64: 1, 1>, machine = "wse2", launch_color = 0 : i64}> ({
  // expected-error @below {{has no rectangle}}
  "pe.class"() <{sym_name = "all", rects = []}> ({
  ^bb0:
  }) : () -> ()
}) : () -> ()

// -----

pe.program @class_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the class}}
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{uses buffer @x, which class @all does not have}}
      vector mov @x[0, strides = [1]] = 0.0 over (4)
    }
  }
}

// -----

pe.program @buffer_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    // expected-error @below {{of 16 bytes at 8194 is not aligned to its elements of 4 bytes}}
    buffer @x at 8194, 16 bytes of f32
  }
}

// -----

pe.program @buffer_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    // expected-error @below {{has elements of 'f64', expected f32, f16, bf16, !pe.cb16, i32, i16, ui32 or ui16, i64 or i1}}
    buffer @x at 8192, 16 bytes of f64
  }
}

// -----

//===----------------------------------------------------------------------===//
// What only generic syntax can say
//===----------------------------------------------------------------------===//

"pe.program"() <{sym_name = "class_c1_kind", mesh = array<i64: 1, 1>, machine = "wse2"}> ({
  // expected-error @below {{has 7 : i64 where a rectangle is expected}}
  "pe.class"() <{sym_name = "all", rects = [7]}> ({
  ^bb0:
  }) : () -> ()
}) : () -> ()

// -----

pe.program @stream_c1_kind mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{has 7 : i64 where a channel is expected}}
  "pe.stream"() <{direction = 0 : i32, sym_name = "s", color = 1 : i64, channels = [7]}> ({
  ^bb0:
  }) : () -> ()
}

// -----

pe.program @route_kind mesh [2, 1] machine "wse2" {
  // expected-error @below {{has 7 : i64 where a position is expected}}
  "pe.route"() <{color = 1 : i64, rect = #pe.rect<[0:1, 0:1]>, receive = 4 : i32, transmit = 4 : i32, positions = [7]}> : () -> ()
}

// -----

pe.program @vector_extent_kind mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    buffer @x 16 bytes of f32
    routine @r {
      // expected-error @below {{has an extent that is not affine}}
      "pe.vector"() <{opcode = 0 : i32, extents = [7], dst = #pe.memory<@x, <0>, [1]>, a = 0.0 : f32, operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()
    }
  }
}

// -----

pe.program @compute_input_kind mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{has an operand that is not affine}}
      %0 = "pe.compute"() <{kind = 14 : i32, inputs = [7]}> : () -> !pe.scalar
    }
  }
}

// -----

pe.program @control_unknown mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{has unknown command 99}}
      "pe.control"() <{color = #pe.affine<1>, commands = array<i32: 99>}> : () -> ()
    }
  }
}

// -----

pe.program @launch_c4 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @write(%row) {
    }
  }
  %row = "test.op"() : () -> !pe.scalar
  // expected-error @below {{carries what is no scalar of its entry}}
  launch @write(%row)
}

// -----

pe.program @slot_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @idle {
    }
  }
  tensor input @x : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    segment @x[0, strides = [1]] over (4)
  }
  // expected-error @below {{slot 0 from 9 to 8 ahead 0 is negative or ends before it begins}}
  launch @idle streams [@s] slots [#pe.slot<order 0 from 9 to 8 ahead 0>]
}

// -----

pe.program @launch_c5 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @idle {
    }
  }
  tensor input @x : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    segment @x[0, strides = [1]] over (4)
  }
  // expected-error @below {{has 2 slots for 1 streams}}
  launch @idle streams [@s] slots [#pe.slot<order 0 from 0 to 8 ahead 0>, #pe.slot<order 1 from 8 to 9 ahead 0>]
}

// -----

pe.program @launch_c6 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @idle {
    }
  }
  tensor input @x : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    segment @x[0, strides = [1]] over (4)
  }
  // expected-note @below {{slot 1 is used here}}
  launch @idle streams [@s] slots [#pe.slot<order 1 from 0 to 8 ahead 0>]
  // expected-error @below {{has slot 0 for stream @s, but words of a color flow in the order of launches}}
  launch @idle streams [@s] slots [#pe.slot<order 0 from 8 to 9 ahead 0>]
}

// -----

pe.program @launch_c7_first mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @idle {
    }
  }
  // expected-error @below {{follows the one before, but is the first}}
  launch @idle follows
}

// -----

pe.program @launch_c7_host mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @idle {
    }
  }
  launch @idle
  // expected-error @below {{follows the one before, but the host calls the launches of this program}}
  launch @idle follows
}
