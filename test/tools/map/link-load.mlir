// What crosses links is in the code: it is known once that is written.
// RUN: wsec %s --dump-placement=%t.txt
// RUN: FileCheck %s --input-file=%t.txt
// RUN: wsec %s --dump-placement=%t.json
// RUN: %python %S/../../check_placement.py %t.json
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: wsec %s --dump-placement=%t.svg
// RUN: FileCheck %s --check-prefix=SVG --input-file=%t.svg
// RUN: wsec %s --stop-after=schedule --dump-placement=%t.routed.txt -o %t.mlir
// RUN: FileCheck %s --check-prefix=ROUTED --input-file=%t.routed.txt

// Both tensors of 8 words a row pass the link between the regions. In a region
// of two columns, softmax sends a maximum and a sum west, and what they come to
// goes back east.
// CHECK: @channel        channel     color {{[0-9]+}}, {{[0-9]+}} rules, 8 words
// CHECK: @transfer       transfer    color {{[0-9]+}}, {{[0-9]+}} rules, 16 words
// CHECK: fullest links in a call of main
// CHECK-NEXT: 18 words out of (3,0) to the east, and 1 more like it: @transfer 16, @row_cast_1 2{{$}}
// CHECK: 16 words out of (1,0) to the east, and 3 more like it: @transfer 16{{$}}

// ROUTED: @transfer       transfer    color {{[0-9]+}}, {{[0-9]+}} rules{{$}}
// ROUTED-NOT: fullest links

// JSON: "keep_outs": [
// JSON-NEXT: {
// JSON-NEXT: "x": 5,
// JSON-NEXT: "y": 0,
// JSON-NEXT: "columns": 1,
// JSON-NEXT: "rows": 2
// JSON: "link_load": [
// JSON-NEXT: {
// JSON-NEXT: "entry": "main",
// JSON-NEXT: "unknown_launches": 0,
// JSON-NEXT: "fullest": [
// JSON-NEXT: {
// JSON-NEXT: "words": 18,

// SVG: <pattern id="out"
// SVG: <title>kept out: 1x2 at (5,0)</title>
// SVG: class="keep-out"
// SVG: fullest link of main: 18 words out of (3,0) to the east: @transfer 16 @row_cast_1 2<
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
