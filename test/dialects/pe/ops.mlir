// RUN: wse-opt %s | FileCheck %s
// RUN: wse-opt %s --verify-roundtrip -o /dev/null

// Everything a program may hold, in its own syntax.

// CHECK-LABEL: pe.program @gather mesh [4, 2] machine "wse2" launch_color 0 model "tiny.onnx"
pe.program @gather mesh [4, 2] machine "wse2" launch_color 0 model "tiny.onnx" {
  // CHECK: tensor input @ids : tensor<1x8xi64>
  // CHECK: tensor weight @table from <"w.bin" at 64> : tensor<100x16xf32>
  // CHECK: tensor constant @half = dense<5.000000e-01> : tensor<1xf32> : tensor<1xf32>
  // CHECK: tensor output @same alias @ids : tensor<1x8xi64>
  // CHECK: tensor weight @trained from <"w.bin" at 0> parameter "fc.weight" : tensor<8x2xf32>
  // CHECK: tensor output @dw gradient <"fc.weight" at 1 strides [1, 2]> : tensor<1x8xf32>
  // CHECK: tensor output @drows gradient <"fc.weight" at 0 rows @ids> : tensor<8x2xf32>
  tensor input @ids : tensor<1x8xi64>
  tensor weight @table from <"w.bin" at 64> : tensor<100x16xf32>
  tensor constant @half = dense<0.5> : tensor<1xf32> : tensor<1xf32>
  tensor output @y : tensor<1x8x16xf32>
  tensor output @same alias @ids : tensor<1x8xi64>
  tensor weight @trained from <"w.bin" at 0> parameter "fc.weight" : tensor<8x2xf32>
  tensor output @dw gradient <"fc.weight" at 1 strides [1, 2]> : tensor<1x8xf32>
  tensor output @drows gradient <"fc.weight" at 0 rows @ids> : tensor<8x2xf32>

  // CHECK: route 0 [0:4, 0:1] from west to [south, east, ramp]
  // CHECK: route 3 [0:4:2, 0:2] from ramp to [north]
  route 0 [0:4, 0:1] from west to [ramp, east, south]
  route 3 [0:4:2, 0:2] from ramp to [north]

  // CHECK: class @rows [0:4, 0:1], [0:4:2, 1:2] {
  class @rows [0:4, 0:1], [0:4:2, 1:2] {
    // CHECK: %[[PX:.*]] = scalar px
    // CHECK: %[[SIZE:.*]] = scalar tile_size(%{{.*}}, %{{.*}}, %[[PX]])
    %px = scalar px
    %c16 = constant 16
    %c4 = constant 4
    %m3 = constant -3
    %n = scalar tile_size(%c16, %c4, %px)
    %even = scalar mod(%px, %c4)
    // CHECK: %[[PLACE:.*]] = scalar tile_size(16, 4, %[[PX]])
    // CHECK: %{{.*}} = scalar add(-3, %[[PLACE]])
    // CHECK: %{{.*}} = scalar equal(1, 2)
    %place = scalar tile_size(16, 4, %px)
    %before = scalar add(-3, %place)
    %never = scalar equal(1, 2)
    // CHECK: buffer @x at 8192, 64 bytes of f32 node "/embed"
    // CHECK: buffer @flags at 8256, 16 bytes of i1
    buffer @x at 8192, 64 bytes of f32 node "/embed"
    buffer @flags at 8256, 16 bytes of i1
    // CHECK: routine @embed {
    routine @embed {
      // CHECK: for %[[I:.*]] < %[[SIZE]] + 1 where %[[PX]] {
      for %i < %n + 1 where %px {
        // CHECK: vector mov @x[%[[I]] * 4 + %[[SIZE]] + 2, strides = [1, 0]] = fabric(2) over (%[[SIZE]], 4)
        vector mov @x[%i * 4 + %n + 2, strides = [1, 0]] = fabric(2) over (%n, 4)
        // CHECK: for %{{.*}} < 2 {
        for %j < 2 {
          // CHECK: vector fmac @x[%{{.*}} * -1 - 2, strides = [0, 1]] = @x[0, strides = [1, 1]], fabric(%{{.*}} + 2, depth = 2, window = %[[SIZE]] of 64) over (%[[SIZE]] * 2, 4)
          vector fmac @x[%j * -1 + -2, strides = [0, 1]] = @x[0, strides = [1, 1]], fabric(%even + 2, depth = 2, window = %n of 64) over (%n * 2, 4)
        }
      }
      // CHECK: vector add fabric(%{{.*}} + 4) = @x[0, strides = [1]], 1.500000e+00 over (16) where %{{.*}} thread 3
      vector add fabric(%even + 4) = @x[0, strides = [1]], 1.5 over (16) where %even thread 3
      // What is subtracted may stand anywhere; something positive goes first.
      // CHECK: vector mov @x[2 - %[[SIZE]] * 3, strides = [1]] = fabric(2 - %{{.*}}) over (%[[SIZE]] * 2 - %{{.*}} - 1)
      vector mov @x[-3 - %n * 3 + 5, strides = [1]] = fabric(2 - %even) over (-1 + %n * 2 - %even)
      // CHECK: vector exp @x[0, strides = [1]] = 0xFF800000 over (16)
      vector exp @x[0, strides = [1]] = 0xFF800000 over (16)
      // CHECK: await [0, 3]
      await [0, 3]
    }
  }
  // CHECK: stream in @embeddings color 2 channels [0 -> 0:2, 1 -> 2:4] {
  stream in @embeddings color 2 channels [0 -> 0:2, 1 -> 2:4] {
    %px = scalar px
    // CHECK: segment @table[%{{.*}} * 4, strides = [1]] over (4) lines 8 step 0 indexed @ids step 16 rows 100
    segment @table[%px * 4, strides = [1]] over (4) lines 8 step 0 indexed @ids step 16 rows 100
    // CHECK: segment @table[%{{.*}} * 4, strides = [1]] over (4) indexed @ids at 7 step 16 rows 100
    segment @table[%px * 4, strides = [1]] over (4) indexed @ids at 7 step 16 rows 100
  }
  // CHECK: stream out @result color 5 channels [0 -> 0:2] {
  // CHECK: segment @y[%{{.*}}, strides = [4, 1]] over (%{{.*}}, 4)
  stream out @result color 5 channels [0 -> 0:2] {
    %py = scalar py
    segment @y[%py, strides = [4, 1]] over (%py, 4)
  }
  // CHECK: kernel @embed_kernel kind "gather" nodes ["/embed"] region [0:4, 0:2] cycles 1.200000e+01 of 8.000000e+00 bound "stream"
  kernel @embed_kernel kind "gather" nodes ["/embed"] region [0:4, 0:2] cycles 12.0 of 8.0 bound "stream"
  // CHECK: launch @embed for @embed_kernel streams [@embeddings, @result] slots [#pe.slot<order 0 from 20 to 50 ahead 4>, #pe.slot<order 1 from 30 to 60 ahead 0>]
  launch @embed for @embed_kernel streams [@embeddings, @result] slots [#pe.slot<order 0 from 20 to 50 ahead 4>, #pe.slot<order 1 from 30 to 60 ahead 0>]
}
