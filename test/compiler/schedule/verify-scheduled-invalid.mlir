// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-verify-scheduled

// expected-error @below {{expected a scheduled program, this one is routed}}
wse.program @main state(routed) mesh(4x2) machine("wse2") {
}

// -----

// expected-error @below {{a scheduled program has sram_peak}}
wse.program @main state(scheduled) mesh(4x2) machine("wse2") {
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64} {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<8x8xf32>
  // expected-error @below {{kernel of a scheduled program has no slot}}
  %x = load @x on @r {address = 8160 : i64} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64} {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<8x8xf32>
  // expected-error @below {{kernel of a scheduled program has no address for its result}}
  %x = load @x on @r {slot = 0 : i64} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8224 : i64} {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<8x8xf32>
  %x = load @x on @r {slot = 0 : i64, address = 8160 : i64} : tensor<1x8x8xf32, #tokens>
  // expected-error @below {{bytes of scratch, has 4}}
  %y = softmax %x on @r {slot = 1 : i64, address = 8192 : i64, scratch_address = 8224 : i64, scratch_bytes = 4 : i64} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// T3. The other rules are tested in SchedulingProblemTest.cpp.
// expected-error @below {{result of 'b' at [8176,8208) overlaps result of 'a' at [8160,8192) in slot 1}}
wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8208 : i64, sram_owner = "b"} {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<8x8xf32>
  // expected-note @below {{'a' is here}}
  %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64} : tensor<1x8x8xf32, #tokens>
  // expected-note @below {{'b' is here}}
  %b = elementwise(%a) on @r {nodes = ["b"], slot = 1 : i64, address = 8176 : i64} : (tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    wse.yield %n : f32
  }
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// T4: the peak has no owner.
// expected-error @below {{the high-water mark is not that of the kernel it is given to}}
wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8224 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<8x8xf32>
  // expected-note @below {{'a' is here}}
  %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64} : tensor<1x8x8xf32, #tokens>
  %b = load @x on @r {nodes = ["b"], slot = 1 : i64, address = 8192 : i64} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  stream @channel channel colors [1] rules []
  input @x : tensor<8x8xf32>
  // expected-error @below {{kernel of a scheduled program has no window of two cycles}}
  %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64, streams = [@channel]} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  input @x : tensor<8x8xf32>
  // expected-error @below {{kernel moves words of the host and has no stream of pattern channel}}
  %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64, streams = [], window = array<i64: 0, 9999>} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  // expected-note @below {{the stream is here}}
  stream @channel channel colors [1] rules []
  input @x : tensor<8x8xf32>
  // expected-error @below {{kernel of a scheduled program has no flow, or several, for its words on @channel}}
  %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64, streams = [@channel], window = array<i64: 0, 9999>} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  stream @channel channel colors [1] rules []
  stream @out out_exit colors [2] rules []
  input @x : tensor<8x8xf32>
  // expected-error @below {{kernel of a scheduled program has flows for words that it does not move}}
  %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64, streams = [@channel], window = array<i64: 0, 9999>, flows = [#wse.flow<@channel slot 0 cycles 1800 to 1900 ahead 4>, #wse.flow<@out slot 1 cycles 0 to 0 ahead 0>]} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// T6. The other rules are tested in FlowProblemTest.cpp.
// expected-error @below {{the words of 'a' flow in [1800,1810), too short for 32 words of a channel}}
wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  stream @channel channel colors [1] rules []
  input @x : tensor<8x8xf32>
  // expected-note @below {{'a' is here}}
  %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64, streams = [@channel], window = array<i64: 0, 9999>, flows = [#wse.flow<@channel slot 0 cycles 1800 to 1810 ahead 4>]} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  // expected-error @below {{stays on the wafer, and has no address in a scheduled program}}
  state @k on @r : tensor<1x8x8xf32, #tokens>
  %a = recall @k on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64, streams = [], window = array<i64: 0, 9999>} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// A state that an entry keeps keeps its place in all others.
// expected-error @below {{result of 'a' at [8160,8192) overlaps persistent 'k' at [8128,8168) in slot 1}}
wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "a"} {
  region @r shape(4x2) at (0, 0)
  stream @channel channel colors [1] rules []
  input @x : tensor<8x8xf32>
  // expected-note @below {{'k' is here}}
  state @k on @r : tensor<1x9x8xf32, #wse.dist<rows = [0, 1], columns = [2]>> {address = 8128 : i64}
  entry @read {
    %k = recall @k on @r {nodes = ["k"], slot = 0 : i64, address = 6000 : i64, streams = [], window = array<i64: 0, 9999>} : tensor<1x9x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
  }
  // expected-note @below {{'a' is here}}
  %a = load @x on @r {nodes = ["a"], slot = 1 : i64, address = 8160 : i64, streams = [@channel], window = array<i64: 0, 9999>, flows = [#wse.flow<@channel slot 0 cycles 1800 to 1900 ahead 4>]} : tensor<1x8x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// What is kept is read before it is written again.
// expected-error @below {{kernel 'write' runs in slot 1, before 'read'; both use a tensor that one of them writes}}
wse.program @main state(scheduled) mesh(4x2) machine("wse2") attributes {sram_peak = 8192 : i64, sram_owner = "read"} {
  region @r shape(4x2) at (0, 0)
  state @k on @r : tensor<1x8x8xf32, #tokens> {address = 6000 : i64}
  state @l on @r : tensor<1x8x8xf32, #tokens> {address = 6100 : i64}
  %other = recall @l on @r {nodes = ["other"], slot = 0 : i64, address = 8000 : i64, streams = [], window = array<i64: 0, 9999>} : tensor<1x8x8xf32, #tokens>
  // expected-note @below {{'read' is here}}
  %a = recall @k on @r {nodes = ["read"], slot = 2 : i64, address = 8160 : i64, streams = [], window = array<i64: 0, 9999>} : tensor<1x8x8xf32, #tokens>
  // expected-note @below {{'write' is here}}
  update @k with %other on @r {nodes = ["write"], slot = 1 : i64, streams = [], window = array<i64: 0, 9999>} : tensor<1x8x8xf32, #tokens>
}
