// RUN: wse-opt %s | FileCheck %s
// RUN: wse-opt %s --verify-roundtrip -o /dev/null

// What may be called, with arguments, and what outlives calls.

// CHECK-LABEL: pe.program @cache
pe.program @cache(rows = 8) mesh [1, 1] machine "wse2" {
  tensor input @x : tensor<8x4xf32>
  class @all [0:1, 0:1] {
    // CHECK: buffer @cache at 8192, 128 bytes of f32 persistent node "/cache"
    // CHECK: buffer @sum 16 bytes of f32
    buffer @cache at 8192, rows * 16 bytes of f32 persistent node "/cache"
    buffer @sum 16 bytes of f32
    // CHECK: routine @write(%[[A:.*]], %[[B:.*]]) {
    routine @write(%row, %scale) {
      // CHECK: vector mov @cache[%[[A]] * 4 + %[[B]], strides = [1]] = fabric(1) over (4)
      vector mov @cache[%row * 4 + %scale, strides = [1]] = fabric(1) over (4)
      // CHECK: for %{{.*}} < %[[B]] {
      for %i < %scale {
        // CHECK: if %[[A]] {
        if %row {
          vector mov @sum[%i, strides = [1]] = 0.0 over (1)
        }
      }
    }
    // CHECK: routine @idle {
    routine @idle {
    }
  }
  // CHECK: stream in @rows color 1 channels [0 -> 0:1] (%[[ROW:.*]]) {
  // CHECK:   %[[FIRST:.*]] = scalar mul(%[[ROW]], 4)
  // CHECK:   segment @x[%[[FIRST]], strides = [1]] over (4)
  stream in @rows color 1 channels [0 -> 0:1] (%row) {
    %first = scalar mul(%row, 4)
    segment @x[%first, strides = [1]] over (4)
  }
  // CHECK: entry @both(%row from 0 to 7, %scale from -1 to 1) {
  entry @both(%row from 0 to rows - 1, %scale from -1 to 1) {
    // CHECK: %[[NEXT:.*]] = scalar add(%row, 1)
    %next = scalar add(%row, 1)
    // CHECK: launch @write(%row, %scale) streams [@rows]
    // CHECK: launch @write(%[[NEXT]], %row)
    // CHECK: launch @idle
    launch @write(%row, %scale) streams [@rows]
    launch @write(%next, %row)
    launch @idle
  }
  // CHECK: entry @nothing {
  entry @nothing {
  }
}
