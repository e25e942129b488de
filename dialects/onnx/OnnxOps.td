// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DIALECTS_ONNX_ONNXOPS_TD
#define DIALECTS_ONNX_ONNXOPS_TD

include "dialects/onnx/OnnxDialect.td"
include "dialects/onnx/OnnxAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// A value between operators: ranked once infer has run.
def Onnx_Tensor : AnyTypeOf<[AnyRankedTensor, Onnx_UnknownType]>;
def Onnx_Value : AnyTypeOf<[AnyRankedTensor, Onnx_UnknownType, NoneType]>;
/// Name of the ONNX node an operation stands for: its identity in reports.
def Onnx_NodeName : DefaultValuedStrAttr<StrAttr, "">;

class Onnx_Op<string mnemonic, list<Trait> traits = []>
    : Op<Onnx_Dialect, mnemonic,
         !listconcat(traits, [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface,
                                        ["getAsmResultNames"]>])> {
  // Values are called as their nodes: %fc1_relu, %embeddings_Add_0.
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(
        ::mlir::OpAsmSetValueNameFn setNameFn) {
      nameResultsAfterNode(getOperation(), setNameFn);
    }
  }];
}

//===----------------------------------------------------------------------===//
// What import produces.
//===----------------------------------------------------------------------===//

def Onnx_ParameterOp : Op<Onnx_Dialect, "parameter", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declares a tensor of the model that has a name.";
  let description = [{
    It has the name of the initializer, whose elements `value` holds; training
    starts there. Constants are views of it, however many and wherever they
    are used, so two with equal elements stay two, and one that is used twice is
    one. Of a `trainable` one nothing is computed ahead of time but views. A
    `frozen` one keeps its elements: what is made of them alone is folded.

    - (C1) `value` is dense elements or `#onnx.external`, as many as the type has.
    - (C2) elements are f16, bf16 or f32, as they are stored, and there is a
      dimension.

    ```mlir
    onnx.parameter @fc1.weight = external<"mlp.onnx", 4096, 1536> : tensor<16x24xf32> trainable
    onnx.parameter @fc1.bias = dense<0.0> : tensor<24xf32> frozen
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, AnyAttr:$value,
                       TypeAttrOf<AnyStaticShapeTensor>:$type,
                       Onnx_ParameterUse:$use);
  let assemblyFormat = [{
    $sym_name `=` custom<ParameterData>($value, $type) $use attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    bool isTrainable() { return getUse() == ParameterUse::Trainable; }
  }];
}

def Onnx_ConstantOp : Onnx_Op<"constant",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Holds a tensor known at compile time, or a view of a parameter.";
  let description = [{
    `value` is dense elements (small data), `#onnx.external` (data that stays
    in its file), `#onnx.quantized` (integers of few bits that stand for f32) or
    `#onnx.parameter` (what training may change). A view tells which stored elements the result takes: element
    `i` of the result is the stored element `offset + sum(i[d] * strides[d])`.
    Transpose, Slice, Split, Expand and Reshape of weights fold into views and
    touch no bytes. Without a view the result is the stored data, row major.

    - (C1) `value` is dense elements, `#onnx.external`, `#onnx.quantized` or
      `#onnx.parameter`.
    - (C2) stored and result element types are equal, or another float is
      stored and the result, converted when it is read, is f32.
    - (C3) without a view, the stored data has as many elements as the result.
    - (C4) `strides` has one entry per dimension of the result.
    - (C5) a view stays inside the stored data.
    - (C6) elements are numbers, and countable.
    - (C7) a parameter is one of the module, of the type that is stated.

    ```mlir
    %shape = onnx.constant dense<[1, -1]> : tensor<2xi64>
    %w = onnx.constant external<"bert.onnx", 4096, 1536> : tensor<16x24xf32>
    %wt = onnx.constant external<"bert.onnx", 4096, 1536>
        view offset 0 strides [1, 24] : tensor<24x16xf32>
    %half = onnx.constant external<"half.onnx", 4096, 768, f16> : tensor<16x24xf32>
    %rows = onnx.constant dense<[1, 2, 3]> : tensor<3xi64>
        view offset 0 strides [0, 1] -> tensor<4x3xi64>
    %q = onnx.constant #onnx.parameter<@c_attn.weight : tensor<16x48xf32>>
        view offset 0 strides [48, 1] -> tensor<16x16xf32>
    ```
  }];
  let arguments = (ins AnyAttr:$value, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       Onnx_NodeName:$node);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    custom<StoredTensor>($value, $offset, $strides, type($result)) attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getResult().getType());
    }
    /// Bits of one stored element (a bool takes a byte).
    static unsigned storedBits(::mlir::Type elementType);
    /// Type of the stored elements; narrower than the result's if they are
    /// converted when they are read.
    ::mlir::Type getStoredType();
    /// Number of elements that are stored (not of the result).
    int64_t getStoredElements();
    /// Offset and strides of the result, those of a dense row-major tensor
    /// when there is no view.
    int64_t getViewOffset() { return getOffset().value_or(0); }
    ::llvm::SmallVector<int64_t> getViewStrides();
    bool hasView() { return getStridesAttr() != nullptr; }
    /// The parameter that it is a view of, or null.
    ParameterOp getParameter();
  }];
}

