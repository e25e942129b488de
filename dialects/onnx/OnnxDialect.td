// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DIALECTS_ONNX_ONNXDIALECT_TD
#define DIALECTS_ONNX_ONNXDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::wsec::onnx";
  let summary = "The model: operators on tensors, with ONNX's names and meaning.";
  let description = [{
    ```
    model.onnx --import--> [onnx] --infer, canonicalize--> [onnx] --select--> wse
    ```

    A module holds one `func.func @main` whose arguments and results carry the
    names of the model's inputs and outputs (`onnx.name`). The dialect is used
    at two moments:

    - after **import** there are only `onnx.constant`, `onnx.none` and the
      generic `onnx.node`, and `onnx.parameter` of the module for what has a
      name to train by; results of nodes are of type `!onnx.unknown`;
    - after **canonicalize** every type is a ranked tensor of known shape and every
      node is one of the named operators below, or the model was refused.

    Attributes of the module: `onnx.opset` (version of the default domain),
    `onnx.model` (name), `onnx.parameters` (elements of all initializers) and
    `onnx.weight_bytes`.
  }];
  let extraClassDeclaration = [{
    void registerAttributes();

    /// Where files of `external` lie, for what reads them. Set once, before
    /// anything is parsed; none: the current folder.
    std::vector<std::string> weightFolders;
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Onnx_Type<string name, string typeMnemonic>
    : TypeDef<Onnx_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Onnx_UnknownType : Onnx_Type<"Unknown", "unknown"> {
  let summary = "Stands for a tensor type that shape inference has not found yet.";
  let description = [{
    ONNX files rarely state the types of intermediate values, and what they
    state holds for unbound dimensions. Import therefore leaves results open
    and infer finds them all from the bound inputs.

    ```mlir
    %sum = onnx.node "Add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
    ```
  }];
}

#endif // DIALECTS_ONNX_ONNXDIALECT_TD
