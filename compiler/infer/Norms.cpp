// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What makes the numbers along an axis comparable: softmax and norms.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include <algorithm>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool embedLayerNorm(Node &node) {
  const Shape &ids = node.input(0).shape, &table = node.input(2).shape;
  if (ids.size() != 2 || table.size() != 2)
    return node.fail("looks up " + printShape(ids) + " in " +
                     printShape(table));
  int64_t width = table[1];
  for (size_t i : {3, 4})
    if (node.has(i) &&
        (node.input(i).rank() != 2 || node.input(i).shape[1] != width))
      return node.fail("embeddings of shape " + printShape(table) + " and " +
                       printShape(node.input(i).shape));
  if (!node.has(8) && node.input(3).shape[0] < ids[1])
    return node.fail(llvm::Twine(ids[1]) + " tokens for " +
                     llvm::Twine(node.input(3).shape[0]) + " positions");
  if (node.has(1) != node.has(4))
    return node.fail("segments without embeddings of them, or the reverse");
  if (!node.hasShape(1, "segments", ids) ||
      !node.hasShape(5, "a scale", {width}) ||
      !node.hasShape(6, "a bias", {width}) || !node.hasShape(7, "a mask", ids))
    return false;
  if (node.has(8) && node.input(8).shape != Shape{1, ids[1]} &&
      !node.hasShape(8, "positions", ids))
    return false;
  Fact sum = unknown(node.input(2).type, {ids[0], ids[1], width});
  return node.setOutputs({sum, unknown(ElementType::Int32, {ids[0]}), sum});
}

/// Holds when input `i`, a scale or bias if present, has an element for each
/// of `count` features, or one for all.
static bool fitsFeatures(Node &node, size_t i, int64_t count) {
  if (!node.has(i))
    return true;
  int64_t elements = numElements(node.input(i).shape);
  if (elements == count || elements == 1)
    return true;
  return node.fail("input " + llvm::Twine(i) + " of shape " +
                   printShape(node.input(i).shape) + ", expected " +
                   llvm::Twine(count) + " elements, one for each feature");
}

/// Whether a scale or bias is the same for all that is normalized: one number,
/// or one for each feature. Others, such as those of heads, broadcast to `x`.
static bool isByFeature(ArrayRef<int64_t> shape, ArrayRef<int64_t> x,
                        int64_t axis) {
  const int64_t elements = numElements(shape);
  if (elements != numElements(x.drop_front(axis)) || shape.size() == 1)
    return elements == 1 || elements == numElements(x.drop_front(axis));
  const int64_t features = x.size() - axis;
  return int64_t(shape.size()) <= features ||
         numElements(shape.drop_back(features)) == 1;
}

/// The first result is like the first operand. Other results (statistics)
/// are rarely used; they get the shape the operator gives them.
static bool norm(Node &node) {
  const Fact &x = node.input(0);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis)
    return false;
  int64_t features = numElements(ArrayRef(x.shape).drop_front(*axis));
  for (size_t i : {1, 2})
    if (node.has(i) && broadcastShapes(node.input(i).shape, x.shape) != x.shape)
      return fitsFeatures(node, i, features) &&
             node.fail("input " + llvm::Twine(i) + " of shape " +
                       printShape(node.input(i).shape) +
                       " does not broadcast to " + printShape(x.shape));
  Shape statistics = x.shape;
  std::fill(statistics.begin() + *axis, statistics.end(), 1);
  for (Fact &output : node.outputs)
    output = unknown(ElementType::Float32, statistics);
  return node.setOutput(unknown(x.type, x.shape));
}

static bool softmax(Node &node) {
  return node.setOutput(unknown(node.input(0).type, node.input(0).shape));
}

/// Results 1 and 2 are unused statistics; 3 is the sum, which feeds on.
static bool skipNorm(Node &node) {
  const Fact &x = node.input(0);
  if (x.rank() == 0)
    return node.fail("operands are scalars");
  if (!node.broadcasts(1, x.shape))
    return false;
  for (size_t i = 2; i < node.numInputs(); ++i)
    if (!fitsFeatures(node, i, x.shape.back()))
      return false;
  Shape statistics = x.shape;
  statistics.back() = 1;
  for (Fact &output : node.outputs)
    output = unknown(ElementType::Float32, statistics);
  node.outputs[0] = unknown(x.type, x.shape);
  if (node.outputs.size() > 3)
    node.outputs[3] = unknown(x.type, x.shape);
  return true;
}

