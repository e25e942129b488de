// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that combine the features of each token along its row. Included by
// WseOps.td, which has the classes.
#ifndef WSEC_DIALECTS_WSE_WSEROWOPS_TD
#define WSEC_DIALECTS_WSE_WSEROWOPS_TD

class Wse_RowKernelOp<string mnemonic, dag extra>
    : Wse_KernelOp<mnemonic, !con((ins Wse_Tiled:$input), extra),
                   [SameOperandsAndResultType]> {
  let results = (outs Wse_Tiled:$result);
}

def Wse_LayerNormOp : Wse_RowKernelOp<"layer_norm", (ins
    Wse_WeightAttr:$scale, OptionalAttr<Wse_WeightAttr>:$bias, F64Attr:$epsilon)> {
  let summary = "Normalises the features of each token to mean 0 and variance 1.";
  let description = [{
    `(x - mean) / sqrt(variance + epsilon) * scale + bias`. Sums are reduced in a chain west to
    the first column, which multicasts the mean and the deviation back.

    ```mlir
    parameter @g = dense<1.0> : tensor<6xf32>
    %y = layer_norm %x scale <@g : tensor<6xf32>> epsilon(1.0e-5) on @r {nodes = ["ln"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) Scale and bias have one element per feature.
    - (C2) Features are not replicated over the columns.
  }];
  let assemblyFormat = [{
    $input `scale` $scale (`bias` $bias^)? `epsilon` `(` $epsilon `)`
    `on` $region attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Wse_RMSNormOp : Wse_RowKernelOp<"rms_norm", (ins
    Wse_WeightAttr:$scale, F64Attr:$epsilon, UnitAttr:$by_head)> {
  let summary = "Divides the features of each token by their root mean square.";
  let description = [{
    `x / sqrt(mean of squares + epsilon) * scale`; moves as `layer_norm` does.
    With `by_head` each head of a token is divided by its own, and nothing moves.

    ```mlir
    parameter @g = dense<1.0> : tensor<6xf32>
    %y = rms_norm %x scale <@g : tensor<6xf32>> epsilon(1.0e-5) on @r {nodes = ["rms"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) The scale has one element per feature.
    - (C2) Features are not replicated over the columns.
    - (C3) By head, the input has whole heads in its columns.
  }];
  let assemblyFormat = [{
    $input `scale` $scale `epsilon` `(` $epsilon `)` (`by_head` $by_head^)?
    `on` $region attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Wse_SoftmaxOp : Wse_RowKernelOp<"softmax", (ins)> {
  let summary = "Turns the features of each token into shares of 1.";
  let description = [{
    `exp(x - max) / sum of exp(x - max)` over the features; the maximum and the
    sum are reduced in a chain west and are multicast back.

    ```mlir
    %y = softmax %x on @r {nodes = ["probabilities"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) Features are not replicated over the columns.
  }];
  let assemblyFormat = "$input `on` $region attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Wse_TopKOp : Wse_KernelOp<"top_k", (ins
    Wse_Tiled:$input, Optional<Wse_Tiled>:$numbers, UnitAttr:$smallest)> {
  let summary = "Finds the largest features of each token, and which they are.";
  let description = [{
    `values[p, 0], values[p, 1], ...` are the largest features of token p, or
    the `smallest`, in order, and `indices` their numbers: they count from the
    first of the token, or are given, as `numbers`, in ascending order. Of equal features the
    first comes first; a NaN is larger than any number. As many rounds as there are
    values: the best that is left in each PE goes west in a chain and is
    multicast back, then the least index that has it.

    ```mlir
    %best:2 = top_k %x on @r {nodes = ["best"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x6x3xi32, #wse.dist<rows = [0, 1], columns = []>>, tensor<1x6x3xf32, #wse.dist<rows = [0, 1], columns = []>>
    ```

    - (C1) The input has floats, the indices are i32, the values have elements
      as the input.
    - (C2) Indices and values have the input's tokens in the input's rows, and
      equally many features, at least one and no more than the input, each in
      every column.
    - (C3) The input's features are not replicated over the columns.
    - (C4) Numbers that are given are i32, one for each feature, where that is.
  }];
  let results = (outs Wse_Tiled:$indices, Wse_Tiled:$values);
  let assemblyFormat = [{
    $input (`numbers` $numbers^)? (`smallest` $smallest^)?
    `on` $region attr-dict `:` type($input) (`numbers` type($numbers)^)? `->` type($indices) `,` type($values)
  }];
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_WSE_WSEROWOPS_TD
