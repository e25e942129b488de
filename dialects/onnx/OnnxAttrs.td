// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DIALECTS_ONNX_ONNXATTRS_TD
#define DIALECTS_ONNX_ONNXATTRS_TD

include "dialects/onnx/OnnxDialect.td"
include "dialects/onnx/OnnxFunctions.td"
include "mlir/IR/EnumAttr.td"

class Onnx_Attr<string name, string attrMnemonic>
    : AttrDef<Onnx_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Onnx_ExternalAttr : Onnx_Attr<"External", "external"> {
  let summary = "Names bytes of a file that hold a tensor's elements.";
  let description = [{
    The bytes `[offset, offset + bytes)` of `file`, little endian. Large
    initializers stay in the model's own file or in its external data, and are
    read only when the program runs. `file` is a path without `..`, relative to
    the folder of the model or of the IR, or to one that `--weights` names. A
    type is stated where stored elements are
    converted as they are read: `f16`, `bf16` or another float, read as f32.

    - (C1) the bytes are counted in an int64.
    - (C2) the type, if stated, is a float other than f32.

    ```mlir
    #onnx.external<"bert.onnx", 4096, 1536>
    #onnx.external<"half.onnx", 4096, 768, f16>
    ```
  }];
  let parameters = (ins StringRefParameter<"path">:$file, "uint64_t":$offset,
                        "uint64_t":$bytes,
                        OptionalParameter<"::mlir::Type">:$stored);
  let assemblyFormat = [{
    `<` $file `,` $offset `,` $bytes (`,` $stored^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Onnx_ParameterAttr : Onnx_Attr<"Parameter", "parameter"> {
  let summary = "Names a parameter of the module as what a constant views.";
  let description = [{
    `type` is that of the parameter: its elements as they are stored.

    ```mlir
    %w = onnx.constant #onnx.parameter<@fc1.weight : tensor<16x24xf32>> -> tensor<16x24xf32>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$parameter,
                        "::mlir::RankedTensorType":$type);
  let assemblyFormat = "`<` $parameter `:` $type `>`";
}

def Onnx_ParameterUse : I32EnumAttr<"ParameterUse", "what becomes of a parameter", [
    I32EnumAttrCase<"Frozen", 0, "frozen">,
    I32EnumAttrCase<"Trainable", 1, "trainable">]> {
  let cppNamespace = "::wsec::onnx";
}

def Onnx_QuantizedAttr : Onnx_Attr<"Quantized", "quantized"> {
  let summary = "Holds integers of few bits that stand for f32 numbers.";
  let description = [{
    Element i is `(values[i] - zeros[b]) * scales[b]`, rounded once to f32, where
    b is i's place in `scales`: along each dimension there is one scale for all,
    one for each index, or one for each `block` indices. Without `zeros` these
    are 0.

    - (C1) `values` are signed or unsigned integers of 4 or 8 bits, `zeros` are
      of the same type, `scales` are f32.
    - (C2) `scales` have as many dimensions as `values`; where they have more
      than one entry and not as many as `values`, one for each block.
    - (C3) `zeros` have the shape of `scales`.

    ```mlir
    %w = onnx.constant #onnx.quantized<dense<[[1, -8], [3, 7]]> : tensor<2x2xi4>
        scales dense<[[0.5, 0.25]]> : tensor<1x2xf32> block 2> -> tensor<2x2xf32>
    ```
  }];
  let parameters = (ins "::mlir::DenseElementsAttr":$values,
                        "::mlir::DenseElementsAttr":$scales,
                        OptionalParameter<"::mlir::DenseElementsAttr">:$zeros,
                        "int64_t":$block);
  let assemblyFormat = [{
    `<` $values `scales` $scales (`zeros` $zeros^)? `block` $block `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Of one of the integers.
    int64_t bits() const {
      return getValues().getElementType().getIntOrFloatBitWidth();
    }
    /// The least number of the type, so that a number less that one is from 0
    /// to 2^bits - 1.
    int64_t least() const {
      return getValues().getElementType().isUnsignedInteger()
                 ? 0
                 : -(int64_t(1) << (bits() - 1));
    }
    int64_t valueOf(int64_t element) const;
    /// The place of an element's scale and zero point.
    int64_t placeOf(int64_t element) const;
    float scaleAt(int64_t place) const;
    int64_t zeroAt(int64_t place) const;
    /// All elements, as f32.
    ::mlir::DenseElementsAttr expanded() const;
  }];
}

def Onnx_UnaryKindAttr : I32EnumAttr<"UnaryKind", "function of one element",
    !listconcat(Onnx_functions, [
      I32EnumAttrCase<"Neg", 100, "neg">, I32EnumAttrCase<"Abs", 101, "abs">,
      I32EnumAttrCase<"Reciprocal", 102, "reciprocal">,
      I32EnumAttrCase<"Rsqrt", 103, "rsqrt">,
      I32EnumAttrCase<"Sigmoid", 104, "sigmoid">,
      I32EnumAttrCase<"Round", 105, "round">, I32EnumAttrCase<"Sign", 106, "sign">,
      I32EnumAttrCase<"Not", 107, "not">, I32EnumAttrCase<"BitNot", 108, "bit_not">,
      I32EnumAttrCase<"Trunc", 109, "trunc">])> {
  let cppNamespace = "::wsec::onnx";
}

def Onnx_BinaryKindAttr : I32EnumAttr<"BinaryKind", "function of two elements", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">,
    I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Div", 3, "div">,
    I32EnumAttrCase<"Min", 4, "min">, I32EnumAttrCase<"Max", 5, "max">,
    I32EnumAttrCase<"Pow", 6, "pow">, I32EnumAttrCase<"Equal", 7, "equal">,
    I32EnumAttrCase<"Less", 8, "less">,
    I32EnumAttrCase<"LessOrEqual", 9, "less_or_equal">,
    I32EnumAttrCase<"And", 10, "and">, I32EnumAttrCase<"Or", 11, "or">,
    I32EnumAttrCase<"Mod", 12, "mod">, I32EnumAttrCase<"Remainder", 13, "remainder">,
    I32EnumAttrCase<"BitAnd", 14, "bit_and">, I32EnumAttrCase<"BitOr", 15, "bit_or">,
    I32EnumAttrCase<"BitXor", 16, "bit_xor">,
    I32EnumAttrCase<"ShiftLeft", 17, "shift_left">,
    I32EnumAttrCase<"ShiftRight", 18, "shift_right">]> {
  let cppNamespace = "::wsec::onnx";
}

def Onnx_ReduceKindAttr : I32EnumAttr<"ReduceKind", "how elements are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Max", 2, "max">]> {
  let cppNamespace = "::wsec::onnx";
}

def Onnx_LossReductionAttr : I32EnumAttr<"LossReduction", "what becomes of the losses of tokens", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Sum", 2, "sum">]> {
  let cppNamespace = "::wsec::onnx";
}

def Onnx_TermKindAttr : I32EnumAttr<"TermKind", "how a mask acts", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Replace", 1, "replace">,
    I32EnumAttrCase<"Raise", 2, "raise">,
    I32EnumAttrCase<"ZeroNaN", 3, "zero_nan">,
    I32EnumAttrCase<"ZeroEmpty", 4, "zero_empty">,
    I32EnumAttrCase<"ZeroHidden", 5, "zero_hidden">]> {
  let cppNamespace = "::wsec::onnx";
}

