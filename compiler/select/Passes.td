// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_PASSES_TD
#define WSEC_COMPILER_SELECT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectKernelsPass : Pass<"wse-select-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns the operators of @main into kernels of the wafer.";
  let description = [{
    onnx -> wse, selected. Chooses the shape of the region, for every operator a
    kernel, for every tensor its distribution, and for every product its variant
    by the kernels' own cost model. Element-wise operators fuse into chains; constants become
    attributes that name bytes of files; shape-only operators disappear.

    ```mlir
    // wse-opt --wse-select-kernels=mesh=4x3
    func.func @main(%x: tensor<6x8xf32> {onnx.name = "x"}) -> (tensor<6x4xf32> {onnx.name = "y"}) {
      %w = onnx.constant external<"m.data", 0, 128> : tensor<8x4xf32> {node = "w"}
      %h = onnx.matmul %x, %w {node = "fc"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
      %y = onnx.unary tanh %h {node = "tanh"} : tensor<6x4xf32>
      return %y : tensor<6x4xf32>
    }
    ```
    becomes
    ```mlir
    ...
    wse.program @main state(selected) mesh(4x3) machine("wse2") {
      region @r shape(4x3)
      input @x : tensor<6x8xf32>
      parameter @w = external<"m.data", 0, 128> : tensor<8x4xf32>
      %x = load @x on @r {nodes = ["fc"]} : !tokens_1x6x8_balanced
      %fc = matmul %x weight <@w : tensor<8x4xf32>> variant(reduce) on @r
      ...
      %tanh = elementwise(%fc) on @r {nodes = ["tanh"]} : (!tokens_1x6x4_balanced) -> !tokens_1x6x4_balanced {
      ^bb0(%arg0: f32):
        %0 = math.tanh %arg0 : f32
        wse.yield %0 : f32
      }
      store %tanh to "y" on @r {nodes = ["tanh"]} : !tokens_1x6x4_balanced to tensor<6x4xf32>
    }
    ```

    What no kernel can do is reported in one error, node by node, with the
    reason.
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"",
           "Columns x rows of PEs to use, such as 8x8; all of the machine's if "
           "empty.">,
    Option<"keepOuts", "keep-outs", "std::string", "\"\"",
           "Rectangles that nothing may use, besides the machine's, as "
           "x,y,columns x rows with semicolons between: 3,0,1x2;0,5,4x1.">,
    Option<"region", "region", "std::string", "\"\"",
           "Columns x rows of the region that kernels run on; the best by "
           "predicted cycles if empty.">,
    Option<"placement", "placement", "std::string", "\"\"",
           "Placement as JSON: regions of these shapes, with the kernels that "
           "it says.">,
    Option<"machine", "machine", "std::string", "\"wse2\"",
           "Preset wse1, wse2, wse3 or wse3-silicon, or the path of a JSON file.">,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "Elements of activations and of weights that stream: f32, f16, "
           "bf16 or cb16.">,
    Option<"kvPrecision", "kv-precision", "std::string", "\"\"",
           "Elements of the keys and values that states hold: f16, bf16, cb16 or "
           "int8; as activations if empty.">,
    Option<"precisionLevel", "precision-opt-level", "int64_t", "0",
           "What of 16 bits is summed in as many: 0 nothing, 1 products with "
           "weights, 2 attention and softmax, too.">,
    Option<"reorderStates", "reorder-states", "bool", "false",
           "Adds an entry, reorder, in which each sequence of the states goes on "
           "from another.">,
    Option<"samples", "samples", "int64_t", "0",
           "Samples that follow one another through stages; 0: many.">,
    Option<"explain", "explain", "std::string", "\"\"",
           "A node of the model: which choices there were for its kernels and "
           "why these, as the attribute wse.explanation of the module.">,
    Option<"within", "within", "::wsec::plan::Constraints",
           "::wsec::plan::Constraints()",
           "What it keeps to, so that the program fits: compiler/plan/Plan.h.">
  ];
  let dependentDialects = ["::wsec::wse::WseDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def MarkSparsePass : Pass<"wse-mark-sparse", "::mlir::ModuleOp"> {
  let summary = "Says of products which of their weights are kept.";
  let description = [{
    Of the products that a filter names, `sparsity` of the weights are to count as
    zero. They get a `wse.sparsity`, and their kernels are `wse.sparse_matmul`. A
    filter is a glob that the weight's name or the node's matches; without one
    these are what frameworks call the weights of queries, keys, values,
    attention outputs and feed-forward blocks.

    ```mlir
    // wse-opt --wse-mark-sparse=sparsity=0.75
    func.func @main(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
      %w = onnx.constant external<"m.data", 0, 128> : tensor<8x4xf32> {node = "fc1"}
      %h = onnx.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
      return %h : tensor<6x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
      %w = onnx.constant external<"m.data", 0, 128> : tensor<8x4xf32> {node = "fc1"}
      %h = onnx.matmul %x, %w {wse.sparsity = #wse.sparsity<keep 16 of 64 rest 1 random seed 0>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
      return %h : tensor<6x4xf32>
    }
    ```

    A filter that names no weight, and a sparsity that keeps none, are errors.
  }];
  let options = [
    Option<"sparsity", "sparsity", "double", "0",
           "Share of weights that count as zero; 0: all are kept.">,
    Option<"method", "method", "std::string", "\"random\"",
           "random, or topk: those of the largest absolute value are kept.">,
    Option<"seed", "seed", "int64_t", "0", "Of the random method.">,
    ListOption<"filter", "filter", "std::string",
               "Globs of names of weights or nodes.">
  ];
  let dependentDialects = ["::wsec::wse::WseDialect"];
}

def KeepWeightsPass : Pass<"wse-keep-weights", "::wsec::wse::ProgramOp"> {
  let summary = "Makes weights resident that kernels can read on the wafer.";
  let description = [{
    wse, selected. A kernel takes the variant that can hold most of its weights,
    of several the one with the fewest cycles then. These become resident parameters, which entry `@load` fills: called once, it
    spares the entry `main` their streams. What no kernel can hold (tables of a
    gather, sparse products) streams as before. Whether all fits the SRAM of its
    regions is for schedule to say.

    ```mlir
    #tiled = #wse.dist<rows = [0, 1], columns = [2]>
    wse.program @main state(selected) mesh(3x2) machine("wse2") {
      region @r shape(3x2)
      input @x : tensor<1x3x8xf32>
      parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
      %x = load @x on @r {nodes = ["x"]} : tensor<1x3x8xf32, #tiled>
      %y = matmul %x weight <@w : tensor<8x12xf32>> variant(reduce) on @r {nodes = ["fc"]} : tensor<1x3x8xf32, #tiled> -> tensor<1x3x12xf32, #tiled>
      store %y to "y" on @r {nodes = ["fc"]} : tensor<1x3x12xf32, #tiled> to tensor<1x3x12xf32>
    }
    ```
    becomes
    ```mlir
    parameter @w.resident = <@w : tensor<1x12x8xf32> view 0 strides [96, 1, 12]> resident on @r as
    ...
    parameter @w = external<"w.bin", 0, 384> : tensor<8x12xf32>
    entry @load {
    ...
    fill @w.resident on @r {nodes = ["fc"]}
    ...
    matmul %x weight <@w.resident : tensor<8x12xf32> view 0 strides [1, 8]> variant(stationary) on @r {nodes = ["fc"]}
    ```
  }];
}

def VerifySelectedPass : Pass<"wse-verify-selected", "::wsec::wse::ProgramOp"> {
  let summary = "Checks what place, route and schedule rely on.";
  let description = [{
    - (S1) The program says it is selected.
    - (S2) Kernels carry no fact of a later state, and there are no streams.
    - (S3) Every kernel but load and store names the nodes it computes.
    - (S4) The pieces stored to an output or intermediate cover it once and
      completely.
    - (S5) There is an output.
    - (S6) An intermediate is declared, then stored, then read.

    ```mlir
    wse.program @main state(selected) mesh(2x2) machine("wse2") {
      region @r shape(2x2)
    }
    ```
    is refused:
    ```
    error: 'wse.program' op has no output
    ```
  }];
}

#endif // WSEC_COMPILER_SELECT_PASSES_TD
