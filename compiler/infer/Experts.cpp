// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixtures of experts as one operator: the k most probable experts of each
// token, each two products with an activation in between, or three: what one
// makes passes an activation and is multiplied with what another makes. Weights
// of QMoE are integers of few bits, in rows of bytes, lowest bits first.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/infer/Quantization.h"
#include <cmath>

using namespace wsec::infer;

namespace {
/// The inputs of one product.
struct ProductInputs {
  const char *name;
  size_t weight, bias;
  size_t scales = 0, zeros = 0; // 0: none
};
struct MixtureInputs {
  ProductInputs up, down, gated;
  size_t mixing; // weights beside those that choose; 0: none
};
} // namespace

static constexpr MixtureInputs ofFloats = {
    {"fc1", 2, 3}, {"fc2", 4, 5}, {"fc3", 6, 7}, 0};
static constexpr MixtureInputs ofIntegers = {
    {"fc1", 2, 4, 3, 11}, {"fc2", 5, 7, 6, 12}, {"fc3", 8, 10, 9, 13}, 14};

/// Both factors of a gate in the columns of the first product.
static bool isFused(const Node &node) {
  return node.stringAttr("activation_type") == "swiglu" &&
         node.intAttr("swiglu_fusion", 0) != 0;
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static int64_t bitsOf(const Node &node, const ProductInputs &of) {
  if (!of.scales)
    return 0;
  const int64_t all = node.intAttr("expert_weight_bits", 4);
  const std::string own = std::string(of.name) + "_expert_weight_bits";
  return node.intAttr(own, all);
}

/// Do the inputs of a product have the shapes of weights [experts, N, K]?
static bool fits(Node &node, const ProductInputs &of, int64_t experts,
                 int64_t n, int64_t k) {
  const std::string name = of.name;
  if (node.has(of.bias) &&
      !node.hasShape(of.bias, name + "_experts_bias", {experts, n}))
    return false;
  if (!of.scales)
    return node.hasShape(of.weight, name + "_experts_weights", {experts, n, k});
  const int64_t bits = bitsOf(node, of), block = node.intAttr("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8)
    return node.fail(Twine(name) + "_experts_weights of " + Twine(bits) +
                     " bits, expected 2, 4 or 8");
  if (k * bits % 8 != 0 || (block > 0 && k % block != 0))
    return node.fail(Twine(name) + "_experts_weights with rows of " + Twine(k) +
                     " numbers, expected whole bytes and blocks");
  const int64_t blocks = block > 0 ? k / block : 1;
  auto bytes = [&](int64_t numbers) { return (numbers * bits + 7) / 8; };
  const Shape scales =
      block > 0 ? Shape{experts, n, blocks} : Shape{experts, n};
  const Shape zeros =
      block > 0 ? Shape{experts, n, bytes(blocks)} : Shape{experts, bytes(n)};
  if (!node.has(of.scales))
    return node.fail(Twine(name) + "_experts_weights without scales");
  return node.hasShape(of.weight, name + "_experts_weights",
                       {experts, n, bytes(k)}) &&
         node.hasShape(of.scales, name + "_scales", scales) &&
         (!node.has(of.zeros) ||
          node.hasShape(of.zeros, name + "_zero_points", zeros));
}

static bool mixture(Node &node, const MixtureInputs &in) {
  const Fact &x = node.input(0), &up = node.input(in.up.weight);
  StringRef activation = node.stringAttr("activation_type");
  const bool isGate = activation == "swiglu";
  if (node.intAttr("use_sparse_mixer", 0))
    return node.fail("use_sparse_mixer, whose choices are drawn");
  if (in.mixing) {
    if (node.intAttr("weights_prepacked", -1) == 1)
      return node.fail("weights that are laid out for one processor; write "
                       "them with weights_prepacked 0");
    if (!node.refuses({15, 16, 17, 18, 19, 20},
                      "scales of experts or activations"))
      return false;
  }
  if (isFused(node) && node.has(in.gated.weight))
    return node.fail("swiglu_fusion with a third product beside the first");
  if (isGate && !isFused(node) && !node.has(in.gated.weight))
    return node.fail("swiglu needs a third product, or both in the first "
                     "weight and swiglu_fusion 1 or 2");
  if (x.rank() < 2 || up.rank() != 3)
    return node.fail("weights of experts of " + printShape(up.shape) +
                     ", expected three extents");
  const int64_t experts = up.shape[0], size = x.shape.back();
  const int64_t tokens = numElements(x.shape) / std::max<int64_t>(size, 1);
  const int64_t inner = up.shape[1] / (isFused(node) ? 2 : 1);
  const int64_t k = node.intAttr("k", 1);
  if (k < 1 || k > experts)
    return node.fail("takes " + Twine(k) + " of " + Twine(experts) +
                     " experts");
  if (!node.hasShape(1, "router_probs", {tokens, experts}) ||
      (in.mixing && node.has(in.mixing) &&
       !node.hasShape(in.mixing, "router_weights", {tokens, experts})) ||
      !fits(node, in.up, experts, up.shape[1], size) ||
      !fits(node, in.down, experts, size, inner) ||
      (node.has(in.gated.weight) &&
       !fits(node, in.gated, experts, inner, size)))
    return false;
  return node.setOutput(unknown(x.type, x.shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// The weights [E, N, K] of a product as f32; null, with a reason, if they are
/// integers that are not constants.
static Value weightsOf(Legalization &n, const ProductInputs &of) {
  if (!of.scales)
    return n.input(of.weight);
  const int64_t bits = bitsOf(n.node(), of), each = 8 / bits;
  const int64_t block = n.node().intAttr("block_size", 0);
  std::optional<Tensor> packed = n.node().input(of.weight).load();
  std::optional<Tensor> scales = n.node().input(of.scales).load();
  std::optional<Tensor> zeros =
      n.has(of.zeros) ? n.node().input(of.zeros).load() : std::nullopt;
  if (!packed || !scales || (n.has(of.zeros) && !zeros)) {
    n.fail("its weights are not constants, or too many to expand");
    return {};
  }
  const ElementType type = bits == 8 ? ElementType::UInt8 : ElementType::UInt4;
  // Rows of `size` numbers, each of whole bytes.
  auto unpacked = [&](const Tensor &bytes, const Shape &shape) {
    Tensor numbers(type, shape);
    const int64_t size = shape.back(), pitch = bytes.shape().back();
    for (int64_t i = 0; i < numbers.size(); ++i)
      numbers.setInt(i, bytes.asInt(i / size * pitch + i % size / each) >>
                                (i % size % each * bits) &
                            ((1 << bits) - 1));
    return numbers;
  };
  Shape shape = packed->shape(), blocks = scales->shape();
  shape[2] *= each;
  Tensor zero(type, {1});
  if (zeros)
    zero = unpacked(*zeros, blocks);
  if (block <= 0)
    blocks.push_back(1);
  if (!zeros) {
    zero = Tensor(type, blocks);
    for (int64_t i = 0; i < zero.size(); ++i)
      zero.setInt(i, 1 << (bits - 1));
  }
  return quantized(n, unpacked(*packed, shape), scales->reshaped(blocks),
                   zero.reshaped(blocks), std::max<int64_t>(1, block));
}

/// Rows times the weights and the bias [E, N] of their experts.
static Value byExperts(Legalization &n, Value rows, Value ids,
                       const ProductInputs &of) {
  Value weight = weightsOf(n, of), bias = n.optional(of.bias);
  if (!weight)
    return {};
  std::optional<Fact> fact = factOf(weight);
  Value turned = fact && fact->constant
                     ? n.constant(reindexed(*fact,
                                            [](const StridedView &view) {
                                              return std::optional(
                                                  view.transposed({0, 2, 1}));
                                            }))
                     : n.transpose(weight, {0, 2, 1});
  if (!turned)
    return {};
  const Shape shape = {shapeOf(rows)[0], shapeOf(weight)[1]};
  Value product =
      onnx::ExpertsOp::create(n.builder(), n.loc(), withShape(rows, shape),
                              rows, ids, turned, n.nameAttr());
  return bias ? n.add(product, rowsAt(n, bias, ids)) : product;
}

/// clamp(g) * sigmoid(alpha * clamp(g)) * (clamp(l) + beta)
static Value gated(Legalization &n, Value gate, Value linear) {
  if (n.node().hasAttr("swiglu_limit")) {
    const double limit = n.node().floatAttr("swiglu_limit");
    gate = n.min(gate, limit);
    linear = n.max(n.min(linear, limit), -limit);
  }
  Value sigmoid =
      n.sigmoid(n.mul(gate, n.node().floatAttr("activation_alpha", 1)));
  return n.mul(n.mul(gate, sigmoid),
               n.add(linear, n.node().floatAttr("activation_beta", 0)));
}

/// The same of both factors in the columns of `x`.
static Value gated(Legalization &n, Value x) {
  const int64_t rows = shapeOf(x)[0], size = shapeOf(x)[1] / 2;
  const bool isInterleaved = n.node().intAttr("swiglu_fusion", 0) == 1;
  const int64_t step = isInterleaved ? 2 : 1;
  return gated(
      n, n.slice(x, {{0, 0}, {rows, size}, {1, step}}),
      n.slice(x, {{0, isInterleaved ? 1 : size}, {rows, size}, {1, step}}));
}

/// Of what the first product made and, null where there is none, the third.
static Value activated(Legalization &n, Value x, Value other) {
  StringRef kind = n.node().stringAttr("activation_type");
  if (kind == "swiglu")
    return other ? gated(n, x, other) : gated(n, x);
  Value y = x;
  if (kind == "relu") {
    y = n.max(x, 0.0);
  } else if (kind == "silu") {
    y = n.mul(x, n.sigmoid(x));
  } else if (kind == "gelu") {
    // By a tanh: x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x^3))
    Value square = n.mul(x, x);
    Value inner = n.mul(x, n.add(n.mul(square, 0.044715), 1.0));
    y = n.mul(x, n.sigmoid(n.mul(inner, 2 * std::sqrt(2 / std::acos(-1)))));
  }
  return other ? n.mul(y, other) : y;
}

/// The weights by which results of the chosen experts are added: those that
/// choose, or others.
static Value mixingOf(Legalization &n, const MixtureInputs &in,
                      const Extremes &chosen) {
  Value weights = chosen.values;
  const bool isOther = in.mixing && n.has(in.mixing);
  if (isOther)
    weights = elementsAt(n, n.input(in.mixing), chosen.places, 1);
  // onnxruntime's QMoE always makes those that choose add up to 1.
  if (n.node().intAttr("normalize_routing_weights", 0) ||
      (in.mixing && !isOther))
    weights = n.div(weights, n.keptReduced(weights, ReduceKind::Sum, {1}));
  return weights;
}

static bool mixture(Legalization &n, const MixtureInputs &in) {
  Value x = n.input(0);
  const int64_t size = shapeOf(x).back();
  const int64_t tokens = numElements(shapeOf(x)) / size;
  const int64_t k = n.node().intAttr("k", 1);
  Extremes chosen = extremes(n, n.softmax(n.input(1)), 1, k, false);
  Value weights = mixingOf(n, in, chosen);
  Value repeated =
      n.reshape(n.expand(n.reshape(x, {tokens, 1, size}), {tokens, k, size}),
                {tokens * k, size});
  Value ids = n.reshape(chosen.places, {tokens * k});
  Value rows = byExperts(n, repeated, ids, in.up), other;
  if (rows && n.has(in.gated.weight))
    other = byExperts(n, repeated, ids, in.gated);
  if (!rows || (n.has(in.gated.weight) && !other))
    return false;
  rows = activated(n, rows, other);
  rows = byExperts(n, rows, ids, in.down);
  if (!rows)
    return false;
  rows = n.mul(rows, n.reshape(weights, {tokens * k, 1}));
  Value sum = n.reduced(ReduceKind::Sum, n.reshape(rows, {tokens, k, size}), 1);
  return n.replace(n.reshape(sum, shapeOf(x)));
}

/// Rules by the inputs that they read.
template <const MixtureInputs &inputs, typename What>
static bool of(What &what) {
  return mixture(what, inputs);
}

llvm::ArrayRef<Operator> wsec::infer::expertsOperators() {
  static const Operator operators[] = {
      {"com.microsoft.MoE", of<ofFloats, Node>, of<ofFloats, Legalization>,
       "activation_type=relu|gelu|silu|swiglu|identity k "
       "normalize_routing_weights use_sparse_mixer "
       "swiglu_fusion swiglu_limit activation_alpha activation_beta"},
      {"com.microsoft.QMoE", of<ofIntegers, Node>, of<ofIntegers, Legalization>,
       "activation_type=relu|gelu|silu|swiglu|identity k "
       "normalize_routing_weights use_sparse_mixer "
       "swiglu_fusion swiglu_limit activation_alpha activation_beta "
       "expert_weight_bits fc1_expert_weight_bits fc2_expert_weight_bits "
       "fc3_expert_weight_bits block_size quant_type=int weights_prepacked "
       "accuracy_level"},
  };
  return operators;
}
