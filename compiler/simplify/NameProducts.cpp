// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by weights, softmax, norms and embeddings.
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
  if (n.node().intAttr("transA"))
    x = n.transpose(x, {1, 0});
  if (n.node().intAttr("transB") && computed) {
    weight = n.transpose(weight, {1, 0});
  } else if (n.node().intAttr("transB")) {
    Fact fact = *factOf(weight);
    fact.constant->view = fact.constant->view.transposed({1, 0});
    fact.shape = fact.constant->view.shape();
    weight = n.constant(fact);
    if (!weight)
      return nullptr;
  }
  double alpha = n.node().floatAttr("alpha");
  int64_t columns = shapeOf(weight)[1];
  Value addend = gemmAddend(n, n.node().floatAttr("beta"), columns);
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
  StringRef function = n.node().stringAttr("activation");
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

/// Of two computed tensors: a node for attention to find.
static Value productForAttention(Naming &n, Value a, Value b) {
  return onnx::NodeOp::create(n.builder(), n.loc(), TypeRange(n.resultType()),
                              "MatMul", "", ValueRange{a, b},
                              n.builder().getDictionaryAttr({}), n.name())
      .getResult(0);
}

/// alpha * A B, either with its last two axes swapped.
static bool fusedMatMul(Naming &n) {
  Value parts[] = {n.input(0), n.input(1)};
  bool swaps[] = {n.node().intAttr("transA") != 0,
                  n.node().intAttr("transB") != 0};
  for (int i = 0; i < 2; ++i) {
    int64_t rank = shapeOf(parts[i]).size();
    if (!swaps[i] || rank < 2)
      continue;
    Shape perm(rank);
    for (int64_t d = 0; d < rank; ++d)
      perm[d] = d;
    std::swap(perm[rank - 1], perm[rank - 2]);
    std::optional<Fact> fact = factOf(parts[i]);
    if (fact->constant) {
      fact->constant->view = fact->constant->view.transposed(perm);
      fact->shape = fact->constant->view.shape();
      if (!(parts[i] = n.constant(fact)))
        return false;
    } else {
      parts[i] = n.transpose(parts[i], perm);
    }
  }
  auto [x, weight] = std::pair(parts[0], parts[1]);
  bool byWeight = isConstant(weight) && shapeOf(weight).size() == 2 &&
                  !shapeOf(x).empty() && !isConstant(x);
  double alpha = n.node().floatAttr("alpha");
  Value y = byWeight ? n.matmul(x, weight, nullptr)
                     : productForAttention(n, x, weight);
  return n.replace(alpha == 1 ? y : n.binary(BinaryKind::Mul, y, alpha));
}

/// Weights of 2, 4 or 8 bits in blocks with a scale each, as f32: [K, N].
static Tensor expanded(Naming &n, const Tensor &packed, const Tensor &scales,
                       const std::optional<Tensor> &zeros, int64_t rows,
                       int64_t columns) {
  int64_t bits = n.node().intAttr("bits");
  int64_t block = n.node().intAttr("block_size");
  int64_t blocks = (rows + block - 1) / block, each = 8 / bits;
  auto field = [&](const Tensor &bytes, int64_t first, int64_t number) {
    return (bytes.asInt(first + number / each) >> (number % each * bits)) &
           ((1 << bits) - 1);
  };
  int64_t zeroBytes = (blocks + each - 1) / each;
  auto zeroOf = [&](int64_t column, int64_t number) -> double {
    if (!zeros)
      return 1 << (bits - 1);
    if (isFloat(zeros->type()))
      return zeros->asFloat(column * blocks + number);
    return field(*zeros, column * zeroBytes, number);
  };
  Tensor weight(ElementType::Float32, {rows, columns});
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row) {
      int64_t number = row / block, at = column * blocks + number;
      double q = field(packed, at * (block / each), row % block);
      weight.setFloat(row * columns + column,
                      (q - zeroOf(column, number)) * scales.asFloat(at));
    }
  return weight;
}

