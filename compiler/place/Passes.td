// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_PASSES_TD
#define WSEC_COMPILER_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceKernelsPass : Pass<"wse-place-kernels", "::wsec::wse::ProgramOp"> {
  let summary = "Gives every region its place on the mesh.";
  let description = [{
    selected -> placed. A region that has a position already keeps it.

    ```mlir
    region @r shape(4x5)                                  // before
    region @r shape(4x5) at (0, 0)                        // after
    ```

    With `placement` all regions get the positions that a file says, which are
    held against the rules; it is what `--dump-placement=FILE.json` writes.

    See test/compiler/place/place-kernels.mlir.
  }];
  let options = [
    Option<"placement", "placement", "std::string", "\"\"",
           "Placement as JSON that says where regions lie.">
  ];
}

def VerifyPlacedPass : Pass<"wse-verify-placed", "::wsec::wse::ProgramOp"> {
  let summary = "Checks a placed program against PlacementProblem.";
  let description = [{
    Every region has a position, and they keep the rules P1 to P4 of
    compiler/place/PlacementProblem.h.
  }];
}

def DumpPlacementPass : Pass<"wse-dump-placement", "::wsec::wse::ProgramOp"> {
  let summary = "Writes a map of a program for people and tools.";
  let description = [{
    The name of the file says what it becomes: `.txt` a map for the terminal,
    `.json` an object as in compiler/place/placement.schema.json, `.svg` a
    drawing, `.html` a page to look around in. Streams and SRAM are shown once
    the program is routed and scheduled.
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
