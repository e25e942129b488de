// The sign of a zero is kept, in the program and in its text.
// RUN: wsec %s -o %t.wafer --quiet
// RUN: wse-inspect pe %t.wafer -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: wsec %t.mlir -o %t.again.wafer --quiet
// RUN: cmp %t.wafer %t.again.wafer

// CHECK: vector mov @v[0, strides = [1]] = -0.0 over (8)
// CHECK: vector mov @v[0, strides = [1]] = 0.0 over (8)
pe.program @zeros mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    buffer @v 32 bytes of f32
    routine @main {
      vector mov @v[0, strides = [1]] = -0.0 over (8)
      vector mov @v[0, strides = [1]] = 0.0 over (8)
    }
  }
  launch @main
}
