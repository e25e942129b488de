// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes of products, norms and attention. Only small constant products fold.
#include "compiler/simplify/Arithmetic.h"
#include "compiler/simplify/Node.h"
#include <algorithm>

using namespace wsec::simplify;
using llvm::ArrayRef;

static Fact unknown(ElementType type, ArrayRef<int64_t> shape) {
  return Fact{type, Shape(shape), std::nullopt};
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
  output = Fact::ofTensor(std::move(product));
  return true;
}

static bool gemm(Node &node) {
  const Fact &a = node.input(0), &b = node.input(1);
  if (a.rank() != 2 || b.rank() != 2)
    return node.fail("operands are not matrices");
  bool transA = node.intAttr("transA"), transB = node.intAttr("transB");
  if (a.shape[!transA] != b.shape[transB])
    return node.fail("cannot multiply " + printShape(a.shape) + " by " +
                     printShape(b.shape));
  Shape shape = {a.shape[transA], b.shape[!transB]};
  node.outputs[0] = unknown(a.type, shape);
  return node.broadcasts(2, shape);
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

/// The first result is like the first operand. Other results (statistics)
/// are rarely used; they get the shape the operator gives them.
static bool norm(Node &node) {
  const Fact &x = node.input(0);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis)
    return false;
  int64_t features = numElements(ArrayRef(x.shape).drop_front(*axis));
  if (!fitsFeatures(node, 1, features) || !fitsFeatures(node, 2, features))
    return false;
  Shape statistics = x.shape;
  std::fill(statistics.begin() + *axis, statistics.end(), 1);
  for (Fact &output : node.outputs)
    output = unknown(ElementType::Float32, statistics);
  node.outputs[0] = unknown(x.type, x.shape);
  return true;
}

static bool softmax(Node &node) {
  node.outputs[0] = unknown(node.input(0).type, node.input(0).shape);
  return true;
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

/// Operand `i` of Attention as [batch, heads, tokens, size]: so it is, or it is
/// [batch, tokens, heads * size].
static std::optional<Shape> byHeads(Node &node, size_t i,
                                    llvm::StringRef count) {
  const Fact &x = node.input(i);
  if (x.rank() == 4)
    return x.shape;
  int64_t heads = node.intAttr(count, 0);
  if (x.rank() == 3 && heads > 0 && x.shape[2] % heads == 0)
    return Shape{x.shape[0], heads, x.shape[1], x.shape[2] / heads};
  node.fail("an operand of shape " + printShape(x.shape) + " and " + count +
            " = " + llvm::Twine(heads) +
            ", expected rank 4, or rank 3 and a number of heads that divides "
            "its features");
  return std::nullopt;
}

/// Adds the tokens of a cache, input `i`, to `shape`.
static bool addPast(Node &node, size_t i, Shape &shape) {
  if (!node.has(i))
    return true;
  const Shape &past = node.input(i).shape;
  int64_t tokens = past.size() == 4 ? past[2] : 0;
  Shape expected = shape;
  expected[2] = tokens;
  if (past != expected)
    return node.fail("a cache of shape " + printShape(past) +
                     " beside keys or values of shape " + printShape(shape));
  shape[2] += tokens;
  return true;
}

/// ONNX's Attention: [B,S,H*D] with head counts, or [B,H,S,D]; see
/// DissolveAttention.cpp.
static bool attention(Node &node) {
  // The wafer computes in f32, which is no less than what 16 bits ask for.
  int64_t precision = node.intAttr("softmax_precision", 1);
  if (precision != 1 && precision != 10 && precision != 16)
    return node.fail("softmax in ONNX element type " + llvm::Twine(precision));
  int64_t mode = node.intAttr("qk_matmul_output_mode");
  if (mode < 0 || mode > 3)
    return node.fail("qk_matmul_output_mode is " + llvm::Twine(mode) +
                     ", expected 0 to 3");
  int64_t rank = node.input(0).rank();
  if (node.input(1).rank() != rank || node.input(2).rank() != rank)
    return node.fail("operands differ in rank");
  auto q = byHeads(node, 0, "q_num_heads");
  auto k = byHeads(node, 1, "kv_num_heads");
  auto v = byHeads(node, 2, "kv_num_heads");
  if (!q || !k || !v)
    return false;
  if ((*q)[0] != (*k)[0] || (*q)[0] != (*v)[0] || (*q)[3] != (*k)[3] ||
      (*k)[1] != (*v)[1] || (*k)[2] != (*v)[2] || (*k)[1] == 0 ||
      (*q)[1] % (*k)[1] != 0)
    return node.fail("queries " + printShape(*q) + ", keys " + printShape(*k) +
                     " and values " + printShape(*v) + " do not fit");
  if (node.has(4) != node.has(5))
    return node.fail("a cache of keys or of values without the other");
  if (!addPast(node, 4, *k) || !addPast(node, 5, *v))
    return false;
  Shape scores = {(*q)[0], (*q)[1], (*q)[2], (*k)[2]};
  if (node.has(3)) {
    Shape mask = node.input(3).shape;
    if (mask.empty() || mask.back() > scores.back())
      return node.fail("a mask of shape " + printShape(mask) + " for " +
                       llvm::Twine(scores.back()) + " keys");
    mask.back() = scores.back();
    auto together = broadcastShapes(mask, scores);
    if (!together || *together != scores)
      return node.fail("a mask of shape " + printShape(node.input(3).shape) +
                       " does not fit scores of shape " + printShape(scores));
  }
  if (node.has(6) && (node.has(4) || node.input(6).shape != Shape{scores[0]}))
    return node.fail("nonpad_kv_seqlen beside a cache, or not one for each "
                     "batch element");
  Shape y = {(*q)[0], (*q)[1], (*q)[2], (*v)[3]};
  if (rank == 3)
    y = {(*q)[0], (*q)[2], (*q)[1] * (*v)[3]};
  const Shape shapes[] = {y, *k, *v, scores};
  for (auto [output, shape] : llvm::zip(node.outputs, shapes))
    output = unknown(node.input(0).type, shape);
  return true;
}

llvm::ArrayRef<NamedRule> wsec::simplify::matrixRules() {
  static const NamedRule rules[] = {
      {"MatMul", matMul},
      {"Gemm", gemm, "alpha beta transA transB"},
      {"com.microsoft.FusedGemm", gemm, "alpha beta transA transB activation"},
      {"Softmax", softmax, "axis"},
      {"LogSoftmax", softmax, "axis"},
      {"LayerNormalization", norm, "axis epsilon"},
      {"RMSNormalization", norm, "axis epsilon"},
      {"SimplifiedLayerNormalization", norm, "axis epsilon"},
      {"com.microsoft.SkipLayerNormalization", skipNorm, "epsilon"},
      {"com.microsoft.SkipSimplifiedLayerNormalization", skipNorm, "epsilon"},
      {"Attention", attention,
       "q_num_heads kv_num_heads is_causal scale softcap softmax_precision "
       "qk_matmul_output_mode left_window_size right_window_size"},
  };
  return rules;
}
