// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients that are operators of their own. Included by OnnxOps.td, which has
// the classes.
#ifndef DIALECTS_ONNX_ONNXGRADIENTOPS_TD
#define DIALECTS_ONNX_ONNXGRADIENTOPS_TD

def Onnx_AttentionGradientOp : Onnx_Op<"attention_gradient"> {
  let summary = "The gradients of an attention's queries, keys and values.";
  let description = [{
    Of `%y = onnx.attention %q, %k, %v`, without masks and with as many heads of keys as of
    queries, and of `dy`, the gradient of its result. With P the weights of a head and D its rows' sums of `dy * y`:

    ```
    dV = P^T dY    dS = P (dY V^T - D)    dQ = scale * dS K    dK = scale * dS^T Q
    ```

    - (C1) `q`, `k`, `v` and the attention's result obey the rules of `onnx.attention`; `y` and `dy` are
      of that result's type.
    - (C2) there is one term at most, without a mask, which adds a number to the scores of later keys or replaces
      them by -1e30 or less.
    - (C3) each gradient has the type of what it is of.

    ```mlir
    %dq, %dk, %dv = onnx.attention_gradient %q, %k, %v, %y, %dy {num_heads = 4 : i64, scale = 0.5 : f32}
        : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
                       AnyRankedTensor:$y, AnyRankedTensor:$dy,
                       I64Attr:$num_heads, F32Attr:$scale,
                       DefaultValuedAttr<Onnx_Terms, "{}">:$terms,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk, AnyRankedTensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $y `,` $dy attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_NormGradientOp : Onnx_Op<"norm_gradient"> {
  let summary = "The gradient of what a norm is of, and its normalized values.";
  let description = [{
    Of `onnx.layer_norm` (`centred`) or `onnx.rms_norm` of `x`, and of `dy`, the gradient of the result. With d the
    deviation or root mean square of a row, `normal = (x - mean) / d` and `g = dy * scale`:

    ```
    dx = (g - mean(g) - normal * mean(g * normal)) / d
    ```

    both means of rows without `centred` left out but the last. `dy * normal` sums up to the scale's gradient.

    - (C1) `scale` has rank 1 and the last extent of `x`.
    - (C2) `dy` and the results have the type of `x`.

    ```mlir
    %dx, %normal = onnx.norm_gradient %x, %g, %dy {centred, epsilon = 1.0e-5 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>, tensor<1x8x16xf32>) -> (tensor<1x8x16xf32>, tensor<1x8x16xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$scale, AnyRankedTensor:$dy,
                       UnitAttr:$centred, F32Attr:$epsilon, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$dx, AnyRankedTensor:$normal);
  let assemblyFormat = [{
    $x `,` $scale `,` $dy attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // DIALECTS_ONNX_ONNXGRADIENTOPS_TD
