// RUN: wse-opt %s | FileCheck %s
// RUN: wse-opt %s --verify-roundtrip -o /dev/null

// What programs launched by remote calls may hold besides, in its own syntax.

// CHECK-LABEL: pe.program @remote mesh [4, 1] machine "wse2" {
pe.program @remote mesh [4, 1] machine "wse2" {
  tensor input @x : tensor<1x4x8xf32>
  tensor constant @h = dense<1.0> : tensor<8xf16> : tensor<8xf16>
  tensor output @y : tensor<4x8xf32>
  tensor output @times : tensor<4xi32>

  // CHECK: route 1 [0:1, 0:1] from ramp to [east]
  // CHECK: route 1 [1:4, 0:1] from west to [ramp] switch [from ramp, to [east, ramp]] ring pop always initial 1
  // CHECK: route 2 [0:4, 0:1] from ramp to [west] pop on_advance
  route 1 [0:1, 0:1] from ramp to [east]
  route 1 [1:4, 0:1] from west to [ramp] switch [from ramp, to [ramp, east]] ring pop always initial 1
  route 2 [0:4, 0:1] from ramp to [west] pop on_advance

  // CHECK: class @row [0:4, 0:1] {
  class @row [0:4, 0:1] {
    // CHECK: %[[PX:.*]] = scalar px
    // CHECK: scalar shift_left(%[[PX]], %{{.*}})
    %px = scalar px
    %c1 = constant 1
    %twice = scalar shift_left(%px, %c1)
    // CHECK: buffer @v at 8192, 32 bytes of f32
    // CHECK: buffer @h 16 bytes of f16
    // CHECK: buffer @i 8 bytes of i32 node "/Count"
    // CHECK: buffer @w 4 bytes of i16
    buffer @v at 8192, 32 bytes of f32
    buffer @h 16 bytes of f16
    buffer @i 8 bytes of i32 node "/Count"
    buffer @w 4 bytes of i16
    // CHECK: queue input 2 color 4
    // CHECK: queue output 3 color 1
    queue input 2 color 4
    queue output 3 color 1
    // CHECK: filter 2 range %[[PX]] * 4 to %[[PX]] * 4 + 3
    // CHECK: filter 3 counter 0 to 0 limit 3
    filter 2 range %px * 4 to %px * 4 + 3
    filter 3 counter 0 to 0 limit 3
    // CHECK: task @done local 3 blocked {
    // CHECK: block @done
    task @done local 3 blocked {
      block @done
    }
    // CHECK: task @receive data 2 word @i index @w {
    // CHECK: %[[N:.*]] = load @i[0]
    // CHECK: store @i[1] = %[[N]] * 2 + %[[PX]]
    task @receive data 2 word @i index @w {
      %n = load @i[0]
      store @i[1] = %n * 2 + %px
    }
    // CHECK: task @stop control 5 word @w {
    task @stop control 5 word @w {
    }
    // CHECK: routine @main {
    routine @main {
      // CHECK: vector add fabric(1) = fabric(2), @v[0, strides = [1]] over (8) thread 0 then activate @done advance{{$}}
      vector add fabric(1) = fabric(2), @v[0, strides = [1]] over (8) thread 0 then activate @done advance
      // CHECK: vector mov fabric(1, f16, pair) = @h[0, strides = [1]] over (8) thread 1 then unblock @receive{{$}}
      vector mov fabric(1, f16, pair) = @h[0, strides = [1]] over (8) thread 1 then unblock @receive
      // CHECK: vector mov fabric(1, f16, index = %[[PX]] * 8) = @h[0, strides = [1]] over (8) where %[[PX]]{{$}}
      vector mov fabric(1, f16, index = %px * 8) = @h[0, strides = [1]] over (8) where %px
      // CHECK: vector mov @v[0, strides = [1]] = fabric(2) over (8) on_control end
      vector mov @v[0, strides = [1]] = fabric(2, f32) over (8) on_control end
      // CHECK: vector bit_xor @i[0, strides = [1]] = fabric(2, i32), 3.000000e+00 over (2)
      vector bit_xor @i[0, strides = [1]] = fabric(2, i32), 3.0 over (2)
      // CHECK: control fabric(1) [advance, nop] task 5 data %[[PX]] + 1
      // CHECK: control fabric(%[[PX]]) [reset, teardown]{{$}}
      control fabric(1) [advance, nop] task 5 data %px + 1
      control fabric(%px) [reset, teardown]
      // CHECK: control fabric(1) [advance] thread 0{{$}}
      // CHECK: control fabric(1) [nop] task 5 data 7 thread 1 then activate @done unblock @receive
      control fabric(1) [advance] thread 0
      control fabric(1) [nop] task 5 data 7 thread 1 then activate @done unblock @receive
      // A statement that stands behind an instruction is not a part of it.
      // CHECK: over (8) thread 2{{$}}
      // CHECK: activate @done
      // CHECK: unblock @done
      vector mov fabric(1) = @v[0, strides = [1]] over (8) thread 2
      activate @done
      unblock @done
      // CHECK: %[[V:.*]] = load @i[0]
      // CHECK: %[[SUM:.*]] = compute add(%[[V]] * 2, %[[PX]])
      // CHECK: compute px
      %v = load @i[0]
      %sum = compute add(%v * 2, %px)
      %x = compute px
      // CHECK: for %[[I:.*]] < %[[SUM]] {
      for %i < %sum {
        // CHECK: %[[K:.*]] = compute bit_and(%[[I]], 3)
        // CHECK: break %[[K]] - 2
        %k = compute bit_and(%i, 3)
        break %k - 2
        // CHECK: if %[[K]] - 1 {
        // CHECK: store @i[0] = %[[SUM]] + %[[K]]
        // CHECK: } else {
        // CHECK: clock @i[1]
        // CHECK: if %[[SUM]] {
        // CHECK-NEXT: }
        // CHECK-NOT: else
        if %k + -1 {
          store @i[0] = %sum + %k
        } else {
          clock @i[1]
          if %sum {
          }
        }
      }
      // CHECK: set_route 1 from ramp to [east]
      set_route 1 from ramp to [east]
    }
  }
  // CHECK: copy in @x to @v [0:4, 0:1]
  // CHECK: launch @main
  // CHECK: copy out @y from @v [0:4, 0:1] order column
  copy in @x to @v [0:4, 0:1] order row
  launch @main
  copy out @y from @v [0:4, 0:1] order column
}