static bool alongAxis(Node &node) {
  if (!node.axisAttr(node.input(0).rank()))
    return false;
  return node.setOutput(unknown(node.input(0).type, node.input(0).shape));
}

static bool hardmax(Node &node) {
  if (node.version() < 13)
    return node.fail("before opset 13 it flattens its operand");
  return alongAxis(node);
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// 1 at the first of the largest elements of the axis, 0 elsewhere.
static bool hardmax(Legalization &n) {
  Value x = n.input(0);
  const int64_t rank = shapeOf(x).size();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  const int64_t extent = shapeOf(x)[*axis];
  if (!canCount(n, extent))
    return false;
  Shape along(rank, 1);
  along[*axis] = extent;
  // The largest number wins: that of the first element.
  Tensor numbers(ElementType::Float32, along);
  for (int64_t i = 0; i < extent; ++i)
    numbers.setFloat(i, extent - i);
  Value ranks = n.materialize(std::move(numbers));
  auto where = [&](Value condition, Value a, double b) -> Value {
    return onnx::WhereOp::create(n.builder(), n.loc(), x.getType(), condition,
                                 a, n.scalarLike(x, b), n.nameAttr());
  };
  Value most = n.keptReduced(x, ReduceKind::Max, {*axis});
  Value found = where(n.equal(x, most), ranks, 0);
  Value first = n.keptReduced(found, ReduceKind::Max, {*axis});
  return n.replace(where(n.equal(ranks, first), n.scalarLike(x, 1), 0));
}

static bool lpNormalization(Legalization &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  const int64_t p = n.node().intAttr("p");
  if (!axis || (p != 1 && p != 2))
    return n.fail("a norm of order " + Twine(p));
  Value norm;
  if (p == 1)
    norm = n.keptReduced(n.abs(x), ReduceKind::Sum, {*axis});
  else
    norm = n.sqrt(n.keptReduced(n.mul(x, x), ReduceKind::Sum, {*axis}));
  // What is all zero stays so.
  Value isZero = n.equal(norm, 0.0);
  Value one = n.scalarLike(x, 1);
  norm = onnx::WhereOp::create(n.builder(), n.loc(), norm.getType(), isZero,
                               one, norm, n.nameAttr());
  return n.replace(n.div(x, norm));
}

/// One axis from opset 13 on; before, everything from `axis` on.
static bool softmax(Legalization &n) {
  Value x = n.input(0);
  Shape shape(shapeOf(x));
  bool flattens = n.node().version() < 13;
  std::optional<int64_t> axis = n.node().axisAttr(shape.size());
  if (!axis)
    return false;
  auto over = [&](Value rows) -> Value {
    return onnx::SoftmaxOp::create(n.builder(), n.loc(), rows.getType(), rows,
                                   n.nameAttr());
  };
  if (*axis + 1 == int64_t(shape.size()))
    return n.replace(over(x));
  if (flattens) {
    auto [rows, columns] =
        std::pair(numElements(ArrayRef<int64_t>(shape).take_front(*axis)),
                  numElements(ArrayRef<int64_t>(shape).drop_front(*axis)));
    return n.replace(n.reshape(over(n.reshape(x, {rows, columns})), shape));
  }
  Shape swap(shape.size());
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[*axis], swap.back());
  return n.replace(n.transpose(over(n.transpose(x, swap)), swap));
}

/// Norms over several axes are norms over one merged axis.
template <typename Build>
static Value overLastAxis(Legalization &n, Value x, int64_t axis, Build build) {
  Shape shape(shapeOf(x)), merged(shapeOf(x).take_front(axis));
  merged.push_back(numElements(ArrayRef<int64_t>(shape).drop_front(axis)));
  return n.reshape(build(n.reshape(x, merged), merged.back()), shape);
}

