#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs linalg on tensors, in the form that torch-mlir writes it: linalg_models.py FOLDER.

Each model is text with places for its weights, and what it computes in numpy. Prints a line per model and mesh.
"""

import re
import sys
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import wsec  # noqa: E402

FOLDER = Path(sys.argv[1])
RANDOM = np.random.default_rng(0)

MLP = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module attributes {torch.debug_module_name = "MLP"} {
  ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
  func.func @forward(%arg0: tensor<6x12xf32>) -> tensor<6x5xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %w1 = arith.constant $w1
    %b1 = arith.constant $b1
    %w2 = arith.constant $w2
    %b2 = arith.constant $b2
    %0 = tensor.empty() : tensor<12x20xf32>
    %transposed = linalg.transpose ins(%w1 : tensor<20x12xf32>) outs(%0 : tensor<12x20xf32>) permutation = [1, 0]
    %1 = tensor.empty() : tensor<6x20xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<6x20xf32>) -> tensor<6x20xf32>
    %3 = linalg.matmul ins(%arg0, %transposed : tensor<6x12xf32>, tensor<12x20xf32>) outs(%2 : tensor<6x20xf32>) -> tensor<6x20xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %b1 : tensor<6x20xf32>, tensor<20xf32>) outs(%1 : tensor<6x20xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %12 = arith.addf %in, %in_1 : f32
      linalg.yield %12 : f32
    } -> tensor<6x20xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<6x20xf32>) outs(%1 : tensor<6x20xf32>) {
    ^bb0(%in: f32, %out: f32):
      %12 = arith.cmpf ugt, %in, %cst : f32
      %13 = arith.select %12, %in, %cst : f32
      linalg.yield %13 : f32
    } -> tensor<6x20xf32>
    %6 = tensor.empty() : tensor<20x5xf32>
    %transposed_2 = linalg.transpose ins(%w2 : tensor<5x20xf32>) outs(%6 : tensor<20x5xf32>) permutation = [1, 0]
    %7 = tensor.empty() : tensor<6x5xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<6x5xf32>) -> tensor<6x5xf32>
    %9 = linalg.matmul ins(%5, %transposed_2 : tensor<6x20xf32>, tensor<20x5xf32>) outs(%8 : tensor<6x5xf32>) -> tensor<6x5xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%9, %b2 : tensor<6x5xf32>, tensor<5xf32>) outs(%7 : tensor<6x5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %12 = arith.addf %in, %in_1 : f32
      linalg.yield %12 : f32
    } -> tensor<6x5xf32>
    return %10 : tensor<6x5xf32>
  }
}
"""

LAYER_NORM = """
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d2)>
module {
  func.func @main(%arg0: tensor<2x7x12xf32>) -> tensor<2x7x12xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.200000e+01 : f32
    %cst_1 = arith.constant 1.000000e-05 : f64
    %g = arith.constant $scale
    %b = arith.constant $bias
    %0 = tensor.empty() : tensor<2x7x1xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x7x1xf32>) -> tensor<2x7x1xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0 : tensor<2x7x12xf32>) outs(%1 : tensor<2x7x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = arith.addf %in, %out : f32
      linalg.yield %20 : f32
    } -> tensor<2x7x1xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<2x7x1xf32>) outs(%0 : tensor<2x7x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = arith.divf %in, %cst_0 : f32
      linalg.yield %20 : f32
    } -> tensor<2x7x1xf32>
    %4 = tensor.empty() : tensor<2x7x12xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<2x7x1xf32>) outs(%4 : tensor<2x7x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x7x12xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %5 : tensor<2x7x12xf32>, tensor<2x7x12xf32>) outs(%4 : tensor<2x7x12xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %20 = arith.subf %in, %in_2 : f32
      linalg.yield %20 : f32
    } -> tensor<2x7x12xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %6 : tensor<2x7x12xf32>, tensor<2x7x12xf32>) outs(%4 : tensor<2x7x12xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %20 = arith.mulf %in, %in_2 : f32
      linalg.yield %20 : f32
    } -> tensor<2x7x12xf32>
    %8 = tensor.empty() : tensor<2x7xf32>
    %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<2x7xf32>) -> tensor<2x7xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%7 : tensor<2x7x12xf32>) outs(%9 : tensor<2x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = arith.addf %in, %out : f32
      linalg.yield %20 : f32
    } -> tensor<2x7xf32>
    %11 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<2x7xf32>) outs(%8 : tensor<2x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = arith.divf %in, %cst_0 : f32
      linalg.yield %20 : f32
    } -> tensor<2x7xf32>
    %12 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%11 : tensor<2x7xf32>) outs(%8 : tensor<2x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = arith.truncf %cst_1 : f64 to f32
      %21 = arith.addf %in, %20 : f32
      %22 = math.rsqrt %21 : f32
      linalg.yield %22 : f32
    } -> tensor<2x7xf32>
    %expanded = tensor.expand_shape %12 [[0], [1, 2]] output_shape [2, 7, 1] : tensor<2x7xf32> into tensor<2x7x1xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map1, #map4, #map4, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %expanded, %g, %b : tensor<2x7x12xf32>, tensor<2x7x1xf32>, tensor<12xf32>, tensor<12xf32>) outs(%4 : tensor<2x7x12xf32>) {
    ^bb0(%in: f32, %in_2: f32, %in_3: f32, %in_4: f32, %out: f32):
      %20 = arith.mulf %in, %in_2 : f32
      %21 = arith.mulf %20, %in_3 : f32
      %22 = arith.addf %21, %in_4 : f32
      linalg.yield %22 : f32
    } -> tensor<2x7x12xf32>
    return %13 : tensor<2x7x12xf32>
  }
}
"""

