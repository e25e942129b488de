// RUN: wse-opt --onnx-raise-linalg --split-input-file %s | FileCheck %s --check-prefixes=BOTH,CHECK
// RUN: wse-opt --onnx-raise-linalg --split-input-file %s | wse-opt --split-input-file --onnx-infer-and-fold | FileCheck %s --check-prefixes=BOTH,TYPES

// A function of onnx operators stays as it is.
// BOTH-LABEL: func.func @kept(
// CHECK-NEXT:    onnx.node "Relu"(%arg0) {node = "act"}
func.func @kept(%x: tensor<4xf32>) -> !onnx.unknown {
  %y = onnx.node "Relu"(%x) {node = "act"} : (tensor<4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// Names of arguments that are given stay; the sum begins with what is added.
// CHECK: module @product attributes {onnx.model = "product", onnx.opset = 21 : i64, onnx.parameters = 6 : i64, onnx.weight_bytes = 24 : i64}
// CHECK-NOT: @seed
// BOTH-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32> {onnx.name = "x"}, %[[B:.*]]: tensor<2x2xf32> {onnx.name = "arg1"}) -> (!onnx.unknown {onnx.name = "result0"})
// CHECK-NEXT: %[[W:.*]] = onnx.constant dense<1.000000e+00> : tensor<3x2xf32> {node = "constant_1"}
// CHECK-NEXT: %[[P:.*]] = onnx.node "MatMul"(%[[X]], %[[W]]) {node = "matmul_2/MatMul"}
// CHECK-NEXT: %[[Y:.*]] = onnx.node "Add"(%[[P]], %[[B]]) {node = "matmul_2/Add"}
// CHECK-NEXT: return %[[Y]]
// TYPES: return %{{.*}} : tensor<2x2xf32>
module @product {
  ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
  func.func @forward(%x: tensor<2x3xf32> {onnx.name = "x"}, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %w = arith.constant dense<1.0> : tensor<3x2xf32>
    %y = linalg.matmul ins(%x, %w : tensor<2x3xf32>, tensor<3x2xf32>) outs(%b : tensor<2x2xf32>) -> tensor<2x2xf32>
    return %y : tensor<2x2xf32>
  }
}

// -----

// Loops of both operands are a batch wherever they stand, several loops of one are rows.
// BOTH-LABEL: func.func @main(
// CHECK-DAG:  %[[A:.*]] = onnx.node "Transpose"(%{{.*}}) with {perm = [1, 0, 2, 3]}
// CHECK-DAG:  %[[ROWS:.*]] = onnx.constant dense<[3, 10, 7]>
// CHECK-DAG:  %[[LEFT:.*]] = onnx.node "Reshape"(%[[A]], %[[ROWS]])
// CHECK-DAG:  %[[RIGHT:.*]] = onnx.node "Transpose"(%{{.*}}) with {perm = [0, 2, 1]}
// CHECK:      onnx.node "MatMul"(%[[LEFT]], %[[RIGHT]])
// CHECK:      dense<[3, 2, 5, 4]>
// TYPES: return %{{.*}} : tensor<2x3x4x5xf32>
func.func @contraction(%a: tensor<2x3x5x7xf32>, %b: tensor<3x4x7xf32>) -> tensor<2x3x4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(a, b, c, d, k) -> (a, b, d, k)>, affine_map<(a, b, c, d, k) -> (b, c, k)>, affine_map<(a, b, c, d, k) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x3x5x7xf32>, tensor<3x4x7xf32>) outs(%f : tensor<2x3x4x5xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x3x4x5xf32>
  return %y : tensor<2x3x4x5xf32>
}

// -----

// A matrix that is repeated for a batch is one matrix.
// BOTH-LABEL: func.func @main(
// CHECK-NOT:  Expand
// CHECK:      %[[X:.*]] = onnx.node "Reshape"(%arg0
// CHECK:      onnx.node "MatMul"(%[[X]], %arg1)
// TYPES: return %{{.*}} : tensor<4x2x5xf32>
func.func @shared_matrix(%x: tensor<4x2x3xf32>, %w: tensor<3x5xf32>) -> tensor<4x2x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x3x5xf32>
  %ws = linalg.broadcast ins(%w : tensor<3x5xf32>) outs(%e : tensor<4x3x5xf32>) dimensions = [0]
  %f = tensor.empty() : tensor<4x2x5xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<4x2x5xf32>) -> tensor<4x2x5xf32>
  %y = linalg.batch_matmul ins(%x, %ws : tensor<4x2x3xf32>, tensor<4x3x5xf32>) outs(%g : tensor<4x2x5xf32>) -> tensor<4x2x5xf32>
  return %y : tensor<4x2x5xf32>
}

