// RUN: wse-opt %s | FileCheck %s
// RUN: wse-opt %s --verify-roundtrip -o /dev/null

// A name stands wherever a number stands; what has been read has numbers.

// CHECK-LABEL: pe.program @everywhere mesh [6, 2] machine "wse2" {
pe.program @everywhere(width = 6 from 2 to 750, half = div(width, 2), words = 8, color = -1 + 2 * 2, deep = mod(7, 5))
    mesh [width, half - 1] machine "wse2" {
  // CHECK: tensor input @x : tensor<6x8xf32>
  // CHECK: tensor input @y : tensor<6x1x12xf16>
  // CHECK: tensor output @z : tensor<48xf32>
  tensor input @x : tensor<width x words x f32>
  tensor input @y : tensor<width x 1x(words + 4)xf16>
  tensor output @z : tensor<(width * words)xf32>
  // CHECK: route 3 [0:5:2, 0:1] from ramp to [east]
  // CHECK: route 4 [1:6, 0:2] from ramp to [west] switch [from east] initial 1
  route color [0:width - 1:2, 0:1] from ramp to [east]
  route color + 1 [1:width, 0:half - 1] from ramp to [west] switch [from east] initial deep - 1
  // CHECK: chain @right even 5 odd 6 [0:6, 0:1] to east
  chain @right even color + 2 odd color * 2 [0:width, 0:1] to east
  // CHECK: class @all [0:5, 0:1], [5:6, 0:2:2] {
  class @all [0:width - 1, 0:1], [width - 1:width, 0:2:deep] {
    // CHECK: %[[PX:.*]] = scalar px
    // CHECK: %[[LAST:.*]] = scalar equal(%[[PX]], 5)
    // CHECK: %{{.*}} = constant 6
    %px = scalar px
    %last = scalar equal(%px, width - 1)
    %w = constant width
    // CHECK: buffer @v at 8192, 32 bytes of f32
    // CHECK: buffer @w 4 bytes of i32
    buffer @v at 4096 * deep, words * 4 bytes of f32
    buffer @w deep + 2 bytes of i32
    // CHECK: queue input 2 color 3
    // CHECK: filter 3 range %[[PX]] * 8 to %[[PX]] * 8 + 7
    queue input deep color color
    filter color range %px * words to %px * words + words - 1
    // CHECK: routine @main {
    routine @main {
      // CHECK: for %[[I:.*]] < 8 - %[[PX]] * 3 {
      for %i < words - %px * half {
        // CHECK: vector mul @v[%[[I]] * 24 + 1, strides = [1, 8]] = fabric(6 - %[[PX]] * 3, depth = 2, window = %[[I]] of 48), 8.000000e+00 over (8, 3) where %[[LAST]] thread 2
        vector mul @v[%i * words * half + 1, strides = [1, words]] = fabric(width - %px * half, depth = deep, window = %i of width * words), words over (words, half) where %last thread deep
      }
      // CHECK: %{{.*}} = compute max(%[[PX]] * 2 - 5, 8)
      %m = compute max(%px * deep - (width - 1), words)
      // CHECK: control fabric(3) [advance] task 3 data 8
      control fabric(color) [advance] task half data words
      // CHECK: store @w[0] = %{{.*}} + 4
      store @w[0] = %m + max(deep, min(words, 4))
    }
    // CHECK: task @t control 3
    task @t control half {
    }
  }
  // CHECK: stream in @in color 7 channels [1 -> 0:6] {
  // CHECK: segment @x[%{{.*}} * 8, strides = [1]] over (8) lines 3 step 8
  stream in @in color color + 4 channels [half - 2 -> 0:width] {
    %px = scalar px
    segment @x[%px * words, strides = [1]] over (words) lines half step words
  }
  // CHECK: copy in @x to @v [0:6, 0:1]
  copy in @x to @v [0:width, 0:1]
}

// A program without parameters does not see those of another one.
// CHECK-LABEL: pe.program @other mesh [1, 1] machine "wse2" launch_color 3 {
pe.program @other(width = 1, color = 3) mesh [width, width] machine "wse2" launch_color color {
}
