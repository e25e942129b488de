// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_DIFFERENTIATE_PASSES_TD
#define COMPILER_DIFFERENTIATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"onnx-differentiate", "::mlir::ModuleOp"> {
  let summary = "Adds a loss to a model, and its gradients.";
  let description = [{
    @main gets the loss as its only result, behind an input for the targets, and
    gradients of the parameters that train leave by name. What was computed only for
    other results goes.

    ```mlir
    // wse-opt --onnx-differentiate=loss=mean-square --onnx-common-subexpressions
    onnx.parameter @b = dense<0.5> : tensor<8xf32> trainable
    func.func @main(%x: tensor<8xf32> {onnx.name = "x"}) -> (tensor<8xf32> {onnx.name = "y"}) {
      %b = onnx.constant #onnx.parameter<@b : tensor<8xf32>> -> tensor<8xf32>
      %y = onnx.binary add %x, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    ...
      func.func @main(%arg0: tensor<8xf32> {onnx.name = "x"}, %arg1: tensor<8xf32> {onnx.name = "targets"}) -> (tensor<f32> {onnx.name = "loss"}) {
    ...
        onnx.gradient %
    ...
    of @b
    ...
    ```
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"result\"",
           "cross-entropy, mean-square, or result, which is the loss">,
    Option<"of", "of", "std::string", "\"\"",
           "Name of the result the loss is of; the first if empty">,
    Option<"targets", "targets", "std::string", "\"targets\"",
           "Name of the input with the targets">,
    Option<"reduction", "reduction", "std::string", "\"mean\"",
           "Of a loss for each element or token: mean or sum">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "-100",
           "Targets of cross-entropy that count for nothing">,
    Option<"labelSmoothing", "label-smoothing", "double", "0",
           "Share of the probability that goes to all classes alike">,
    ListOption<"inputs", "inputs", "std::string",
               "Names of inputs to get gradients of, too">,
    Option<"recompute", "recompute", "std::string", "\"pieces\"",
           "What is computed again for its gradients: none; pieces, each from what it begins with, "
           "which within a segment is made again, too; or segments, each as a whole">,
    Option<"segment", "segment", "int64_t", "1",
           "Pieces of the model, what lies between two values that alone live on, in a segment">,
    Option<"inputsAt", "inputs-at", "std::string", "\"store\"",
           "Where what segments begin with waits: store or wafer">,
    Option<"kept", "kept", "int64_t", "1",
           "Pieces at the end of which all stays on the wafer">,
    Option<"repeats", "repeats", "int64_t", "0",
           "Of layers that are alike only so many, to tell what more of them take; 0: all">,
    Option<"elementsAgain", "elements-again", "bool", "true",
           "What functions of elements make between other operators is made again for their gradients">,
    Option<"fuseAttention", "fuse-attention", "bool", "true",
           "The gradients of an attention that allows it are one operator">,
    Option<"fuseNorms", "fuse-norms", "bool", "true",
           "And those of a norm">,
    Option<"mostLogits", "most-logits", "int64_t", "INT64_MAX",
           "Logits that are there at a time, at most: of more the loss makes them tile by tile">,
    Option<"room", "room", "int64_t", "INT64_MAX",
           "Elements of f32 that the wafer's SRAM has room for: the gradient of a weight of more than a third "
           "of them is made some columns at a time">,
    Option<"lossScale", "loss-scale", "std::string", "\"\"",
           "Name of an input, one number for each sample, all alike, that the "
           "loss is multiplied by for its gradients; none if empty">,
    Option<"gradientsAsResults", "gradients-as-results", "bool", "false",
           "Gradients are results of @main, called as what they are of and .grad">
  ];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def Freeze : Pass<"onnx-freeze", "::mlir::ModuleOp"> {
  let summary = "Says of parameters that do not train why, and freezes them.";
  let description = [{
    Those that have the values of a mask and stand before a softmax, are angles,
    are one number that is no weight, bias or scale, or are not used. What has
    `onnx.named`, because it was asked for by its name, is frozen only if unused.

    ```mlir
    onnx.parameter @turns = dense<1.0> : tensor<1x6x4xf32> trainable
    onnx.parameter @scale = dense<1.0> : tensor<8xf32> trainable
    func.func @main(%x: tensor<1x6x8xf32>) -> tensor<1x6x8xf32> {
      %c = onnx.constant #onnx.parameter<@turns : tensor<1x6x4xf32>> -> tensor<1x6x4xf32>
      %g = onnx.constant #onnx.parameter<@scale : tensor<8xf32>> -> tensor<8xf32>
      %n = onnx.rms_norm %x, %g {epsilon = 0.5 : f32} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
      %y = onnx.rotary %n, %c, %c {num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
      return %y : tensor<1x6x8xf32>
    }
    ```
    becomes
    ```mlir
    ...
      onnx.parameter @turns = dense<1.000000e+00> : tensor<1x6x4xf32> frozen {onnx.why = "angle"}
      onnx.parameter @scale = dense<1.000000e+00> : tensor<8xf32> trainable
    ...
    ```
  }];
}

def ForgetParameters : Pass<"onnx-forget-parameters", "::mlir::ModuleOp"> {
  let summary = "Makes constants of what is no weight, though it has a name.";
  let description = [{
    Exporters write angles and masks as initializers, some a copy for each layer.
    Where they cannot train, equal ones may be one; where something trains,
    the bytes of those in files (up to 16 MiB) are compared.

    ```mlir
    // wse-opt --onnx-forget-parameters --onnx-common-subexpressions
    onnx.parameter @turns.0 = dense<1.0> : tensor<1x6x4xf32> frozen
    onnx.parameter @turns.1 = dense<1.0> : tensor<1x6x4xf32> frozen
    func.func @main(%x: tensor<1x6x8xf32>) -> tensor<1x6x8xf32> {
      %a = onnx.constant #onnx.parameter<@turns.0 : tensor<1x6x4xf32>> -> tensor<1x6x4xf32>
      %b = onnx.constant #onnx.parameter<@turns.1 : tensor<1x6x4xf32>> -> tensor<1x6x4xf32>
      %y = onnx.rotary %x, %a, %b {num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
      return %y : tensor<1x6x8xf32>
    }
    ```
    becomes
    ```mlir
    ...
      func.func @main(%arg0: tensor<1x6x8xf32>) -> tensor<1x6x8xf32> {
        %0 = onnx.constant dense<1.000000e+00> : tensor<1x6x4xf32>
        %1 = onnx.rotary %arg0, %0, %0
    ...
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def LegalizeLosses : Pass<"onnx-legalize-losses", "::mlir::ModuleOp"> {
  let summary = "Composes losses of operators that have kernels.";
  let description = [{
    Behind differentiation, whose rules are those of the losses.

    ```mlir
    // wse-opt --onnx-legalize-losses --onnx-common-subexpressions
    func.func @main(%z: tensor<4x8xf32>, %c: tensor<4xi32>) -> tensor<4xf32> {
      %y = onnx.cross_entropy none %z, %c {ignore_index = -1 : i64, label_smoothing = 0.0 : f32, normalized} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%z: tensor<4x8xf32>, %c: tensor<4xi32>) -> tensor<4xf32> {
      %labels = onnx.reshape %c : tensor<4xi32> -> tensor<4x1xi32>
      %classes = onnx.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
      %isLabel = onnx.binary equal %labels, %classes : (tensor<4x1xi32>, tensor<8xi32>) -> tensor<4x8xi1>
      %ignored = onnx.constant dense<-1> : tensor<i32>
      %isIgnored = onnx.binary equal %labels, %ignored : (tensor<4x1xi32>, tensor<i32>) -> tensor<4x1xi1>
      %counts = onnx.unary not %isIgnored : tensor<4x1xi1>
      %infinite = onnx.constant dense<0xFF800000> : tensor<f32>
      %only = onnx.where %isLabel, %z, %infinite : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
      %picked = onnx.reduce max %only {axes = array<i64: 1>, keepdims = true} : tensor<4x8xf32> -> tensor<4x1xf32>
      %zero = onnx.constant dense<0.0> : tensor<f32>
      %loss = onnx.unary neg %picked : tensor<4x1xf32>
      %each = onnx.where %counts, %loss, %zero : (tensor<4x1xi1>, tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
      %y = onnx.reshape %each : tensor<4x1xf32> -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"mostLogits", "most-logits", "int64_t", "INT64_MAX",
           "Logits that are there at a time, at most, as of onnx-differentiate">
  ];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

#endif // COMPILER_DIFFERENTIATE_PASSES_TD
