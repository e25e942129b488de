// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What infer makes of caches that are states. Included by OnnxOps.td, which has
// the classes.
#ifndef DIALECTS_ONNX_ONNXSTATEOPS_TD
#define DIALECTS_ONNX_ONNXSTATEOPS_TD

def Onnx_UpdateOp : Onnx_Op<"update"> {
  let summary = "Writes tokens to a state, from a position of the call on.";
  let description = [{
    Token `position + i` of the result is token `i` of `value`; all others are
    those of `past`, an argument of the function that is a state (`onnx.state`):
    what the call before has left. So the result is the state as later
    operators see it, and as it is returned. `past` has the tokens of the
    result, or its heads one after the other.

    - (C1) the result is `[batch, capacity, features]`; `past` is that, too, or
      `[batch, heads, capacity, size]` with as many features.
    - (C2) `value` has the batch and features of the result, one token to
      `capacity`, and all are of f32.
    - (C3) `position` has one integer for each batch element.

    ```mlir
    %k = onnx.update %past, %new at %position : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$past, AnyRankedTensor:$value,
                       AnyRankedTensor:$position, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$present);
  let assemblyFormat = [{
    $past `,` $value `at` $position attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_CachedAttentionOp : Onnx_Op<"cached_attention"> {
  let summary = "Attends to the tokens of states up to each query's own.";
  let description = [{
    As `onnx.attention`, causal: query `i` stands at `position + i` and sees the
    tokens `0` to `position + i` of `keys` and `values`; of these with a
    `sliding_window` of w the last w, or where it is `chunked` those from the
    last multiple of w on. With a `softcap` of c a scaled score s counts as
    `c * tanh(s / c)`. With `sinks` a head has one more score, its own of these,
    which has part of the weights and no value.

    - (C1) `q`, `keys` and `values` have rank 3, equal batch extents, and the
      last two equal tokens.
    - (C2) `num_heads` divides the features of `q`, `kv_heads` those of `keys`
      and `values` and `num_heads`; heads of `q` and `keys` have equal size.
    - (C3) `position` has one integer for each batch element.
    - (C4) the result has the batch and tokens of `q` and `num_heads` heads of
      the size of those of `values`.
    - (C5) `softcap` is positive.
    - (C6) `sinks` is one number for each head.
    - (C7) what is `chunked` has a `sliding_window`.

    ```mlir
    %o = onnx.cached_attention %q, %k, %v at %position {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32}
        : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$keys,
                       AnyRankedTensor:$values, AnyRankedTensor:$position,
                       Optional<AnyRankedTensor>:$sinks, I64Attr:$num_heads, I64Attr:$kv_heads, F32Attr:$scale,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$sliding_window,
                       UnitAttr:$chunked, OptionalAttr<F32Attr>:$softcap, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $q `,` $keys `,` $values `at` $position (`sinks` $sinks^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // DIALECTS_ONNX_ONNXSTATEOPS_TD