# Two heads of a causal model: ids, rows of a table, one weight for q, k and v, scores, mask by positions, softmax.
ATTENTION = """
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
module {
  func.func @main(%arg0: tensor<1x6xi64>) -> tensor<1x6x8xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 5.000000e-01 : f32
    %c0_i64 = arith.constant 0 : i64
    %table = arith.constant $table
    %w = arith.constant $w
    %0 = tensor.empty() : tensor<1x6x8xf32>
    %1 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x6xi64>) outs(%0 : tensor<1x6x8xf32>) {
    ^bb0(%in: i64, %out: f32):
      %30 = arith.index_cast %in : i64 to index
      %31 = linalg.index 2 : index
      %extracted = tensor.extract %table[%30, %31] : tensor<11x8xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x6x8xf32>
    %2 = tensor.empty() : tensor<1x8x24xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<8x24xf32>) outs(%2 : tensor<1x8x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x24xf32>
    %4 = tensor.empty() : tensor<1x6x24xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<1x6x24xf32>) -> tensor<1x6x24xf32>
    %6 = linalg.batch_matmul ins(%1, %3 : tensor<1x6x8xf32>, tensor<1x8x24xf32>) outs(%5 : tensor<1x6x24xf32>) -> tensor<1x6x24xf32>
    %q = tensor.extract_slice %6[0, 0, 0] [1, 6, 8] [1, 1, 1] : tensor<1x6x24xf32> to tensor<1x6x8xf32>
    %k = tensor.extract_slice %6[0, 0, 8] [1, 6, 8] [1, 1, 1] : tensor<1x6x24xf32> to tensor<1x6x8xf32>
    %v = tensor.extract_slice %6[0, 0, 16] [1, 6, 8] [1, 1, 1] : tensor<1x6x24xf32> to tensor<1x6x8xf32>
    %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [1, 6, 2, 4] : tensor<1x6x8xf32> into tensor<1x6x2x4xf32>
    %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [1, 6, 2, 4] : tensor<1x6x8xf32> into tensor<1x6x2x4xf32>
    %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [1, 6, 2, 4] : tensor<1x6x8xf32> into tensor<1x6x2x4xf32>
    %7 = tensor.empty() : tensor<1x2x6x4xf32>
    %qt = linalg.transpose ins(%qh : tensor<1x6x2x4xf32>) outs(%7 : tensor<1x2x6x4xf32>) permutation = [0, 2, 1, 3]
    %kt = linalg.transpose ins(%kh : tensor<1x6x2x4xf32>) outs(%7 : tensor<1x2x6x4xf32>) permutation = [0, 2, 1, 3]
    %vt = linalg.transpose ins(%vh : tensor<1x6x2x4xf32>) outs(%7 : tensor<1x2x6x4xf32>) permutation = [0, 2, 1, 3]
    %q3 = tensor.collapse_shape %qt [[0, 1], [2], [3]] : tensor<1x2x6x4xf32> into tensor<2x6x4xf32>
    %k3 = tensor.collapse_shape %kt [[0, 1], [2], [3]] : tensor<1x2x6x4xf32> into tensor<2x6x4xf32>
    %v3 = tensor.collapse_shape %vt [[0, 1], [2], [3]] : tensor<1x2x6x4xf32> into tensor<2x6x4xf32>
    %8 = tensor.empty() : tensor<2x4x6xf32>
    %9 = linalg.generic {indexing_maps = [#map5, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k3 : tensor<2x6x4xf32>) outs(%8 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6xf32>
    %10 = tensor.empty() : tensor<2x6x6xf32>
    %11 = linalg.fill ins(%cst : f32) outs(%10 : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
    %12 = linalg.batch_matmul ins(%q3, %9 : tensor<2x6x4xf32>, tensor<2x4x6xf32>) outs(%11 : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
    %13 = tensor.expand_shape %12 [[0, 1], [2], [3]] output_shape [1, 2, 6, 6] : tensor<2x6x6xf32> into tensor<1x2x6x6xf32>
    %14 = tensor.empty() : tensor<1x2x6x6xf32>
    %15 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<1x2x6x6xf32>) outs(%14 : tensor<1x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.mulf %in, %cst_1 : f32
      %31 = linalg.index 2 : index
      %32 = linalg.index 3 : index
      %33 = arith.cmpi sge, %31, %32 : index
      %34 = arith.select %33, %30, %cst_0 : f32
      linalg.yield %34 : f32
    } -> tensor<1x2x6x6xf32>
    %16 = tensor.empty() : tensor<1x2x6xi64>
    %17 = linalg.fill ins(%c0_i64 : i64) outs(%16 : tensor<1x2x6xi64>) -> tensor<1x2x6xi64>
    %18 = tensor.empty() : tensor<1x2x6xf32>
    %19 = linalg.fill ins(%cst_0 : f32) outs(%18 : tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %20:2 = linalg.generic {indexing_maps = [#map3, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%15 : tensor<1x2x6x6xf32>) outs(%19, %17 : tensor<1x2x6xf32>, tensor<1x2x6xi64>) {
    ^bb0(%in: f32, %out: f32, %out_2: i64):
      %30 = linalg.index 3 : index
      %31 = arith.index_cast %30 : index to i64
      %32 = arith.maximumf %in, %out : f32
      %33 = arith.cmpf ogt, %in, %out : f32
      %34 = arith.select %33, %31, %out_2 : i64
      linalg.yield %32, %34 : f32, i64
    } -> (tensor<1x2x6xf32>, tensor<1x2x6xi64>)
    %expanded = tensor.expand_shape %20#0 [[0], [1], [2, 3]] output_shape [1, 2, 6, 1] : tensor<1x2x6xf32> into tensor<1x2x6x1xf32>
    %21 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %expanded : tensor<1x2x6x6xf32>, tensor<1x2x6x1xf32>) outs(%14 : tensor<1x2x6x6xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %30 = arith.subf %in, %in_2 : f32
      linalg.yield %30 : f32
    } -> tensor<1x2x6x6xf32>
    %22 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<1x2x6x6xf32>) outs(%14 : tensor<1x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = math.exp %in : f32
      linalg.yield %30 : f32
    } -> tensor<1x2x6x6xf32>
    %23 = tensor.empty() : tensor<1x2x6x1xf32>
    %24 = linalg.fill ins(%cst : f32) outs(%23 : tensor<1x2x6x1xf32>) -> tensor<1x2x6x1xf32>
    %25 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<1x2x6x6xf32>) outs(%24 : tensor<1x2x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.addf %in, %out : f32
      linalg.yield %30 : f32
    } -> tensor<1x2x6x1xf32>
    %26 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %25 : tensor<1x2x6x6xf32>, tensor<1x2x6x1xf32>) outs(%14 : tensor<1x2x6x6xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %30 = arith.divf %in, %in_2 : f32
      linalg.yield %30 : f32
    } -> tensor<1x2x6x6xf32>
    %p3 = tensor.collapse_shape %26 [[0, 1], [2], [3]] : tensor<1x2x6x6xf32> into tensor<2x6x6xf32>
    %27 = tensor.empty() : tensor<2x6x4xf32>
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    %29 = linalg.batch_matmul ins(%p3, %v3 : tensor<2x6x6xf32>, tensor<2x6x4xf32>) outs(%28 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    %o4 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [1, 2, 6, 4] : tensor<2x6x4xf32> into tensor<1x2x6x4xf32>
    %o = tensor.empty() : tensor<1x6x2x4xf32>
    %ot = linalg.transpose ins(%o4 : tensor<1x2x6x4xf32>) outs(%o : tensor<1x6x2x4xf32>) permutation = [0, 2, 1, 3]
    %y = tensor.collapse_shape %ot [[0], [1], [2, 3]] : tensor<1x6x2x4xf32> into tensor<1x6x8xf32>
    return %y : tensor<1x6x8xf32>
  }
}
"""