static bool matMulNBits(Naming &n) {
  int64_t rows = n.node().intAttr("K"), columns = n.node().intAttr("N");
  std::optional<Tensor> packed = n.node().input(1).load();
  std::optional<Tensor> scales = n.node().input(2).load();
  std::optional<Tensor> zeros =
      n.has(3) ? n.node().input(3).load() : std::nullopt;
  if (!packed || !scales || (n.has(3) && !zeros))
    return n.fail("its weights are not constants, or too many to expand");
  Value weight = materialize(
      n.builder(), n.loc(),
      Fact::ofTensor(expanded(n, *packed, *scales, zeros, rows, columns)),
      n.name());
  return n.replace(n.matmul(n.input(0), weight, n.optional(5)));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// One axis from opset 13 on; before, everything from `axis` on.
static bool softmax(Naming &n) {
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
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  if (!axis)
    return false;
  double epsilon = n.node().floatAttr("epsilon");
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
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(n.input(0)).size());
  return axis && n.replace(rmsNormOf(n, n.input(0), *axis, n.input(1),
                                     n.node().floatAttr("epsilon")));
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
                        n.node().floatAttr("epsilon"));
  return n.replace({y, Value(), Value(), sum});
}

static bool skipRmsNorm(Naming &n) {
  Value sum = skipSum(n, n.optional(3));
  int64_t axis = shapeOf(sum).size() - 1;
  Value y = rmsNormOf(n, sum, axis, n.input(2), n.node().floatAttr("epsilon"));
  return n.replace({y, Value(), Value(), sum});
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

static Value rowsAt(Naming &n, Value table, Value ids) {
  Shape shape(shapeOf(ids));
  shape.push_back(shapeOf(table)[1]);
  return onnx::GatherOp::create(n.builder(), n.loc(), withShape(table, shape),
                                table, ids, n.nameAttr());
}

/// Words, positions and segments, normed; how many ones the mask has by batch
/// element; the sum before the norm.
static bool embedLayerNorm(Naming &n) {
  Value ids = n.input(0), positions = n.input(3);
  int64_t batch = shapeOf(ids)[0], tokens = shapeOf(ids)[1];
  int64_t width = shapeOf(n.input(2))[1];
  Value places = n.has(8)
                     ? rowsAt(n, positions, n.input(8))
                     : n.slice(positions, {{0, 0}, {tokens, width}, {1, 1}});
  Value sum = n.binary(BinaryKind::Add, rowsAt(n, n.input(2), ids), places);
  if (n.has(1) && n.has(4))
    sum = n.binary(BinaryKind::Add, sum, rowsAt(n, n.input(4), n.input(1)));
  Value y = onnx::LayerNormOp::create(
      n.builder(), n.loc(), sum.getType(), sum, n.input(5), n.input(6),
      n.builder().getF32FloatAttr(n.node().floatAttr("epsilon")), n.nameAttr());
  SmallVector<Value> results = {y, Value(), sum};
  results.resize(n.op().getNumResults());
  if (results.size() > 1 && !n.op().getResult(1).use_empty()) {
    Type f32 = n.builder().getF32Type();
    Value mask =
        n.has(7) ? n.cast(n.input(7), f32)
                 : materialize(n.builder(), n.loc(),
                               Tensor(ElementType::Float32, {batch, tokens}));
    Value count = onnx::ReduceOp::create(
        n.builder(), n.loc(), withShape(mask, {batch}), onnx::ReduceKind::Sum,
        mask, ArrayRef<int64_t>{1}, false, n.nameAttr());
    results[1] = n.cast(count, n.resultType(1).getElementType());
  }
  return n.replace(results);
}

ArrayRef<NamedNamingRule> wsec::simplify::productNaming() {
  static const NamedNamingRule rules[] = {
      {"MatMul", matMul},
      {"Gemm", gemm},
      {"com.microsoft.FusedGemm", fusedGemm},
      {"com.microsoft.FusedMatMul", fusedMatMul},
      {"com.microsoft.MatMulNBits", matMulNBits},
      {"com.microsoft.EmbedLayerNormalization", embedLayerNorm},
      {"Softmax", softmax},
      {"LayerNormalization", layerNorm},
      {"RMSNormalization", rmsNorm},
      {"SimplifiedLayerNormalization", rmsNorm},
      {"com.microsoft.SkipLayerNormalization", skipLayerNorm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", skipRmsNorm},
  };
  return rules;
}
