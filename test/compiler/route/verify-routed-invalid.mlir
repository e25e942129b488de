// RUN: wse-opt %s --split-input-file --verify-diagnostics --wse-verify-routed

// expected-error @below {{expected a routed program, this one is placed}}
wse.program @main state(placed) mesh(2x1) machine("wse2") {
}

// -----

// expected-error @below {{a routed program has west_channels and east_channels}}
wse.program @main state(routed) mesh(2x1) machine("wse2") {
}

// -----

// expected-error @below {{no stream carries the launches}}
wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 2>], east_channels = [#wse.channel<row 0, serves 0 to 1>]} {
}

// -----

// R5: PE (1,0) hears no launches. The other rules are in RoutingProblemTest.cpp.
// expected-error @below {{stream 'launch', color 0: words of PE (0,0) reach 1 of 2 PEs}}
wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 2>], east_channels = [#wse.channel<row 0, serves 0 to 1>]} {
  stream @launch launch colors [0] rules [#wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to ramp>]
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 2>], east_channels = [#wse.channel<row 0, serves 0 to 1>]} {
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel of a routed program has no streams}}
  %x = load @x : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 2>], east_channels = [#wse.channel<row 0, serves 0 to 1>]} {
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel needs 2 streams and has 1}}
  %x = load @x {streams = [@launch]} : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 2>], east_channels = [#wse.channel<row 0, serves 0 to 1>]} {
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{no stream @channel in this program}}
  %x = load @x {streams = [@channel, @column]} : tensor<1x1x2xf32, #tokens>
}

// -----

#tokens = #wse.tiled<batch = 1, tokens = 1, rows = split, group = 1, columns = balanced>

wse.program @main state(routed) mesh(2x1) machine("wse2")
    attributes {west_channels = [#wse.channel<row 0, serves 0 to 2>], east_channels = [#wse.channel<row 0, serves 0 to 1>]} {
  stream @launch launch colors [0] rules [
    #wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to east|ramp>,
    #wse.rule<color 0, <x = 1 to 2, y = 0 to 1>, west to ramp>]
  input @x : tensor<1x2xf32>
  // expected-error @below {{kernel needs a stream of pattern channel where it has @launch, or the same pattern with other rows}}
  %x = load @x {streams = [@launch, @launch]} : tensor<1x1x2xf32, #tokens>
}
