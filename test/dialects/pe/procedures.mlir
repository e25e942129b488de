// RUN: wse-opt %s --split-input-file | FileCheck %s
// RUN: wse-opt %s --split-input-file --verify-roundtrip -o /dev/null

// A procedure of the program names what its callers have; one of a class may use
// its scalars.

// CHECK-LABEL: pe.program @procedures
pe.program @procedures mesh [4, 1] machine "wse2" {
  chain @east even 1 odd 2 [0:4, 0:1] to east
  // CHECK: procedure @send(@link, @from, %[[THERE:.*]], %[[THREAD:.*]]) {
  procedure @send(@link, @from, %there, %thread) {
    // CHECK: vector mov fabric(@link) = @from[0, strides = [1]] over (8) where %[[THERE]] thread %[[THREAD]] then activate @done
    vector mov fabric(@link) = @from[0, strides = [1]] over (8) where %there thread %thread then activate @done
  }
  // CHECK: procedure @nothing {
  procedure @nothing {
  }
  class @all [0:4, 0:1] {
    // CHECK: %[[PX:.*]] = scalar px
    %px = scalar px
    buffer @v 32 bytes of f32
    // CHECK: procedure @fill(%[[FIRST:.*]]) {
    procedure @fill(%first) {
      // CHECK: for %{{.*}} < %[[FIRST]] where %[[PX]] {
      for %i < %first where %px {
        // CHECK: call @nothing
        call @nothing
      }
    }
    task @done local 0 {
    }
    // CHECK: routine @main {
    routine @main {
      // CHECK: call @send(@east, @v, %[[PX]], 1)
      call @send(@east, @v, %px, 1)
      for %i < 4 {
        // CHECK: call @fill(%{{.*}} * 2 - %[[PX]] + 1)
        call @fill(%i * 2 - %px + 1)
      }
    }
  }
}

// -----

// What buffers hold first.

// CHECK-LABEL: pe.program @initial
pe.program @initial mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    // CHECK: buffer @a at 8192, 16 bytes of f32 = [5.000000e-01, -1.000000e+00, 2.000000e+00, 0x7F800000] node "n"
    buffer @a at 8192, 16 bytes of f32 = [0.5, -1, 2.0, 0x7F800000] node "n"
    // CHECK: buffer @b 16 bytes of f32 = 2.500000e-01
    buffer @b 16 bytes of f32 = 0.25
    // CHECK: buffer @c 4 bytes of i16 = [-1, 7]
    buffer @c 4 bytes of i16 = [-1, 7]
    // CHECK: buffer @d 4 bytes of bf16 = 1.000000e+00
    buffer @d 4 bytes of bf16 = [1.0, 1]
    // CHECK: buffer @of_cb16 4 bytes of !pe.cb16
    buffer @of_cb16 4 bytes of !pe.cb16
    // CHECK: buffer @e 8 bytes of i32 persistent
    buffer @e 8 bytes of i32 persistent
  }
}
