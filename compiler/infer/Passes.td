// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_INFER_PASSES_TD
#define COMPILER_INFER_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferAndFold : Pass<"onnx-infer-and-fold", "::mlir::ModuleOp"> {
  let summary = "Finds the type of every value, and values known now.";
  let description = [{
    One walk in the order of the nodes. Each operator has a rule that finds
    the shapes of its results from those of its operands and, when they are
    constants, the results themselves. What only re-indexes a constant
    (Transpose, Slice, Reshape, Split, Expand, a Gather of equally spaced
    indices) becomes a *view* of it, so weights of any size fold unread;
    everything else folds up to 64 MiB of result.

    ```mlir
    func.func @main() -> !onnx.unknown {
      %w = onnx.constant external<"m.onnx", 0, 256> : tensor<8x8xf32>
      %t = onnx.node "Transpose"(%w) : (tensor<8x8xf32>) -> !onnx.unknown
      return %t : !onnx.unknown
    }
    ```
    becomes
    ```mlir
    func.func @main() -> tensor<8x8xf32> {
      %w = onnx.constant external<"m.onnx", 0, 256> : tensor<8x8xf32>
      %t = onnx.constant external<"m.onnx", 0, 256> view offset 0 strides [1, 8] : tensor<8x8xf32>
      return %t : tensor<8x8xf32>
    }
    ```

    A node whose rule fails keeps its unknown types and gets an `onnx.reason`,
    which `onnx-verify-canonical` reports.
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def PromoteToF32 : Pass<"onnx-promote-to-f32", "::mlir::ModuleOp"> {
  let summary = "Computes what the model states in other floats in f32.";
  let options = [
    Option<"allowF64AsF32", "allow-f64-as-f32", "bool", "false",
           "Compute what the model states in f64 in f32, too">
  ];
  let description = [{
    The wafer computes in f32. Every value of f16, bf16 or a float of 8 bits or
    less inside @main becomes f32, one of f64 if `allow-f64-as-f32` says so; what stays narrow are bytes outside the wafer: inputs, outputs and
    stored constants, which are converted where they are read and written.
    Constants keep their stored type, so weights are neither read nor copied.
    Casts between float types inside the model fall away, and with them the
    rounding of intermediate results to 16 bits. A Cast to 8 bits or less is
    kept unless its result is an output only; it saturates before.

    ```mlir
    func.func @main(%x: tensor<8x16xf16>) -> tensor<8x16xf16> {
      %w = onnx.constant external<"m.onnx", 0, 512> : tensor<16x16xf16>
      %y = onnx.node "MatMul"(%x, %w) : (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>
      return %y : tensor<8x16xf16>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<8x16xf16>) -> tensor<8x16xf16> {
      %0 = onnx.cast %x : tensor<8x16xf16> -> tensor<8x16xf32>
      %w = onnx.constant external<"m.onnx", 0, 512, f16> : tensor<16x16xf32>
      %y = onnx.node "MatMul"(%0, %w) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %1 = onnx.cast %y : tensor<8x16xf32> -> tensor<8x16xf16>
      return %1 : tensor<8x16xf16>
    }
    ```

    Runs behind `onnx-infer-and-fold`, which finds the types and folds in the
    model's own precision.
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def LegalizeNodes : Pass<"onnx-legalize-nodes", "::mlir::ModuleOp"> {
  let summary = "Turns generic nodes into the named operators.";
  let options = [
    Option<"expandWeights", "expand-weights", "bool", "false",
           "Make f32 of quantised constants">
  ];
  let description = [{
    One rule per ONNX operator hides what differs between opsets and
    exporters: axes as attribute or input, the four ways to say "reshape",
    Split as slices, activations as chains of simple functions.

    ```mlir
    func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %y = onnx.node "Relu"(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %zero = onnx.constant dense<0.0> : tensor<f32>
      %y = onnx.binary max %x, %zero : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```

    Constants of 4 and 8 bits that the model dequantises stay as they are
    (`#onnx.quantized`), unless `expand-weights` says otherwise.

    A product of two activations stays a node until `onnx-fuse-attention` has
    looked at it. Nodes without a rule, or that a rule refuses, get an
    `onnx.reason`.
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

#endif // COMPILER_INFER_PASSES_TD