// -----

// Scalars and transposed operands; `x > 0 ? x : 0` keeps NaN, `x < y ? x : y` does not.
// BOTH-LABEL: func.func @main(
// CHECK:      %[[T:.*]] = onnx.node "Transpose"(%arg1) with {perm = [1, 0]}
// CHECK:      %[[S:.*]] = onnx.node "Sub"(%arg0, %[[T]])
// CHECK:      %[[M:.*]] = onnx.node "Max"(%[[S]], %{{.*}})
// CHECK:      %[[L:.*]] = onnx.node "Less"(%[[M]], %arg0)
// CHECK:      %[[W:.*]] = onnx.node "Where"(%[[L]], %[[M]], %arg0)
// CHECK:      %[[U:.*]] = onnx.node "GreaterOrEqual"(%[[W]], %{{.*}})
// CHECK:      onnx.node "Not"(%[[U]])
// CHECK:      onnx.node "Cast"(%{{.*}}) with {to = 1 : i64}
// TYPES: return %{{.*}} : tensor<2x3xf32>
func.func @elementwise(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3xf32>
  %z = linalg.generic {
      indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<2x3xf32>, tensor<3x2xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    %c = arith.cmpf ugt, %s, %zero : f32
    %m = arith.select %c, %s, %zero : f32
    %d = arith.cmpf olt, %m, %a : f32
    %n = arith.select %d, %m, %a : f32
    %g = arith.cmpf ult, %n, %zero : f32
    %r = arith.uitofp %g : i1 to f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}

// -----

// The positions of loops are constants; what is never read is not raised.
// BOTH-LABEL: func.func @main(
// CHECK-DAG:  dense<[0, 1, 2]> : tensor<3xi64>
// CHECK-DAG:  dense<[0, 1]> : tensor<2xi64>
// CHECK:      onnx.node "GreaterOrEqual"
// CHECK-NOT:  onnx.node "Exp"
// TYPES: onnx.constant dense<{{.*}}true, false, false], [true, true, false]]> : tensor<2x3xi1>
func.func @positions(%x: tensor<2x3xf32>) -> tensor<2x3xi1> {
  %e = tensor.empty() : tensor<2x3xi1>
  %f = tensor.empty() : tensor<2x3xf32>
  %z:2 = linalg.generic {
      indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x3xf32>) outs(%e, %f : tensor<2x3xi1>, tensor<2x3xf32>) {
  ^bb0(%a: f32, %o: i1, %p: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sge, %i, %j : index
    %n = math.exp %a : f32
    linalg.yield %c, %n : i1, f32
  } -> (tensor<2x3xi1>, tensor<2x3xf32>)
  return %z#0 : tensor<2x3xi1>
}

// -----

// A maximum that begins at 0; a product that begins at 1, as a constant.
// BOTH-LABEL: func.func @main(
// CHECK:      %[[R:.*]] = onnx.node "ReduceMax"(%arg0
// CHECK:      onnx.node "Max"(%{{.*}}, %{{.*}})
// CHECK:      onnx.node "ReduceProd"
// CHECK-NOT:  onnx.node "Mul"
// TYPES: return %{{.*}}, %{{.*}} : tensor<3xf32>, tensor<3xf32>
func.func @reductions(%x: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %m = linalg.reduce ins(%x : tensor<2x3xf32>) outs(%f : tensor<3xf32>) dimensions = [0]
    (%in: f32, %init: f32) {
      %0 = arith.maximumf %in, %init : f32
      linalg.yield %0 : f32
    }
  %p = linalg.reduce { arith.mulf } ins(%x : tensor<2x3xf32>) outs(%one : tensor<3xf32>) dimensions = [0]
  return %m, %p : tensor<3xf32>, tensor<3xf32>
}

// -----

// BOTH-LABEL: func.func @main(
// CHECK:      onnx.node "Softmax"(%arg0) with {axis = 1 : i64}
func.func @softmax(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %e = tensor.empty() : tensor<2x3x4xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<2x3x4xf32>) outs(%e : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// A concatenation as slices of an empty tensor are filled, and one written into what is there.
// BOTH-LABEL: func.func @main(
// CHECK:      %[[C:.*]] = onnx.node "Concat"(%arg0, %arg1) with {axis = 1 : i64}
// CHECK:      %[[D:.*]] = onnx.node "Slice"(%[[C]]
// CHECK:      %[[E:.*]] = onnx.node "Slice"(%[[C]]
// CHECK:      onnx.node "Concat"(%[[D]], %arg0, %[[E]]) with {axis = 1 : i64}
// CHECK:      onnx.node "Pad"
// CHECK:      onnx.node "Tanh"
// CHECK:      onnx.node "Acosh"
// TYPES: return %{{.*}} : tensor<4x5xf32>
func.func @tensors(%x: tensor<2x2xf32>, %y: tensor<2x3xf32>) -> tensor<4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5xf32>
  %a = tensor.insert_slice %x into %e[0, 0] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<2x5xf32>
  %b = tensor.insert_slice %y into %a[0, 2] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x5xf32>
  %c = tensor.insert_slice %x into %b[0, 1] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<2x5xf32>
  %p = tensor.pad %c low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x5xf32> to tensor<4x5xf32>
  %t = math.tanh %p : tensor<4x5xf32>
  %u = math.acosh %t : tensor<4x5xf32>
  return %u : tensor<4x5xf32>
}

// -----

// A layout that is undone is none, and one stays behind what is done to each element.
// BOTH-LABEL: func.func @main(
// CHECK:      %[[E:.*]] = onnx.node "Exp"(%arg0)
// CHECK-NEXT: return %[[E]]
func.func @layouts(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %a = tensor.expand_shape %x [[0], [1, 2]] output_shape [2, 2, 3] : tensor<2x6xf32> into tensor<2x2x3xf32>
  %b = math.exp %a : tensor<2x2x3xf32>
  %e = tensor.empty() : tensor<3x2x2xf32>
  %c = linalg.transpose ins(%b : tensor<2x2x3xf32>) outs(%e : tensor<3x2x2xf32>) permutation = [2, 0, 1]
  %f = tensor.empty() : tensor<2x2x3xf32>
  %d = linalg.transpose ins(%c : tensor<3x2x2xf32>) outs(%f : tensor<2x2x3xf32>) permutation = [1, 2, 0]
  %y = tensor.collapse_shape %d [[0], [1, 2]] : tensor<2x2x3xf32> into tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// Scalars are computed from constants, or are the one element of a tensor.
// BOTH-LABEL: func.func @main(
// CHECK:      %[[N:.*]] = onnx.constant dense<3.000000e+00> : tensor<f32>
// CHECK:      %[[D:.*]] = onnx.node "Div"(%arg0, %[[N]])
// CHECK:      %[[P:.*]] = onnx.node "Add"(%[[D]], %arg1)
// CHECK:      onnx.node "Reshape"(%arg1
// TYPES: return %{{.*}}, %{{.*}} : tensor<3xf32>, tensor<1xf32>
func.func @scalars(%x: tensor<3xf32>, %s: tensor<f32>) -> (tensor<3xf32>, tensor<1xf32>) {
  %n = arith.constant 3 : i64
  %f = arith.sitofp %n : i64 to f32
  %t = tensor.extract %s[] : tensor<f32>
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%x : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%i: f32, %o: f32):
    %d = arith.divf %i, %f : f32
    %p = arith.addf %d, %t : f32
    linalg.yield %p : f32
  } -> tensor<3xf32>
  %z = tensor.from_elements %t : tensor<1xf32>
  return %y, %z : tensor<3xf32>, tensor<1xf32>
}

// -----

// Weights may lie behind the text.
// BOTH-LABEL: func.func @main(
// CHECK: onnx.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
func.func @resources() -> tensor<2xf32> {
  %w = arith.constant dense_resource<weight> : tensor<2xf32>
  return %w : tensor<2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      weight: "0x040000000000803F00000040"
    }
  }
