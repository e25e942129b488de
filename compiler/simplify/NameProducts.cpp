// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by weights, softmax and norms.
#include "compiler/simplify/Naming.h"
#include <numeric>

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Two activations are left for attention to find; onnx-legalize-products takes
/// what it leaves.
static bool matMul(Naming &n) {
  Value x = n.input(0), weight = n.input(1);
  if (!isConstant(weight))
    return n.fail("multiplies two computed tensors and is not part of an "
                  "attention that we recognize");
  if (shapeOf(weight).size() != 2 || shapeOf(x).empty())
    return n.replace(n.batchMatmul(x, weight));
  return n.replace(n.matmul(x, weight, nullptr));
}

/// beta * C as something to add to the product: a constant [N] where it is
/// the same for all rows.
static Value gemmAddend(Naming &n, double beta, int64_t columns) {
  Value c = n.optional(2);
  if (!c || beta == 0)
    return nullptr;
  std::optional<Fact> fact = factOf(c);
  ArrayRef<int64_t> shape = shapeOf(c);
  bool perColumn = shape.empty() || numElements(shape) == shape.back();
  if (!fact->constant || !perColumn)
    return beta == 1 ? c : n.binary(BinaryKind::Mul, c, beta);
  Fact flat = reshapeFact(*fact, {numElements(shape)});
  flat.constant->view = flat.constant->view.expanded({columns});
  flat.shape = {columns};
  if (beta != 1) {
    std::optional<Tensor> values = flat.load();
    if (!values)
      return n.binary(BinaryKind::Mul, c, beta);
    for (int64_t i = 0; i < values->size(); ++i)
      values->setFloat(i, beta * values->asFloat(i));
    flat = Fact::ofTensor(std::move(*values));
  }
  return n.constant(flat);
}

/// alpha * A B + beta * C; null with a reason if it cannot.
static Value gemmOf(Naming &n) {
  Value x = n.input(0), weight = n.input(1);
  bool computed = !isConstant(weight);
  if (n.node().intAttr("transA", 0))
    x = n.transpose(x, {1, 0});
  if (n.node().intAttr("transB", 0) && computed) {
    weight = n.transpose(weight, {1, 0});
  } else if (n.node().intAttr("transB", 0)) {
    Fact fact = *factOf(weight);
    fact.constant->view = fact.constant->view.transposed({1, 0});
    fact.shape = fact.constant->view.shape();
    weight = n.constant(fact);
    if (!weight)
      return nullptr;
  }
  double alpha = n.node().floatAttr("alpha", 1);
  int64_t columns = shapeOf(weight)[1];
  Value addend = gemmAddend(n, n.node().floatAttr("beta", 1), columns);
  bool isBias = addend && alpha == 1 && isConstant(addend) &&
                shapeOf(addend) == ArrayRef<int64_t>(columns);
  isBias &= !computed;
  Value y = computed ? n.batchMatmul(x, weight)
                     : n.matmul(x, weight, isBias ? addend : Value());
  if (alpha != 1)
    y = n.binary(BinaryKind::Mul, y, alpha);
  if (addend && !isBias)
    y = n.binary(BinaryKind::Add, y, addend);
  return y;
}

static bool gemm(Naming &n) {
  Value y = gemmOf(n);
  return y && n.replace(y);
}

