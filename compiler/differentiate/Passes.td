// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_DIFFERENTIATE_PASSES_TD
#define COMPILER_DIFFERENTIATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"onnx-differentiate", "::mlir::ModuleOp"> {
  let summary = "Adds a loss to a model, and its gradients.";
  let description = [{
    @main gets the loss as its only result, with an input for the targets, and
    behind it the gradients of what is asked for. What is computed only for other results goes.

    ```mlir
    // wse-opt --onnx-differentiate=loss=mean-square,inputs=x,gradients-as-results
    func.func @main(%x: tensor<8xf32> {onnx.name = "x"}) -> (tensor<8xf32> {onnx.name = "y"}) {
      %y = onnx.unary tanh %x : tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<8xf32> {onnx.name = "x"}, %t: tensor<8xf32> {onnx.name = "targets"}) -> (tensor<f32> {onnx.name = "loss"}, tensor<8xf32> {onnx.name = "x.grad"}) {
    ...
      onnx.unary tanh
    ...
    ```
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"none\"",
           "cross-entropy, mean-square, or none: the result is the loss">,
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
    ListOption<"train", "train", "std::string",
               "Globs of names of parameters that train; all if there is none">,
    ListOption<"freeze", "freeze", "std::string",
               "Globs of names of parameters that do not">,
    Option<"gradientsAsResults", "gradients-as-results", "bool", "false",
           "Gradients are results of @main, called as what they are of and .grad">
  ];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

#endif // COMPILER_DIFFERENTIATE_PASSES_TD