#-}

// -----

// A batch that neither operand has: one product, repeated.
// BOTH-LABEL: func.func @main(
// CHECK: %[[Y:.*]] = onnx.node "MatMul"(%arg0, %arg1)
// CHECK: onnx.constant dense<[1, 2, 5, 1]> : tensor<4xi64>
// CHECK: %[[R:.*]] = onnx.node "Reshape"(%[[Y]],
// CHECK: onnx.constant dense<[4, 2, 5, 1]> : tensor<4xi64>
// CHECK: onnx.node "Expand"(%[[R]],
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x5xf32>) -> tensor<4x2x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x2x3xf32>
  %xs = linalg.broadcast ins(%x : tensor<2x3xf32>) outs(%e0 : tensor<4x2x3xf32>) dimensions = [0]
  %e = tensor.empty() : tensor<4x3x5xf32>
  %ws = linalg.broadcast ins(%w : tensor<3x5xf32>) outs(%e : tensor<4x3x5xf32>) dimensions = [0]
  %f = tensor.empty() : tensor<4x2x5xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<4x2x5xf32>) -> tensor<4x2x5xf32>
  %y = linalg.batch_matmul ins(%xs, %ws : tensor<4x2x3xf32>, tensor<4x3x5xf32>) outs(%g : tensor<4x2x5xf32>) -> tensor<4x2x5xf32>
  return %y : tensor<4x2x5xf32>
}

