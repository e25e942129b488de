// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that are a reshape, a transpose and a reshape, or a reduction and a
// few functions of one element.
#include "compiler/simplify/Naming.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;
using onnx::ReduceKind;
using onnx::UnaryKind;

/// Blocks of b x b of an image become channels: `{b, b, C}` or, in mode CRD,
/// `{C, b, b}`.
static bool spaceToDepth(Naming &n) {
  ArrayRef<int64_t> x = shapeOf(n.input(0));
  const int64_t b = n.node().intAttr("blocksize");
  Value blocks = n.reshape(n.input(0), {x[0], x[1], x[2] / b, b, x[3] / b, b});
  const bool crd = n.node().stringAttr("mode") == "CRD";
  blocks = n.transpose(blocks, crd ? ArrayRef<int64_t>{0, 1, 3, 5, 2, 4}
                                   : ArrayRef<int64_t>{0, 3, 5, 1, 2, 4});
  return n.replace(n.reshape(blocks, n.resultType().getShape()));
}

static bool depthToSpace(Naming &n) {
  ArrayRef<int64_t> x = shapeOf(n.input(0));
  const int64_t b = n.node().intAttr("blocksize"), c = x[1] / (b * b);
  const bool crd = n.node().stringAttr("mode") == "CRD";
  Value blocks =
      n.reshape(n.input(0), crd ? ArrayRef<int64_t>{x[0], c, b, b, x[2], x[3]}
                                : ArrayRef<int64_t>{x[0], b, b, c, x[2], x[3]});
  blocks = n.transpose(blocks, crd ? ArrayRef<int64_t>{0, 1, 4, 2, 5, 3}
                                   : ArrayRef<int64_t>{0, 3, 4, 1, 5, 2});
  return n.replace(n.reshape(blocks, n.resultType().getShape()));
}

static Value keptReduced(Naming &n, Value x, ReduceKind kind, Shape axes) {
  Shape shape(shapeOf(x));
  for (int64_t axis : axes)
    shape[axis] = 1;
  return onnx::ReduceOp::create(n.builder(), n.loc(), withShape(x, shape), kind,
                                x, axes, true, n.nameAttr());
}

/// 1 at the first of the largest elements of the axis, 0 elsewhere.
static bool hardmax(Naming &n) {
  Value x = n.input(0);
  const int64_t rank = shapeOf(x).size();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  const int64_t extent = shapeOf(x)[*axis];
  Shape along(rank, 1);
  along[*axis] = extent;
  // The largest number wins: that of the first element.
  Tensor numbers(ElementType::Float32, along);
  for (int64_t i = 0; i < extent; ++i)
    numbers.setFloat(i, extent - i);
  Value ranks = materialize(n.builder(), n.loc(), std::move(numbers));
  auto where = [&](Value condition, Value a, double b) -> Value {
    return onnx::WhereOp::create(n.builder(), n.loc(), x.getType(), condition,
                                 a, scalarLike(n.builder(), n.loc(), x, b),
                                 n.nameAttr());
  };
  Value most = keptReduced(n, x, ReduceKind::Max, {*axis});
  Value found = where(n.binary(BinaryKind::Equal, x, most), ranks, 0);
  Value first = keptReduced(n, found, ReduceKind::Max, {*axis});
  return n.replace(where(n.binary(BinaryKind::Equal, ranks, first),
                         scalarLike(n.builder(), n.loc(), x, 1), 0));
}

static bool lpNormalization(Naming &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  const int64_t p = n.node().intAttr("p");
  if (!axis || (p != 1 && p != 2))
    return n.fail("a norm of order " + Twine(p));
  Value norm;
  if (p == 1)
    norm = keptReduced(n, n.unary(UnaryKind::Abs, x), ReduceKind::Sum, {*axis});
  else
    norm =
        n.unary(UnaryKind::Sqrt, keptReduced(n, n.binary(BinaryKind::Mul, x, x),
                                             ReduceKind::Sum, {*axis}));
  // What is all zero stays so.
  Value isZero = n.binary(BinaryKind::Equal, norm, 0.0);
  Value one = scalarLike(n.builder(), n.loc(), x, 1);
  norm = onnx::WhereOp::create(n.builder(), n.loc(), norm.getType(), isZero,
                               one, norm, n.nameAttr());
  return n.replace(n.binary(BinaryKind::Div, x, norm));
}

/// Over all dimensions behind batch and channels.
template <ReduceKind kind>
static bool globalPool(Naming &n) {
  Shape axes;
  for (int64_t d = 2; d < n.resultType().getRank(); ++d)
    axes.push_back(d);
  return n.replace(axes.empty() ? n.input(0)
                                : keptReduced(n, n.input(0), kind, axes));
}

ArrayRef<NamedNamingRule> wsec::simplify::layoutNaming() {
  static const NamedNamingRule rules[] = {
      {"SpaceToDepth", spaceToDepth},
      {"DepthToSpace", depthToSpace},
      {"Hardmax", hardmax},
      {"LpNormalization", lpNormalization},
      {"GlobalAveragePool", globalPool<ReduceKind::Mean>},
      {"GlobalMaxPool", globalPool<ReduceKind::Max>},
  };
  return rules;
}
