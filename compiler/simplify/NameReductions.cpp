// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that combine elements along axes: reductions, positions of extremes,
// running sums, statistics of norms. Where no kernel combines elements that
// way, halves of the axis are combined element by element, and so on: log2(n)
// steps, and no element meets another than the operator says, so that NaN and
// infinities stay where they belong.
#include "compiler/simplify/Naming.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;
using onnx::ReduceKind;
using onnx::UnaryKind;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The axes that a reduction states, sorted; all if it states none. Nothing if
/// they are wrong, and none if the node passes its operand on.
static std::optional<Shape> reducedAxes(Naming &n) {
  int64_t rank = shapeOf(n.input(0)).size();
  std::optional<Shape> axes = n.node().axes(1, rank);
  if (!axes)
    return std::nullopt;
  llvm::sort(*axes);
  if (axes->empty() && !n.node().intAttr("noop_with_empty_axes"))
    for (int64_t d = 0; d < rank; ++d)
      axes->push_back(d);
  return axes;
}

/// `x` over the node's axes, with or without them as the node says.
static Value reduced(Naming &n, Value x, ReduceKind kind, const Shape &axes) {
  if (axes.empty())
    return x;
  bool keeps = n.node().intAttr("keepdims");
  Shape shape;
  for (int64_t d = 0; d < int64_t(shapeOf(x).size()); ++d) {
    if (!llvm::is_contained(axes, d))
      shape.push_back(shapeOf(x)[d]);
    else if (keeps)
      shape.push_back(1);
  }
  return onnx::ReduceOp::create(n.builder(), n.loc(), withShape(x, shape), kind,
                                x, axes, keeps, n.nameAttr());
}

/// The same with the axes of extent 1.
static Value keptReduced(Naming &n, Value x, ReduceKind kind,
                         const Shape &axes) {
  Shape shape(shapeOf(x));
  for (int64_t axis : axes)
    shape[axis] = 1;
  if (axes.empty())
    return x;
  return onnx::ReduceOp::create(n.builder(), n.loc(), withShape(x, shape), kind,
                                x, axes, true, n.nameAttr());
}

static bool isInteger(Value x) {
  Type element = typeOf(x).getElementType();
  return isa<IntegerType>(element) && !element.isInteger(1);
}

/// What is largest of the results is smallest of the operands; -1 - x of
/// integers, all of which have one.
static Value opposite(Naming &n, Value x) {
  return n.unary(isInteger(x) ? UnaryKind::BitNot : UnaryKind::Neg, x);
}

static Value same(Naming &, Value x) { return x; }
static Value square(Naming &n, Value x) {
  return n.binary(BinaryKind::Mul, x, x);
}
template <UnaryKind kind>
static Value function(Naming &n, Value x) {
  return n.unary(kind, x);
}

/// after(reduction of before(x))
using Function = Value (*)(Naming &, Value);
template <ReduceKind kind, Function before = same, Function after = same>
static bool reduce(Naming &n) {
  std::optional<Shape> axes = reducedAxes(n);
  return axes &&
         n.replace(after(n, reduced(n, before(n, n.input(0)), kind, *axes)));
}

/// log(sum(exp(x))), with the largest element taken out before exp overflows.
static bool reduceLogSumExp(Naming &n) {
  std::optional<Shape> axes = reducedAxes(n);
  if (!axes)
    return false;
  if (axes->empty())
    return n.replace(n.input(0));
  Value most = keptReduced(n, n.input(0), ReduceKind::Max, *axes);
  // Of infinities nothing is taken out: they would leave no number.
  Value finite = n.binary(BinaryKind::Less, n.unary(UnaryKind::Abs, most),
                          std::numeric_limits<float>::infinity());
  most = onnx::WhereOp::create(n.builder(), n.loc(), most.getType(), finite,
                               most, scalarLike(n.builder(), n.loc(), most, 0),
                               n.nameAttr());
  Value powers =
      n.unary(UnaryKind::Exp, n.binary(BinaryKind::Sub, n.input(0), most));
  Value sum =
      n.unary(UnaryKind::Log, reduced(n, powers, ReduceKind::Sum, *axes));
  return n.replace(
      n.binary(BinaryKind::Add, sum, n.reshape(most, shapeOf(sum))));
}

