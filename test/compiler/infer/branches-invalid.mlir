// RUN: wse-opt %s --split-input-file --onnx-infer-and-fold | FileCheck %s

// Conditions that are computed. One input may decide, which can be stated.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "If"{{.*}} {node = "input"{{.*}}onnx.reason = "its condition is computed in each run; state the input that decides, --bind use_cache=true or false"
// CHECK: onnx.node "If"{{.*}} {node = "derived"{{.*}}onnx.reason = "its condition is computed in each run; state the input that decides, --bind use_cache=true or false"
// CHECK: onnx.node "If"{{.*}} {node = "both"{{.*}}onnx.reason = "its condition is computed in each run; export the model with the branch that it is to take"
// CHECK: onnx.node "If"{{.*}} {node = "integer"{{.*}}onnx.reason = "its condition is not one truth value"
// CHECK: onnx.node "If"{{.*}} {node = "behind"{{.*}}onnx.reason = "an operand
func.func @main(%c: tensor<i1> {onnx.name = "use_cache"}, %d: tensor<i1> {onnx.name = "d"}) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %two = onnx.constant dense<2> : tensor<i64>
  %i = onnx.node "If"(%c) with {then_branch = @one, else_branch = @one} {node = "input"} : (tensor<i1>) -> !onnx.unknown
  %not = onnx.node "Not"(%c) : (tensor<i1>) -> !onnx.unknown
  %n = onnx.node "If"(%not) with {then_branch = @one, else_branch = @one} {node = "derived"} : (!onnx.unknown) -> !onnx.unknown
  %and = onnx.node "And"(%c, %d) : (tensor<i1>, tensor<i1>) -> !onnx.unknown
  %b = onnx.node "If"(%and) with {then_branch = @one, else_branch = @one} {node = "both"} : (!onnx.unknown) -> !onnx.unknown
  %t = onnx.node "If"(%two) with {then_branch = @one, else_branch = @one} {node = "integer"} : (tensor<i64>) -> !onnx.unknown
  %e = onnx.node "If"(%i) with {then_branch = @one, else_branch = @one} {node = "behind"} : (!onnx.unknown) -> !onnx.unknown
  return %i, %n, %b, %t, %e : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
func.func private @one() -> tensor<i1> {
  %one = onnx.constant dense<true> : tensor<i1>
  return %one : tensor<i1>
}
}

// -----

