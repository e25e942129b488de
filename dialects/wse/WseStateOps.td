// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What outlives a call: kernels that fill, write, read and reorder it. Included
// by WseOps.td, which has the classes.
#ifndef DIALECTS_WSE_WSESTATEOPS_TD
#define DIALECTS_WSE_WSESTATEOPS_TD

def Wse_FillOp : Wse_KernelOp<"fill", (ins FlatSymbolRefAttr:$parameter)> {
  let summary = "Brings a resident parameter to its place on the wafer.";
  let description = [{
    Moves words as `load` does. Kernels of this and later calls find them where
    they were left.

    ```mlir
    parameter @w.resident = <@w : tensor<6x8xf32>> resident on @r as tensor<1x6x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    parameter @w = dense<1.0> : tensor<6x8xf32>
    fill @w.resident on @r {nodes = ["fc"]}
    ```

    - (C1) The parameter is resident on this region.
  }];
  let assemblyFormat = "$parameter `on` $region attr-dict";
  let hasVerifier = 1;
}

def Wse_UpdateOp : Wse_KernelOp<"update", (ins
    FlatSymbolRefAttr:$state, Variadic<Index>:$positions, Wse_Tiled:$value)> {
  let summary = "Writes a tensor to a state, or tokens of each batch element.";
  let description = [{
    Every PE copies its elements; no word leaves it. `at` a position, which is an
    argument of the entry, the tokens of the value are those of the state from
    that one on: they are gathered north to the first row of the batch element,
    which multicasts them south, and each row keeps those that it owns. There is
    one position for all batch elements, or one for each.

    ```mlir
    state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    update @k with %x on @r {nodes = ["cache"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    ```mlir
    wse.program @main state(selected) mesh(4x5) machine("wse2") {
      region @r shape(4x5)
      input @x : tensor<1x6xf32>
      state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
      entry @step(%position from 0 to 5) {
        %x = load @x on @r : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
        update @k at %position with %x on @r {nodes = ["cache"]} : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
      }
    }
    ```

    - (C1) The state is on this region, and lies as the value does.
    - (C2) A value at a position has the batch, features and columns of the
      state, which may have floats of other bits, or numbers of 8 (C2 of `state`). Rows, of which there are no fewer than batch elements, take the
      tokens of the state in turn, and share those of the value.
    - (C3) A position is an argument of the entry, and the tokens from there on
      are some of the state's for all of its range; there is one, or one for
      each batch element.
  }];
  let assemblyFormat = [{
    $state (`at` $positions^)? `with` $value `on` $region attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Wse_RecallOp : Wse_KernelOp<"recall", (ins
    FlatSymbolRefAttr:$state, Variadic<Index>:$positions)> {
  let summary = "Reads what a state holds.";
  let description = [{
    Every PE copies its elements: the value is that of now, whatever is written to
    the state later. `at` positions, one for all batch elements or one for each, it
    is zeros of a batch element at position 0, where a sequence begins: so nothing
    has to be written before.

    ```mlir
    state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    %k = recall @k on @r {nodes = ["cache"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    - (C1) The state is on this region, lies as the result does, and has no
      `wse.scales`.
    - (C2) A position is an argument of the entry, and is not negative; there is
      one, or one for each batch element, of which rows hold parts of one.
  }];
  let results = (outs Wse_Tiled:$result);
  let assemblyFormat = "$state (`at` $positions^)? `on` $region attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Wse_ReorderOp : Wse_KernelOp<"reorder", (ins
    FlatSymbolRefAttr:$state, Variadic<Index>:$sources,
    Variadic<Index>:$positions), [AttrSizedOperandSegments]> {
  let summary = "Lets each batch element of a state go on from another.";
  let description = [{
    Batch element `b` gets what `sources[b]` has held, perhaps itself: so beams
    of a search go on from those that are kept. Of a state that grows these are
    the tokens below the source's position, of one that is written as a whole all
    elements, or none at position 0. Every row of a batch element sends its own
    north to row 0, which multicasts them south; rows keep what those of equal
    place in their batch elements send, and then take what is their source's.

    ```mlir
    wse.program @main state(selected) mesh(4x6) machine("wse2") {
      region @r shape(4x6)
      state @k on @r : tensor<2x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>
      entry @reorder(%source_0 from 0 to 1, %source_1 from 0 to 1, %position from 0 to 6) {
        reorder @k from %source_0, %source_1 at %position on @r {nodes = ["cache"]}
      }
    }
    ```

    - (C1) The state is on this region, and has several batch elements, of which
      rows hold parts of one.
    - (C2) A source is an argument of the entry, and one of the batch elements;
      there is one for each.
    - (C3) A position is an argument of the entry, and, of a state that grows,
      one from 0 to its tokens; there is one, or one for each batch element.
  }];
  let assemblyFormat = [{
    $state `from` $sources `at` $positions `on` $region attr-dict
  }];
  let hasVerifier = 1;
}

#endif // DIALECTS_WSE_WSESTATEOPS_TD
