// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_PASSES_TD
#define WSEC_COMPILER_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceKernelsPass : Pass<"wse-place-kernels", "::wsec::wse::ProgramOp"> {
  let summary = "Gives every region its place on the mesh.";
  let description = [{
    selected -> placed. A region that has a position already keeps it.

    ```mlir
    wse.program @main state(selected) mesh(4x5) machine("wse2") {
      region @r shape(4x5)
    }
    ```
    becomes
    ```mlir
    wse.program @main state(placed) mesh(4x5) machine("wse2") {
      region @r shape(4x5) at (0, 0)
    }
    ```

    With `placement` all regions get the positions that a file says, which are
    held against the rules; it is what `--dump-placement=FILE.json` writes.
  }];
  let options = [
    Option<"placement", "placement", "std::string", "\"\"",
           "Placement as JSON that says where regions lie.">
  ];
}

def VerifyPlacedPass : Pass<"wse-verify-placed", "::wsec::wse::ProgramOp"> {
  let summary = "Checks a placed program against PlacementProblem.";
  let description = [{
    Every region has a position, and they keep the rules P1 to P6 of
    compiler/place/PlacementProblem.h.

    ```mlir
    wse.program @main state(placed) mesh(4x5) machine("wse2") {
      region @a shape(2x5) at (0, 0)
      region @b shape(2x5) at (1, 0)
    }
    ```
    is refused:
    ```
    error: P4: region @a, 2x5 at (0,0), and region @b, 2x5 at (1,0), overlap
    ```
  }];
}

def DumpPlacementPass : Pass<"wse-dump-placement", "::wsec::wse::ProgramOp"> {
  let summary = "Writes a map of a program for people and tools.";
  let description = [{
    The name of the file says what it becomes: `.txt` a map for the terminal,
    `.json` an object as in compiler/place/placement.schema.json, `.svg` a
    drawing, `.html` a page to look around in. Streams and SRAM are shown once
    the program is routed and scheduled.

    ```mlir
    wse.program @main state(placed) mesh(4x5) machine("wse2") {
      region @a shape(2x5) at (0, 0)
      region @b shape(2x5) at (2, 0)
    }
    ```
    prints
    ```
    @main (placed) on 4x5 PEs of wse2; one character = 1x1 PEs, '>' an I/O channel
         0 >AABB>
         1 >AABB>
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "Where to write; standard output as text if empty.">,
    ListOption<"measured", "measured", "std::string",
               "Counters or the report of a run, which a page shows beside "
               "what is predicted.">
  ];
}

#endif // WSEC_COMPILER_PLACE_PASSES_TD
