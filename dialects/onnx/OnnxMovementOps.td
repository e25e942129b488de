// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What infer and canonicalize produce: shape only, order, and what is done by it. Included by
// OnnxOps.td, which has the classes.
#ifndef DIALECTS_ONNX_ONNXMOVEMENTOPS_TD
#define DIALECTS_ONNX_ONNXMOVEMENTOPS_TD

def Onnx_ReshapeOp : Onnx_Op<"reshape"> {
  let summary = "Gives the same elements in the same order another shape.";
  let description = [{
    - (C1) operand and result have equally many elements of one type.

    ```mlir
    %y = onnx.reshape %x : tensor<2x8x16xf32> -> tensor<16x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Onnx_ExpandOp : Onnx_Op<"expand"> {
  let summary = "Repeats a tensor along extents of 1 and new leading dimensions.";
  let description = [{
    - (C1) the operand broadcasts to the result, of one element type.

    ```mlir
    %y = onnx.expand %x : tensor<1x16xf32> -> tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Onnx_TransposeOp : Onnx_Op<"transpose"> {
  let summary = "Permutes dimensions: dimension i of the result is perm[i] of x.";
  let description = [{
    - (C1) `perm` is a permutation of the dimensions of `x`.
    - (C2) the result has the permuted shape.

    ```mlir
    %y = onnx.transpose %x {perm = array<i64: 1, 0>} : tensor<8x16xf32> -> tensor<16x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$perm,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Onnx_SliceOp : Onnx_Op<"slice"> {
  let summary = "Takes a strided box out of a tensor.";
  let description = [{
    Element `i` of the result is element `starts[d] + i[d] * steps[d]` of `x`.
    Steps may be negative.

    - (C1) `starts` and `steps` have one entry per dimension; no step is 0.
    - (C2) the box lies inside `x`.

    ```mlir
    %y = onnx.slice %x {starts = array<i64: 0, 4>, steps = array<i64: 1, 2>} : tensor<8x16xf32> -> tensor<8x6xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$steps, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Onnx_SliceHeadsOp : Onnx_Op<"slice_heads"> {
  let summary = "Takes the same features of each head.";
  let description = [{
    Heads lie side by side in the last dimension. The result has features
    `start` and following of each, as a projection is read whose queries, keys
    and values lie beside each other head by head.

    - (C1) `x` has rank 3 and `num_heads` divides its features.
    - (C2) the result has the batch and tokens of `x` and `num_heads` divides its
      features.
    - (C3) what is taken lies inside a head.

    ```mlir
    %k = onnx.slice_heads %x {num_heads = 4 : i64, start = 8 : i64} : tensor<2x9x96xf32> -> tensor<2x9x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$num_heads, I64Attr:$start,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Onnx_ConcatOp : Onnx_Op<"concat"> {
  let summary = "Joins tensors along one axis.";
  let description = [{
    - (C1) `axis` is inside the rank; all ranks are equal.
    - (C2) extents are equal except along `axis`, where they add up.

    ```mlir
    %y = onnx.concat %a, %b {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<8x10xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$parts, I64Attr:$axis,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat =
      "$parts attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Onnx_TopKOp : Onnx_Op<"top_k"> {
  let summary = "Finds the largest elements along the last axis, and which they are.";
  let description = [{
    `values` are the largest, or the `smallest`, in order, and `indices` their
    places. Of equal elements the first comes first; a NaN is larger than any
    number.

    - (C1) `x` has floats; `indices` are i64, `values` have elements as `x`.
    - (C2) both have the shape of `x` but for the last extent, which is at
      least 1 and at most that of `x`.

    ```mlir
    %i, %v = onnx.top_k %x : tensor<8x16xf32> -> tensor<8x3xi64>, tensor<8x3xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, UnitAttr:$smallest,
                       Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$indices, AnyRankedTensor:$values);
  let assemblyFormat = [{
    $x (`smallest` $smallest^)? attr-dict `:` type($x) `->` type($indices) `,`
    type($values)
  }];
  let hasVerifier = 1;
}

def Onnx_RunningSumOp : Onnx_Op<"running_sum", [SameOperandsAndResultType]> {
  let summary = "Adds to each element those before it along an axis.";
  let description = [{
    With `reverse` those behind it, with `exclusive` the element itself is left
    out. Sums of i32 wrap.

    - (C1) `axis` is inside the rank.
    - (C2) elements are f32, i32 or i64.

    ```mlir
    %y = onnx.running_sum %x exclusive {axis = 1 : i64} : tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$axis, UnitAttr:$exclusive,
                       UnitAttr:$reverse, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def Onnx_BitCastOp : Onnx_Op<"bit_cast", [SameOperandsAndResultShape]> {
  let summary = "Takes the bits of each element for another type.";
  let description = [{
    - (C1) one of the types is f32, the other an integer of 32 bits.

    ```mlir
    %y = onnx.bit_cast %x : tensor<2x8xf32> -> tensor<2x8xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Onnx_ExpertsOp : Onnx_Op<"experts"> {
  let summary = "Multiplies each row by the weights of the expert that it has chosen.";
  let description = [{
    `y[s, n] = sum over k of x[s, k] * weight[ids[s], k, n]`. A row whose number
    is that of no expert becomes NaN.

    - (C1) `weight` has rank 3 and as many rows as `x`, of rank 2, has columns.
    - (C2) `ids` are i32 or i64, one for each row of `x`.
    - (C3) the result has the rows of `x` and the columns of `weight`.

    ```mlir
    %y = onnx.experts %x, %ids, %w : (tensor<18x16xf32>, tensor<18xi64>, tensor<4x16x24xf32>) -> tensor<18x24xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$ids,
                       AnyRankedTensor:$weight, Onnx_NodeName:$node);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x `,` $ids `,` $weight attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // DIALECTS_ONNX_ONNXMOVEMENTOPS_TD
