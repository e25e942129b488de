// RUN: wse-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// program, launched by commands
//===----------------------------------------------------------------------===//

pe.program @program_c3_copy mesh [2, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<2xf32>
  class @all [0:2, 0:1] {
    buffer @v 4 bytes of f32
    routine @r {
    }
  }
  kernel @k kind "test" nodes [] region [0:2, 0:1] cycles 1.0 of 1.0 bound "stream"
  launch @r for @k
  // expected-error @below {{stands between launches that overlap; without a launch color they do not}}
  copy in @x to @v [0:2, 0:1]
  // expected-note @below {{the last of the launches}}
  launch @r for @k
}

// -----

//===----------------------------------------------------------------------===//
// route with a switch
//===----------------------------------------------------------------------===//

pe.program @route_c1_position mesh [2, 1] machine "wse2" {
  // expected-error @below {{a switch position has either one receive port or some transmit ports}}
  route 1 [0:2, 0:1] from west to [ramp] switch [to []]
}

// -----

pe.program @route_c2_receive mesh [2, 1] machine "wse2" {
  // expected-error @below {{sends wavelets back through the port they came from: east}}
  route 1 [0:2, 0:1] from west to [east] switch [from east]
}

// -----

pe.program @route_c2_transmit mesh [2, 1] machine "wse2" {
  // expected-error @below {{sends wavelets back through the port they came from: west}}
  route 1 [0:2, 0:1] from west to [east] switch [to [ramp, west]]
}

// -----

pe.program @route_c3_initial mesh [2, 1] machine "wse2" {
  // expected-error @below {{starts in position 2 of 2}}
  route 1 [0:2, 0:1] from west to [ramp] switch [from ramp] initial 2
}

// -----

pe.program @route_c3_ring mesh [2, 1] machine "wse2" {
  // expected-error @below {{starts in position 0 of a ring of 1}}
  route 1 [0:2, 0:1] from west to [ramp] ring
}

// -----

pe.program @route_position mesh [2, 1] machine "wse2" {
  // expected-error @below {{'here' is not a port}}
  route 1 [0:2, 0:1] from west to [ramp] switch [from here]
}

// -----

//===----------------------------------------------------------------------===//
// class, tasks and filters
//===----------------------------------------------------------------------===//

pe.program @class_c3 mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{names task @t, which class @all does not have}}
      activate @t
    }
  }
}

// -----

pe.program @class_c3_block mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{names task @v, which class @all does not have}}
      block @v
    }
  }
}

// -----

pe.program @class_c3_vector mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{names task @t, which class @all does not have}}
      vector mov fabric(1) = 0.0 over (1) thread 0 then unblock @t
    }
  }
}

// -----

pe.program @class_c3_local mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    // expected-note @below {{the task}}
    task @t data 1 {
      // expected-error @below {{activates @t, which is not a local task}}
      activate @t
    }
  }
}

// -----

pe.program @class_c2_load mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{uses buffer @w, which class @all does not have}}
      %w = load @w[0]
    }
  }
}

// -----

pe.program @class_c2_store mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{uses buffer @w, which class @all does not have}}
      store @w[0] = 1
    }
  }
}

// -----

pe.program @class_c2_clock mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{uses buffer @w, which class @all does not have}}
      clock @w[0]
    }
  }
}

// -----

pe.program @task_c2 mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    // expected-error @below {{uses buffer @w, which class @all does not have}}
    task @t data 1 word @w {
    }
  }
}

// -----

pe.program @task_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    buffer @w 4 bytes of f32
    // expected-error @below {{is local, so no wavelet starts it, but it stores one}}
    task @t local 1 word @w {
    }
  }
}

// -----

pe.program @task_c3 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    // expected-note @below {{the other task}}
    task @t local 1 {
    }
    task @other data 1 {
    }
    // expected-error @below {{has the kind and id of task @t}}
    task @twin local 1 {
    }
  }
}

// -----

pe.program @filter_c1_range mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    // expected-error @below {{has a limit, but is no counter}}
    filter 1 range 0 to 1 limit 2
  }
}

// -----

pe.program @filter_c1_counter mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    // expected-error @below {{is a counter without a limit}}
    filter 1 counter 0 to 1
  }
}

// -----

pe.program @filter_kind mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    // expected-error @below {{'every' is not a filter}}
    filter 1 every 0 to 1
  }
}

// -----

//===----------------------------------------------------------------------===//
// vector and for
//===----------------------------------------------------------------------===//

pe.program @vector_c8 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      %n = load @v[0]
      // expected-error @below {{has a guard that is not a scalar of the class}}
      vector mov fabric(1) = 0.0 over (1) where %n
    }
  }
}

// -----

pe.program @for_c3 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      %n = load @v[0]
      // expected-error @below {{has a guard that is not a scalar of the class}}
      for %i < 2 where %n {
      }
    }
  }
}

// -----

pe.program @vector_c9 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{activates or unblocks a task, but is not asynchronous}}
      vector mov fabric(1) = 0.0 over (1) then activate @t
    }
  }
}

// -----

pe.program @vector_c10_advance mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{advances a switch, but sends nothing}}
      vector mov @v[0, strides = [1]] = 0.0 over (1) advance
    }
  }
}