def tensor(kind, *extents):
    return f"tensor<{'x'.join(map(str, extents))}x{kind}>"


def each(result, operands, to, body, reduces=False):
    """An operation on elements of three-dimensional tensors, whose name and type `operands` and `to` are; the last
    dimension is the sum of `reduces`, or repeats where it has extent 1. `body` yields %r of %a, %b and %out."""
    kinds = [kind for _, kind in operands] + [to[1]]
    shapes = [kind[kind.index("<") + 1:].split("x")[:-1] for kind in kinds]
    repeats = any(shape[-1] != "1" for shape in shapes)

    def map_of(shape):
        last = "0" if shape[-1] == "1" and repeats else "d2"
        return f"affine_map<(d0, d1, d2) -> ({'d0, d1, ' + last if len(shape) == 3 else last})>"
    arguments = ", ".join(f"%{name}: {kind[kind.rindex('x') + 1:-1]}"
                          for name, kind in zip([*"ab"[:len(operands)], "out"], kinds))
    return f"""
    {result} = linalg.generic {{indexing_maps = [{', '.join(map(map_of, shapes))}],
        iterator_types = ["parallel", "parallel", "{'reduction' if reduces else 'parallel'}"]}}
        ins({', '.join(name for name, _ in operands)} : {', '.join(kinds[:-1])}) outs({to[0]} : {to[1]}) {{
    ^bb0({arguments}):
      {body}
      linalg.yield %r : {kinds[-1][kinds[-1].rindex('x') + 1:-1]}
    }} -> {to[1]}"""