/// A scale or bias as a vector; scalars repeat.
static Value vectorOf(Legalization &n, Value value, int64_t extent) {
  if (!value || shapeOf(value) == ArrayRef<int64_t>(extent))
    return value;
  std::optional<Fact> fact = factOf(value);
  if (!fact->constant)
    return numElements(fact->shape) == extent ? n.reshape(value, {extent})
                                              : value;
  Fact flat = reshapeFact(*fact, {numElements(fact->shape)});
  if (!flat.constant || (flat.shape[0] != 1 && flat.shape[0] != extent))
    return value; // for the verifier of the operator to say
  flat.constant->view = flat.constant->view.expanded({extent});
  flat.shape = {extent};
  return n.constant(flat);
}

static Value layerNormOf(Legalization &n, Value x, int64_t axis, Value scale,
                         Value bias, double epsilon) {
  return overLastAxis(n, x, axis, [&](Value rows, int64_t extent) -> Value {
    return onnx::LayerNormOp::create(
        n.builder(), n.loc(), rows.getType(), rows, vectorOf(n, scale, extent),
        vectorOf(n, bias, extent), n.builder().getF32FloatAttr(epsilon),
        n.nameAttr());
  });
}

static Value rmsNormOf(Legalization &n, Value x, int64_t axis, Value scale,
                       double epsilon) {
  return overLastAxis(n, x, axis, [&](Value rows, int64_t extent) -> Value {
    return onnx::RMSNormOp::create(
        n.builder(), n.loc(), rows.getType(), rows, vectorOf(n, scale, extent),
        n.builder().getF32FloatAttr(epsilon), IntegerAttr(), n.nameAttr());
  });
}

/// Do the operators' own scale and bias say it? Of one number a vector is made
/// only where it is known.
static bool hasVectors(Legalization &n, Value scale, Value bias, int64_t axis) {
  const ArrayRef<int64_t> x = shapeOf(n.input(0));
  const int64_t features = numElements(x.drop_front(axis));
  return llvm::all_of(ArrayRef<Value>{scale, bias}, [&](Value value) {
    return !value ||
           (isByFeature(shapeOf(value), x, axis) &&
            (isConstant(value) || numElements(shapeOf(value)) == features));
  });
}

/// The norm `build` makes with a scale of one, scaled and shifted behind it.
template <typename Build>
static Value scaledBehind(Legalization &n, Value scale, Value bias,
                          Build build) {
  Value one = n.scalarLike(scale, 1);
  Value y = n.mul(build(one), scale);
  return bias ? n.add(y, bias) : y;
}

/// The mean of `x` from `axis` on.
static Value meanFrom(Legalization &n, Value x, int64_t axis) {
  Shape shape(shapeOf(x)), axes;
  for (int64_t d = axis; d < int64_t(shape.size()); ++d) {
    axes.push_back(d);
    shape[d] = 1;
  }
  return onnx::ReduceOp::create(n.builder(), n.loc(), withShape(x, shape),
                                ReduceKind::Mean, x, axes, true, n.nameAttr());
}

static bool layerNorm(Legalization &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  if (!axis)
    return false;
  double epsilon = n.node().floatAttr("epsilon");
  Value scale = n.input(1), bias = n.optional(2);
  SmallVector<Value> results = {
      hasVectors(n, scale, bias, *axis)
          ? layerNormOf(n, x, *axis, scale, bias, epsilon)
          : scaledBehind(n, scale, bias, [&](Value one) {
              return layerNormOf(n, x, *axis, one, Value(), epsilon);
            })};
  results.resize(n.op().getNumResults());
  // The mean, and one over the root of the variance, for those who ask.
  for (size_t i = 1; i < results.size(); ++i) {
    if (n.op().getResult(i).use_empty())
      continue;
    Value mean = meanFrom(n, x, *axis);
    results[i] = mean;
    if (i == 1)
      continue;
    Value rest = n.sub(x, mean);
    Value variance = meanFrom(n, n.mul(rest, rest), *axis);
    variance = n.add(variance, epsilon);
    results[i] = n.rsqrt(variance);
  }
  return n.replace(results);
}

static bool rmsNorm(Legalization &n) {
  Value x = n.input(0), scale = n.input(1);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  if (!axis)
    return false;
  auto scaledBy = [&](Value scale) {
    return rmsNormOf(n, x, *axis, scale, n.node().floatAttr("epsilon"));
  };
  return n.replace(hasVectors(n, scale, Value(), *axis)
                       ? scaledBy(scale)
                       : scaledBehind(n, scale, Value(), scaledBy));
}

