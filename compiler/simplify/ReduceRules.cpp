// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions along axes.
#include "compiler/simplify/Node.h"
#include <algorithm>
#include <cmath>

using namespace wsec::simplify;

/// One reduction: where the running value starts, how an element joins it,
/// what becomes of it at the end.
struct Sum {
  static constexpr double start = 0;
  static double join(double sum, double x) { return sum + x; }
  static double finish(double sum, int64_t) { return sum; }
};
struct Mean : Sum {
  static double finish(double sum, int64_t count) { return sum / count; }
};
struct Product : Sum {
  static constexpr double start = 1;
  static double join(double product, double x) { return product * x; }
};
struct Largest : Sum {
  static constexpr double start = -INFINITY;
  static double join(double most, double x) { return std::max(most, x); }
};
struct Smallest : Sum {
  static constexpr double start = INFINITY;
  static double join(double least, double x) { return std::min(least, x); }
};
struct SumSquare : Sum {
  static double join(double sum, double x) { return sum + x * x; }
};
struct Norm2 : SumSquare {
  static double finish(double sum, int64_t) { return std::sqrt(sum); }
};
struct Norm1 : Sum {
  static double join(double sum, double x) { return sum + std::fabs(x); }
};

template <typename Reduction>
static void fold(Node &node, const Shape &axes) {
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
  std::vector<double> values(numElements(kept), Reduction::start);
  int64_t next = 0;
  forEachPosition(x.shape, 0, strides, [&](int64_t position) {
    double element = tensors->front().asFloat(next++);
    values[position] = Reduction::join(values[position], element);
  });
  Tensor result(output.type, output.shape);
  int64_t count = result.size() ? numElements(x.shape) / result.size() : 0;
  for (int64_t i = 0; i < result.size(); ++i) {
    double value = Reduction::finish(values[i], count);
    if (isFloat(output.type))
      result.setFloat(i, value);
    else
      result.setInt(i, int64_t(value));
  }
  output = Fact::ofTensor(std::move(result));
}

/// Axes are an input from opset 18 on (ReduceSum: 13), an attribute before.
template <typename Reduction>
static bool reduce(Node &node) {
  if (!node.needs(1))
    return false;
  const Fact &x = node.input(0);
  std::optional<Shape> axes = node.axes(1, x.rank());
  if (!axes)
    return false;
  if (axes->empty()) {
    if (node.intAttr("noop_with_empty_axes", 0)) {
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
    else if (node.intAttr("keepdims", 1))
      output.shape.push_back(1);
  }
  fold<Reduction>(node, *axes);
  return true;
}

llvm::ArrayRef<NamedRule> wsec::simplify::reduceRules() {
  static const NamedRule rules[] = {
      {"ReduceSum", reduce<Sum>},      {"ReduceMean", reduce<Mean>},
      {"ReduceMax", reduce<Largest>},  {"ReduceMin", reduce<Smallest>},
      {"ReduceProd", reduce<Product>}, {"ReduceSumSquare", reduce<SumSquare>},
      {"ReduceL2", reduce<Norm2>},     {"ReduceL1", reduce<Norm1>},
  };
  return rules;
}
