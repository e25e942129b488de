// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_CANONICALIZE_PASSES_TD
#define COMPILER_CANONICALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseNorms : Pass<"onnx-fuse-norms", "::mlir::ModuleOp"> {
  let summary = "Finds norms that were dissolved into primitives.";
  let description = [{
    `x - mean(x)`, its square, `rsqrt(mean + epsilon)`, scale and bias become
    one `onnx.layer_norm`; without the mean they are an `onnx.rms_norm`.

    ```mlir
    // wse-opt --onnx-fuse-norms --onnx-common-subexpressions
    func.func @main(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
      %epsilon = onnx.constant dense<0.5> : tensor<f32>
      %square = onnx.binary mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %mean = onnx.reduce mean %square {axes = array<i64: 1>, keepdims = true} : tensor<2x8xf32> -> tensor<2x1xf32>
      %sum = onnx.binary add %mean, %epsilon : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
      %inverse = onnx.unary rsqrt %sum : tensor<2x1xf32>
      %normal = onnx.binary mul %x, %inverse : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
      %y = onnx.binary mul %normal, %g : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
      return %y : tensor<2x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
      %y = onnx.rms_norm %x, %g {epsilon = 0.5 : f32} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
      return %y : tensor<2x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def HoldStates : Pass<"onnx-hold-states", "::mlir::ModuleOp"> {
  let summary = "Finds states that each call reads and writes as a whole.";
  let description = [{
    A state that no `onnx.update` writes at a position, as that of a recurrence, is
    what a call has returned (`onnx.whole`). A call at position 0 begins: it reads
    zeros, whatever the state holds. A function without an argument that says where
    its tokens stand gets one, `position`; one that writes a state and never reads
    it forgets what calls before have left, so that its only position is 0.

    ```mlir
    // wse-opt --onnx-hold-states
    func.func @main(%x: tensor<1x2x8xf32> {onnx.name = "x"}, %h: tensor<1x2x8xf32> {onnx.name = "past", onnx.state = "past"}) -> (tensor<1x2x8xf32> {onnx.name = "present", onnx.state = "past"}) {
      %sum = onnx.binary add %x, %h : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
      return %sum : tensor<1x2x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x2x8xf32> {onnx.name = "x"}, %h: tensor<1x2x8xf32> {onnx.name = "past", onnx.state = "past", onnx.whole}, %position: tensor<1xi64> {onnx.argument = array<i64: 0, 2147483647>, onnx.name = "position"}) -> (tensor<1x2x8xf32> {onnx.name = "present", onnx.state = "past"}) {
      %sum = onnx.binary add %x, %h : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
      return %sum : tensor<1x2x8xf32>
    }
    ```

    With `initial` there is a function `@begin`, which takes them from the host.
  }];
  let options = [
    Option<"initial", "initial", "bool", /*default=*/"false",
           "Add an entry that the host gives the first states.">
  ];
}

def FuseRotary : Pass<"onnx-fuse-rotary", "::mlir::ModuleOp"> {
  let summary = "Finds rotary embeddings that were dissolved into primitives.";
  let description = [{
    `x * cos + rotate_half(x) * sin`, on all features of heads or on the first
    ones, in halves or in pairs, becomes one `onnx.rotary` on a `[batch, token,
    feature]` tensor. Reshapes and transposes that made heads come behind it,
    where attention sees through them.

    ```mlir
    // wse-opt --onnx-fuse-rotary --onnx-common-subexpressions
    func.func @main(%x: tensor<1x6x2x4xf32>, %cos: tensor<1x6x1x4xf32>, %sin: tensor<1x6x1x4xf32>) -> tensor<1x6x2x4xf32> {
      %a = onnx.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x6x2x4xf32> -> tensor<1x6x2x2xf32>
      %b = onnx.slice %x {starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x6x2x4xf32> -> tensor<1x6x2x2xf32>
      %n = onnx.unary neg %b : tensor<1x6x2x2xf32>
      %r = onnx.concat %n, %a {axis = 3 : i64} : (tensor<1x6x2x2xf32>, tensor<1x6x2x2xf32>) -> tensor<1x6x2x4xf32>
      %c = onnx.binary mul %x, %cos : (tensor<1x6x2x4xf32>, tensor<1x6x1x4xf32>) -> tensor<1x6x2x4xf32>
      %s = onnx.binary mul %r, %sin : (tensor<1x6x2x4xf32>, tensor<1x6x1x4xf32>) -> tensor<1x6x2x4xf32>
      %y = onnx.binary add %c, %s : (tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>) -> tensor<1x6x2x4xf32>
      return %y : tensor<1x6x2x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x6x2x4xf32>, %cos: tensor<1x6x1x4xf32>, %sin: tensor<1x6x1x4xf32>) -> tensor<1x6x2x4xf32> {
      %c = onnx.reshape %cos : tensor<1x6x1x4xf32> -> tensor<1x6x4xf32>
      %s = onnx.reshape %sin : tensor<1x6x1x4xf32> -> tensor<1x6x4xf32>
      %h = onnx.reshape %x : tensor<1x6x2x4xf32> -> tensor<1x6x8xf32>
      %t = onnx.rotary %h, %c, %s {num_heads = 2 : i64, rotary_dim = 4 : i64} : (tensor<1x6x8xf32>, tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x8xf32>
      %y = onnx.reshape %t : tensor<1x6x8xf32> -> tensor<1x6x2x4xf32>
      return %y : tensor<1x6x2x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def FuseAttention : Pass<"onnx-fuse-attention", "::mlir::ModuleOp"> {
  let summary = "Finds attention that was dissolved into primitives.";
  let description = [{
    `softmax(q k^T * scale + mask) v`, with heads moved about by reshapes and
    transposes, becomes one `onnx.attention` on `[batch, token, feature]`
    tensors. The layouts are not matched by their operators: what lies between
    a product and the tensor with the projections is composed into one strided
    view, and its strides say which dimension is batch, head, token and
    feature. Masks become its terms (`#onnx.term`), in
    their order; of one that hides exactly later keys the number is left.

    ```mlir
    // wse-opt --onnx-fuse-attention --onnx-fuse-matmul --onnx-common-subexpressions
    func.func @main(%q: tensor<1x5x8xf32>, %k: tensor<1x5x8xf32>, %v: tensor<1x5x8xf32>) -> tensor<1x5x8xf32> {
      %q4 = onnx.reshape %q : tensor<1x5x8xf32> -> tensor<1x5x2x4xf32>
      %k4 = onnx.reshape %k : tensor<1x5x8xf32> -> tensor<1x5x2x4xf32>
      %v4 = onnx.reshape %v : tensor<1x5x8xf32> -> tensor<1x5x2x4xf32>
      %qh = onnx.transpose %q4 {perm = array<i64: 0, 2, 1, 3>} : tensor<1x5x2x4xf32> -> tensor<1x2x5x4xf32>
      %kh = onnx.transpose %k4 {perm = array<i64: 0, 2, 3, 1>} : tensor<1x5x2x4xf32> -> tensor<1x2x4x5xf32>
      %vh = onnx.transpose %v4 {perm = array<i64: 0, 2, 1, 3>} : tensor<1x5x2x4xf32> -> tensor<1x2x5x4xf32>
      %scores = onnx.node "MatMul"(%qh, %kh) : (tensor<1x2x5x4xf32>, tensor<1x2x4x5xf32>) -> tensor<1x2x5x5xf32>
      %p = onnx.softmax %scores {axis = 3 : i64} : tensor<1x2x5x5xf32>
      %o = onnx.node "MatMul"(%p, %vh) : (tensor<1x2x5x5xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
      %t = onnx.transpose %o {perm = array<i64: 0, 2, 1, 3>} : tensor<1x2x5x4xf32> -> tensor<1x5x2x4xf32>
      %y = onnx.reshape %t : tensor<1x5x2x4xf32> -> tensor<1x5x8xf32>
      return %y : tensor<1x5x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%q: tensor<1x5x8xf32>, %k: tensor<1x5x8xf32>, %v: tensor<1x5x8xf32>) -> tensor<1x5x8xf32> {
      %y = onnx.attention %q, %k, %v {num_heads = 2 : i64, scale = 1.0 : f32} : (tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>) -> tensor<1x5x8xf32>
      return %y : tensor<1x5x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def FuseMatMul : Pass<"onnx-fuse-matmul", "::mlir::ModuleOp"> {
  let summary = "Brings products by weights into one form.";
  let description = [{
    Reshapes that regroup tokens sink below products, norms and element-wise
    operators until they meet and cancel; a constant added to a product
    becomes its bias; a product that is only read in parts along its last axis
    (fused Q, K and V) becomes one product per part with views of the weight.

    ```mlir
    func.func @main(%x: tensor<1x8x16xf32>, %w: tensor<16x24xf32>) -> tensor<1x8x24xf32> {
      %b = onnx.constant external<"m.onnx", 0, 96> : tensor<24xf32>
      %h = onnx.matmul %x, %w : (tensor<1x8x16xf32>, tensor<16x24xf32>) -> tensor<1x8x24xf32>
      %y = onnx.binary add %h, %b : (tensor<1x8x24xf32>, tensor<24xf32>) -> tensor<1x8x24xf32>
      return %y : tensor<1x8x24xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x8x16xf32>, %w: tensor<16x24xf32>) -> tensor<1x8x24xf32> {
      %b = onnx.constant external<"m.onnx", 0, 96> : tensor<24xf32>
      %y = onnx.matmul %x, %w bias %b : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<24xf32>) -> tensor<1x8x24xf32>
      return %y : tensor<1x8x24xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def LegalizeProducts : Pass<"onnx-legalize-products", "::mlir::ModuleOp"> {
  let summary = "Names the products that no attention took.";
  let description = [{
    A `MatMul` of two computed tensors that is no part of an attention becomes
    `onnx.batch_matmul`.

    ```mlir
    func.func @main(%a: tensor<2x8x16xf32>, %b: tensor<2x16x24xf32>) -> tensor<2x8x24xf32> {
      %y = onnx.node "MatMul"(%a, %b) : (tensor<2x8x16xf32>, tensor<2x16x24xf32>) -> tensor<2x8x24xf32>
      return %y : tensor<2x8x24xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%a: tensor<2x8x16xf32>, %b: tensor<2x16x24xf32>) -> tensor<2x8x24xf32> {
      %y = onnx.batch_matmul %a, %b : (tensor<2x8x16xf32>, tensor<2x16x24xf32>) -> tensor<2x8x24xf32>
      return %y : tensor<2x8x24xf32>
    }
    ```
  }];
}

def FuseSubstitutions : Pass<"onnx-fuse-substitutions", "::mlir::ModuleOp"> {
  let summary = "Finds inverses that were unrolled into forward substitution.";
  let description = [{
    Rows that are updated one after the other, each by the sum of the rows above
    it times its own elements, become a few products of whole matrices: the
    inverse of identity minus what stands below the diagonal, less the identity.

    ```mlir
    // wse-opt --onnx-fuse-substitutions --onnx-common-subexpressions
    func.func @main(%m: tensor<3x3xf32>) -> tensor<3x3xf32> {
      %below = onnx.constant dense<[[false, false, false], [true, false, false], [true, true, false]]> : tensor<3x3xi1>
      %zero = onnx.constant dense<0.0> : tensor<f32>
      %l = onnx.where %below, %m, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
      %r1 = onnx.slice %l {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
      %s1 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
      %p1 = onnx.binary mul %r1, %s1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
      %t1 = onnx.reduce sum %p1 {axes = array<i64: 0>, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>
      %n1 = onnx.binary add %r1, %t1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
      %r2 = onnx.slice %l {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
      %c2 = onnx.transpose %r2 {perm = array<i64: 1, 0>} : tensor<1x2xf32> -> tensor<2x1xf32>
      %u0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
      %z1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
      %u1 = onnx.concat %n1, %z1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
      %u = onnx.concat %u0, %u1 {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
      %p2 = onnx.binary mul %c2, %u : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      %t2 = onnx.reduce sum %p2 {axes = array<i64: 0>, keepdims = true} : tensor<2x2xf32> -> tensor<1x2xf32>
      %n2 = onnx.binary add %r2, %t2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
      %x0 = onnx.slice %l {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x3xf32>
      %x1 = onnx.slice %l {starts = array<i64: 1, 1>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x2xf32>
      %x2 = onnx.slice %l {starts = array<i64: 2, 2>, steps = array<i64: 1, 1>} : tensor<3x3xf32> -> tensor<1x1xf32>
      %y1 = onnx.concat %n1, %x1 {axis = 1 : i64} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
      %y2 = onnx.concat %n2, %x2 {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
      %x = onnx.concat %x0, %y1, %y2 {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
      return %x : tensor<3x3xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %5 = onnx.where %4, %2, %1 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
      %6 = onnx.binary add %5, %3 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    ...
      %8 = onnx.where %7, %2, %1 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
      %9 = onnx.batch_matmul %6, %8 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
      %10 = onnx.batch_matmul %9, %6 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
      %11 = onnx.binary add %10, %6 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
      %12 = onnx.binary sub %11, %3 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    ...
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def FuseExperts : Pass<"onnx-fuse-experts", "::mlir::ModuleOp"> {
  let summary = "Finds products by the weights of experts that each row chose.";
  let description = [{
    Weights that are looked up for each row, and multiplied by that row alone,
    become an `onnx.experts`: the rows stay where they are, and nothing is
    looked up.

    ```mlir
    // wse-opt --onnx-fuse-experts --onnx-common-subexpressions
    func.func @main(%x: tensor<6x1x3xf32>, %ids: tensor<6xi32>) -> tensor<6x1x2xf32> {
      %table = onnx.constant dense<0.5> : tensor<4x6xf32>
      %rows = onnx.gather %table, %ids : (tensor<4x6xf32>, tensor<6xi32>) -> tensor<6x6xf32>
      %w = onnx.reshape %rows : tensor<6x6xf32> -> tensor<6x3x2xf32>
      %y = onnx.node "MatMul"(%x, %w) : (tensor<6x1x3xf32>, tensor<6x3x2xf32>) -> tensor<6x1x2xf32>
      return %y : tensor<6x1x2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<6x1x3xf32>, %ids: tensor<6xi32>) -> tensor<6x1x2xf32> {
      %w = onnx.constant dense<0.5> : tensor<4x3x2xf32>
      %rows = onnx.reshape %x : tensor<6x1x3xf32> -> tensor<6x3xf32>
      %z = onnx.experts %rows, %ids, %w : (tensor<6x3xf32>, tensor<6xi32>, tensor<4x3x2xf32>) -> tensor<6x2xf32>
      %y = onnx.reshape %z : tensor<6x2xf32> -> tensor<6x1x2xf32>
      return %y : tensor<6x1x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def ExpandExperts : Pass<"onnx-expand-experts", "::mlir::ModuleOp"> {
  let summary = "Lets the weights of every expert pass all rows.";
  let options = [
    Option<"columns", "columns", "int64_t", "0", "Columns of PEs that products may have">,
    Option<"rows", "rows", "int64_t", "0", "Rows of PEs, likewise">,
    Option<"channels", "channels", "int64_t", "0",
           "Rows that have a channel; 0: no product is of rows with an expert each">,
    Option<"latency", "latency", "int64_t", "0", "Cycles until words of the store come">,
    Option<"held", "held", "bool", "false", "Whether weights stay on the wafer: rows then take their own">
  ];
  let description = [{
    Each expert's product is one by a weight, and each row selects that of its
    own: by selection, so that what another expert makes of it, a NaN or an
    infinity, is not seen. Where tokens chose several experts and what these
    make is weighted and added, it is done once a token and expert: product,
    activation, product. Where a mesh is given that has room for the weights of
    all experts of some result features at a time, and that is faster, or that
    holds all weights, rows keep the weights of their own experts.

    ```mlir
    func.func @main(%x: tensor<6x3xf32>, %ids: tensor<6xi32>, %w: tensor<1x3x2xf32>) -> tensor<6x2xf32> {
      %y = onnx.experts %x, %ids, %w : (tensor<6x3xf32>, tensor<6xi32>, tensor<1x3x2xf32>) -> tensor<6x2xf32>
      return %y : tensor<6x2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<6x3xf32>, %ids: tensor<6xi32>, %w: tensor<1x3x2xf32>) -> tensor<6x2xf32> {
      %column = onnx.reshape %ids : tensor<6xi32> -> tensor<6x1xi32>
      %nan = onnx.constant dense<0x7FC00000> : tensor<f32>
      %part = onnx.slice %w {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<1x3x2xf32> -> tensor<1x3x2xf32>
      %first = onnx.reshape %part : tensor<1x3x2xf32> -> tensor<3x2xf32>
      %product = onnx.matmul %x, %first : (tensor<6x3xf32>, tensor<3x2xf32>) -> tensor<6x2xf32>
      %zero = onnx.constant dense<0> : tensor<i32>
      %here = onnx.binary equal %column, %zero : (tensor<6x1xi32>, tensor<i32>) -> tensor<6x1xi1>
      %y = onnx.where %here, %product, %nan : (tensor<6x1xi1>, tensor<6x2xf32>, tensor<f32>) -> tensor<6x2xf32>
      return %y : tensor<6x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def CommonSubexpressions : Pass<"onnx-common-subexpressions", "::mlir::ModuleOp"> {
  let summary = "Computes equal values once, and removes what is not used.";
  let description = [{
    Like MLIR's CSE, but operators that differ in the name of their node only
    are equal. The first name stays.

    ```mlir
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = onnx.unary exp %x {node = "first"} : tensor<8xf32>
      %b = onnx.unary exp %x {node = "second"} : tensor<8xf32>
      %y = onnx.binary add %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = onnx.unary exp %x {node = "first", onnx.absorbed = ["second"]} : tensor<8xf32>
      %y = onnx.binary add %a, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def FollowLength : Pass<"onnx-follow-length", "::mlir::ModuleOp"> {
  let summary = "Makes a model right for each length that a call may choose.";
  let options = [
    Option<"rows", "rows", "int64_t", "0",
           "Rows of PEs to which tokens are dealt, so that a short call has few in each; 0: "
           "tokens keep their order">
  ];
  let description = [{
    A function with an `onnx.length` is a model at the most that a dimension is in
    a call, others are it at less (`onnx.length_of`). Extents that differ are the
    length. What is behind that of a call is there, too: where elements along it
    are combined, by a softmax, an attention, a sum, or a product, they count
    nothing, and a mean divides by the length, which is a further input. A
    constant begins alike at each length, or is a whole number times it, and one
    more. All else is refused, by node, and the other functions are erased.

    ```mlir
    func.func @main(%x: tensor<8x4xf32>) -> tensor<4xf32>
        attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "tokens"} {
      %y = onnx.reduce sum %x {axes = array<i64: 0>, keepdims = false} : tensor<8x4xf32> -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    func.func @at_6(%x: tensor<6x4xf32>) -> tensor<4xf32>
        attributes {onnx.length = array<i64: 6, 6>, onnx.length_of = @main} {
      %y = onnx.reduce sum %x {axes = array<i64: 0>, keepdims = false} : tensor<6x4xf32> -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {onnx.length_axes = array<i64: 0>}, %tokens: tensor<1xi64> {onnx.length = array<i64: 1, 8>, onnx.name = "tokens"}) -> tensor<4xf32>
        attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "tokens", onnx.length_parts = 1 : i64} {
      %numbers = onnx.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
      %there = onnx.binary less %numbers, %tokens {node = "tokens"} : (tensor<8xi64>, tensor<1xi64>) -> tensor<8xi1>
      %rows = onnx.reshape %there : tensor<8xi1> -> tensor<8x1xi1>
      %zero = onnx.constant dense<0.0> : tensor<f32>
      %masked = onnx.where %rows, %x, %zero : (tensor<8x1xi1>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %y = onnx.reduce sum %masked {axes = array<i64: 0>, keepdims = false} : tensor<8x4xf32> -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

def VerifyCanonical : Pass<"onnx-verify-canonical", "::mlir::ModuleOp"> {
  let summary = "Refuses a model with operators we cannot map, all at once.";
  let description = [{
    Holds when every operator is a named one of known shape that has a kernel,
    on element types the wafer has. Otherwise there is an error for each
    operator and reason (`compiler/Refusals.h`), of what is not behind another.

    ```mlir
    func.func @main(%x: tensor<8xf32>) -> !onnx.unknown {
      %y = onnx.node "Det"(%x) {node = "determinant"} : (tensor<8xf32>) -> !onnx.unknown
      return %y : !onnx.unknown
    }
    ```
    is refused:
    ```
    error: Det: the operator has no kernel: node 'determinant'
    ```
  }];
  let dependentDialects = ["::wsec::onnx::OnnxDialect"];
}

#endif // COMPILER_CANONICALIZE_PASSES_TD
