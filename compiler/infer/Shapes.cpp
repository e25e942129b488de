// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes as values, and the same elements in another shape: of a constant the
// view changes, so weights of any size fold without being read.
#include "compiler/infer/Operators.h"
#include <algorithm>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool shape(Node &node) {
  int64_t rank = node.input(0).rank();
  auto clamp = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  int64_t start = clamp(node.intAttr("start"));
  int64_t end = clamp(node.intAttr("end", rank));
  ArrayRef<int64_t> extents = node.input(0).shape;
  return node.setOutput(Fact::ofTensor(
      Tensor::ofInts(extents.slice(start, std::max<int64_t>(end - start, 0)))));
}

static bool size(Node &node) {
  Tensor count(ElementType::Int64, {});
  count.setInt(0, numElements(node.input(0).shape));
  return node.setOutput(Fact::ofTensor(std::move(count)));
}

static bool constantOfShape(Node &node) {
  std::optional<Shape> shape = node.ints(0, "shape");
  if (!shape || !node.allows(*shape))
    return false;
  Tensor value = node.tensorAttr("value").value_or(
      Tensor::scalar(ElementType::Float32, 0));
  Fact fact = Fact::ofTensor(value.reshaped({}));
  node.outputs[0] = reindexed(
      fact, [&](const StridedView &view) -> std::optional<StridedView> {
        return view.expanded(*shape);
      });
  return true;
}

static bool constant(Node &node) {
  if (std::optional<Tensor> tensor = node.tensorAttr("value"))
    node.outputs[0] = Fact::ofTensor(std::move(*tensor));
  else if (node.hasAttr("value_int")) {
    Tensor scalar(ElementType::Int64, {});
    scalar.setInt(0, node.intAttr("value_int", 0));
    node.outputs[0] = Fact::ofTensor(std::move(scalar));
  } else if (node.hasAttr("value_float"))
    node.outputs[0] = Fact::ofTensor(
        Tensor::scalar(ElementType::Float32, node.floatAttr("value_float", 0)));
  else if (std::optional<Shape> ints = node.intsAttr("value_ints"))
    node.outputs[0] = Fact::ofTensor(Tensor::ofInts(*ints));
  else
    return node.fail("Constant without a tensor value");
  return true;
}

static bool setReshaped(Node &node, ArrayRef<int64_t> to) {
  const Fact &x = node.input(0);
  if (numElements(to) != numElements(x.shape))
    return node.fail("cannot reshape " + printShape(x.shape) + " to " +
                     printShape(to));
  return node.setOutput(reshapeFact(x, to));
}

static bool reshape(Node &node) {
  std::optional<Shape> to = node.ints(1, "shape");
  if (!to)
    return false;
  const Fact &x = node.input(0);
  int64_t open = -1;
  for (auto [d, extent] : llvm::enumerate(*to)) {
    if (extent == 0 && !node.intAttr("allowzero")) {
      if (int64_t(d) >= x.rank())
        return node.fail("shape copies dimension " + llvm::Twine(d) +
                         " of a tensor of rank " + llvm::Twine(x.rank()));
      extent = x.shape[d];
    }
    if (extent == -1) {
      if (open >= 0)
        return node.fail("shape leaves two dimensions open");
      open = d;
      extent = 1;
    }
  }
  if (!node.allows(*to))
    return false;
  if (open >= 0) {
    int64_t known = numElements(*to);
    (*to)[open] = known == 0 ? 0 : numElements(x.shape) / known;
  }
  return setReshaped(node, *to);
}

static bool flatten(Node &node) {
  const Shape &x = node.input(0).shape;
  int64_t rank = x.size(), axis = node.intAttr("axis");
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis > rank)
    return node.fail("axis is outside rank " + llvm::Twine(rank));
  return setReshaped(node, {numElements(ArrayRef(x).take_front(axis)),
                            numElements(ArrayRef(x).drop_front(axis))});
}

static bool squeeze(Node &node) {
  const Shape &x = node.input(0).shape;
  std::optional<Shape> axes = node.axes(1, x.size());
  if (!axes)
    return false;
  bool all = !node.has(1) && !node.hasAttr("axes");
  Shape to;
  for (auto [d, extent] : llvm::enumerate(x)) {
    bool named = llvm::is_contained(*axes, int64_t(d));
    if (named && extent != 1)
      return node.fail("cannot squeeze dimension " + llvm::Twine(d) +
                       " of extent " + llvm::Twine(extent));
    if (!named && !(all && extent == 1))
      to.push_back(extent);
  }
  return setReshaped(node, to);
}

static bool unsqueeze(Node &node) {
  const Shape &x = node.input(0).shape;
  std::optional<Shape> stated =
      node.has(1) ? node.ints(1, "axes") : node.intsAttr("axes");
  if (!stated)
    return node.fail("axes are missing");
  std::optional<Shape> axes = node.axes(1, x.size() + stated->size());
  if (!axes)
    return false;
  if (axes->size() != stated->size())
    return node.fail("an axis is stated twice");
  Shape to;
  auto next = x.begin();
  for (size_t d = 0; d < x.size() + axes->size(); ++d)
    to.push_back(llvm::is_contained(*axes, int64_t(d)) ? 1 : *next++);
  return setReshaped(node, to);
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

static bool reshape(Legalization &n) {
  return n.replace(n.reshape(n.input(0), n.resultType().getShape()));
}

llvm::ArrayRef<Operator> wsec::infer::shapesOperators() {
  static const Operator operators[] = {
      {"Shape", shape, nullptr, "start end"},
      {"Size", size, nullptr},
      {"Constant", constant, nullptr, "value value_int value_float value_ints"},
      {"ConstantOfShape", constantOfShape, nullptr, "value"},
      {"Reshape", reshape, reshape, "allowzero"},
      {"Flatten", flatten, reshape, "axis"},
      {"Squeeze", squeeze, reshape, "axes"},
      {"Unsqueeze", unsqueeze, reshape, "axes"},
  };
  return operators;
}
