// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels, those of whole rows and columns in WseRowOps.td and WseColumnOps.td. The program is in
// WseProgramOps.td, streams are in WseStreamOps.td.

#ifndef WSEC_DIALECTS_WSE_WSEOPS_TD
#define WSEC_DIALECTS_WSE_WSEOPS_TD

include "dialects/wse/WseAttrs.td"
include "dialects/wse/WseInterfaces.td"
include "dialects/wse/WseProgramOps.td"
include "dialects/wse/WseStreamOps.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// ---------------------------------------------------------------- To the wafer and off it

def Wse_LoadOp : Wse_KernelOp<"load", (ins
    Wse_SourceAttr:$source,
    DefaultValuedAttr<I64Attr, "0">:$view_offset,
    OptionalAttr<DenseI64ArrayAttr>:$strides),
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Brings an input, an intermediate or a constant onto the wafer.";
  let description = [{
    Words enter at the west channels, travel down the columns, and every PE keeps
    its own; they become f32 or i32 on the way, and an integer that the result's
    type does not hold exactly ends the run. Element (i0, i1, ...) of the result
    is element `view_offset + i0 * strides[0] + ...` of the source; a stride of
    0 repeats it, which is how broadcasts and replicated tensors load. Without
    strides the result lists the source's elements in order. A constant says so
    in its own view.

    ```mlir
    %mask = load @mask strides [4, 0, 1] on @r {nodes = ["mask"]} : tensor<2x1x4xf32, #wse.dist<rows = [0, replicated over 2], columns = []>>
    ```

    - (C1) The source is a declared input or intermediate, or a constant.
    - (C2) One stride per dimension of the result; constants have none.
    - (C3) Without strides, source and result have equally many elements;
      with strides no element lies outside the source.
    - (C4) A result of i32 has a source of integers.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    custom<Source>($source) (`offset` $view_offset^)? (`strides` $strides^)?
    `on` $region attr-dict `:` type($result)
  }];
}