static Box wholeBox(Value x) {
  return {Shape(shapeOf(x).size(), 0), Shape(shapeOf(x)),
          Shape(shapeOf(x).size(), 1)};
}

/// Elements [start, start + size) along an axis.
static Value part(Naming &n, Value x, int64_t axis, int64_t start,
                  int64_t size) {
  if (start == 0 && size == shapeOf(x)[axis])
    return x;
  Box box = wholeBox(x);
  box.starts[axis] = start;
  box.extents[axis] = size;
  return n.slice(x, box);
}

static bool reduceProd(Naming &n) {
  std::optional<Shape> axes = reducedAxes(n);
  if (!axes)
    return false;
  Value x = n.input(0);
  for (int64_t axis : *axes)
    while (shapeOf(x)[axis] > 1) {
      int64_t extent = shapeOf(x)[axis], half = extent / 2;
      Value y = n.binary(BinaryKind::Mul, part(n, x, axis, 0, half),
                         part(n, x, axis, half, half));
      x = extent % 2 ? n.concat({y, part(n, x, axis, 2 * half, 1)}, axis) : y;
    }
  return n.replace(n.reshape(x, n.resultType().getShape()));
}

//===----------------------------------------------------------------------===//
// Positions of extremes
//===----------------------------------------------------------------------===//

/// In a type that the wafer finds the largest element of.
static Value comparable(Naming &n, Value x) {
  const bool isUnsigned = typeOf(x).getElementType().isUnsignedInteger(32);
  Type type = isInteger(x) ? Type(n.builder().getI32Type())
                           : Type(n.builder().getF32Type());
  if (typeOf(x).getElementType() != type)
    x = onnx::CastOp::create(n.builder(), n.loc(), typeOf(x).clone(type), x,
                             n.nameAttr());
  // The bits of an unsigned number, in the same order.
  return isUnsigned ? n.binary(BinaryKind::Add, x, double(INT32_MIN)) : x;
}

/// The first place, or the last, of the extreme; NaN is one, as in numpy.
template <bool smallest>
static bool argExtreme(Naming &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  if (!axis)
    return false;
  x = comparable(n, x);
  if (smallest)
    x = opposite(n, x);
  Value most = keptReduced(n, x, ReduceKind::Max, {*axis});
  Value ordered = n.binary(BinaryKind::Equal, x, x);
  Value found = n.binary(BinaryKind::Or, n.binary(BinaryKind::Equal, x, most),
                         n.unary(UnaryKind::Not, ordered));
  // The largest number wins, so the first place has to have it.
  int64_t extent = shapeOf(x)[*axis];
  bool last = n.node().intAttr("select_last_index");
  Shape along(shapeOf(x).size(), 1);
  along[*axis] = extent;
  Tensor places(ElementType::Float32, along);
  for (int64_t i = 0; i < extent; ++i)
    places.setFloat(i, last ? i : extent - 1 - i);
  Value numbers = materialize(n.builder(), n.loc(), std::move(places));
  Value rank = onnx::WhereOp::create(
      n.builder(), n.loc(), withShape(numbers, shapeOf(x)), found, numbers,
      scalarLike(n.builder(), n.loc(), numbers, -1), n.nameAttr());
  Value place = keptReduced(n, rank, ReduceKind::Max, {*axis});
  if (!last) {
    place = n.unary(UnaryKind::Neg, place);
    place = n.binary(BinaryKind::Add, place, double(extent - 1));
  }
  Value index =
      onnx::CastOp::create(n.builder(), n.loc(),
                           typeOf(place).clone(n.resultType().getElementType()),
                           place, n.nameAttr());
  return n.replace(n.reshape(index, n.resultType().getShape()));
}

//===----------------------------------------------------------------------===//
// Running sums and products
//===----------------------------------------------------------------------===//

