// RUN: wse-opt %s --convert-wse-to-pe --split-input-file --verify-diagnostics

// expected-error @below {{only a scheduled program can be lowered, this one is placed}}
wse.program @too_early state(placed) mesh(4x1) machine("wse2") {
}

// -----

// expected-error @below {{has no launch stream to start kernels with}}
wse.program @no_command state(scheduled) mesh(4x1) machine("wse2") {
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @no_slot state(scheduled) mesh(4x1) machine("wse2") {
  region @r shape(4x1) at (0, 0)
  stream @launch launch colors [0] rules []
  input @x : tensor<6x8xf32>
  // expected-error @below {{lacks its slot, its streams or the place of its region}}
  %x = load @x on @r : tensor<1x6x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @no_stream state(scheduled) mesh(4x1) machine("wse2") {
  region @r shape(4x1) at (0, 0)
  stream @launch launch colors [0] rules []
  input @x : tensor<6x8xf32>
  // expected-error @below {{cannot be lowered: it lacks a stream of pattern channel}}
  %x = load @x on @r {streams = [], slot = 0, address = 4096} : tensor<1x6x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @unknown_stream state(scheduled) mesh(4x1) machine("wse2") {
  region @r shape(4x1) at (0, 0)
  stream @launch launch colors [0] rules []
  input @x : tensor<6x8xf32>
  // expected-error @below {{cannot be lowered: it lacks a stream of pattern channel}}
  %x = load @x on @r {streams = [@nobody], slot = 0, address = 4096} : tensor<1x6x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @no_address state(scheduled) mesh(4x1) machine("wse2") {
  region @r shape(4x1) at (0, 0)
  stream @launch launch colors [0] rules []
  stream @words channel colors [1] rules []
  stream @column column rows <groups = 1, pitch = 1, used = 1> colors [2] rules []
  input @x : tensor<6x8xf32>
  // expected-error @below {{cannot be lowered: it lacks the address of a tensor that wse.load computes}}
  %x = load @x on @r {streams = [@words, @column], slot = 0} : tensor<1x6x8xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @little_scratch state(scheduled) mesh(1x1) machine("wse2") {
  region @r shape(1x1) at (0, 0)
  stream @launch launch colors [0] rules []
  stream @words channel colors [1] rules []
  stream @column column rows <groups = 1, pitch = 1, used = 1> colors [2] rules []
  input @x : tensor<6x8xf32>
  %x = load @x on @r {streams = [@words, @column], slot = 0, address = 4096} : tensor<1x6x8xf32, #tokens>
  // expected-error @below {{cannot be lowered: it lacks 48 bytes of scratch, of which it has 40}}
  %y = softmax %x on @r {nodes = ["softmax"], streams = [], slot = 1, address = 8192, scratch_address = 12288, scratch_bytes = 40} : tensor<1x6x8xf32, #tokens>
}
