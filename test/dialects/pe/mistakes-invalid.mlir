// RUN: wse-opt %s --split-input-file --verify-diagnostics
//
// What somebody writes who has not read everything yet, and what is said.

// expected-error @below {{expected '[': a mesh is written [width, height]}}
pe.program @mesh_as_product mesh 4x1 machine "wse2" {
}

// -----

// expected-error @below {{expected a number: a mesh is written [width, height]}}
pe.program @mesh_of_words mesh [wide] machine "wse2" {
}

// -----

pe.program @class_without_rectangle mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected '[': a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1}}
  class @all {
  }
}

// -----

pe.program @class_as_product mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected '[': a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1}}
  class @all 4x1 {
  }
}

// -----

pe.program @class_width_height mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected ':': a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1}}
  class @all [4, 1] {
  }
}

// -----

pe.program @class_one_span mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected ',': a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1}}
  class @all [0:4] {
  }
}

// -----

pe.program @class_three_spans mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected ']': a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1}}
  class @all [0:4, 0:1, 0:1] {
  }
}

// -----

pe.program @class_dots mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected a number: a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1}}
  class @all [0..4, 0..1] {
  }
}

// -----

pe.program @rectangle_step mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected a number: a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1}}
  class @all [0:4:all, 0:1] {
  }
}

// -----

pe.program @channel_without_row mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected a number: channels are written [row -> x0:x1], for PEs x0 to x1 - 1 of that row}}
  stream in @s color 1 channels [west -> 0:4] {
  }
}

// -----

pe.program @channel_without_arrow mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected '->': channels are written [row -> x0:x1], for PEs x0 to x1 - 1 of that row}}
  stream in @s color 1 channels [0:4] {
  }
}

// -----

pe.program @ports_without_list mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected '[': ports are written as a list, such as [east] or [north, ramp]}}
  route 1 [0:4, 0:1] from ramp to east
}

// -----

pe.program @port_unknown mesh [4, 1] machine "wse2" {
  // expected-error @below {{'right' is not a port; there is: north, south, east, west, ramp}}
  route 1 [0:4, 0:1] from ramp to [right]
}

// -----

pe.program @port_number mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected a port; there is: north, south, east, west, ramp}}
  route 1 [0:4, 0:1] from ramp to [2]
}

// -----

pe.program @switch_without_list mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected '[': positions of a switch are written [from east, to [west]]}}
  route 1 [0:4, 0:1] from ramp to [east] switch from west
}

// -----

pe.program @switch_of_ports mesh [4, 1] machine "wse2" {
  // expected-error @below {{expected 'to': positions of a switch are written [from east, to [west]]}}
  route 1 [0:4, 0:1] from ramp to [east] switch [west]
}

// -----

pe.program @vector_in_program mesh [4, 1] machine "wse2" {
  // expected-error @below {{'pe.vector' op expects parent op to be one of 'pe.routine, pe.task, pe.procedure, pe.for, pe.if'}}
  vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8)
}

// -----

pe.program @statement_unknown mesh [4, 1] machine "wse2" {
  // expected-error @below {{'class_of_pes' is not a statement; nearest: class,}}
  class_of_pes @all [0:4, 0:1] {
  }
}

// -----

pe.program @scalar_of_names mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    // expected-error @below {{expected a number: functions are written 'scalar add(%px, 1)' in a class, of scalars and numbers}}
    %c = scalar add(%px, width)
  }
}

// -----

pe.program @scalar_without_op mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    // expected-error @below {{'py' is not a statement: functions are written 'scalar add(%px, 1)' in a class}}
    %c = py
  }
}

// -----

pe.program @filter_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    // expected-error @below {{'between' is not a filter; there is: range, counter}}
    filter 1 between 0 to 3
  }
}

// -----

pe.program @quotient mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '+', '-' or the end: expressions are sums such as %i * 4 - 1; the scale is a number, and stands behind}}
      vector mov @v[0, strides = [1]] = @v[%px / 2, strides = [1]] over (8)
    }
  }
}

// -----

pe.program @scale_in_front mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected a number: expressions are sums such as %i * 4 - 1; the scale is a number, and stands behind}}
      vector mov @v[0, strides = [1]] = @v[4 * %px, strides = [1]] over (8)
    }
  }
}

// -----

