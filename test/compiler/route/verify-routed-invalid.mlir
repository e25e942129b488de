// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-verify-routed

// expected-error @below {{expected a routed program, this one is placed}}
wse.program @main state(placed) mesh(2x1) machine("wse2") {
}

// -----

// expected-error @below {{a routed program has west_lanes and east_lanes}}
wse.program @main state(routed) mesh(2x1) machine("wse2") {
}

// -----

// expected-error @below {{no stream carries the commands}}
wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_lanes = [#wse.lane<row 0, serves 0 to 2>], east_lanes = [#wse.lane<row 0, serves 0 to 1>]} {
}

// -----

// R5: PE (1,0) hears no commands. The other rules are in RoutingProblemTest.cpp.
// expected-error @below {{stream 'command', color 0: words of PE (0,0) reach 1 of 2 PEs}}
wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_lanes = [#wse.lane<row 0, serves 0 to 2>], east_lanes = [#wse.lane<row 0, serves 0 to 1>]} {
  stream @command command colors [0] rules [#wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to ramp>]
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_lanes = [#wse.lane<row 0, serves 0 to 2>], east_lanes = [#wse.lane<row 0, serves 0 to 1>]} {
  stream @command command colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel of a routed program has no streams}}
  %x = load @x : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_lanes = [#wse.lane<row 0, serves 0 to 2>], east_lanes = [#wse.lane<row 0, serves 0 to 1>]} {
  stream @command command colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel needs 2 streams and has 1}}
  %x = load @x {streams = [@command]} : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_lanes = [#wse.lane<row 0, serves 0 to 2>], east_lanes = [#wse.lane<row 0, serves 0 to 1>]} {
  stream @command command colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{no stream @lane in this program}}
  %x = load @x {streams = [@lane, @column]} : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_lanes = [#wse.lane<row 0, serves 0 to 2>], east_lanes = [#wse.lane<row 0, serves 0 to 1>]} {
  stream @command command colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel needs a stream of pattern lane where it has @command, or the same pattern with other rows}}
  %x = load @x {streams = [@command, @command]} : tensor<1x1x2xf32, #tokens>
}