def guarded():
    """What PyTorch 2.13 and torch-mlir make of embedding, LayerNorm and scaled_dot_product_attention: numbers are
    asserted, the variance is a sum in f64, and rows whose scores are all minus infinity become zeros."""
    rows, row1, wide, wide1 = (tensor(kind, 1, 6, n) for kind in ("f32", "f64") for n in (8, 1))
    scores, score1, heads, bools, bool1 = (tensor(kind, 2, 6, n) for kind, n in (
        ("f32", 6), ("f32", 1), ("f32", 4), ("i1", 6), ("i1", 1)))
    features, empty = tensor("f32", 8), {}
    text = ""

    def out(kind):
        nonlocal text
        if kind not in empty:
            empty[kind] = f"%e{len(empty)}"
            text += f"\n    {empty[kind]} = tensor.empty() : {kind}"
        return empty[kind], kind

    def filled(name, number, kind):
        nonlocal text
        element, into = kind[kind.rindex("x") + 1:-1], out(kind)[0]
        text += f"\n    {name} = linalg.fill ins({number} : {element}) outs({into} : {kind}) -> {kind}"
        return name, kind

    def add(name, operands, kind, body, start=None):
        nonlocal text
        to = filled(f"{name}_0", start, kind) if start else out(kind)
        text += each(name, operands, to, body, bool(start))
        return name, kind

    x = "%x", rows
    w = add("%wide", [x], wide, "%r = arith.extf %a : f32 to f64")
    total = add("%total", [w], wide1, "%r = arith.addf %a, %out : f64", "%zero64")
    mean64 = add("%mean64", [total], wide1, "%r = arith.divf %a, %eight64 : f64")
    d64 = add("%d64", [w, mean64], wide, "%r = arith.subf %a, %b : f64")
    square = add("%square", [d64, d64], wide, "%r = arith.mulf %a, %b : f64")
    squares = add("%squares", [square], wide1, "%r = arith.addf %a, %out : f64", "%zero64")
    variance64 = add("%variance64", [squares], wide1, "%r = arith.divf %a, %eight64 : f64")
    variance = add("%variance", [variance64], row1, "%r = arith.truncf %a : f64 to f32")
    sums = add("%sums", [x], row1, "%r = arith.addf %a, %out : f32", "%zero")
    mean = add("%mean", [sums], row1, "%r = arith.divf %a, %eight : f32")
    root = add("%root", [variance], row1, "%e = arith.truncf %epsilon : f64 to f32\n      "
               "%s = arith.addf %a, %e : f32\n      %r = math.rsqrt %s : f32")
    d = add("%d", [x, mean], rows, "%r = arith.subf %a, %b : f32")
    normed = add("%normed", [d, root], rows, "%r = arith.mulf %a, %b : f32")
    scaled = add("%scaled", [normed, ("%g", features)], rows, "%r = arith.mulf %a, %b : f32")
    add("%y", [scaled, ("%h", features)], rows, "%r = arith.addf %a, %b : f32")
    norm, text = text, ""
    s = add("%s", [("%products", scores)], scores, "%r = arith.mulf %a, %half : f32")
    largest = add("%largest", [s], score1, "%r = arith.maximumf %a, %out : f32", "%least")
    less = add("%less", [s, largest], scores, "%r = arith.subf %a, %b : f32")
    powers = add("%powers", [less], scores, "%r = math.exp %a : f32")
    below = add("%below", [powers], score1, "%r = arith.addf %a, %out : f32", "%zero")
    shares = add("%shares", [powers, below], scores, "%r = arith.divf %a, %b : f32")
    hidden = add("%hidden", [s], bools, "%w = arith.extf %a : f32 to f64\n      %r = arith.cmpf oeq, %w, %least64 : f64")
    all_hidden = add("%all", [hidden], bool1, "%r = arith.andi %a, %out : i1", "%true")
    filled("%none", "%zero", scores)
    add("%p", [all_hidden, shares], scores, "%r = arith.select %a, %zero, %b : f32")
    filled("%values_0", "%zero", heads)
    return f"""
module {{
  func.func @main(%ids: tensor<1x6xi64>) -> tensor<2x6x4xf32> {{
    %true = arith.constant true
    %rows = arith.constant 11 : index
    %zero = arith.constant 0.0 : f32
    %zero64 = arith.constant 0.0 : f64
    %half = arith.constant 0.5 : f32
    %eight = arith.constant 8.0 : f32
    %eight64 = arith.constant 8.0 : f64
    %epsilon = arith.constant 1.0e-5 : f64
    %least = arith.constant 0xFF800000 : f32
    %least64 = arith.constant 0xFFF0000000000000 : f64
    %table = arith.constant $table
    %g = arith.constant $scale
    %h = arith.constant $bias
    %embedded = tensor.empty() : tensor<1x6x8xf32>
    %x = linalg.generic {{indexing_maps = [affine_map<(a, b, c) -> (a, b)>, affine_map<(a, b, c) -> (a, b, c)>],
        iterator_types = ["parallel", "parallel", "parallel"]}} ins(%ids : tensor<1x6xi64>) outs(%embedded : tensor<1x6x8xf32>) {{
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %column = linalg.index 2 : index
      %known = arith.cmpi slt, %row, %rows : index
      cf.assert %known, "index must be smaller than dim size"
      %v = tensor.extract %table[%row, %column] : tensor<11x8xf32>
      linalg.yield %v : f32
    }} -> tensor<1x6x8xf32>{norm}
    %split = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [1, 6, 2, 4] : tensor<1x6x8xf32> into tensor<1x6x2x4xf32>
    %turned_0 = tensor.empty() : tensor<1x2x6x4xf32>
    %turned = linalg.transpose ins(%split : tensor<1x6x2x4xf32>) outs(%turned_0 : tensor<1x2x6x4xf32>) permutation = [0, 2, 1, 3]
    %q = tensor.collapse_shape %turned [[0, 1], [2], [3]] : tensor<1x2x6x4xf32> into tensor<2x6x4xf32>
    %k_0 = tensor.empty() : tensor<2x4x6xf32>
    %k = linalg.transpose ins(%q : tensor<2x6x4xf32>) outs(%k_0 : tensor<2x4x6xf32>) permutation = [0, 2, 1]
    %products_0 = tensor.empty() : tensor<2x6x6xf32>
    %products_1 = linalg.fill ins(%zero : f32) outs(%products_0 : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
    %products = linalg.batch_matmul ins(%q, %k : tensor<2x6x4xf32>, tensor<2x4x6xf32>) outs(%products_1 : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>{text}
    %values = linalg.batch_matmul ins(%p, %q : tensor<2x6x6xf32>, tensor<2x6x4xf32>) outs(%values_0 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    return %values : tensor<2x6x4xf32>
  }}
}}
"""