/// input + skip (+ bias); the sum is result 3.
static Value skipSum(Legalization &n, Value bias) {
  Value sum = n.add(n.input(0), n.input(1));
  return bias ? n.add(sum, bias) : sum;
}

static bool skipLayerNorm(Legalization &n) {
  Value sum = skipSum(n, n.optional(4));
  int64_t axis = shapeOf(sum).size() - 1;
  Value y = layerNormOf(n, sum, axis, n.input(2), n.optional(3),
                        n.node().floatAttr("epsilon"));
  return n.replace({y, Value(), Value(), sum});
}

static bool skipRmsNorm(Legalization &n) {
  Value sum = skipSum(n, n.optional(3));
  int64_t axis = shapeOf(sum).size() - 1;
  Value y = rmsNormOf(n, sum, axis, n.input(2), n.node().floatAttr("epsilon"));
  return n.replace({y, Value(), Value(), sum});
}

/// Words, positions and segments, normed; how many ones the mask has by batch
/// element; the sum before the norm.
static bool embedLayerNorm(Legalization &n) {
  Value ids = n.input(0), positions = n.input(3);
  int64_t batch = shapeOf(ids)[0], tokens = shapeOf(ids)[1];
  int64_t width = shapeOf(n.input(2))[1];
  Value places = n.has(8)
                     ? rowsAt(n, positions, n.input(8))
                     : n.slice(positions, {{0, 0}, {tokens, width}, {1, 1}});
  Value sum = n.add(rowsAt(n, n.input(2), ids), places);
  if (n.has(1) && n.has(4))
    sum = n.add(sum, rowsAt(n, n.input(4), n.input(1)));
  Value y = onnx::LayerNormOp::create(
      n.builder(), n.loc(), sum.getType(), sum, n.input(5), n.input(6),
      n.builder().getF32FloatAttr(n.node().floatAttr("epsilon")), n.nameAttr());
  SmallVector<Value> results = {y, Value(), sum};
  results.resize(n.op().getNumResults());
  if (results.size() > 1 && !n.op().getResult(1).use_empty()) {
    Type f32 = n.builder().getF32Type();
    Value mask =
        n.has(7) ? n.cast(n.input(7), f32)
                 : n.materialize(Tensor(ElementType::Float32, {batch, tokens}));
    Value count = onnx::ReduceOp::create(
        n.builder(), n.loc(), withShape(mask, {batch}), ReduceKind::Sum, mask,
        ArrayRef<int64_t>{1}, false, n.nameAttr());
    results[1] = n.cast(count, n.resultType(1).getElementType());
  }
  return n.replace(results);
}

/// One axis from opset 13 on; before, everything from `axis` on.
static std::optional<Shape> softmaxAxes(Legalization &n) {
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

static bool logSoftmax(Legalization &n) {
  std::optional<Shape> axes = softmaxAxes(n);
  if (!axes)
    return false;
  Value x = n.input(0);
  x = n.sub(x, n.keptReduced(x, ReduceKind::Max, *axes));
  Value sum = n.keptReduced(n.exp(x), ReduceKind::Sum, *axes);
  return n.replace(n.sub(x, n.log(sum)));
}

llvm::ArrayRef<Operator> wsec::infer::normsOperators() {
  static const Operator operators[] = {
      {"Softmax", softmax, softmax, "axis"},
      {"LogSoftmax", softmax, logSoftmax, "axis"},
      {"Hardmax", hardmax, hardmax, "axis"},
      {"LpNormalization", alongAxis, lpNormalization, "axis p"},
      {"LayerNormalization", norm, layerNorm, "axis epsilon"},
      {"RMSNormalization", norm, rmsNorm, "axis epsilon"},
      {"SimplifiedLayerNormalization", norm, rmsNorm, "axis epsilon"},
      {"com.microsoft.SkipLayerNormalization", skipNorm, skipLayerNorm,
       "epsilon"},
      {"com.microsoft.SkipSimplifiedLayerNormalization", skipNorm, skipRmsNorm,
       "epsilon"},
      {"com.microsoft.EmbedLayerNormalization", embedLayerNorm, embedLayerNorm,
       "epsilon"},
  };
  return operators;
}