/// What comes behind a Gemm of onnxruntime.
static bool fusedGemm(Naming &n) {
  StringRef function = n.node().stringAttr("activation", "");
  Value y = gemmOf(n);
  if (!y)
    return false;
  if (function == "Relu")
    return n.replace(n.binary(BinaryKind::Max, y, 0.0));
  if (function == "Tanh")
    return n.replace(n.unary(onnx::UnaryKind::Tanh, y));
  if (function == "Sigmoid")
    return n.replace(n.unary(onnx::UnaryKind::Sigmoid, y));
  return n.fail("with " + function + " behind it");
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// One axis from opset 13 on; before, everything from `axis` on.
static bool softmax(Naming &n) {
  Value x = n.input(0);
  Shape shape(shapeOf(x));
  bool flattens = n.node().opset() < 13;
  std::optional<int64_t> axis =
      n.node().axisAttr(flattens ? 1 : -1, shape.size());
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

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Norms over several axes are norms over one merged axis.
template <typename Build>
static Value overLastAxis(Naming &n, Value x, int64_t axis, Build build) {
  Shape shape(shapeOf(x)), merged(shapeOf(x).take_front(axis));
  merged.push_back(numElements(ArrayRef<int64_t>(shape).drop_front(axis)));
  return n.reshape(build(n.reshape(x, merged), merged.back()), shape);
}

/// A scale or bias as a vector; scalars repeat.
static Value vectorOf(Naming &n, Value value, int64_t extent) {
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

static Value layerNormOf(Naming &n, Value x, int64_t axis, Value scale,
                         Value bias, double epsilon) {
  return overLastAxis(n, x, axis, [&](Value rows, int64_t extent) -> Value {
    return onnx::LayerNormOp::create(
        n.builder(), n.loc(), rows.getType(), rows, vectorOf(n, scale, extent),
        vectorOf(n, bias, extent), n.builder().getF32FloatAttr(epsilon),
        n.nameAttr());
  });
}

static Value rmsNormOf(Naming &n, Value x, int64_t axis, Value scale,
                       double epsilon) {
  return overLastAxis(n, x, axis, [&](Value rows, int64_t extent) -> Value {
    return onnx::RMSNormOp::create(
        n.builder(), n.loc(), rows.getType(), rows, vectorOf(n, scale, extent),
        n.builder().getF32FloatAttr(epsilon), n.nameAttr());
  });
}

/// The mean of `x` from `axis` on.
static Value meanFrom(Naming &n, Value x, int64_t axis) {
  Shape shape(shapeOf(x)), axes;
  for (int64_t d = axis; d < int64_t(shape.size()); ++d) {
    axes.push_back(d);
    shape[d] = 1;
  }
  return onnx::ReduceOp::create(n.builder(), n.loc(), withShape(x, shape),
                                onnx::ReduceKind::Mean, x, axes, true,
                                n.nameAttr());
}

static bool layerNorm(Naming &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(-1, shapeOf(x).size());
  if (!axis)
    return false;
  double epsilon = n.node().floatAttr("epsilon", 1e-5);
  SmallVector<Value> results = {
      layerNormOf(n, x, *axis, n.input(1), n.optional(2), epsilon)};
  results.resize(n.op().getNumResults());
  // The mean, and one over the root of the variance, for those who ask.
  for (size_t i = 1; i < results.size(); ++i) {
    if (n.op().getResult(i).use_empty())
      continue;
    Value mean = meanFrom(n, x, *axis);
    results[i] = mean;
    if (i == 1)
      continue;
    Value rest = n.binary(BinaryKind::Sub, x, mean);
    Value variance = meanFrom(n, n.binary(BinaryKind::Mul, rest, rest), *axis);
    variance = n.binary(BinaryKind::Add, variance, epsilon);
    results[i] = n.unary(onnx::UnaryKind::Rsqrt, variance);
  }
  return n.replace(results);
}

static bool rmsNorm(Naming &n) {
  std::optional<int64_t> axis =
      n.node().axisAttr(-1, shapeOf(n.input(0)).size());
  return axis && n.replace(rmsNormOf(n, n.input(0), *axis, n.input(1),
                                     n.node().floatAttr("epsilon", 1e-5)));
}

/// input + skip (+ bias); the sum is result 3.
static Value skipSum(Naming &n, Value bias) {
  Value sum = n.binary(BinaryKind::Add, n.input(0), n.input(1));
  return bias ? n.binary(BinaryKind::Add, sum, bias) : sum;
}

static bool skipLayerNorm(Naming &n) {
  Value sum = skipSum(n, n.optional(4));
  int64_t axis = shapeOf(sum).size() - 1;
  Value y = layerNormOf(n, sum, axis, n.input(2), n.optional(3),
                        n.node().floatAttr("epsilon", 1e-12));
  return n.replace({y, Value(), Value(), sum});
}

static bool skipRmsNorm(Naming &n) {
  Value sum = skipSum(n, n.optional(3));
  int64_t axis = shapeOf(sum).size() - 1;
  Value y =
      rmsNormOf(n, sum, axis, n.input(2), n.node().floatAttr("epsilon", 1e-12));
  return n.replace({y, Value(), Value(), sum});
}

ArrayRef<NamedNamingRule> wsec::simplify::productNaming() {
  static const NamedNamingRule rules[] = {
      {"MatMul", matMul},
      {"Gemm", gemm},
      {"com.microsoft.FusedGemm", fusedGemm},
      {"Softmax", softmax},
      {"LayerNormalization", layerNorm},
      {"RMSNormalization", rmsNorm},
      {"SimplifiedLayerNormalization", rmsNorm},
      {"com.microsoft.SkipLayerNormalization", skipLayerNorm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", skipRmsNorm},
  };
  return rules;
}