// -----

pe.program @vector_c10_control mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{ends at a control wavelet, but receives nothing}}
      vector mov fabric(1) = 0.0 over (1) on_control end
    }
  }
}

// -----

pe.program @vector_c11_type mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{sends or receives 'i64', expected f32, f16, bf16, !pe.cb16, i32, i16, ui32 or ui16}}
      vector mov fabric(1, i64) = 0.0 over (1)
    }
  }
}

// -----

pe.program @vector_c11_pair mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has a pair or an index in a wavelet whose elements are not of 16 bits}}
      vector mov fabric(1, pair) = 0.0 over (1)
    }
  }
}

// -----

pe.program @vector_c11_index mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an index beside a pair}}
      vector mov fabric(1, f16, pair, index = 0) = 0.0 over (1)
    }
  }
}

// -----

pe.program @vector_c11_received mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an index beside a received element}}
      vector mov @v[0, strides = [1]] = fabric(1, i16, index = 0) over (1)
    }
  }
}

// -----

//===----------------------------------------------------------------------===//
// scalar code
//===----------------------------------------------------------------------===//

pe.program @scalar_c2_local mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      %n = load @v[0]
      // expected-error @below {{depends on a value computed at run time}}
      %m = scalar add(%n, %n)
    }
  }
}

// -----

pe.program @compute_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{add takes 2 operands, found 1}}
      %m = compute add(%px)
    }
  }
}

// -----

pe.program @compute_kind mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{'plus' is not a scalar function}}
      %m = compute plus(%px)
    }
  }
}

// -----

pe.program @compute_c2 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      %m = "pe.compute"() <{kind = 14 : i32, inputs = [#pe.affine<0, values = [0], scales = [1]>]}> : () -> !pe.scalar
    }
  }
}

// -----

pe.program @load_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      %m = "pe.load"() <{buffer = @v, offset = #pe.affine<0, values = [0], scales = [1]>}> : () -> !pe.scalar
    }
  }
}

// -----

pe.program @store_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      "pe.store"() <{buffer = @v, offset = #pe.affine<0, values = [0], scales = [1]>, value = #pe.affine<0>}> : () -> ()
    }
  }
}

// -----

pe.program @break_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    routine @r {
      for %i < 2 {
        // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
        "pe.break"() <{condition = #pe.affine<0, values = [0], scales = [1]>}> : () -> ()
      }
    }
  }
}

// -----

pe.program @break_outside mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    routine @r {
      for %i < 2 {
        if %i {
          // expected-error @below {{'pe.break' op expects parent op 'pe.for'}}
          break %px
        }
      }
    }
  }
}

// -----

pe.program @clock_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      "pe.clock"() <{buffer = @v, offset = #pe.affine<0, values = [0], scales = [1]>}> : () -> ()
    }
  }
}

// -----

pe.program @set_route_c3 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      "pe.set_route"() <{color = #pe.affine<0, values = [0], scales = [1]>, receive = 0 : i32, transmit = 16 : i32}> : () -> ()
    }
  }
}

// -----

pe.program @if_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      "pe.if"() <{condition = #pe.affine<0, values = [0], scales = [1]>}> ({
      ^bb0:
      }, {
      }) : () -> ()
    }
  }
}

// -----

pe.program @filter_c2 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
    "pe.filter"() <{color = 1 : i64, kind = 0 : i32, min = #pe.affine<0>, max = #pe.affine<0, values = [0], scales = [1]>}> : () -> ()
  }
}

// -----

//===----------------------------------------------------------------------===//
// control wavelets and routes
//===----------------------------------------------------------------------===//

pe.program @control_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has no command; `nop` does nothing}}
      control fabric(1) []
    }
  }
}

// -----

pe.program @control_command mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{'halt' is not a switch command}}
      control fabric(1) [halt]
    }
  }
}

// -----

pe.program @control_c2 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{carries data, but starts no task}}
      control fabric(1) [nop] data 1
    }
  }
}

// -----

pe.program @control_c4 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    routine @r {
      // expected-error @below {{runs on microthread 8, expected one below 8}}
      control fabric(1) [nop] thread 8
    }
  }
}

// -----

pe.program @control_c5 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    task @next local 1 {
    }
    routine @r {
      // expected-error @below {{activates or unblocks a task, but is not asynchronous}}
      control fabric(1) [nop] then activate @next
    }
  }
}

// -----

pe.program @control_without_task mesh [2, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:2, 0:1] {
    routine @r {
      // expected-error @below {{names task @next, which class @all does not have}}
      control fabric(1) [nop] thread 0 then activate @next
    }
  }
}

// -----

pe.program @control_c3 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      "pe.control"() <{color = #pe.affine<0, values = [0], scales = [1]>, commands = array<i32: 0>}> : () -> ()
    }
  }
}

// -----

pe.program @set_route_c1 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{transmits through no port}}
      set_route 1 from ramp to []
    }
  }
}

// -----

pe.program @set_route_c2 mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{sends wavelets back through the port they came from: east}}
      set_route 1 from east to [east]
    }
  }
}

// -----

pe.program @set_route_port mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @r {
      // expected-error @below {{'here' is not a port}}
      set_route 1 from here to [east]
    }
  }
}