def Wse_GatherOp : Wse_KernelOp<"gather", (ins
    Wse_WeightAttr:$table, Wse_SourceAttr:$ids)> {
  let summary = "Brings the rows of a table that ids name onto the wafer.";
  let description = [{
    Row `ids[b * tokens + s]` of the table becomes token s of batch element b.
    Ids are resolved where the table is: in the parameter store; ids that the
    wafer computes go there as an intermediate first. Negative ids count from the end; any other id outside the table makes the run fail.

    ```mlir
    parameter @wte = external<"m.data", 0, 240> : tensor<10x6xf32>
    %word = gather <@wte : tensor<10x6xf32>> at @ids on @r {nodes = ["word"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) The table is a matrix as wide as the result has features.
    - (C2) Ids are integers, one per token, declared or constant.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = "$table `at` custom<Source>($ids) `on` $region attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Wse_StoreOp : Wse_KernelOp<"store", (ins
    Wse_Tiled:$value, StrAttr:$output,
    DefaultValuedAttr<I64Attr, "0">:$offset,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    TypeAttrOf<AnyRankedTensor>:$type, UnitAttr:$by_columns)> {
  let summary = "Sends a tensor off the wafer, as (part of) an output or an intermediate.";
  let description = [{
    Words are gathered in a chain east along the rows, then along the last column to the east
    channels. `by_columns` they go south along each column, to the row of its exit
    (`out_column`), and there east along the columns of this exit: then all east
    channels in the last row with tokens, or south of it, have some of the words. Where
    there is none, each column has all features, two elements of 16 bits go to a
    word, or rows take tokens in turn, they go by rows all the same. Token s of batch element b goes, feature f, to element
    `offset + b * strides[0] + s * strides[1] + f * strides[2]`. Without strides
    `output` lists tokens in (b, s) order, features innermost, and the value is
    features [offset, offset + F) of it, so that an output too large for the
    SRAM leaves in pieces. Where no intermediate of that name is declared,
    `output` is one of the model.

    ```mlir
    store %y to "logits" at 3 on @r : tensor<1x6x3xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<1x6x6xf32>
    store %y to "logits" at 3 by_columns on @r : tensor<1x6x3xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<1x6x6xf32>
    store %y to "keys" strides [0, 1, 6] on @r : tensor<1x6x3xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
    ```

    - (C1) Without strides the output's elements are the tokens times its
      features, of which the value's are a part; with strides, three of them, no
      element lies outside the output.
    - (C2) Tokens are split over the rows, not replicated.
    - (C3) An intermediate of that name has the same type.
    - (C4) A value of i32 goes to a tensor of integers.
  }];
  let assemblyFormat = [{
    $value `to` $output (`at` $offset^)? (`strides` $strides^)? (`by_columns` $by_columns^)?
    `on` $region attr-dict `:` type($value) `to` $type
  }];
  let extraClassDeclaration = [{
    /// Features of the whole output: elements / tokens.
    int64_t outputFeatures();
    /// Steps of the output from batch element to batch element, token to token
    /// and feature to feature.
    std::array<int64_t, 3> outputStrides();
  }];
  let hasVerifier = 1;
}

include "dialects/wse/WseStateOps.td"

// ---------------------------------------------------------------- Kernels

def Wse_MatmulOp : Wse_KernelOp<"matmul", (ins
    Wse_Tiled:$input, Wse_WeightAttr:$weight, OptionalAttr<Wse_WeightAttr>:$bias,
    Wse_MatmulVariant:$variant, UnitAttr:$packed, OptionalAttr<Wse_EntryAttr>:$entry)> {
  let summary = "Multiplies each token with a matrix that streams past.";
  let description = [{
    `result[p, n] = sum over k of input[p, k] * weight[k, n] (+ bias[n])`.

    - `reduce`: activations stay. The column that owns feature k sees row k of
      the weights, feature n after feature n; partial sums are reduced in a chain west along the
      row, and the first column multicasts the results to their owners.
    - `broadcast`: results stay. Activations are gathered west to the first column
      and are multicast along the row; the column that owns n sees its columns
      of the weights, k after k.
    - `reduce_stored`, `broadcast_stored`: the same, but injectors take their
      words from the channel and relay them a block behind (`column_rest`), so
      that no word comes over their ramp twice.
    - `stationary`: weights stay. Each row, of weights that stream each with a
      channel, computes as many result features of all tokens, each PE with the
      weights of its column's features; activations and results move along
      columns, partial sums along rows.

    `packed` says that a quantised weight streams as it is stored, 4 or 8 to a
    word, and that PEs make f32 of it; otherwise the store does. With an `entry` the
    weight is the first of many, of which the one streams that it names; of several
    tokens all stream, and each token is multiplied by its own.

    ```mlir
    parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
    %y = matmul %x weight <@w : tensor<6x8xf32>> variant(reduce) on @r {nodes = ["fc"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x6x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) The weight is a K x N matrix, or many, the input has K features, the result N.
    - (C2) The bias has N elements.
    - (C3) Input and result have their tokens in the same rows.
    - (C4) Neither replicates features over the columns.
    - (C5) A packed weight is quantised and constant, and streams past.
    - (C6) A weight of more than two dimensions is a matrix for each of equally
      many tokens in turn, over all batch elements, none in two rows: `broadcast` alone, without bias, not packed.
    - (C7) Entries are matrices of a constant, not packed, all inside; what names them is declared,
      and has a number for each token. Several tokens, and entries that stay, are `stationary`, without a bias.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $input `weight` $weight (`bias` $bias^)? `variant` `(` $variant `)` (`packed` $packed^)? (`entry` $entry^)?
    `on` $region attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Wse_ProductsOp : Wse_KernelOp<"products", (ins
    Wse_Tiled:$input, OptionalAttr<Wse_WeightAttr>:$scale,
    OptionalAttr<F64Attr>:$epsilon,
    TypedArrayAttrBase<Wse_WeightAttr, "weights">:$weights)> {
  let summary = "Multiplies a token with several matrices that stay.";
  let description = [{
    `results[i][n] = sum over k of input[k] * weights[i][k, n]`, each as
    `stationary` of `wse.matmul` makes it: activations come down the columns
    once, the sums of all go along the rows together, and the results north behind one another.
    Of a `norm` the input is multiplied by the scale, and sums are divided by its root mean square, whose squares go
    with them: results are those of `wse.rms_norm`, where activations times the scale are numbers of their type.
    A tensor of one token may lie along the rows instead: then its features are tokens of one feature, which all columns have.
    Sums of such an input go north, where the result is; such results stay in the rows that make them.

    ```mlir
    parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
    %y:2 = products %x weights [#wse.weight<@w : tensor<6x8xf32>>, #wse.weight<@w : tensor<6x8xf32>>] on @r {nodes = ["k", "v"]} : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x1x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>, tensor<1x1x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    ```mlir
    parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
    parameter @g = dense<1.0> : tensor<6xf32>
    %y = products %x norm <@g : tensor<6xf32>> epsilon(1.0e-5) weights [#wse.weight<@w : tensor<6x8xf32>>] on @r {nodes = ["k"]} : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x8x1xf32, #wse.dist<rows = [0, 1], columns = []>>
    ```

    - (C1) Each weight is a K x N matrix, the input has K features, the result of that number N, in elements as the input.
    - (C2) There is one token, of input and results in the same row, or of one of these along the rows.
    - (C3) None replicates features over the columns, but what lies along the rows.
    - (C4) A norm has an epsilon, and a scale of an element for each feature of the input.
  }];
  let results = (outs Variadic<Wse_Tiled>:$results);
  let assemblyFormat = [{
    $input (`norm` $scale^ `epsilon` `(` $epsilon `)`)? `weights` $weights `on` $region attr-dict `:` type($input) `->` type($results)
  }];
  let hasVerifier = 1;
}

def Wse_SparseMatmulOp : Wse_KernelOp<"sparse_matmul", (ins
    Wse_Tiled:$input, Wse_WeightAttr:$weight, OptionalAttr<Wse_WeightAttr>:$bias,
    Wse_SparsityAttr:$sparsity, UnitAttr:$transposed)> {
  let summary = "Multiplies each token with a matrix of which few weights stream past.";
  let description = [{
    The product of `matmul`, with all weights that `sparsity` does not keep as
    zero. These are neither sent nor multiplied: words that stream past are
    indices and values. Activations stay, as in a `reduce`: the column that owns
    feature k sees the weights of row k that are kept, group of result features
    after group. `transposed` says that groups are of input features, of which
    each result feature keeps equally many, as the gradient of an input has them:
    activations are multicast along the row, and the column that owns a result
    feature sees its weights. A product and that of its gradient see the same
    words.

    ```mlir
    parameter @w = external<"m.data", 0, 192> : tensor<6x8xf32>
    %y = sparse_matmul %x weight <@w : tensor<6x8xf32>> sparsity <keep 2 of 4 rest 0 topk seed 0> on @r {nodes = ["fc"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x6x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) to (C4) of `matmul`.
    - (C5) The weight is a parameter of floats; of the last group no more is
      kept than it has.
    - (C6) Of one that trains the largest are kept: who holds it makes the others
      zero.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $input `weight` $weight (`bias` $bias^)? `sparsity` $sparsity (`transposed` $transposed^)?
    `on` $region attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

/// Terms of a mask, in the order in which they act: the onnx dialect's, which
/// this file does not include.
def Wse_Terms : TypedArrayAttrBase<
    Attr<CPred<"::llvm::isa<::wsec::onnx::TermAttr>($_self)">, "#onnx.term">,
    "terms of a mask">;

def Wse_AttentionOp : Wse_KernelOp<"attention", (ins
    Wse_Tiled:$query, Wse_Tiled:$key, Wse_Tiled:$value,
    Variadic<Wse_Tiled>:$masks,
    I64Attr:$num_heads, F64Attr:$scale, OptionalAttr<F64Attr>:$softcap,
    DefaultValuedAttr<Wse_Terms, "{}">:$terms, UnitAttr:$few_scores)> {
  let summary = "Attends, head by head, within each batch element.";
  let description = [{
    For each head: `softmax(scale * Q K^T) V`, the softmax over the keys. With
    `softcap` c a scaled product s counts as `c * tanh(s / c)`. Then the `terms` act on
    scores and weights, in order, with the `masks`, as `#onnx.term` says. Heads
    stay whole in their column; keys and values are gathered north to the group root of
    their batch element and are multicast south, block by block. With an attribute
    `wse.stored`, a weight, they stream from the store instead, which has them,
    too: SRAM then grows neither with the keys nor with the rows that hold them.
    With `few_scores` fewer keys come at a time, in less SRAM and more cycles.

    ```mlir
    %y = attention %q, %k, %v heads(2) scale(0.5) on @r {nodes = ["attn"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>, tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>, tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>> -> tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>
    ```

    - (C1) Query, key, value and result have `heads` columns, `num_heads` of
      them; query and key have the same head size, value and result another.
    - (C2) Query and result have the same tokens; key and value have the same
      tokens; all have the same batch.
    - (C3) A mask has one token per batch element and the keys as features,
      replicated over rows and columns; or the tokens of the query and the keys
      as features, replicated over the columns; or the heads of the query, whole
      in their columns, with the keys as features of each.
    - (C4) The terms obey the rules of `onnx.attention`.
    - (C5) A softcap is positive.
    - (C6) What is stored is [2, keys, features], keys and then values, of f32. There is
      one batch element, values have heads of the size of keys, and no column
      holds more than one.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`masks` $masks^)?
    `heads` `(` $num_heads `)` `scale` `(` $scale `)`
    (`softcap` `(` $softcap^ `)`)? (`terms` $terms^)?
    `on` $region attr-dict `:` type($query) `,` type($key) `,` type($value)
    (`masks` type($masks)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    auto eachTerm() { return getTerms().getAsRange<::wsec::onnx::TermAttr>(); }
  }];
}

include "dialects/wse/WseGradientOps.td"

def Wse_CachedAttentionOp : Wse_KernelOp<"cached_attention", (ins
    Wse_Tiled:$query, FlatSymbolRefAttr:$keys, FlatSymbolRefAttr:$values,
    Variadic<Index>:$positions, Optional<Wse_Tiled>:$sinks,
    I64Attr:$num_heads, I64Attr:$key_heads, F64Attr:$scale,
    UnitAttr:$few_scores, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$sliding_window,
    UnitAttr:$chunked, OptionalAttr<F32Attr>:$softcap), [AttrSizedOperandSegments]> {
  let summary = "Attends to keys and values that stay on the wafer.";
  let description = [{
    For each head `softmax(scale * Q K^T) V`, with keys and values where two
    states have them: token i of the query sees the tokens 0 to `position + i` of
    its batch element, whose own are among them (`update` comes before), or of
    these with a `sliding_window` of w the last w, or where it is `chunked` those
    from the last multiple of w on. With a `softcap` of c a scaled score s counts
    as `c * tanh(s / c)`. With `sinks` a head has one more score, its own of
    these, not scaled, which has part of the weights and no value. There are
    `num_heads` heads of queries, and `key_heads` of keys and values, each of
    which as many heads of queries in a row share.

    Queries are multicast to all rows. A PE makes partial scores of its own
    features and tokens, which are summed up over the columns of the head; the
    largest of all rows comes from a chain north and a multicast south, and
    weighted values and sums of weights take the same way. Loops end with the
    tokens that are there, `position` plus those of the query; words between PEs
    are as many for all positions. With `few_scores` less of the query is asked
    for at a time, in less SRAM and more cycles.

    ```mlir
    wse.program @main state(selected) mesh(4x5) machine("wse2") {
      region @r shape(4x5)
      input @q : tensor<1x12xf32>
      state @k on @r : tensor<1x9x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>>
      state @v on @r : tensor<1x9x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>>
      entry @step(%position from 0 to 8) {
        %q = load @q on @r : tensor<1x1x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>>
        %y = cached_attention %q keys @k values @v at %position heads(4, 2) scale(0.5) on @r {nodes = ["attn"]} : tensor<1x1x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>> -> tensor<1x1x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>>
      }
    }
    ```

    - (C1) Keys and values are states on this region, both of the same floats, or
      of numbers of 8 bits (C2 of `state`). They have the same tokens, which rows
      take in turn, and `key_heads` heads over equally many columns.
    - (C2) Query and result have the batch of the states, of which there are no
      more elements than rows, the same tokens, which rows share, and the heads
      that share one of keys, or of values, where it lies: columns have units of
      `num_heads / key_heads` heads (`TokenTiling::forState`).
      Both are of equal floats.
    - (C3) The positions are those of an `update` of as many tokens.
    - (C4) The scale is positive, and so is the softcap.
    - (C5) Sinks are one token of `num_heads` features in each batch element,
      which rows share and every column has, of the query's element type.
    - (C6) What is `chunked` has a `sliding_window`.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $query `keys` $keys `values` $values `at` $positions
    `heads` `(` $num_heads `,` $key_heads `)` `scale` `(` $scale `)`
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    `on` $region attr-dict `:` type($query) `->` type($result)
  }];
  let hasVerifier = 1;
}

include "dialects/wse/WseColumnOps.td"
include "dialects/wse/WseRowOps.td"

def Wse_ElementwiseOp : Wse_KernelOp<"elementwise", (ins
    Variadic<Wse_Tiled>:$inputs,
    DefaultValuedAttr<TypedArrayAttrBase<Wse_WeightAttr, "weights">, "{}">:$vectors),
    [SingleBlock]> {
  let summary = "Computes each element of the result from its peers.";
  let description = [{
    The body is a scalar program on f32 and i32 (`arith` and `math`) that every PE runs
    for each of its elements: no word leaves its PE, unless functions of few tokens
    are shared by rows that have none. Its arguments are one
    scalar per input and then one per vector. Vectors hold one constant per
    feature and stream in from the store. Integers wrap; of `addi`, `subi` and
    `muli` with `overflow<nsw>`, and of `fptosi`, a result beyond 32 bits ends the
    run with an `IntegerError`, as a zero divisor does.

    An input may have one feature (replicated over the columns: a scalar per
    token) or one token per batch element (replicated over the rows: a scalar
    per feature and batch element), or both.

    ```mlir
    parameter @b = dense<1.0> : tensor<6xf32>
    %y = elementwise(%x) vectors [#wse.weight<@b : tensor<6xf32>>] on @r {nodes = ["add", "relu"]} : (tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>) -> tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> {
    ^bb0(%element: f32, %bias: f32):
      %zero = arith.constant 0.0 : f32
      %sum = arith.addf %element, %bias : f32
      %relu = arith.maximumf %sum, %zero : f32
      wse.yield %relu : f32
    }
    ```

    - (C1) There is an input.
    - (C2) Each input has the result's rows, or one token per batch element
      replicated over them.
    - (C3) Each input has the result's features and columns, or one feature
      replicated over the columns.
    - (C4) Each vector has one element per feature of the result.
    - (C5) The body takes an element of each input and an f32 of each vector,
      yields an element of the result, and holds only scalar `arith` and `math`
      operations.
  }];
  let results = (outs Wse_Tiled:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` (`vectors` $vectors^)? `on` $region attr-dict
    `:` functional-type($inputs, $result) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Wse_YieldOp : Wse_Op<"yield", [Pure, Terminator, HasParent<"ElementwiseOp">]> {
  let summary = "Ends the body of an element-wise kernel with its result.";
  let description = [{
    ```mlir
    %y = elementwise(%x) on @r {nodes = ["relu"]} : (tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>) -> tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> {
    ^bb0(%element: f32):
      %zero = arith.constant 0.0 : f32
      %relu = arith.maximumf %element, %zero : f32
      wse.yield %relu : f32
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, I32]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Wse_RotaryOp : Wse_KernelOp<"rotary", (ins
    Wse_Tiled:$input, Wse_Tiled:$cos, Wse_Tiled:$sin, I64Attr:$rotary_dim,
    UnitAttr:$interleaved),
    [AllTypesMatch<["input", "result"]>, AllTypesMatch<["cos", "sin"]>]> {
  let summary = "Turns pairs of features of each head by their token's angles.";
  let description = [{
    The first `rotary_dim` features of each head turn, as `onnx.rotary` says.
    Where heads are whole in their columns nothing moves. The columns of a head
    that lies over several gather its features, some tokens at a time.

    ```mlir
    %y = rotary %x, %cos, %sin dim(2) on @r {nodes = ["q"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>>, tensor<1x6x1xf32, #wse.dist<rows = [0, 1], columns = []>>
    ```

    - (C1) The input has heads, each in a column or over several, of at least
      `rotary_dim` features, a positive even number.
    - (C2) `cos` and `sin` have the tokens of the input and `rotary_dim`
      features or half as many, replicated over the columns.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $input `,` $cos `,` $sin `dim` `(` $rotary_dim `)`
    (`interleaved` $interleaved^)? `on` $region attr-dict `:` type($input) `,`
    type($cos)
  }];
  let hasVerifier = 1;
}

def Wse_SliceHeadsOp : Wse_KernelOp<"slice_heads", (ins
    Wse_Tiled:$input, I64Attr:$start)> {
  let summary = "Takes the same features of each head.";
  let description = [{
    Features `start` and following of each head of the input are the heads of the
    result. All of a head lies in one column, so nothing moves.

    ```mlir
    %y = slice_heads %x start(1) on @r {nodes = ["k"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>> -> tensor<1x6x4xf32, #wse.dist<rows = [0, 1], columns = [2 by 2]>>
    ```

    - (C1) Input and result have equally many heads, whole in their columns, and
      their tokens in the same rows.
    - (C2) What is taken lies inside a head.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $input `start` `(` $start `)` `on` $region attr-dict `:` type($input) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

def Wse_RedistributeOp : Wse_KernelOp<"redistribute", (ins
    Wse_Tiled:$input, DefaultValuedAttr<I64Attr, "1">:$repeat)> {
  let summary = "Moves features to other columns.";
  let description = [{
    Each row is gathered west to its first column, which multicasts the row's
    elements; every PE keeps the features it owns now. Never implied: a kernel
    that wants other columns gets them from this operation only. With `repeat`,
    a result in heads holds each head of the input so many times in a row, as
    attention asks for whose queries have more heads than its keys. Of one token
    they move from its row to lie along the rows (`products`), or back.

    ```mlir
    %y = redistribute %x on @r {nodes = ["add"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3]>> -> tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) Input and result have the same rows, tokens and features, and
      different columns; or one of them lies along the rows.
    - (C2) The input is not replicated over the columns, nor is what does not lie along the rows.
    - (C3) `repeat` is positive; the result has so many times the input's features,
      and if it is not 1 no copies of them over the columns.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $input (`repeat` `(` $repeat^ `)`)? `on` $region attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Wse_TransferOp : Wse_KernelOp<"transfer", (ins Wse_Tiled:$input)> {
  let summary = "Moves a tensor to another region.";
  let description = [{
    Each row of the region that has it is gathered toward the other region, passes
    the PEs between them, and is multicast to its row there, where every PE keeps
    the features it owns. In a region with more or fewer rows, it goes to all rows
    that hold some of its tokens there. Both regions take part in the launch.

    ```mlir
    %y = transfer %x on @east {nodes = ["add"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) The input is a result on another region.
    - (C2) Input and result have the same rows, tokens and features.
    - (C3) The input is not replicated over the columns.
    - (C4) Between regions with different numbers of rows, rows share out tokens.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = "$input `on` $region attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// The region that the input lies on.
    RegionOp sourceRegion();
  }];
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_WSE_WSEOPS_TD
