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
  // expected-error @below {{'pe.vector' op expects parent op to be one of 'pe.routine, pe.task, pe.for, pe.if'}}
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

pe.program @guard_if mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{unexpected 'if': a guard is written 'where %x'}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8) if %px
    }
  }
}

// -----

pe.program @loop_guard_if mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    routine @main {
      // expected-error @below {{unexpected 'if': a guard is written 'where %x'}}
      for %i < 4 if %px {
      }
    }
  }
}

// -----

pe.program @loop_from_to mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{expected '<': a loop is written 'for %i < count { ... }' and counts from 0}}
      for %i = 0 to 4 {
      }
    }
  }
}

// -----

pe.program @loop_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    routine @main {
      // expected-error @below {{'loop' is not a statement; nearest: load, block, clock}}
      loop %i < 4 {
      }
    }
  }
}

// -----

pe.program @guard_behind_thread mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{unexpected 'where': what follows the extents has an order: where %guard thread 1 then activate @a unblock @b advance on_control end}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8) thread 1 where %px
    }
  }
}

// -----

pe.program @activate_without_then mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    task @done local 3 {
    }
    routine @main {
      // expected-error @below {{unexpected 'activate': what follows the extents has an order: where %guard thread 1 then activate @a unblock @b advance on_control end}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8) thread 1 activate @done
    }
  }
}

// -----

pe.program @then_nothing mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    task @done local 3 {
    }
    routine @main {
      // expected-error @below {{expected 'activate' or 'unblock': what follows the extents has an order: where %guard thread 1 then activate @a unblock @b advance on_control end}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8) thread 1 then @done
    }
  }
}

// -----

pe.program @asynchronous mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{unexpected 'async': what follows the extents has an order: where %guard thread 1 then activate @a unblock @b advance on_control end}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8) async
    }
  }
}

// -----

pe.program @thread_without_number mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    task @done local 3 {
    }
    routine @main {
      // expected-error @below {{expected a number: what follows the extents has an order: where %guard thread 1 then activate @a unblock @b advance on_control end}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8) thread @done
    }
  }
}

// -----

pe.program @on_control_without_end mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    task @done local 3 {
    }
    routine @main {
      // expected-error @below {{expected 'end': what follows the extents has an order: where %guard thread 1 then activate @a unblock @b advance on_control end}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8) on_control @done
    }
  }
}

// -----

pe.program @guard_of_statement mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    task @done local 3 {
    }
    routine @main {
      // expected-error @below {{'where' is not a statement: what follows the extents has an order: where %guard thread 1 then activate @a unblock @b advance on_control end}}
      activate @done where %px
    }
  }
}

// -----

pe.program @no_extents mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected 'over': extents follow the operands, as in 'over (8)' or 'over (%n, 16)'}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0
    }
  }
}

// -----

pe.program @extents_without_parentheses mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '(': extents follow the operands, as in 'over (8)' or 'over (%n, 16)'}}
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over 8
    }
  }
}

// -----

pe.program @no_destination mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '=': an instruction is written 'vector add destination = a, b over (8)'}}
      vector add @v[0, strides = [1]], 1.0 over (8)
    }
  }
}

// -----

pe.program @instruction_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{'addd' is not a vector instruction; nearest: add, and, abs}}
      vector addd @v[0, strides = [1]] = 1.0 over (8)
    }
  }
}

// -----

pe.program @instruction_alone mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{'add' is not a statement: an instruction is written 'vector add destination = a, b over (8)'}}
      add @v[0, strides = [1]] = 1.0 over (8)
    }
  }
}

// -----

pe.program @no_strides mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected ',': an operand in memory is written @buffer[offset, strides = [1]], with one stride for each extent}}
      vector mov @v[0, strides = [1]] = @v[0] over (8)
    }
  }
}

// -----

pe.program @no_access mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '[': an operand in memory is written @buffer[offset, strides = [1]], with one stride for each extent}}
      vector mov @v[0, strides = [1]] = @v over (8)
    }
  }
}

// -----

pe.program @stride_without_list mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '[': an operand in memory is written @buffer[offset, strides = [1]], with one stride for each extent}}
      vector mov @v[0, strides = [1]] = @v[0, strides = 1] over (8)
    }
  }
}

// -----

pe.program @stride_misspelt mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected 'strides': an operand in memory is written @buffer[offset, strides = [1]], with one stride for each extent}}
      vector mov @v[0, strides = [1]] = @v[0, stride = [1]] over (8)
    }
  }
}

// -----

pe.program @stride_without_equal mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '=': an operand in memory is written @buffer[offset, strides = [1]], with one stride for each extent}}
      vector mov @v[0, strides = [1]] = @v[0, strides [1]] over (8)
    }
  }
}

// -----

pe.program @stride_scalar mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected a number: an operand in memory is written @buffer[offset, strides = [1]], with one stride for each extent}}
      vector mov @v[0, strides = [1]] = @v[0, strides = [%px]] over (8)
    }
  }
}

// -----

pe.program @access_not_closed mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected ']': an operand in memory is written @buffer[offset, strides = [1]], with one stride for each extent}}
      vector mov @v[0, strides = [1]] = @v[0, strides = [1] over (8)
    }
  }
}

// -----

pe.program @operand_unknown mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected an operand: operands are @buffer[offset, strides = [1]], fabric(color) or a number such as 0.0}}
      vector mov @v[0, strides = [1]] = fabirc(1) over (8)
    }
  }
}

// -----

pe.program @fabric_brackets mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '(': an operand on the fabric is written fabric(color) or fabric(@chain), with what it needs of fabric(color, f16, pair, depth = 2}}
      vector mov @v[0, strides = [1]] = fabric[1] over (8)
    }
  }
}

// -----

pe.program @fabric_option mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected a type, pair, depth, window or index: an operand on the fabric is written fabric(color) or fabric(@chain), with what it needs of fabric(color, f16, pair, depth = 2}}
      vector mov @v[0, strides = [1]] = fabric(1, width = 4) over (8)
    }
  }
}

// -----

pe.program @fabric_option_value mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected '=': an operand on the fabric is written fabric(color) or fabric(@chain), with what it needs of fabric(color, f16, pair, depth = 2}}
      vector mov @v[0, strides = [1]] = fabric(1, depth 2) over (8)
    }
  }
}

// -----

pe.program @fabric_not_closed mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected ')': an operand on the fabric is written fabric(color) or fabric(@chain), with what it needs of fabric(color, f16, pair, depth = 2}}
      vector mov @v[0, strides = [1]] = fabric(1 over (8)
    }
  }
}

// -----

pe.program @window_without_total mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected 'of': a window is written window = first of total}}
      vector mov @v[0, strides = [1]] = fabric(1, window = 4) over (8)
    }
  }
}

// -----

pe.program @window_span mesh [4, 1] machine "wse2" {
  class @all [0:4, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{expected 'of': a window is written window = first of total}}
      vector mov @v[0, strides = [1]] = fabric(1, window = 4:8) over (8)
    }
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
