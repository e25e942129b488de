// RUN: wse-opt %s --pass-pipeline='builtin.module(wse.program(wse-verify-selected))' --verify-roundtrip | FileCheck %s --check-prefix=SELECTED
// RUN: wse-opt %s --wsec-place | FileCheck %s --check-prefix=PLACED
// RUN: wse-opt %s --wsec-place --wsec-route | FileCheck %s --check-prefix=ROUTED
// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --verify-roundtrip | FileCheck %s --check-prefix=SCHEDULED

// The program of dialects/wse/README.md in every state: each adds facts to the
// same operations.

#tiled = #wse.dist<rows = [0, 1], columns = [2]>

// SELECTED: state(selected)
// SELECTED-NEXT: region @r shape(2x2){{$}}
// SELECTED: load @x on @r {nodes = ["relu"]} :
// SELECTED: elementwise(%x) on @r {nodes = ["relu"]} :
// SELECTED: store %relu to "y" on @r {nodes = ["relu"]} :

// PLACED: state(placed)
// PLACED-NEXT: region @r shape(2x2) at (0, 0)
// PLACED: load @x on @r {nodes = ["relu"]} :

// ROUTED: state(routed)
// ROUTED: stream @{{.*}} channel colors
// ROUTED: stream @{{.*}} column rows <groups = 1, pitch = 2, used = 2> colors
// ROUTED: load @x on @r {nodes = ["relu"], streams = [@{{.*}}]} :

// SCHEDULED: state(scheduled)
// SCHEDULED-SAME: sram_owner = "{{.*}}", sram_peak = {{[0-9]+}}
// SCHEDULED: load @x on @r {address = {{[0-9]+}} : i64, {{.*}}slot = 0 : i64
// SCHEDULED: elementwise(%x) on @r {address = {{[0-9]+}} : i64, {{.*}}slot = 1 : i64
// SCHEDULED: store %relu to "y" {{.*}}slot = 2 : i64
wse.program @main state(selected) mesh(2x2) machine("wse2") {
  region @r shape(2x2)
  input @x : tensor<2x4xf32>
  %x = load @x on @r {nodes = ["relu"]} : tensor<1x2x4xf32, #tiled>
  %relu = elementwise(%x) on @r {nodes = ["relu"]} : (tensor<1x2x4xf32, #tiled>) -> tensor<1x2x4xf32, #tiled> {
  ^bb0(%element: f32):
    %zero = arith.constant 0.0 : f32
    %max = arith.maximumf %element, %zero : f32
    wse.yield %max : f32
  }
  store %relu to "y" on @r {nodes = ["relu"]} : tensor<1x2x4xf32, #tiled> to tensor<2x4xf32>
}
