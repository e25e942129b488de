// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of matrices. Only small constant ones fold.
#include "compiler/infer/Operators.h"
#include "compiler/values/Arithmetic.h"

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool fusedMatMul(Node &node) {
  Shape a = node.input(0).shape, b = node.input(1).shape;
  if (a.size() < 2 || b.size() < 2)
    return node.fail("operands are not matrices");
  if (node.intAttr("transA"))
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (node.intAttr("transB"))
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  auto shape =
      broadcastShapes(ArrayRef(a).drop_back(2), ArrayRef(b).drop_back(2));
  if (!shape || a.back() != b[b.size() - 2])
    return node.fail("cannot multiply " + printShape(a) + " by " +
                     printShape(b));
  shape->append({a[a.size() - 2], b.back()});
  return node.setOutputs({unknown(node.input(0).type, *shape)});
}

/// Products of constants up to this many multiplications fold.
static constexpr int64_t maxFoldedProducts = 1 << 22;

static bool matMul(Node &node) {
  const Fact &a = node.input(0), &b = node.input(1);
  if (a.rank() == 0 || b.rank() == 0)
    return node.fail("operands are scalars");
  // Vectors count as a row on the left, as a column on the right.
  Shape left = a.shape, right = b.shape;
  if (a.rank() == 1)
    left.insert(left.begin(), 1);
  if (b.rank() == 1)
    right.push_back(1);
  int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  auto batch = broadcastShapes(ArrayRef(left).drop_back(2),
                               ArrayRef(right).drop_back(2));
  if (!batch || right[right.size() - 2] != k)
    return node.fail("cannot multiply " + printShape(a.shape) + " by " +
                     printShape(b.shape));
  Shape shape = *batch;
  if (a.rank() > 1)
    shape.push_back(m);
  if (b.rank() > 1)
    shape.push_back(n);
  Fact &output = node.outputs[0];
  output = unknown(a.type, shape);
  // Loaded operands are small, so their products are countable.
  auto tensors = node.allows(shape) ? node.loadAll(output) : std::nullopt;
  if (!tensors || numElements(*batch) * m * k * n > maxFoldedProducts)
    return true;
  auto spread = [&](const Tensor &tensor, Shape shape, int64_t r, int64_t c) {
    Shape to = *batch;
    to.append({r, c});
    return tensor.viewed(StridedView::whole(shape).expanded(to));
  };
  Tensor x = spread((*tensors)[0], left, m, k);
  Tensor y = spread((*tensors)[1], right, k, n);
  Tensor product(output.type, output.shape);
  auto fill = [&](auto zero) {
    for (int64_t i = 0; i < product.size(); ++i) {
      int64_t row = i / n, matrix = row / m;
      auto sum = zero;
      for (int64_t e = 0; e < k; ++e)
        sum = plus(sum,
                   times(x.get<decltype(zero)>(row * k + e),
                         y.get<decltype(zero)>((matrix * k + e) * n + i % n)));
      product.put(i, sum);
    }
  };
  isFloat(output.type) ? fill(0.0) : fill(int64_t(0));
  return node.setOutput(Fact::ofTensor(std::move(product)));
}

static bool gemm(Node &node) {
  const Fact &a = node.input(0), &b = node.input(1);
  if (a.rank() != 2 || b.rank() != 2)
    return node.fail("operands are not matrices");
  bool transA = node.intAttr("transA"), transB = node.intAttr("transB");
  if (a.shape[!transA] != b.shape[transB])
    return node.fail(
        "cannot multiply " + printShape({a.shape[transA], a.shape[!transA]}) +
        " by " + printShape({b.shape[transB], b.shape[!transB]}) +
        (transA || transB ? ", as transA and transB have them" : ""));
  Shape shape = {a.shape[transA], b.shape[!transB]};
  node.outputs[0] = unknown(a.type, shape);
  return node.broadcasts(2, shape);
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// Two activations are left for attention to find; onnx-legalize-products takes
/// what it leaves.
static bool matMul(Legalization &n) {
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
static Value gemmAddend(Legalization &n, double beta, int64_t columns) {
  Value c = n.optional(2);
  if (!c || beta == 0)
    return nullptr;
  std::optional<Fact> fact = factOf(c);
  ArrayRef<int64_t> shape = shapeOf(c);
  bool perColumn = shape.empty() || numElements(shape) == shape.back();
  if (!fact->constant || !perColumn)
    return beta == 1 ? c : n.mul(c, beta);
  Fact flat = reshapeFact(*fact, {numElements(shape)});
  flat.constant->view = flat.constant->view.expanded({columns});
  flat.shape = {columns};
  if (beta != 1) {
    std::optional<Tensor> values = flat.load();
    if (!values)
      return n.mul(c, beta);
    for (int64_t i = 0; i < values->size(); ++i)
      values->setFloat(i, beta * values->asFloat(i));
    flat = Fact::ofTensor(std::move(*values));
  }
  return n.constant(flat);
}

/// alpha * A B + beta * C; null with a reason if it cannot.
static Value gemmOf(Legalization &n) {
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
    y = n.mul(y, alpha);
  if (addend && !isBias)
    y = n.add(y, addend);
  return y;
}

static bool gemm(Legalization &n) {
  Value y = gemmOf(n);
  return y && n.replace(y);
}

/// What comes behind a Gemm of onnxruntime.
static bool fusedGemm(Legalization &n) {
  StringRef function = n.node().stringAttr("activation");
  Value y = gemmOf(n);
  if (!y)
    return false;
  if (function == "Relu")
    return n.replace(n.max(y, 0.0));
  if (function == "Tanh")
    return n.replace(n.tanh(y));
  return n.replace(n.sigmoid(y));
}

/// Of two computed tensors: a node for attention to find.
static Value productForAttention(Legalization &n, Value a, Value b) {
  return onnx::NodeOp::create(n.builder(), n.loc(), TypeRange(n.resultType()),
                              "MatMul", "", ValueRange{a, b},
                              n.builder().getDictionaryAttr({}), n.name())
      .getResult(0);
}

/// alpha * A B, either with its last two axes swapped.
static bool fusedMatMul(Legalization &n) {
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
  return n.replace(alpha == 1 ? y : n.mul(y, alpha));
}

llvm::ArrayRef<Operator> wsec::infer::productsOperators() {
  static const Operator operators[] = {
      {"MatMul", matMul, matMul},
      {"Gemm", gemm, gemm, "alpha beta transA transB"},
      {"com.microsoft.FusedGemm", gemm, fusedGemm,
       "alpha beta transA transB activation=Relu|Tanh|Sigmoid"},
      {"com.microsoft.FusedMatMul", fusedMatMul, fusedMatMul,
       "alpha transA transB"},
  };
  return operators;
}
