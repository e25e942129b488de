// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_PASSES_TD
#define WSEC_COMPILER_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceKernelsPass : Pass<"wse-place-kernels", "::wsec::wse::ProgramOp"> {
  let summary = "Gives every kernel its region and the program its I/O channels.";
  let description = [{
    selected -> placed. A kernel needs the whole width of the mesh and the rows
    that hold its tokens; kernels that share tensors share their origin.

    ```mlir
    %y = softmax %x : ...                                 // before
    %y = softmax %x {region = #wse.rect<x = 0 to 4, y = 0 to 5>} : ...
    ```

    See test/compiler/place/place-kernels.mlir.
  }];
}

def VerifyPlacedPass : Pass<"wse-verify-placed", "::wsec::wse::ProgramOp"> {
  let summary = "Checks a placed program against PlacementProblem.";
  let description = [{
    Every kernel has a region, and regions and channels keep the rules P1 to P5 of
    compiler/place/PlacementProblem.h.
  }];
}

def DumpPlacementPass : Pass<"wse-dump-placement", "::wsec::wse::ProgramOp"> {
  let summary = "Writes a map of a program for people and tools.";
  let description = [{
    The name of the file says what it becomes: `.txt` a map for the terminal,
    `.json` an object as in compiler/place/placement.schema.json, `.svg` a
    drawing. Streams and SRAM are shown once the program is routed and
    scheduled.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "Where to write; standard output as text if empty.">
  ];
}

#endif // WSEC_COMPILER_PLACE_PASSES_TD
