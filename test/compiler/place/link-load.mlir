// RUN: wse-opt %S/../route/two-regions.mlir --split-input-file --wsec-route --wse-dump-placement -o /dev/null | FileCheck %s
// RUN: wse-opt %s --wsec-route --wse-dump-placement=file=%t.json -o /dev/null
// RUN: %python %S/../../check_placement.py %t.json
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: wse-opt %s --wsec-route --wse-dump-placement=file=%t.svg -o /dev/null
// RUN: FileCheck %s --check-prefix=SVG --input-file=%t.svg

// Words of channels, and of rows that go to another region; not those that PEs
// of a region exchange.
// CHECK: @launch         launch      color 0, 9 rules{{$}}
// CHECK: @channel        channel     color {{[0-9]+}}, 3 rules, 4 words
// CHECK: @row_east       row_east {{.*}}rules{{$}}
// CHECK: @transfer       transfer    color {{[0-9]+}}, 4 rules, 4 words
// CHECK: busiest link, of words of the host and between regions
// CHECK-NEXT: 4 words of a call out of (1,0) to the east, of @transfer{{$}}
// CHECK: @channel_1      channel     color 1, 6 rules, 8 words
// CHECK: 16 words of a call out of (0,0) to the east, of @channel{{$}}

// Both tensors pass the link between the regions, in the upper row as in the
// lower one; that row is a wide one.
// JSON: "keep_outs": [
// JSON-NEXT: {
// JSON-NEXT: "x": 5,
// JSON-NEXT: "y": 0,
// JSON-NEXT: "columns": 1,
// JSON-NEXT: "rows": 2
// JSON: "words": 16,
// JSON: "link_load": {
// JSON-NEXT: "words": 16,
// JSON-NEXT: "x": 1,
// JSON-NEXT: "y": 0,
// JSON-NEXT: "port": "east",
// JSON-NEXT: "streams": [
// JSON-NEXT: "transfer"
// JSON-NEXT: ]

// SVG: <pattern id="out"
// SVG: <title>kept out: 1x2 at (5,0)</title>
// SVG: class="keep-out"
// SVG: busiest link: 16 words of a call out of (1,0) to the east, of @transfer<
!tokens = tensor<1x2x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
wse.program @two state(placed) mesh(6x2) machine("wse2") {
  keep_out shape(1x2) at (5, 0)
  region @a shape(2x2) at (0, 0)
  region @b shape(2x2) at (3, 0)
  input @x : tensor<2x8xf32>
  %0 = load @x on @a : !tokens
  %1 = softmax %0 on @a : !tokens
  %2 = transfer %0 on @b : !tokens -> !tokens
  %3 = transfer %1 on @b : !tokens -> !tokens
  %4 = softmax %3 on @b : !tokens
}
