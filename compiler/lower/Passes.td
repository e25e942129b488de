// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_LOWER_PASSES_TD
#define WSEC_COMPILER_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertWseToPePass : Pass<"convert-wse-to-pe", "::mlir::ModuleOp"> {
  let summary = "Writes the code that every PE runs.";
  let description = [{
    scheduled -> pe. Routes become router settings; each kernel, in the order of
    its slot, becomes a routine, host streams and a launch. Kernels whose code
    is equal down to addresses share one routine, so that code does not grow
    with the depth of a model.

    ```mlir
    load @x {slot = 0, address = 16384, ...}            // before

    routine @load { ... }                               // after
    stream in @to_load ...
    launch @load for @x streams [@to_load]
    ```

    See test/compiler/lower/convert-wse-to-pe.mlir.
  }];
  let dependentDialects = ["::wsec::pe::PeDialect"];
}

#endif // WSEC_COMPILER_LOWER_PASSES_TD