// Data decides nothing that could be stated. What shapes results is named, if it is one input.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK: onnx.node "If"{{.*}} {node = "data"{{.*}}onnx.reason = "its condition is computed in each run; export the model with the branch that it is to take"
// CHECK: onnx.node "NonZero"{{.*}}onnx.reason = "what is not zero is computed from the model's inputs; --bind ids=FILE.npy makes it known"
// CHECK: onnx.node "NonZero"{{.*}}onnx.reason = "what is not zero is computed from the model's inputs; a loop over the experts that tokens chose, traced, has as many as the traced tokens chose, and is wrong for others; export with experts_implementation=\22batched_mm\22"
// CHECK: onnx.node "Expand"{{.*}}onnx.reason = "shape is computed from the model's inputs; --bind n=VALUE makes it known"
// CHECK: onnx.node "Expand"{{.*}}onnx.reason = "shape is computed from the model's inputs; --bind n=VALUE --bind ids=FILE.npy make it known"
// CHECK: onnx.node "Gemm"{{.*}}onnx.reason = "cannot multiply 2x3 by 4x3, as transA and transB have them"
func.func @main(%x: tensor<f32> {onnx.name = "x"}, %ids: tensor<2x3xi64> {onnx.name = "ids"}, %n: tensor<i64> {onnx.name = "n"}, %a: tensor<3x2xf32> {onnx.name = "a"}, %b: tensor<4x3xf32> {onnx.name = "b"}) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %one = onnx.constant dense<1.0> : tensor<f32>
  %more = onnx.node "Greater"(%x, %one) : (tensor<f32>, tensor<f32>) -> !onnx.unknown
  %i = onnx.node "If"(%more) with {then_branch = @one, else_branch = @one} {node = "data"} : (!onnx.unknown) -> !onnx.unknown
  %z = onnx.node "NonZero"(%ids) : (tensor<2x3xi64>) -> !onnx.unknown
  %shape = onnx.constant dense<1> : tensor<1xi64>
  %most:2 = onnx.node "TopK"(%a, %shape) : (tensor<3x2xf32>, tensor<1xi64>) -> (!onnx.unknown, !onnx.unknown)
  %marks = onnx.constant dense<[0, 1]> : tensor<2xi64>
  %mask = onnx.node "OneHot"(%most#1, %shape, %marks) : (!onnx.unknown, tensor<1xi64>, tensor<2xi64>) -> !onnx.unknown
  %hit = onnx.node "NonZero"(%mask) : (!onnx.unknown) -> !onnx.unknown
  %count = onnx.node "Reshape"(%n, %shape) : (tensor<i64>, tensor<1xi64>) -> !onnx.unknown
  %e = onnx.node "Expand"(%x, %count) : (tensor<f32>, !onnx.unknown) -> !onnx.unknown
  %flat = onnx.node "ReduceMax"(%ids) with {keepdims = 0 : i64} : (tensor<2x3xi64>) -> !onnx.unknown
  %sum = onnx.node "Add"(%count, %flat) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %two = onnx.node "Expand"(%x, %sum) : (tensor<f32>, !onnx.unknown) -> !onnx.unknown
  %g = onnx.node "Gemm"(%a, %b) with {transA = 1 : i64} : (tensor<3x2xf32>, tensor<4x3xf32>) -> !onnx.unknown
  return %i, %z, %hit, %e, %two, %g : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
}
func.func private @one() -> tensor<i1> {
  %one = onnx.constant dense<true> : tensor<i1>
  return %one : tensor<i1>
}
}

// -----

// Neither a choice nor a mask alone is a loop over experts, nor what a product of both makes.
module attributes {onnx.opset = 17 : i64} {
// CHECK-LABEL: func.func @main
// CHECK-NOT: batched_mm
// CHECK: onnx.node "NonZero"{{.*}} {node = "choice", onnx.reason = "what is not zero is computed from the model's inputs; export the model with one that is known"
// CHECK: onnx.node "NonZero"{{.*}} {node = "mask", onnx.reason = "what is not zero is computed from the model's inputs; --bind ids=FILE.npy makes it known"
// CHECK: onnx.node "NonZero"{{.*}} {node = "product", onnx.reason = "what is not zero is computed from the model's inputs; export the model with one that is known"
// CHECK-NOT: batched_mm
func.func @main(%ids: tensor<3xi64> {onnx.name = "ids"}, %a: tensor<3x2xf32> {onnx.name = "a"}, %b: tensor<2x4xf32> {onnx.name = "b"}) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) {
  %one = onnx.constant dense<1> : tensor<1xi64>
  %two = onnx.constant dense<2> : tensor<i64>
  %marks = onnx.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %most:2 = onnx.node "TopK"(%a, %one) : (tensor<3x2xf32>, tensor<1xi64>) -> (!onnx.unknown, !onnx.unknown)
  %choice = onnx.node "NonZero"(%most#1) {node = "choice"} : (!onnx.unknown) -> !onnx.unknown
  %mask = onnx.node "OneHot"(%ids, %two, %marks) : (tensor<3xi64>, tensor<i64>, tensor<2xf32>) -> !onnx.unknown
  %marked = onnx.node "NonZero"(%mask) {node = "mask"} : (!onnx.unknown) -> !onnx.unknown
  %chosen = onnx.node "OneHot"(%most#1, %two, %marks) : (!onnx.unknown, tensor<i64>, tensor<2xf32>) -> !onnx.unknown
  %product = onnx.node "MatMul"(%chosen, %b) : (!onnx.unknown, tensor<2x4xf32>) -> !onnx.unknown
  %made = onnx.node "NonZero"(%product) {node = "product"} : (!onnx.unknown) -> !onnx.unknown
  return %choice, %marked, %made : !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}