def Onnx_NoneOp : Onnx_Op<"none"> {
  let summary = "Stands for an input that a node leaves out.";
  let description = [{
    ```mlir
    %none = onnx.none
    %y = onnx.node "Clip"(%x, %none, %max) : (tensor<4xf32>, none, tensor<f32>) -> !onnx.unknown
    ```
  }];
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict";
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(
        ::mlir::OpAsmSetValueNameFn setNameFn) {
      setNameFn(getResult(), "none");
    }
  }];
}

def Onnx_NodeOp : Onnx_Op<"node"> {
  let summary = "Applies any ONNX operator, as the model states it.";
  let description = [{
    `onnx_attributes` holds what the node states and nothing else: defaults are
    those of the operator at `onnx.opset` of the module. The empty domain is
    ONNX's own.

    - (C1) the operator's name is not empty.
    - (C2) there is a result.

    ```mlir
    %s = onnx.node "Softmax"(%x) with {axis = -1 : i64} {node = "probs"} : (tensor<2x4xf32>) -> !onnx.unknown
    %g = onnx.node "FastGelu" of "com.microsoft" (%x) {node = "gelu"} : (tensor<2x4xf32>) -> !onnx.unknown
    ```
  }];
  let arguments = (ins StrAttr:$op_type, DefaultValuedStrAttr<StrAttr, "">:$domain,
                       Variadic<Onnx_Value>:$inputs,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$onnx_attributes,
                       Onnx_NodeName:$node);
  let results = (outs Variadic<Onnx_Tensor>:$outputs);
  let assemblyFormat = [{
    $op_type (`of` $domain^)? `(` $inputs `)` (`with` $onnx_attributes^)?
    attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What infer and canonicalize produce: products, attention, norms.
//===----------------------------------------------------------------------===//

def Onnx_MatMulOp : Onnx_Op<"matmul"> {
  let summary = "Multiplies rows by a weight matrix and adds a bias.";
  let description = [{
    `y[..., n] = sum over k of x[..., k] * weight[k, n] + bias[n]`.

    - (C1) `weight` has rank 2 and as many rows as the last extent of `x`.
    - (C2) `bias` has rank 1 and as many elements as `weight` has columns.
    - (C3) the result is `x` with its last extent replaced by the columns.

    ```mlir
    %y = onnx.matmul %x, %w bias %b : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<24xf32>) -> tensor<1x8x24xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$weight,
                       Optional<AnyRankedTensor>:$bias, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_BatchMatMulOp : Onnx_Op<"batch_matmul"> {
  let summary = "Multiplies the matrices of two tensors.";
  let description = [{
    `y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]`; the leading
    dimensions broadcast as in numpy. What no weight and no attention is.

    - (C1) both operands have rank 2 or more, `b` as many rows as `a` columns.
    - (C2) the result has the broadcast leading dimensions, the rows of `a` and
      the columns of `b`.

    ```mlir
    %y = onnx.batch_matmul %a, %b : (tensor<2x8x16xf32>, tensor<2x16x24xf32>) -> tensor<2x8x24xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat =
      "$a `,` $b attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Onnx_AttentionOp : Onnx_Op<"attention"> {
  let summary = "Attends: softmax(scale * q k^T + bias) v for each head.";
  let description = [{
    Heads lie side by side in the last dimension: head `h` of a tensor with
    heads of size D is features `[h*D, (h+1)*D)`. Keys and values may have
    fewer heads, `kv_heads`: each serves as many heads of the queries in a row.
    `softcap` c bounds scores: s becomes `c * tanh(s / c)`. Then the `terms` act
    on them, in order, with the `masks` (`#onnx.term`): masks that are added or
    that replace scores, causality, guards against NaN. A mask is the same for all
    heads, or, of rank 3, has the keys of each head side by side.

    - (C1) `q`, `k`, `v` have rank 3 and equal batch extents.
    - (C2) `num_heads` divides the features of `q`, `kv_heads` those of `k` and
      `v` and `num_heads`.
    - (C3) heads of `q` and `k` have equal size; `k` and `v` equal tokens.
    - (C4) the result has the batch and tokens of `q` and `num_heads` heads of
      the size of those of `v`.
    - (C5) each mask is `[B|1, 1, S|1, T]` or `[B|1, S, num_heads*T]`.
    - (C6) `softcap` is positive.
    - (C7) the terms take the masks in order, each once.
    - (C8) terms of weights, at most one, stand behind those of scores;
      `zero_hidden` behind a single one, which adds a mask.
    - (C9) where later keys are hidden there are as many keys as queries.

    ```mlir
    %a = onnx.attention %q, %k, %v masks %mask {num_heads = 4 : i64, scale = 0.5 : f32,
        terms = [#onnx.term<add operand 0>, #onnx.term<replace later 0xFF800000 : f32>]}
        : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x1x1x8xf32>) -> tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
                       AnyRankedTensor:$v, Variadic<AnyRankedTensor>:$masks,
                       I64Attr:$num_heads, OptionalAttr<I64Attr>:$kv_heads,
                       F32Attr:$scale, OptionalAttr<F32Attr>:$softcap,
                       DefaultValuedAttr<Onnx_Terms, "{}">:$terms,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let extraClassDeclaration = [{
    /// Heads of keys and values.
    int64_t keyHeads() { return getKvHeads().value_or(getNumHeads()); }
    /// Heads of the queries that share one of them.
    int64_t headsPerKey() { return getNumHeads() / keyHeads(); }
    auto eachTerm() { return getTerms().getAsRange<TermAttr>(); }
  }];
  let assemblyFormat = [{
    $q `,` $k `,` $v (`masks` $masks^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_RotaryOp : Onnx_Op<"rotary"> {
  let summary = "Turns pairs of features of each head by their token's angles.";
  let description = [{
    Of each of `num_heads` heads the first `rotary_dim` features turn, the
    others stay. Pairs are i and i + rotary_dim / 2 or, `interleaved`, 2i and
    2i + 1. With a the first and b the second of a pair:

    ```
    y[a] = x[a] * cos[a] - x[b] * sin[a]
    y[b] = x[b] * cos[b] + x[a] * sin[b]
    ```

    - (C1) `x` has rank 3 and `num_heads` divides its features.
    - (C2) `rotary_dim` is even, positive and at most the size of a head.
    - (C3) `cos` and `sin` are `[B|1, S|1, E]` of one type, E being `rotary_dim`
      or, with one number for both features of a pair, half of it.
    - (C4) the result has the type of `x`.

    ```mlir
    %y = onnx.rotary %x, %cos, %sin {num_heads = 4 : i64, rotary_dim = 4 : i64}
        : (tensor<2x8x16xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$cos,
                       AnyRankedTensor:$sin, I64Attr:$num_heads,
                       I64Attr:$rotary_dim, UnitAttr:$interleaved,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x `,` $cos `,` $sin attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_LayerNormOp : Onnx_Op<"layer_norm"> {
  let summary = "Normalizes the last axis to mean 0 and variance 1, then scales.";
  let description = [{
    - (C1) `scale` and `bias` have rank 1 and the last extent of `x`.
    - (C2) the result has the type of `x`.

    ```mlir
    %y = onnx.layer_norm %x, %g bias %b {epsilon = 1.0e-5 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$scale,
                       Optional<AnyRankedTensor>:$bias, F32Attr:$epsilon,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x `,` $scale (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_RMSNormOp : Onnx_Op<"rms_norm"> {
  let summary = "Divides the last axis by its root mean square, then scales.";
  let description = [{
    With `num_heads` the last axis is so many heads side by side, and each is
    divided by its own.

    - (C1) `scale` has rank 1 and the last extent of `x`.
    - (C2) the result has the type of `x`.
    - (C3) `num_heads` divides the last extent.

    ```mlir
    %y = onnx.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$scale,
                       F32Attr:$epsilon, OptionalAttr<I64Attr>:$num_heads,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat =
      "$x `,` $scale attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Onnx_SoftmaxOp : Onnx_Op<"softmax", [SameOperandsAndResultType]> {
  let summary = "Turns the last axis into probabilities.";
  let description = [{
    ```mlir
    %p = onnx.softmax %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Onnx_GatherOp : Onnx_Op<"gather"> {
  let summary = "Looks rows of a table up by number.";
  let description = [{
    `y[i..., f] = table[ids[i...], f]`; negative numbers count from the end.

    - (C1) `table` has rank 2; `ids` are i32 or i64.
    - (C2) the shape of the result is that of `ids`, then the row length.

    ```mlir
    %e = onnx.gather %table, %ids : (tensor<100x16xf32>, tensor<1x8xi64>) -> tensor<1x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$ids,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat =
      "$table `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Onnx_CrossEntropyOp : Onnx_Op<"cross_entropy"> {
  let summary = "Measures how far tokens are from their labels.";
  let description = [{
    With p the softmax of a token's logits, c its label, V classes, w their
    weights or 1, and e the `label_smoothing`, the loss of a token is

    ```
    (1 - e) * w[c] * -log p[c]  +  e / V * sum over j of w[j] * -log p[j]
    ```

    or 0 if c is `ignore_index`. `sum` adds up, `mean` divides that by the sum of
    w[c] over the tokens that are not ignored, `none` leaves each its own. Of
    `normalized` logits, which are log p already, no softmax is taken. A label
    that is no class has an infinite loss.

    - (C1) `labels` are i32 or i64, of the shape of `logits` without the last
      extent, which are the classes.
    - (C2) `weights` have rank 1, an element for each class.
    - (C3) `label_smoothing` lies between 0 and 1.
    - (C4) the result has the shape of `labels` if the reduction is `none`, else
      none.

    ```mlir
    %loss = onnx.cross_entropy mean %z, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f32}
        : (tensor<2x8x97xf32>, tensor<2x8xi64>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Onnx_LossReductionAttr:$reduction,
                       AnyRankedTensor:$logits, AnyRankedTensor:$labels,
                       Optional<AnyRankedTensor>:$weights,
                       OptionalAttr<I64Attr>:$ignore_index,
                       F32Attr:$label_smoothing, UnitAttr:$normalized, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$loss);
  let assemblyFormat = [{
    $reduction $logits `,` $labels (`weights` $weights^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What infer and canonicalize produce: element by element.
//===----------------------------------------------------------------------===//

def Onnx_UnaryOp : Onnx_Op<"unary", [SameOperandsAndResultType]> {
  let summary = "Applies a function to each element.";
  let description = [{
    ```mlir
    %y = onnx.unary tanh %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Onnx_UnaryKindAttr:$kind, AnyRankedTensor:$x,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
}

def Onnx_BinaryOp : Onnx_Op<"binary"> {
  let summary = "Combines two tensors element by element.";
  let description = [{
    Shapes broadcast as in numpy: aligned at the last dimension, extent 1 or a
    missing dimension repeats.

    - (C1) the shapes broadcast to the shape of the result.
    - (C2) operands have one element type.
    - (C3) a comparison gives i1, any other kind the type of its operands.

    ```mlir
    %y = onnx.binary add %x, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Onnx_BinaryKindAttr:$kind, AnyRankedTensor:$a,
                       AnyRankedTensor:$b, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $kind $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_WhereOp : Onnx_Op<"where"> {
  let summary = "Chooses between two tensors element by element.";
  let description = [{
    - (C1) the three shapes broadcast to the shape of the result.
    - (C2) `condition` is i1; `a`, `b` and the result have one element type.

    ```mlir
    %y = onnx.where %c, %a, %b : (tensor<8x1xi1>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$condition, AnyRankedTensor:$a,
                       AnyRankedTensor:$b, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $condition `,` $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_CastOp : Onnx_Op<"cast", [SameOperandsAndResultShape]> {
  let summary = "Converts each element to another type.";
  let description = [{
    ```mlir
    %y = onnx.cast %x : tensor<2x8xi64> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

def Onnx_ReduceOp : Onnx_Op<"reduce"> {
  let summary = "Combines all elements along some axes.";
  let description = [{
    - (C1) `axes` are in increasing order, inside the rank, at least one.
    - (C2) the result is `x` with these axes of extent 1, or without them
      unless `keepdims`.

    ```mlir
    %y = onnx.reduce mean %x {axes = array<i64: 1>, keepdims = false} : tensor<2x8x16xf32> -> tensor<2x16xf32>
    ```
  }];
  let arguments = (ins Onnx_ReduceKindAttr:$kind, AnyRankedTensor:$x,
                       DenseI64ArrayAttr:$axes, BoolAttr:$keepdims,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What differentiate produces besides.
//===----------------------------------------------------------------------===//

def Onnx_KeepOp : Onnx_Op<"keep", [SameOperandsAndResultType]> {
  let summary = "Gives a tensor again, later.";
  let description = [{
    The wafer sends `x` to the store when it has it, and gets it back where the
    result is used: in between it takes no SRAM. With `on_wafer` it stays where
    it is. So what is computed of the result is not what was computed of `x`.

    ```mlir
    %later = onnx.keep %x : tensor<1x8x16xf32>
    %stays = onnx.keep %x {on_wafer} : tensor<1x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, UnitAttr:$on_wafer,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Onnx_GradientOp : Op<Onnx_Dialect, "gradient",
    [MemoryEffects<[MemWrite]>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Adds a tensor to the gradient of a parameter.";
  let description = [{
    A view tells to which elements, as that of a constant tells which elements it
    takes: element `i` of `value` is added to the gradient of element
    `offset + sum(i[d] * strides[d])` of the parameter. Without one `value` has
    all of them in row-major order. With `rows` the elements `value[i..., f]` are
    added to row `rows[i...]` of the parameter, one after the other in row-major
    order of `i`; negative numbers count from the end. What several of these add
    to one parameter is added in the store.

    - (C1) `parameter` is one of the module that is trainable; `value` is f32.
    - (C2) without a view and rows, `value` has as many elements as the parameter.
    - (C3) `strides` has one entry per dimension of `value`, the view stays inside
      of the parameter and names no element twice.
    - (C4) `rows` are i32 or i64, the parameter has rank 2, there is no view, and
      the shape of `value` is that of `rows`, then the row length.

    ```mlir
    onnx.gradient %dw of @fc1.weight : tensor<16x24xf32>
    onnx.gradient %dk of @c_attn.weight view offset 16 strides [48, 1] : tensor<16x16xf32>
    onnx.gradient %de of @wte rows %ids : tensor<1x8x16xf32>, tensor<1x8xi64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, FlatSymbolRefAttr:$parameter,
                       Optional<AnyRankedTensor>:$rows,
                       OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       Onnx_NodeName:$node);
  let assemblyFormat = [{
    $value `of` $parameter custom<View>($offset, $strides) (`rows` $rows^)?
    attr-dict `:` type($value) (`,` type($rows)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool hasView() { return getStridesAttr() != nullptr; }
    int64_t getViewOffset() { return getOffset().value_or(0); }
    /// Of each dimension of the value; without rows.
    ::llvm::SmallVector<int64_t> getViewStrides();
  }];
}

// Of operators of the model.
include "dialects/onnx/OnnxGradientOps.td"
// Shape only.
include "dialects/onnx/OnnxMovementOps.td"
// Caches.
include "dialects/onnx/OnnxStateOps.td"

#endif // DIALECTS_ONNX_ONNXOPS_TD