def random(*shape):
    return RANDOM.standard_normal(shape).astype("f4")


def dense(array):
    """As MLIR writes elements of a constant."""
    kind = f"tensor<{'x'.join(map(str, array.shape))}xf32>"
    return f'dense<"0x{array.tobytes().hex().upper()}"> : {kind}'


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(ids, table, w):
    q, k, v = (part.reshape(6, 2, 4).transpose(1, 0, 2) for part in np.split(table[ids[0]] @ w, 3, axis=-1))
    scores = np.where(np.tri(6, dtype=bool), 0.5 * q @ k.transpose(0, 2, 1), -np.inf)
    return (softmax(scores) @ v).transpose(1, 0, 2).reshape(1, 6, 8)


def layer_norm(x, scale, bias):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * scale + bias


class LinalgTest(unittest.TestCase):
    def check(self, name, text, weights, x, expected, kinds):
        source = FOLDER / f"{name}.mlir"
        source.write_text(re.sub(r"\$(\w+)", lambda found: dense(weights[found.group(1)]), text))
        for mesh in ("3x2", "8x8"):
            program = wsec.compile(source, mesh=mesh)
            self.assertEqual(program.report.model.parameters, sum(w.size for w in weights.values()))
            found = {kernel.kind for kernel in program.report.kernels}
            self.assertLessEqual(kinds, found)
            outputs = program.run({"arg0": x}, threads=1)
            np.testing.assert_allclose(outputs["result0"], expected, rtol=1e-4, atol=1e-5)

    def test_mlp(self):
        weights = {"w1": random(20, 12), "b1": random(20), "w2": random(5, 20), "b2": random(5)}
        x = random(6, 12)
        hidden = np.maximum(x @ weights["w1"].T + weights["b1"], 0)
        self.check("mlp", MLP, weights, x, hidden @ weights["w2"].T + weights["b2"], {"matmul"})

    def test_layer_norm(self):
        weights, x = {"scale": random(12), "bias": random(12)}, random(2, 7, 12)
        self.check("layer_norm", LAYER_NORM, weights, x, layer_norm(x, **weights), {"layer_norm"})

    def test_attention(self):
        weights = {"table": random(11, 8), "w": random(8, 24)}
        ids = RANDOM.integers(0, 11, (1, 6))
        self.check("attention", ATTENTION, weights, ids, attention(ids, **weights), {"gather", "attention"})

    def test_guarded(self):
        weights = {"table": random(11, 8), "scale": random(8), "bias": random(8)}
        ids = RANDOM.integers(0, 11, (1, 6))
        x = layer_norm(weights["table"][ids[0]], weights["scale"], weights["bias"]).reshape(6, 2, 4).transpose(1, 0, 2)
        self.check("guarded", guarded(), weights, ids, softmax(0.5 * x @ x.transpose(0, 2, 1)) @ x,
                   {"gather", "layer_norm", "attention"})


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
