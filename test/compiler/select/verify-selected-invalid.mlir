// RUN: wse-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(wse.program(wse-verify-selected))'

#split = #wse.dist<rows = [0, 1], columns = [2]>
// expected-error@below {{is expected to be selected, found placed}}
wse.program @s1 state(placed) mesh(4x5) machine("wse2") {
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s2_fact state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-error@below {{has a slot, which a selected program does not decide}}
  %x = load @x on @r {slot = 0 : i64} : tensor<1x6x6xf32, #split>
}

// -----

wse.program @s2_stream state(selected) mesh(4x5) machine("wse2") {
  // expected-error@below {{stands in a selected program, which has no streams}}
  stream @channel channel colors [1] rules []
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s3 state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{names no ONNX node that it computes}}
  %y = softmax %x on @r : tensor<1x6x6xf32, #split>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s4_gap state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-note@below {{the piece before it is here}}
  store %x to "y" on @r : tensor<1x6x6xf32, #split> to tensor<6x20xf32>
  // expected-error@below {{output 'y' has features up to 6 stored, and the next piece starts at 8}}
  store %x to "y" at 8 on @r : tensor<1x6x6xf32, #split> to tensor<6x20xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s4_end state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{output 'y' has 6 of 8 features stored}}
  store %x to "y" on @r : tensor<1x6x6xf32, #split> to tensor<6x8xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s4_types state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-note@below {{and of type 'tensor<6x12xf32>' here}}
  store %x to "y" on @r : tensor<1x6x6xf32, #split> to tensor<6x12xf32>
  // expected-error@below {{output 'y' is of type 'tensor<1x6x12xf32>' here}}
  store %x to "y" at 6 on @r : tensor<1x6x6xf32, #split> to tensor<1x6x12xf32>
}

// -----

wse.program @s4_twice state(selected) mesh(4x5) machine("wse2") {
  input @x : tensor<6x6xf32>
  // expected-note@below {{it is declared here already}}
  alias "y" = @x : tensor<6x6xf32>
  // expected-error@below {{output "y" is declared twice}}
  alias "y" = @x : tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s4_element_twice state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{stores element 1 of 'y' a second time}}
  // expected-note@below {{it is stored here already}}
  store %x to "y" strides [0, 1, 1] on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s4_element_missing state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{leaves element 6 of 'y' unwritten}}
  store %x to "y" strides [0, 7, 1] on @r : tensor<1x6x6xf32, #split> to tensor<6x7xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s6_read_first state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // expected-note@below {{it is declared here}}
  intermediate @t : tensor<6x6xf32>
  // expected-error@below {{reads 't', which nothing has stored yet}}
  %x = load @t on @r : tensor<1x6x6xf32, #split>
  store %x to "y" on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s6_stored_late state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  intermediate @t : tensor<6x12xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  store %x to "t" on @r : tensor<1x6x6xf32, #split> to tensor<6x12xf32>
  // expected-note@below {{it is read here}}
  %y = load @t strides [0, 12, 1] on @r : tensor<1x6x6xf32, #split>
  // expected-error@below {{stores to 't', which was read before}}
  store %x to "t" at 6 on @r : tensor<1x6x6xf32, #split> to tensor<6x12xf32>
  store %y to "y" on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

// expected-error@below {{has no output}}
wse.program @s5 state(selected) mesh(4x5) machine("wse2") {
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>

// S6: a call reads what it has stored itself.
wse.program @main state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // expected-note@below {{it is declared here}}
  intermediate @t : tensor<6x6xf32>
  entry @first {
    %x = load @x on @r : tensor<1x6x6xf32, #split>
    store %x to "t" on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
  }
  // expected-error@below {{reads 't', which nothing has stored yet}}
  %t = load @t on @r : tensor<1x6x6xf32, #split>
  store %t to "y" on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// -----

#split = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @s4_whole_twice state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @r : tensor<1x6x6xf32, #split>
  // expected-note @below {{it is stored here already}}
  store %x to "w" on @r {nodes = ["x"]} : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
  // expected-error@below {{stores to 'w' a second time}}
  weight_gradient %x by %x to "w" on @r {nodes = ["fc"]} : tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}
