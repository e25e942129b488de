// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that combine elements along axes: reductions, positions of extremes,
// running sums. Where no kernel combines elements that way, halves of the axis
// are combined element by element, and so on: log2(n) steps, and no element
// meets another than the operator says, so that NaN and infinities stay where
// they belong.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/values/Arithmetic.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool isOne(Node &node, const Tensor &tensor, llvm::StringRef what) {
  return tensor.size() == 1 ||
         node.fail(what + " has " + llvm::Twine(tensor.size()) +
                   " elements, expected 1");
}

static bool cumSum(Node &node) {
  const Fact &x = node.input(0);
  node.outputs[0] = Fact{x.type, x.shape, std::nullopt};
  auto tensors = node.loadAll(node.outputs[0]);
  if (!tensors)
    return true;
  if (!isOne(node, (*tensors)[1], "axis"))
    return false;
  int64_t axis = (*tensors)[1].asInt(0);
  axis += axis < 0 ? x.rank() : 0;
  if (axis < 0 || axis >= x.rank())
    return node.fail("axis outside the rank");
  bool exclusive = node.intAttr("exclusive");
  bool reverse = node.intAttr("reverse");
  const Tensor &data = tensors->front();
  Tensor result(x.type, x.shape);
  int64_t inner = numElements(ArrayRef(x.shape).drop_front(axis + 1));
  int64_t extent = x.shape[axis];
  auto fill = [&](auto zero) {
    for (int64_t line = 0; extent && line < data.size() / extent; ++line) {
      int64_t base = line / inner * extent * inner + line % inner;
      auto sum = zero;
      for (int64_t i = 0; i < extent; ++i) {
        int64_t at = base + (reverse ? extent - 1 - i : i) * inner;
        auto next = plus(sum, data.get<decltype(zero)>(at));
        result.put(at, exclusive ? sum : next);
        sum = next;
      }
    }
  };
  withNumbers(x.type, fill);
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool cumProd(Node &node) {
  if (!node.oneInt(1, "axis"))
    return false;
  return node.setOutput(
      Fact{node.input(0).type, node.input(0).shape, std::nullopt});
}

static bool argExtreme(Node &node) {
  const Fact &x = node.input(0);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis)
    return false;
  Fact result{ElementType::Int64, x.shape, std::nullopt};
  if (node.intAttr("keepdims"))
    result.shape[*axis] = 1;
  else
    result.shape.erase(result.shape.begin() + *axis);
  return node.setOutput(result);
}

static bool globalPool(Node &node) {
  Shape shape = node.input(0).shape;
  if (shape.size() < 2)
    return node.fail("an image of " + printShape(shape));
  for (size_t d = 2; d < shape.size(); ++d)
    shape[d] = 1;
  return node.setOutput(unknown(node.input(0).type, shape));
}

/// One reduction of doubles or of integers: where the running value starts,
/// how an element joins it, what becomes of it at the end.
template <typename T>
struct Sum {
  static constexpr T start = 0;
  static T join(T sum, T x) { return plus(sum, x); }
  static T finish(T sum, int64_t) { return sum; }
};

template <typename T>
struct Mean : Sum<T> {
  static T finish(T sum, int64_t count) {
    return std::is_integral_v<T> && count == 0 ? T(0) : T(sum / T(count));
  }
};

template <typename T>
struct Product : Sum<T> {
  static constexpr T start = 1;
  static T join(T product, T x) { return times(product, x); }
};

template <typename T>
struct Largest : Sum<T> {
  static constexpr T start = std::numeric_limits<T>::has_infinity
                                 ? -std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::lowest();
  static T join(T most, T x) { return larger(x, most); }
};

template <typename T>
struct Smallest : Sum<T> {
  static constexpr T start = std::numeric_limits<T>::has_infinity
                                 ? std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::max();
  static T join(T least, T x) { return smaller(x, least); }
};

template <typename T>
struct SumSquare : Sum<T> {
  static T join(T sum, T x) { return plus(sum, times(x, x)); }
};

template <typename T>
struct Norm2 : SumSquare<T> {
  static T finish(T sum, int64_t) { return T(std::sqrt(double(sum))); }
};

template <typename T>
struct Norm1 : Sum<T> {
  static T join(T sum, T x) { return plus(sum, magnitude(x)); }
};

/// Where integers start that the reduction starts with the least or the
/// largest of all: with that of their type.
static int64_t startOf(ElementType type, int64_t start) {
  if (start != std::numeric_limits<int64_t>::lowest() &&
      start != std::numeric_limits<int64_t>::max())
    return start;
  const bool least = start < 0;
  if (type == ElementType::Bool)
    return !least;
  const bool isSigned = wrapTo(type, -1) < 0;
  const int64_t bits = // no more than 32, or with a sign
      type == ElementType::Int4 || type == ElementType::UInt4 ? 4
      : type == ElementType::Int2 || type == ElementType::UInt2
          ? 2
          : 8 * storedBytes(type);
  if (bits == 64)
    return start;
  const int64_t highest = (int64_t(1) << (isSigned ? bits - 1 : bits)) - 1;
  return !least ? highest : isSigned ? -highest - 1 : 0;
}