/// `x` moved by `steps` along `axis`, backwards if negative; `fill` comes in.
static Value shifted(Naming &n, Value x, int64_t axis, int64_t steps,
                     double fill) {
  int64_t extent = shapeOf(x)[axis];
  int64_t count = std::min(std::abs(steps), extent);
  Shape shape(shapeOf(x));
  shape[axis] = count;
  Tensor neutral(*elementTypeOf(typeOf(x).getElementType()), shape);
  for (int64_t i = 0; i < neutral.size(); ++i)
    isFloat(neutral.type()) ? neutral.setFloat(i, fill)
                            : neutral.setInt(i, int64_t(fill));
  Value edge = materialize(n.builder(), n.loc(), std::move(neutral));
  if (count == extent)
    return edge;
  if (steps > 0)
    return n.concat({edge, part(n, x, axis, 0, extent - count)}, axis);
  return n.concat({part(n, x, axis, count, extent - count), edge}, axis);
}

/// After k steps every element has met the 2^k - 1 before it.
template <BinaryKind kind>
static bool running(Naming &n) {
  Value x = n.input(0);
  std::optional<int64_t> stated = n.node().oneInt(1, "axis");
  int64_t rank = shapeOf(x).size();
  if (!stated || *stated < -rank || *stated >= rank)
    return n.fail("the axis is not known, or outside the rank");
  int64_t axis = *stated + (*stated < 0 ? rank : 0);
  int64_t sign = n.node().intAttr("reverse") ? -1 : 1;
  double neutral = kind == BinaryKind::Mul;
  if (n.node().intAttr("exclusive"))
    x = shifted(n, x, axis, sign, neutral);
  for (int64_t steps = 1; steps < shapeOf(x)[axis]; steps *= 2)
    x = n.binary(kind, x, shifted(n, x, axis, sign * steps, neutral));
  return n.replace(x);
}

//===----------------------------------------------------------------------===//
// Softmax's relatives
//===----------------------------------------------------------------------===//

/// One axis from opset 13 on; before, everything from `axis` on.
static std::optional<Shape> softmaxAxes(Naming &n) {
  int64_t rank = shapeOf(n.input(0)).size();
  bool flattens = n.node().version() < 13;
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return std::nullopt;
  Shape axes = {*axis};
  for (int64_t d = *axis + 1; flattens && d < rank; ++d)
    axes.push_back(d);
  return axes;
}

static bool logSoftmax(Naming &n) {
  std::optional<Shape> axes = softmaxAxes(n);
  if (!axes)
    return false;
  Value x = n.input(0);
  x = n.binary(BinaryKind::Sub, x, keptReduced(n, x, ReduceKind::Max, *axes));
  Value sum =
      keptReduced(n, n.unary(UnaryKind::Exp, x), ReduceKind::Sum, *axes);
  return n.replace(n.binary(BinaryKind::Sub, x, n.unary(UnaryKind::Log, sum)));
}

ArrayRef<NamedNamingRule> wsec::simplify::reductionNaming() {
  static const NamedNamingRule rules[] = {
      {"ReduceSum", reduce<ReduceKind::Sum>},
      {"ReduceMean", reduce<ReduceKind::Mean>},
      {"ReduceMax", reduce<ReduceKind::Max>},
      {"ReduceMin", reduce<ReduceKind::Max, opposite, opposite>},
      {"ReduceL1", reduce<ReduceKind::Sum, function<UnaryKind::Abs>>},
      {"ReduceL2", reduce<ReduceKind::Sum, square, function<UnaryKind::Sqrt>>},
      {"ReduceSumSquare", reduce<ReduceKind::Sum, square>},
      {"ReduceLogSum", reduce<ReduceKind::Sum, same, function<UnaryKind::Log>>},
      {"ReduceLogSumExp", reduceLogSumExp},
      {"ReduceProd", reduceProd},
      {"ArgMax", argExtreme<false>},
      {"ArgMin", argExtreme<true>},
      {"CumSum", running<BinaryKind::Add>},
      {"CumProd", running<BinaryKind::Mul>},
      {"LogSoftmax", logSoftmax},
  };
  return rules;
}