// -----

// Whether all of a row are minus infinity, as torch-mlir's attention asks; it compares in f64.
// BOTH-LABEL: func.func @main(
// CHECK:      %[[D:.*]] = onnx.node "Cast"(%arg0) with {to = 11 : i64}
// CHECK:      %[[E:.*]] = onnx.node "Equal"(%[[D]], %{{.*}})
// CHECK:      onnx.node "ReduceMin"(%[[E]]
// TYPES: return %{{.*}} : tensor<2x1xi1>
func.func @all_of_a_row(%x: tensor<2x3xf32>) -> tensor<2x1xi1> {
  %true = arith.constant true
  %least = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<2x3xi1>
  %b = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xi1>) {
  ^bb0(%i: f32, %o: i1):
    %w = arith.extf %i : f32 to f64
    %c = arith.cmpf oeq, %w, %least : f64
    linalg.yield %c : i1
  } -> tensor<2x3xi1>
  %r = tensor.empty() : tensor<2x1xi1>
  %f = linalg.fill ins(%true : i1) outs(%r : tensor<2x1xi1>) -> tensor<2x1xi1>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, 0)>], iterator_types = ["parallel", "reduction"]}
      ins(%b : tensor<2x3xi1>) outs(%f : tensor<2x1xi1>) {
  ^bb0(%i: i1, %o: i1):
    %a = arith.andi %i, %o : i1
    linalg.yield %a : i1
  } -> tensor<2x1xi1>
  return %y : tensor<2x1xi1>
}

// -----

// What an embedding asserts of its numbers, every lookup in a table asks when it runs.
// BOTH-LABEL: func.func @main(
// CHECK-NOT:  assert
// CHECK:      onnx.node "Gather"(%arg0, %arg1)
// CHECK-NOT:  assert
// TYPES: return %{{.*}} : tensor<5x4xf32>
func.func @asserted_lookup(%table: tensor<11x4xf32>, %ids: tensor<5xi64>) -> tensor<5x4xf32> {
  %rows = arith.constant 11 : index
  %e = tensor.empty() : tensor<5x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<5xi64>) outs(%e : tensor<5x4xf32>) {
  ^bb0(%i: i64, %o: f32):
    %row = arith.index_cast %i : i64 to index
    %column = linalg.index 1 : index
    %known = arith.cmpi slt, %row, %rows : index
    cf.assert %known, "index must be smaller than dim size"
    %x = tensor.extract %table[%row, %column] : tensor<11x4xf32>
    linalg.yield %x : f32
  } -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}
