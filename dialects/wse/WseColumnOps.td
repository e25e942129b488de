// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that combine the tokens of each batch element along its columns.
// Included by WseOps.td, which has the classes.
#ifndef WSEC_DIALECTS_WSE_WSECOLUMNOPS_TD
#define WSEC_DIALECTS_WSE_WSECOLUMNOPS_TD

def Wse_ReduceTokensOp : Wse_KernelOp<"reduce_tokens", (ins
    Wse_Tiled:$input, Wse_ReduceKind:$kind)> {
  let summary = "Combines the tokens of each batch element.";
  let description = [{
    Every PE combines its own tokens; partial results are then reduced in a chain north to the
    root of the group of the batch element, where the result lives.

    ```mlir
    %y = reduce_tokens mean %x on @r {nodes = ["pool"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> -> tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) The result has the input's batch, features and columns, and one token.
    - (C2) Tokens are split over the rows, not replicated.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = "$kind $input `on` $region attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Wse_RunningSumOp : Wse_KernelOp<"running_sum", (ins
    Wse_Tiled:$input, UnitAttr:$exclusive, UnitAttr:$reverse, UnitAttr:$no_wrap),
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "Adds to each token those before it in its batch element.";
  let description = [{
    With `reverse` those behind it, with `exclusive` the token itself is left
    out. Every PE sums up its own tokens; what all tokens of a row and of those
    before it sum up to goes from row to row in a chain, south, or north in
    `reverse`, and each adds it to its own. Sums of integers wrap, unless
    `no_wrap`: then one that 32 bits do not hold ends the run.

    ```mlir
    %y = running_sum %x exclusive on @r {nodes = ["sums"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) Tokens are split over the rows, not replicated.
    - (C2) Only integers wrap.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = [{
    $input (`exclusive` $exclusive^)? (`reverse` $reverse^)? (`no_wrap` $no_wrap^)?
    `on` $region attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_WSE_WSECOLUMNOPS_TD
