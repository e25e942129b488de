// RUN: wse-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{parameter 'width' is 1, expected a number from 2 to 750; there is: width = 1 from 2 to 750}}
pe.program @default_out_of_range(width = 1 from 2 to 750) mesh [width, 1] machine "wse2" {
}

// -----

// expected-error @below {{parameter 'words' is 2147483648, expected a number from -2147483648 to 2147483647; there is: width = 2, words = 2147483648}}
pe.program @default_too_large(width = 2, words = 1073741824 * width) mesh [width, 1] machine "wse2" {
}

// -----

// expected-error @below {{there are two parameters 'width'}}
pe.program @twice(width = 1, width = 2) mesh [width, 1] machine "wse2" {
}

// -----

// expected-error @below {{expected '=': parameters are written (width = 4 from 2 to 750, words = 8)}}
pe.program @no_default(width) mesh [width, 1] machine "wse2" {
}

// -----

// expected-error @below {{expected 'to': parameters are written (width = 4 from 2 to 750, words = 8)}}
pe.program @half_a_range(width = 4 from 2) mesh [width, 1] machine "wse2" {
}

// -----

// expected-error @below {{expected a name: parameters are written (width = 4 from 2 to 750, words = 8)}}
pe.program @value_name(%width = 4) mesh [4, 1] machine "wse2" {
}

// -----

pe.program @unknown(width = 4) mesh [width, 1] machine "wse2" {
  // expected-error @below {{expected a number: a rectangle of PEs is written}}
  class @all [0:height, 0:1] {
  }
}

// -----

pe.program @divided(width = 4) mesh [width, 1] machine "wse2" {
  // expected-error @below {{a number that is computed from 4 and 0 has no value in 64 bits}}
  class @all [0:div(width, width - 4), 0:1] {
  }
}

// -----

pe.program @overflow(width = 4) mesh [width, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{a number that is computed from 9223372036854775807 and 4 has no value in 64 bits}}
    buffer @v 9223372036854775807 * width bytes of f32
  }
}

// -----

pe.program @function(width = 4) mesh [width, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // expected-error @below {{expected ',': numbers are 4, a parameter, or computed from these, as in width * 2 - 1 or div(width, 2)}}
    buffer @v max(width) bytes of f32
  }
}

// -----

pe.program @negative_extent(width = 4) mesh [width, 1] machine "wse2" {
  // expected-error @below {{a tensor has extents that are not negative, and elements of a number}}
  tensor input @x : tensor<(width - 5)xf32>
}

// -----

pe.program @depth(width = 4) mesh [width, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    buffer @v 16 bytes of f32
    routine @main {
      // expected-error @below {{a fabric operand has depth -1}}
      vector mov @v[0, strides = [1]] = fabric(1, depth = 3 - width) over (4)
    }
  }
}