pe.program @product mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected a number: expressions are sums such as %i * 4 - 1; the scale is a number, and stands behind}}
      vector mov @v[0, strides = [1]] = @v[%px * %px, strides = [1]] over (8)
    }
  }
}

// -----

pe.program @condition_in_parentheses mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    routine @main {
      // expected-error @below {{expected a number: expressions are sums such as %i * 4 - 1; the scale is a number, and stands behind}}
      if (%px) {
      }
    }
  }
}

// -----

pe.program @load_without_index mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '[': an element of a buffer is written @buffer[index]}}
      %s = load @v
    }
  }
}

// -----

pe.program @load_with_strides mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected ']': an element of a buffer is written @buffer[index]}}
      %s = load @v[0, strides = [1]]
    }
  }
}

// -----

pe.program @compute_without_parentheses mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    routine @main {
      // expected-error @below {{expected '(': functions are written 'scalar add(%px, 1)' in a class}}
      %s = compute add %px, 1
    }
  }
}

// -----

pe.program @compute_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    routine @main {
      // expected-error @below {{'plus' is not a scalar function; nearest: less, mul, px}}
      %s = compute plus(%px, 1)
    }
  }
}

// -----

pe.program @control_without_fabric mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected 'fabric': a control wavelet is written 'control fabric(color) [advance, nop]'}}
      control 1 [advance]
    }
  }
}

// -----

pe.program @control_brackets mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected '(': a control wavelet is written 'control fabric(color) [advance, nop]'}}
      control fabric[1] [advance]
    }
  }
}

// -----

pe.program @control_not_closed mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected ')': a control wavelet is written 'control fabric(color) [advance, nop]'}}
      control fabric(1 [advance]
    }
  }
}

// -----

pe.program @control_without_commands mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected '[': a control wavelet is written 'control fabric(color) [advance, nop]'}}
      control fabric(1) task 5
    }
  }
}

// -----

pe.program @control_order mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{unexpected 'data': a control wavelet is written 'control fabric(color) [advance, nop]', and may end in 'task 5 data %x thread 0 then activate @a unblock @b'}}
      control fabric(1) [nop] thread 0 data 1
    }
  }
}

// -----

pe.program @control_then mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected 'activate' or 'unblock': a control wavelet is written}}
      control fabric(1) [nop] thread 0 then
    }
  }
}

// -----

pe.program @control_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{'skip' is not a switch command; there is: nop, advance, reset, teardown}}
      control fabric(1) [skip]
    }
  }
}

// -----

pe.program @set_route_without_from mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected 'from': a rule is written 'set_route 3 from ramp to [east]'}}
      set_route 1 to [east]
    }
  }
}

// -----

pe.program @set_route_without_to mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected 'to': a rule is written 'set_route 3 from ramp to [east]'}}
      set_route 1 from ramp [east]
    }
  }
}

// -----

pe.program @buffer_unknown mesh [4, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{uses buffer @w, which class @all does not have; there is: v}}
      vector mov @v[0, strides = [1]] = @w[0, strides = [1]] over (8)
    }
  }
}

// -----

pe.program @task_unknown mesh [4, 1] machine "wse2" {
  // expected-note @below {{the class}}
  class @all [0:4, 0:1] {
    task @done local 3 {
    }
    routine @main {
      // expected-error @below {{names task @dome, which class @all does not have; there is: done}}
      activate @dome
    }
  }
}

// -----

pe.program @routine_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
    }
  }
  // expected-error @below {{starts routine @mian, which no class has; there is: main}}
  launch @mian
}

// -----

pe.program @tensor_unknown mesh [4, 1] machine "wse2" {
  tensor input @x : tensor<4xf32>
  class @all [0:4, 0:1] {
    buffer @v 4 bytes of f32
  }
  // expected-error @below {{copies @z, which is not a tensor; there is: x}}
  copy in @z to @v [0:4, 0:1]
}

// -----

pe.program @names_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
    }
  }
  // expected-error @below {{is for kernel @k, which does not exist; there is none}}
  launch @main for @k
}

// -----

// Statements may follow an instruction on the next line.
pe.program @statements_on_lines mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    task @done local 3 {
    }
    routine @main {
      vector mov @v[0, strides = [1]] = 0.0 over (8)
      if %px {
      }
      vector mov @v[0, strides = [1]] = 0.0 over (8)
          where %px
          thread 1
      activate @done
    }
  }
}
