// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wse-dump-placement -o /dev/null | FileCheck %s --check-prefix=TEXT
// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wse-dump-placement="file=%t.txt" -o /dev/null && FileCheck %s --check-prefix=TEXT < %t.txt
// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wse-dump-placement="file=%t.json" -o /dev/null && FileCheck %s --check-prefix=JSON < %t.json
// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wse-dump-placement="file=%t.svg" -o /dev/null && FileCheck %s --check-prefix=SVG < %t.svg

// The JSON is what its schema says, in every state.
// RUN: wse-opt %s --wsec-place --wse-dump-placement="file=%t.placed.json" -o /dev/null
// RUN: wse-opt %s --wsec-place --wsec-route --wse-dump-placement="file=%t.routed.json" -o /dev/null
// RUN: %python %S/../../check_placement.py %t.placed.json %t.routed.json %t.json
// RUN: sed 's/"kind": "load"/"kind": 3/' %t.json > %t.bad.json && not %python %S/../../check_placement.py %t.bad.json | FileCheck %s --check-prefix=BAD
// BAD: placement.kernels[0].kind: 3 is not of type 'string'

// What is not decided yet is not shown.
// RUN: wse-opt %s --wsec-place --wse-dump-placement -o /dev/null | FileCheck %s --check-prefix=PLACED

// TEXT:      @main (scheduled) on 8x4 PEs of wse2; one character = 1x1 PEs, '>' an I/O channel
// TEXT:           0 >AAAAAAAA>
// TEXT-NEXT:      1 >AAAAAAAA>
// TEXT-NEXT:      2 >AAAAAAAA>
// TEXT-NEXT:      3 >AAAAAAAA>
// TEXT:      regions
// TEXT-NEXT:   A  @r 8x4 at (0,0), 3 kernels
// TEXT-NEXT: channels
// TEXT-NEXT:   4 in at the west edge, 4 out at the east edge
// TEXT-NEXT: streams, {{[0-9]+}} of 21 colors
// TEXT-NEXT:   @launch         launch      color {{[0-9]+}}, {{[0-9]+}} rules
// TEXT:        @row_west       row_west    colors {{[0-9]+,[0-9]+}}, 4 rules
// TEXT:      SRAM of the fullest PE
// TEXT-NEXT:   [{{#+-+}}] {{[0-9]+}} of 49152 bytes, by {{[a-z]+}}
// TEXT-NEXT: kernels
// TEXT-NEXT:   0  load          8x4 at (0,0), [{{[0-9]+}},[[#SECOND:]])  embed
// TEXT-NEXT:   1  softmax       8x4 at (0,0), [[[#SECOND]],[[#SECOND+4]])
// TEXT-NEXT:   2  store         8x4 at (0,0)

// JSON: "state": "scheduled"
// JSON: "west": [
// JSON-NEXT: {
// JSON-NEXT: "row": 0,
// JSON-NEXT: "begin": 0,
// JSON-NEXT: "end": 2
// JSON: "regions": [
// JSON-NEXT: {
// JSON-NEXT: "name": "r"
// JSON-NEXT: "x": 0
// JSON: "name": "embed"
// JSON: "kind": "load"
// JSON: "address": {{[0-9]+}}
// JSON: "pattern": "row_west"
// JSON: "peak_bytes"

// SVG: <svg xmlns="http://www.w3.org/2000/svg"
// SVG: main (scheduled), 8x4 PEs of wse2
// SVG: columns 0 to 7 eastward, rows 0 to 3 southward
// SVG: SRAM of the fullest PE
// SVG: row_west: row_west, color
// SVG: </svg>

// PLACED: @main (placed)
// PLACED-NOT: streams
// PLACED-NOT: SRAM

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(8x4) machine("wse2") {
  region @r shape(8x4)
  input @x : tensor<3x8xf32>
  %x = load @x on @r {nodes = ["embed"]} : tensor<1x3x8xf32, #tokens>
  %y = softmax %x on @r {nodes = ["probabilities"]} : tensor<1x3x8xf32, #tokens>
  store %y to "y" on @r : tensor<1x3x8xf32, #tokens> to tensor<3x8xf32>
}
