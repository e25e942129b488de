// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_MAP_PASSES_TD
#define WSEC_TOOLS_MAP_PASSES_TD

include "mlir/Pass/PassBase.td"

def DumpPlacementPass : Pass<"wse-dump-placement", "::wsec::wse::ProgramOp"> {
  let summary = "Writes a map of a program for people and tools.";
  let description = [{
    The name of the file says what it becomes: `.txt` a map for the terminal,
    `.json` an object as in tools/map/placement.schema.json, `.svg` a
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

#endif // WSEC_TOOLS_MAP_PASSES_TD
