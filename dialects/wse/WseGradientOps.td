// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the backward pass alone. Included by WseOps.td, which has the
// classes.
#ifndef WSEC_DIALECTS_WSE_WSEGRADIENTOPS_TD
#define WSEC_DIALECTS_WSE_WSEGRADIENTOPS_TD

def Wse_WeightGradientOp : Wse_KernelOp<"weight_gradient", (ins
    Wse_Tiled:$kept, Wse_Tiled:$cast, StrAttr:$output,
    TypeAttrOf<AnyRankedTensor>:$type, UnitAttr:$kept_first)> {
  let summary = "Sums the products of all features of two tensors over their tokens, off the wafer.";
  let description = [{
    `output[c, k] = sum over tokens t of cast[t, c] * kept[t, k]`, or with
    `kept_first` the same at `output[k, c]`. `cast` is multicast along the rows. Each PE
    multiplies it by its features of `kept`, over its own tokens, some features of `cast` at a
    time; these blocks are summed up along the columns, from both sides to the row of the exit, and leave as a store
    `by_columns` does.

    ```mlir
    weight_gradient %dy by %x to "w.gradient" on @r {nodes = ["fc/backward"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>, tensor<1x6x3xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
    ```

    - (C1) Both have f32 and the same tokens in the same rows, which are not
      replicated, and features that are not.
    - (C2) The output has an element for each two features.
  }];
  let assemblyFormat = "$kept `by` $cast `to` $output (`kept_first` $kept_first^)? `on` $region attr-dict `:` type($kept) `,` type($cast) `to` $type";
  let hasVerifier = 1;
}

def Wse_AttentionGradientOp : Wse_KernelOp<"attention_gradient", (ins
    Wse_Tiled:$query, Wse_Tiled:$key, Wse_Tiled:$value, Wse_Tiled:$attended, Wse_Tiled:$gradient,
    I64Attr:$num_heads, F64Attr:$scale, DefaultValuedAttr<Wse_Terms, "{}">:$terms,
    UnitAttr:$few_scores),
    [AllTypesMatch<["query", "of_query"]>, AllTypesMatch<["key", "of_key"]>,
     AllTypesMatch<["value", "of_value"]>, AllTypesMatch<["attended", "gradient"]>]> {
  let summary = "The gradients of an attention's queries, keys and values.";
  let description = [{
    Of an `attention` without masks, its result and the gradient of that, head by head as `onnx.attention_gradient`
    says. Queries stay, keys and values come as they do in `attention`; weights are computed again, of some keys at a time, and
    with `few_scores` of fewer, in less SRAM and more cycles. What rows have of the
    gradients of keys and values is summed up north along the column, and multicast south.

    ```mlir
    %d:3 = attention_gradient %q, %k, %v, %y, %dy heads(2) scale(0.5) on @r {nodes = ["attn"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>, tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>, tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>, tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>
    ```

    - (C1) Query, key and value have `heads` columns, `num_heads` of them, over equally many columns; query and
      key have the same head size.
    - (C2) Key and value have the same tokens; all have the same batch, and f32.
    - (C3) The attended tensor has the tokens of the query and the columns of the value; its gradient
      and the results have the types of what they are of.
    - (C4) The terms obey the rules of `onnx.attention_gradient`.
  }];
  let results = (outs Wse_Tiled:$of_query, Wse_Tiled:$of_key, Wse_Tiled:$of_value);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $attended `,` $gradient
    `heads` `(` $num_heads `)` `scale` `(` $scale `)` (`terms` $terms^)?
    `on` $region attr-dict `:` type($query) `,` type($key) `,` type($value) `,` type($attended)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    auto eachTerm() { return getTerms().getAsRange<::wsec::onnx::TermAttr>(); }
  }];
}

def Wse_NormGradientOp : Wse_KernelOp<"norm_gradient", (ins
    Wse_Tiled:$input, Wse_Tiled:$gradient, Wse_WeightAttr:$scale, F64Attr:$epsilon, UnitAttr:$centred),
    [AllTypesMatch<["input", "gradient", "of_input", "normal"]>]> {
  let summary = "The gradient of what a norm is of, and its normalized values.";
  let description = [{
    As `onnx.norm_gradient` says. Means of a row are reduced west, two at a time, and multicast back, as in
    `layer_norm`.

    ```mlir
    parameter @g = dense<1.0> : tensor<6xf32>
    %d:2 = norm_gradient %x, %dy scale <@g : tensor<6xf32>> epsilon(1.0e-5) centred on @r {nodes = ["ln/backward"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) The scale has one element per feature.
    - (C2) Features are not replicated over the columns.
  }];
  let results = (outs Wse_Tiled:$of_input, Wse_Tiled:$normal);
  let assemblyFormat = [{
    $input `,` $gradient `scale` $scale `epsilon` `(` $epsilon `)` (`centred` $centred^)?
    `on` $region attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_WSE_WSEGRADIENTOPS_TD