def Onnx_TermAttr : Onnx_Attr<"Term", "term"> {
  let summary = "Says how one part of an attention's mask acts.";
  let description = [{
    On a score s of a query and a key, first:

    - `add`: s becomes s + v, so that what is no number stays none,
    - `replace`: s becomes v where v is not 0, whatever it was,
    - `raise`: s becomes the larger of s and `to`.

    v is that element of the attention's `operand`th mask, or 0; for keys behind
    the query's own it is the lesser of that and `later`. Then on weights, what
    the softmax makes of scores:

    - `zero_nan`: those that are NaN become 0,
    - `zero_empty`: those of a query whose scores are all minus infinity,
    - `zero_hidden`: those of a query for which all of the mask that is added is
      the lowest number or minus infinity, whatever its scores.

    Rules:

    - (C1) `add` and `replace` have an operand, a number for later keys, or both;
      others have neither.
    - (C2) `raise` has a number to raise to, others have none.
    - (C3) the number for later keys is below 0. Numbers are f32.

    ```mlir
    #onnx.term<add operand 0 later -1.000000e+04 : f32>
    ```
  }];
  let parameters = (ins EnumParameter<Onnx_TermKindAttr>:$kind,
                        OptionalParameter<"std::optional<int64_t>">:$operand,
                        OptionalParameter<"::mlir::FloatAttr">:$later,
                        OptionalParameter<"::mlir::FloatAttr">:$to);
  let assemblyFormat = [{
    `<` $kind (`operand` $operand^)? (`later` $later^)? (`to` $to^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether it acts on scores, not on weights.
    bool isOfScores() const { return getKind() <= TermKind::Raise; }
  }];
}

/// Terms in the order in which they act.
def Onnx_Terms : TypedArrayAttrBase<Onnx_TermAttr, "terms of a mask">;

#endif // DIALECTS_ONNX_ONNXATTRS_TD