/// What is not folded: its values are activations.
template <typename T>
struct Unfolded {};

template <typename Reduction, typename T>
static void fold(Node &node, const Shape &axes, T start) {
  Fact &output = node.outputs[0];
  const Fact &x = node.input(0);
  auto tensors = node.loadAll(output);
  if (!tensors)
    return;
  // Walk the input; positions of the result do not move along the axes.
  Shape kept = x.shape;
  for (int64_t axis : axes)
    kept[axis] = 1;
  Shape strides = rowMajorStrides(kept);
  for (int64_t axis : axes)
    strides[axis] = 0;
  std::vector<T> values(numElements(kept), start);
  int64_t next = 0;
  forEachPosition(x.shape, 0, strides, [&](int64_t position) {
    T element = tensors->front().get<T>(next++);
    values[position] = Reduction::join(values[position], element);
  });
  Tensor result(output.type, output.shape);
  int64_t count = result.size() ? numElements(x.shape) / result.size() : 0;
  for (int64_t i = 0; i < result.size(); ++i)
    result.put(i, Reduction::finish(values[i], count));
  output = Fact::ofTensor(std::move(result));
}

/// Axes are an input from opset 18 on (ReduceSum: 13), an attribute before.
template <template <typename> typename Reduction>
static bool reduce(Node &node) {
  const Fact &x = node.input(0);
  std::optional<Shape> axes = node.axes(1, x.rank());
  if (!axes)
    return false;
  if (axes->empty()) {
    if (node.intAttr("noop_with_empty_axes")) {
      return node.setOutput(x);
    }
    for (int64_t d = 0; d < x.rank(); ++d)
      axes->push_back(d);
  }
  Fact &output = node.outputs[0];
  output = Fact{x.type, {}, std::nullopt};
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!llvm::is_contained(*axes, d))
      output.shape.push_back(x.shape[d]);
    else if (node.intAttr("keepdims"))
      output.shape.push_back(1);
  }
  if constexpr (std::is_same_v<Reduction<double>, Unfolded<double>>)
    return true;
  else
    withNumbers(x.type, [&](auto zero) {
      using T = decltype(zero);
      T start = Reduction<T>::start;
      if constexpr (std::is_same_v<T, int64_t>)
        start = startOf(x.type, start);
      fold<Reduction<T>>(node, *axes, start);
    });
  return true;
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// Over all dimensions behind batch and channels.
template <ReduceKind kind>
static bool globalPool(Legalization &n) {
  Shape axes;
  for (int64_t d = 2; d < n.resultType().getRank(); ++d)
    axes.push_back(d);
  return n.replace(axes.empty() ? n.input(0)
                                : n.keptReduced(n.input(0), kind, axes));
}

