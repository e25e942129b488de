// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions along axes.
#include "compiler/simplify/Arithmetic.h"
#include "compiler/simplify/Node.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace wsec::simplify;

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
    return std::is_integral_v<T> && count == 0 ? 0 : sum / count;
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
  static T join(T most, T x) { return std::max(most, x); }
};
template <typename T>
struct Smallest : Sum<T> {
  static constexpr T start = std::numeric_limits<T>::has_infinity
                                 ? std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::max();
  static T join(T least, T x) { return std::min(least, x); }
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
  static T join(T sum, T x) { return plus(sum, x < 0 ? negated(x) : x); }
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
  const int64_t bits = type == ElementType::Int4 || type == ElementType::UInt4
                           ? 4
                       : type == ElementType::Int2 || type == ElementType::UInt2
                           ? 2
                           : 8 * storedBytes(type);
  if (bits == 64)
    return least && !isSigned ? 0 : start;
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
      node.outputs[0] = x;
      return true;
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
  else if (isFloat(x.type))
    fold<Reduction<double>>(node, *axes, Reduction<double>::start);
  else
    fold<Reduction<int64_t>>(node, *axes,
                             startOf(x.type, Reduction<int64_t>::start));
  return true;
}

llvm::ArrayRef<NamedRule> wsec::simplify::reduceRules() {
  static constexpr llvm::StringLiteral reduction =
      "axes keepdims noop_with_empty_axes";
  static const NamedRule rules[] = {
      {"ReduceSum", reduce<Sum>, reduction},
      {"ReduceMean", reduce<Mean>, reduction},
      {"ReduceMax", reduce<Largest>, reduction},
      {"ReduceMin", reduce<Smallest>, reduction},
      {"ReduceProd", reduce<Product>, reduction},
      {"ReduceSumSquare", reduce<SumSquare>, reduction},
      {"ReduceL2", reduce<Norm2>, reduction},
      {"ReduceL1", reduce<Norm1>, reduction},
      {"ReduceLogSum", reduce<Unfolded>, reduction},
      {"ReduceLogSumExp", reduce<Unfolded>, reduction},
  };
  return rules;
}
