// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-verify-routed

// expected-error @below {{expected a routed program, this one is placed}}
wse.program @main state(placed) mesh(2x1) machine("wse2") {
}

// -----

// expected-error @below {{no stream carries the launches}}
wse.program @main state(routed) mesh(2x1) machine("wse2") {
}

// -----

// R5: PE (1,0) hears no launches. The other rules are in RoutingProblemTest.cpp.
// expected-error @below {{stream 'launch', color 0: words of PE (0,0) reach 1 of 2 PEs}}
wse.program @main state(routed) mesh(2x1) machine("wse2") {
  // expected-note @below {{stream @launch is here}}
  stream @launch launch colors [0] rules [#wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to ramp>]
}

// -----

// R3: two streams of one color meet at a PE.
// expected-error @below {{stream 'other', color 0: PE (0,0) has two settings of this color, the other of stream 'launch'}}
wse.program @main state(routed) mesh(2x1) machine("wse2") {
  region @r shape(2x1) at (0, 0)
  // expected-note @below {{stream @launch is here}}
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  // expected-note @below {{stream @other is here}}
  stream @other row_cast on @r colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, ramp to east>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(routed) mesh(2x1) machine("wse2") {
  region @r shape(2x1) at (0, 0)
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel of a routed program has no streams}}
  %x = load @x on @r : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(routed) mesh(2x1) machine("wse2") {
  region @r shape(2x1) at (0, 0)
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel needs 2 streams and has 1}}
  %x = load @x on @r {streams = [@launch]} : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(routed) mesh(2x1) machine("wse2") {
  region @r shape(2x1) at (0, 0)
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{no stream @channel in this program}}
  %x = load @x on @r {streams = [@channel, @column]} : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(routed) mesh(2x1) machine("wse2") {
  region @r shape(2x1) at (0, 0)
  // expected-note @below {{the stream is here}}
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel needs a stream of pattern channel where it has @launch, or the same pattern with other rows}}
  %x = load @x on @r {streams = [@launch, @launch]} : tensor<1x1x2xf32, #tokens>
}

// -----

#both = #wse.dist<rows = [0, 1], columns = [2]>

// Words of @column do not come to row 1.
wse.program @main state(routed) mesh(1x2) machine("wse2") {
  region @r shape(1x2) at (0, 0)
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to south|ramp>,
    #wse.rule<color 0, <x = 0 to 1, y = 1 to 2>, north to ramp>]
  stream @channel channel colors [1] rules [
    #wse.rule<color 1, <x = 0 to 1, y = 0 to 1>, west to ramp>]
  // expected-note @below {{the stream is here}}
  stream @column column rows <groups = 1, pitch = 1, used = 1> colors [2] rules [
    #wse.rule<color 2, <x = 0 to 1, y = 0 to 1>, ramp to ramp>]
  input @x : tensor<2x2xf32>
  // expected-error @below {{kernel needs a stream of pattern column where it has @column, or the same pattern with other rows or regions}}
  %x = load @x on @r {streams = [@channel, @column]} : tensor<1x2x2xf32, #both>
}
