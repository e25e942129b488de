// RUN: wse-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// vector
//===----------------------------------------------------------------------===//

pe.program @vector_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @x at 8192, 16 bytes of f32
    routine @r {
      // expected-error @below {{has 0 extents, expected one to four}}
      vector mov @x[0, strides = []] = 0.0 over ()
    }
  }
}

// -----

pe.program @vector_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{writes to a constant}}
      vector mov 1.0 = 0.0 over (4)
    }
  }
}

// -----

pe.program @vector_c3 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @x at 8192, 16 bytes of f32
    routine @r {
      // expected-error @below {{fmac takes 2 sources, found 1}}
      vector fmac @x[0, strides = [1]] = 0.0 over (4)
    }
  }
}

// -----

pe.program @vector_c4 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @x at 8192, 16 bytes of f32
    routine @r {
      // expected-error @below {{has 2 extents, but 1 strides for buffer @x}}
      vector mov @x[0, strides = [1]] = 0.0 over (2, 2)
    }
  }
}

// -----

pe.program @vector_c5_source mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @x at 8192, 16 bytes of f32
    routine @r {
      // expected-error @below {{has a fabric operand of depth 2, but 1 extents}}
      vector mov @x[0, strides = [1]] = fabric(1, depth = 2) over (4)
    }
  }
}

// -----

pe.program @vector_c5_destination mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{sends to the fabric: expected depth 2 and no window}}
      vector mov fabric(1) = 0.0 over (2, 2)
    }
  }
}

// -----

pe.program @vector_c6 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{runs on microthread 8, expected one below 8}}
      vector mov fabric(1) = 0.0 over (4) thread 8
    }
  }
}

// -----

pe.program @vector_c7 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @x at 8192, 16 bytes of f32
    routine @r {
      // expected-error @below {{has an expression over operand 1, but only 0 scalars}}
      "pe.vector"() <{opcode = 0 : i32, extents = [#pe.affine<0, values = [1], scales = [1]>], dst = #pe.memory<@x, <0>, [1]>, a = 0.0 : f32, operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()
    }
  }
}

// -----

pe.program @opcode mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{'fma' is not a vector instruction}}
      vector fma fabric(1) = 0.0 over (4)
    }
  }
}

// -----

pe.program @fabric_keyword mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{expected a type, pair, depth, window or index}}
      vector mov fabric(1, deep = 2) = 0.0 over (4)
    }
  }
}

// -----

//===----------------------------------------------------------------------===//
// for and await
//===----------------------------------------------------------------------===//

pe.program @for_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{needs one loop variable}}
      "pe.for"() <{count = #pe.affine<4>, operandSegmentSizes = array<i32: 0, 0>}> ({
      ^bb0:
      }) : () -> ()
    }
  }
}

// -----

pe.program @for_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      "pe.for"() <{count = #pe.affine<4, values = [0], scales = [1]>, operandSegmentSizes = array<i32: 0, 0>}> ({
      ^bb0(%i: !pe.scalar):
      }) : () -> ()
    }
  }
}

// -----

pe.program @for_c4 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{repeats its body -4 times}}
      for %i < -4 {
      }
    }
  }
}

// -----

pe.program @await_c1_none mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{waits for no microthread}}
      await []
    }
  }
}

// -----

pe.program @await_c1_range mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{waits for microthread 9, expected one below 8}}
      await [9]
    }
  }
}

// -----

pe.program @await_c1_twice mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
      // expected-error @below {{waits for microthread 1 twice}}
      await [1, 1]
    }
  }
}