/// The axes that a reduction states, sorted; all if it states none. Nothing if
/// they are wrong, and none if the node passes its operand on.
static std::optional<Shape> reducedAxes(Legalization &n) {
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
static Value reduced(Legalization &n, Value x, ReduceKind kind,
                     const Shape &axes) {
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

static bool isInteger(Value x) {
  Type element = typeOf(x).getElementType();
  return isa<IntegerType>(element) && !element.isInteger(1);
}

/// What is largest of the results is smallest of the operands; -1 - x of
/// integers, all of which have one, if they have a sign or 32 bits.
static Value opposite(Legalization &n, Value x) {
  if (typeOf(x).getElementType().isUnsignedInteger(64))
    x = n.cast(x, n.builder().getI64Type());
  return n.unary(isInteger(x) ? UnaryKind::BitNot : UnaryKind::Neg, x);
}

/// In the type of the result.
static Value oppositeAgain(Legalization &n, Value x) {
  return n.cast(opposite(n, x), n.resultType().getElementType());
}

static Value same(Legalization &, Value x) { return x; }

static Value square(Legalization &n, Value x) { return n.mul(x, x); }

template <UnaryKind kind>
static Value function(Legalization &n, Value x) {
  return n.unary(kind, x);
}

/// after(reduction of before(x))
using Function = Value (*)(Legalization &, Value);

template <ReduceKind kind, Function before = same, Function after = same>
static bool reduce(Legalization &n) {
  std::optional<Shape> axes = reducedAxes(n);
  return axes &&
         n.replace(after(n, reduced(n, before(n, n.input(0)), kind, *axes)));
}

/// log(sum(exp(x))), with the largest element taken out before exp overflows.
static bool reduceLogSumExp(Legalization &n) {
  std::optional<Shape> axes = reducedAxes(n);
  if (!axes)
    return false;
  if (axes->empty())
    return n.replace(n.input(0));
  Value most = n.keptReduced(n.input(0), ReduceKind::Max, *axes);
  // Of infinities nothing is taken out: they would leave no number.
  Value finite = n.less(n.abs(most), std::numeric_limits<float>::infinity());
  most = onnx::WhereOp::create(n.builder(), n.loc(), most.getType(), finite,
                               most, n.scalarLike(most, 0), n.nameAttr());
  Value powers = n.exp(n.sub(n.input(0), most));
  Value sum = n.log(reduced(n, powers, ReduceKind::Sum, *axes));
  return n.replace(n.add(sum, n.reshape(most, shapeOf(sum))));
}

/// Elements [start, start + size) along an axis.
static Value part(Legalization &n, Value x, int64_t axis, int64_t start,
                  int64_t size) {
  if (start == 0 && size == shapeOf(x)[axis])
    return x;
  Box box = wholeBox(x);
  box.starts[axis] = start;
  box.extents[axis] = size;
  return n.slice(x, box);
}

static bool reduceProd(Legalization &n) {
  std::optional<Shape> axes = reducedAxes(n);
  if (!axes)
    return false;
  Value x = n.input(0);
  for (int64_t axis : *axes)
    while (shapeOf(x)[axis] > 1) {
      int64_t extent = shapeOf(x)[axis], half = extent / 2;
      Value y = n.mul(part(n, x, axis, 0, half), part(n, x, axis, half, half));
      x = extent % 2 ? n.concat({y, part(n, x, axis, 2 * half, 1)}, axis) : y;
    }
  return n.replace(n.reshape(x, n.resultType().getShape()));
}

/// In a type that the wafer finds the largest element of.
static Value comparable(Legalization &n, Value x) {
  const bool isUnsigned = typeOf(x).getElementType().isUnsignedInteger(32);
  Type type = isInteger(x) ? Type(n.builder().getI32Type())
                           : Type(n.builder().getF32Type());
  if (typeOf(x).getElementType() != type)
    x = onnx::CastOp::create(n.builder(), n.loc(), typeOf(x).clone(type), x,
                             n.nameAttr());
  // The bits of an unsigned number, in the same order.
  return isUnsigned ? n.add(x, double(INT32_MIN)) : x;
}

/// The first place, or the last, of the extreme; NaN is one, as in numpy.
/// Along the last axis a row finds it among its features.
template <bool smallest>
static bool argExtreme(Legalization &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  if (!axis)
    return false;
  x = comparable(n, x);
  if (smallest)
    x = opposite(n, x);
  const bool last = n.node().intAttr("select_last_index");
  // Looking for places in the rows of PEs takes some room for each token.
  const int64_t features = shapeOf(x)[*axis];
  if (!isInteger(x) && !last && *axis + 1 == int64_t(shapeOf(x).size()) &&
      values::numElements(shapeOf(x)) <= features * features) {
    Value place = extremes(n, x, *axis, 1, /*smallest=*/false).places;
    place = n.cast(place, n.resultType().getElementType());
    return n.replace(n.reshape(place, n.resultType().getShape()));
  }
  Value most = n.keptReduced(x, ReduceKind::Max, {*axis});
  Value ordered = n.equal(x, x);
  Value found = n.logicalOr(n.equal(x, most), n.logicalNot(ordered));
  // The largest number wins, so the first place has to have it.
  int64_t extent = shapeOf(x)[*axis];
  if (!canCount(n, extent))
    return false;
  Shape along(shapeOf(x).size(), 1);
  along[*axis] = extent;
  Tensor places(ElementType::Float32, along);
  for (int64_t i = 0; i < extent; ++i)
    places.setFloat(i, last ? i : extent - 1 - i);
  Value numbers = n.materialize(std::move(places));
  Value rank = onnx::WhereOp::create(
      n.builder(), n.loc(), withShape(numbers, shapeOf(x)), found, numbers,
      n.scalarLike(numbers, -1), n.nameAttr());
  Value place = n.keptReduced(rank, ReduceKind::Max, {*axis});
  if (!last) {
    place = n.neg(place);
    place = n.add(place, double(extent - 1));
  }
  Value index =
      onnx::CastOp::create(n.builder(), n.loc(),
                           typeOf(place).clone(n.resultType().getElementType()),
                           place, n.nameAttr());
  return n.replace(n.reshape(index, n.resultType().getShape()));
}

/// `x` moved by `steps` along `axis`, backwards if negative; `fill` comes in.
static Value shifted(Legalization &n, Value x, int64_t axis, int64_t steps,
                     double fill) {
  int64_t extent = shapeOf(x)[axis];
  int64_t count = std::min(std::abs(steps), extent);
  Shape shape(shapeOf(x));
  shape[axis] = count;
  Value edge = n.expand(n.scalarLike(x, fill), shape);
  if (count == extent)
    return edge;
  if (steps > 0)
    return n.concat({edge, part(n, x, axis, 0, extent - count)}, axis);
  return n.concat({part(n, x, axis, count, extent - count), edge}, axis);
}

/// Whether a kernel adds up such elements: 64 bits must not wrap, 32 do.
static bool hasRunningSum(Value x) {
  Type element = typeOf(x).getElementType();
  return element.isF32() || element.isSignlessInteger(32) ||
         element.isSignlessInteger(64);
}

/// Along another axis than the last, which tokens lie along.
static Value runningSum(Legalization &n, Value x, int64_t axis) {
  const Shape shape(shapeOf(x));
  const int64_t last = int64_t(shape.size()) - 1;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  if (axis == last && last > 0)
    std::swap(order[last], order[last - 1]);
  if (axis == last)
    x = last > 0 ? n.transpose(x, order) : n.reshape(x, {shape[0], 1});
  x = onnx::RunningSumOp::create(
      n.builder(), n.loc(), x.getType(), x,
      axis == last ? std::max<int64_t>(last - 1, 0) : axis,
      n.node().intAttr("exclusive") != 0, n.node().intAttr("reverse") != 0,
      n.nameAttr());
  if (axis != last)
    return x;
  return last > 0 ? n.transpose(x, order) : n.reshape(x, shape);
}

/// Without a kernel: after k steps every element has met the 2^k - 1 before it.
template <BinaryKind kind>
static bool running(Legalization &n) {
  Value x = n.input(0);
  std::optional<int64_t> stated = n.node().oneInt(1, "axis");
  int64_t rank = shapeOf(x).size();
  if (!stated || *stated < -rank || *stated >= rank)
    return n.fail("the axis is not known, or outside the rank");
  int64_t axis = *stated + (*stated < 0 ? rank : 0);
  if (kind == BinaryKind::Add && shapeOf(x)[axis] > 1 && hasRunningSum(x))
    return n.replace(runningSum(n, x, axis));
  int64_t sign = n.node().intAttr("reverse") ? -1 : 1;
  double neutral = kind == BinaryKind::Mul;
  if (n.node().intAttr("exclusive"))
    x = shifted(n, x, axis, sign, neutral);
  for (int64_t steps = 1; steps < shapeOf(x)[axis]; steps *= 2)
    x = n.binary(kind, x, shifted(n, x, axis, sign * steps, neutral));
  return n.replace(x);
}

llvm::ArrayRef<Operator> wsec::infer::reductionsOperators() {
  static constexpr llvm::StringLiteral understood =
      "axes keepdims noop_with_empty_axes";
  static const Operator operators[] = {
      {"ReduceSum", reduce<Sum>, reduce<ReduceKind::Sum>, understood},
      {"ReduceMean", reduce<Mean>, reduce<ReduceKind::Mean>, understood},
      {"ReduceMax", reduce<Largest>, reduce<ReduceKind::Max>, understood},
      {"ReduceMin", reduce<Smallest>,
       reduce<ReduceKind::Max, opposite, oppositeAgain>, understood},
      {"ReduceProd", reduce<Product>, reduceProd, understood},
      {"ReduceSumSquare", reduce<SumSquare>, reduce<ReduceKind::Sum, square>,
       understood},
      {"ReduceL2", reduce<Norm2>,
       reduce<ReduceKind::Sum, square, function<UnaryKind::Sqrt>>, understood},
      {"ReduceL1", reduce<Norm1>,
       reduce<ReduceKind::Sum, function<UnaryKind::Abs>>, understood},
      {"ReduceLogSum", reduce<Unfolded>,
       reduce<ReduceKind::Sum, same, function<UnaryKind::Log>>, understood},
      {"ReduceLogSumExp", reduce<Unfolded>, reduceLogSumExp, understood},
      {"GlobalAveragePool", globalPool, globalPool<ReduceKind::Mean>},
      {"GlobalMaxPool", globalPool, globalPool<ReduceKind::Max>},
      {"ArgMax", argExtreme, argExtreme<false>,
       "axis keepdims select_last_index"},
      {"ArgMin", argExtreme, argExtreme<true>,
       "axis keepdims select_last_index"},
      {"CumSum", cumSum, running<BinaryKind::Add>, "exclusive reverse"},
      {"CumProd", cumProd, running<BinaryKind::Mul>, "exclusive reverse"},
  };
  return operators;
}
