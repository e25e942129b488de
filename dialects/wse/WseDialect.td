// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_DIALECTS_WSE_WSEDIALECT_TD
#define WSEC_DIALECTS_WSE_WSEDIALECT_TD

include "mlir/IR/OpBase.td"

def Wse_Dialect : Dialect {
  let name = "wse";
  let cppNamespace = "::wsec::wse";
  let summary = "The wafer: kernels, distributed tensors, streams, time slots.";
  let description = [{
    ```
    onnx  --select-->  wse  --place--> --route--> --schedule-->  --lower-->  pe
    ```
    What enters is a model whose operators are named `onnx` ops. Here every one
    is a kernel that the whole mesh runs, every tensor on the wafer says which
    PE owns which element, and weights are attributes that name bytes in files:
    they stream past and are never values. What leaves is a program in which
    each kernel has a region, streams with colors and routes, SRAM addresses
    and a time slot; what a single PE does in it is decided by `lower`.

    A program is in exactly one state: selected, placed, routed or scheduled.
    A state only adds facts to the same operations. The README shows one small
    program in every state.
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect", "::wsec::pe::PeDialect"];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

#endif // WSEC_DIALECTS_WSE_WSEDIALECT_TD
