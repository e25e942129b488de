// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wse-dump-placement="file=%t.json" -o /dev/null
// RUN: %python %S/../../check_placement.py %t.json
// RUN: FileCheck %s < %t.json
// RUN: wse-opt %s --wsec-place --wse-dump-placement="file=%t.placed.json" -o /dev/null
// RUN: %python %S/../../check_placement.py %t.placed.json

// What stays on the wafer lies below all buffers, and kernels say which entry
// they are of.

// CHECK: "entry": "load"
// CHECK: "entry": "main"
// CHECK: "held": [
// CHECK-NEXT: {
// CHECK-NEXT: "name": "w.resident"
// CHECK-NEXT: "kind": "parameter"
// CHECK: "columns": 4
// CHECK: "bytes": 96
// CHECK-NEXT: "address": [[#W:]]
// CHECK: "name": "k"
// CHECK-NEXT: "kind": "state"
// CHECK: "address": [[#W+96]]

#tiled = #wse.dist<rows = [0, 1], columns = [2]>
#held = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @main state(selected) mesh(4x2) machine("wse2") {
  region @r shape(4x2)
  input @x : tensor<3x8xf32>
  parameter @w.resident = <@w : tensor<1x24x8xf32>> resident on @r as tensor<1x24x8xf32, #held>
  state @k on @r : tensor<1x3x8xf32, #tiled>
  parameter @w = external<"w.bin", 0, 768> : tensor<1x24x8xf32>
  entry @load {
    fill @w.resident on @r {nodes = ["fc"]}
  }
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
  update @k with %x on @r {nodes = ["cache"]} : tensor<1x3x8xf32, #tiled>
  %k = recall @k on @r {nodes = ["cache"]} : tensor<1x3x8xf32, #tiled>
  store %k to "y" on @r {nodes = ["y"]} : tensor<1x3x8xf32, #tiled> to tensor<3x8xf32>
}
