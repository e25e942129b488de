// RUN: wse-opt %s --split-input-file --verify-diagnostics

pe.program @procedure_c1 mesh [1, 1] machine "wse2" {
  // expected-error @below {{takes @a twice}}
  procedure @f(@a, @b, @a) {
  }
}

// -----

pe.program @names_first mesh [1, 1] machine "wse2" {
  // expected-error @below {{a name behind a scalar: what a procedure takes is written names first, then scalars}}
  procedure @f(%a, @b) {
  }
}

// -----

pe.program @names_first_of_call mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @main {
      // expected-error @below {{a name behind an expression: what a procedure takes is written names first, then scalars}}
      call @f(0, @b)
    }
  }
}

// -----

pe.program @vector_c8 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of f32
    routine @main {
      // expected-error @below {{runs on a microthread that is no number, and no parameter of a procedure}}
      vector mov @v[0, strides = [1]] = 0.0 over (8) thread %px
    }
  }
}

// -----

pe.program @buffer_c4 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{the buffer has 4 elements, but 3 values}}
    buffer @v 16 bytes of f32 = [1.0, 2.0, 3.0]
  }
}

// -----

pe.program @buffer_c4_of_cb16 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{has values of !pe.cb16, which attributes do not hold; write them by code}}
    buffer @v 4 bytes of !pe.cb16 = 1.0
  }
}

// -----

pe.program @buffer_c4_of_attribute mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{of 4 elements of 'f32' has 2 values of 'f32'}}
    "pe.buffer"() <{sym_name = "v", bytes = 16 : i64, type = f32, initial = dense<1.0> : tensor<2xf32>}> : () -> ()
  }
}

// -----

pe.program @buffer_holds mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{a buffer of 'i16' does not hold 65536}}
    buffer @v 4 bytes of i16 = [1, 65536]
  }
}

// -----

pe.program @unsigned_buffer_holds mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{a buffer of 'ui16' does not hold -1}}
    buffer @w 4 bytes of ui16 = [65535, -1]
  }
}

// -----

pe.program @buffer_form mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{expected a number: what a buffer holds first is written '= [0.5, 1.0]', a value for each element, or '= 0' for all}}
    buffer @v 4 bytes of i16 = dense<1>
  }
}

// -----

pe.program @buffer_c5 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{is persistent, and has values; a copy of the host writes it once}}
    buffer @v 4 bytes of i16 = 0 persistent
  }
}

// -----

pe.program @buffer_c5_overlap mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{has values, and shares bytes with @w}}
    buffer @v at 8192, 16 bytes of f32 = 0
    // expected-note @below {{the other buffer}}
    buffer @w at 8204, 16 bytes of f32 = 1
  }
}

// -----

pe.program @buffer_c4_not_dense mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{has values that are not dense}}
    "pe.buffer"() <{sym_name = "v", bytes = 8 : i64, type = f32, initial = sparse<[[0]], 1.0> : tensor<2xf32>}> : () -> ()
  }
}

// -----

pe.program @buffer_of_many_values mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{has values for 1099511627776 bytes, a PE has fewer than 16777216}}
    buffer @v 1099511627776 bytes of f32 = 0
  }
}

// -----

pe.program @call_c1 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @main {
      // expected-error @below {{has an expression over operand 0, but only 0 scalars}}
      "pe.call"() <{callee = @f, names = [], inputs = [#pe.affine<0, values = [0], scales = [1]>]}> : () -> ()
    }
  }
}

// -----

pe.program @call_of_no_name mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @main {
      // expected-error @below {{gives 7 : i64 where a name is expected}}
      "pe.call"() <{callee = @f, names = [7], inputs = []}> : () -> ()
    }
  }
}

// -----

pe.program @call_of_no_expression mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @main {
      // expected-error @below {{gives @x where an expression is expected}}
      "pe.call"() <{callee = @f, names = [], inputs = [@x]}> : () -> ()
    }
  }
}
