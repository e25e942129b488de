// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_DIALECTS_PE_PEDIALECT_TD
#define WSEC_DIALECTS_PE_PEDIALECT_TD

include "mlir/IR/OpBase.td"

def Pe_Dialect : Dialect {
  let name = "pe";
  let cppNamespace = "::wsec::pe";
  let summary = "What each processing element of the wafer does.";
  let description = [{
    ```
      wse (kernels, distributed tensors, streams)
        | convert-wse-to-pe
        v
      pe  (routes, classes of equal PEs, buffers, vector instructions)
        | emit
        v
      .wafer (program.fbs)
    ```

    *Enters*: a scheduled `wse.program`, or a program a person writes by hand.
    *Leaves*: bytes, one table of `runtime/program/program.fbs` for each op.
    *Still undecided here*: nothing. Colors, addresses, microthreads and the
    order of every addition are fixed; emission only counts and packs.

    PEs that do the same form one `pe.class`, a list of rectangles. What differs
    between its members (how many features, which neighbour) is computed from
    their coordinates by scalars, so a program does not grow with the mesh.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();

    /// Of the program that is read next; see PeParameters.h.
    Parameters parameters;

    /// Of words that name no op: what was probably meant.
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef opName) const override;
  }];
}

#endif // WSEC_DIALECTS_PE_PEDIALECT_TD
