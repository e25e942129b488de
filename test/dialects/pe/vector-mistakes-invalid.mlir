// RUN: wse-opt %s --split-input-file --verify-diagnostics
//
// What somebody writes of loops and vector instructions who has not read
// everything yet, and what is said.

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
