// RUN: wse-opt %s --split-input-file --verify-diagnostics

// Each rule of gradients and of what trains, broken alone.

wse.program @gradient_c1 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-error @below {{is of @w, which is no trainable parameter}}
  gradient "g" of @w : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @gradient_c1_constant state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-note @below {{the parameter is declared here}}
  parameter @w = dense<0.0> : tensor<6x6xf32>
  // expected-error @below {{is of @w, which is no trainable parameter}}
  gradient "g" of @w : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @gradient_c1_type state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{needs a static shape of f32, found 'tensor<6x6xi32>'}}
  gradient "g" of @w : tensor<6x6xi32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @gradient_c2 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-note @below {{the parameter is declared here}}
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{adds 18 elements to the 36 of @w}}
  gradient "g" of @w : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @gradient_c2_strides state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{has 1 strides for 2 dimensions}}
  gradient "g" of @w view 0 strides [1] : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @gradient_c2_outside state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-note @below {{the parameter is declared here}}
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{adds to elements outside of the 36 of @w}}
  gradient "g" of @w view 4 strides [1, 6] : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @gradient_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-note @below {{the parameter is declared here}}
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{adds 'tensor<3x5xf32>' to rows 'tensor<3xi64>' of 'tensor<6x6xf32>'}}
  gradient "g" of @w rows @ids : tensor<3x5xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @gradient_c3_view state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-note @below {{the parameter is declared here}}
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{adds 'tensor<3x6xf32>' to rows 'tensor<3xi64>' of 'tensor<6x6xf32>', and has a view}}
  gradient "g" of @w view 0 strides [6, 1] rows @ids : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @program_c8_twice state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-note @below {{it is declared here already}}
  gradient "g" of @w view 0 strides [6, 1] : tensor<3x6xf32>
  // expected-error @below {{declares "g" a second time}}
  gradient "g" of @w view 18 strides [6, 1] : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @program_c8_unmade state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{is made of "h", which is no output of a kernel}}
  gradient "h" of @w view 0 strides [6, 1] : tensor<3x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @program_c8_type state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  parameter @w = dense<0.0> : tensor<6x6xf32> trainable
  // expected-error @below {{is made of "g" as 'tensor<6x3xf32>'}}
  gradient "g" of @w view 0 strides [6, 1] : tensor<6x3xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  // expected-note @below {{it is stored here as another type}}
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @parameter_c3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-error @below {{is resident, and trainable: only parameters that stream are}}
  parameter @w.resident = <@w : tensor<6x6xf32>> trainable resident on @r as tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  parameter @w = dense<1.0> : tensor<6x6xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}

// -----

wse.program @parameter_c3_element state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<3x6xf32>
  input @ids : tensor<3xi64>
  // expected-error @below {{is trainable, and consists of integers, expected floats}}
  parameter @w = dense<1> : tensor<6xi32> trainable
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  store %x to "g" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
}
