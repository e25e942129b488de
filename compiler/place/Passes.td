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

#endif // WSEC_COMPILER_PLACE_PASSES_TD
