// RUN: wse-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

pe.program @entry_c1 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @idle {
    }
  }
  // expected-note @below {{the first entry}}
  entry @first {
  }
  // expected-error @below {{stands beside entries, expected it in one of them}}
  launch @idle
}

// -----

pe.program @entry_c2 mesh [1, 1] machine "wse2" {
  // expected-error @below {{holds test.op, expected scalars, launches and copies}}
  entry @first {
    // expected-note @below {{the operation}}
    "test.op"() : () -> ()
  }
}

// -----

pe.program @entry_c3 mesh [1, 1] machine "wse2" {
  entry @first {
    // expected-error @below {{is a coordinate of a PE, an entry is called for all of them}}
    %x = scalar px
  }
}

// -----

pe.program @entry_c4_name mesh [1, 1] machine "wse2" {
  // expected-error @below {{has an argument '0', expected letters, digits and _, and no name twice}}
  entry @first(%0 from 1 to 2) {
  }
}

// -----

pe.program @entry_c4_range mesh [1, 1] machine "wse2" {
  // expected-error @below {{has an argument 'row' from 3 to 2, expected a range of 32-bit numbers}}
  entry @first(%row from 3 to 2) {
  }
}

// -----

pe.program @entry_form mesh [1, 1] machine "wse2" {
  // expected-error @below {{expected 'from': an argument is written '%row from 0 to 255'}}
  entry @first(%row) {
  }
}

// -----

pe.program @launch_c3 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-note @below {{the routine}}
    routine @write(%row) {
    }
  }
  entry @first {
    // expected-error @below {{carries 0 numbers, routine @write takes 1}}
    launch @write
  }
}

// -----

pe.program @routine_twice mesh [2, 1] machine "wse2" {
  class @one [0:1, 0:1] {
    // expected-note @below {{the other routine}}
    routine @write(%row) {
    }
  }
  class @other [1:2, 0:1] {
    // expected-error @below {{takes 0 arguments, in another class 1}}
    routine @write {
    }
  }
}

// -----

pe.program @program_c3_entry mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<1xf32>
  class @all [0:1, 0:1] {
    buffer @v 4 bytes of f32
    routine @idle {
    }
  }
  entry @first {
    launch @idle
    // expected-error @below {{stands between launches that overlap}}
    copy in @x to @v [0:1, 0:1]
    // expected-note @below {{the last of the launches}}
    launch @idle
  }
}

// -----

pe.program @scalar_c2_argument mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    routine @write(%row) {
      // expected-error @below {{depends on a number that a launch carries}}
      %twice = scalar mul(%row, 2)
      vector mov fabric(1) = 0.0 over (%twice)
    }
  }
}

// -----

pe.program @buffer_c3 mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{is persistent, and shares bytes with @sum}}
    buffer @cache at 8192, 64 bytes of f32 persistent
    // expected-note @below {{the other buffer}}
    buffer @sum at 8252, 8 bytes of f32
  }
}
