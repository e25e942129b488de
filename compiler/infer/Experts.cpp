// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixtures of experts as one operator: the k most probable experts of each
// token, each two products with an activation in between.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include <cmath>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool mixture(Node &node) {
  const Fact &x = node.input(0), &up = node.input(2), &down = node.input(4);
  if (!node.refuses({6, 7}, "a third product of experts beside the first"))
    return false;
  if (node.intAttr("use_sparse_mixer", 0))
    return node.fail("use_sparse_mixer, whose choices are drawn");
  StringRef activation = node.stringAttr("activation_type");
  if (activation == "swiglu" && node.intAttr("swiglu_fusion", 0) == 0)
    return node.fail("swiglu needs both products in the first weight, "
                     "swiglu_fusion 1 or 2");
  if (x.rank() < 2 || up.rank() != 3 || down.rank() != 3)
    return node.fail("weights of experts of " + printShape(up.shape) + " and " +
                     printShape(down.shape) + ", expected three extents each");
  const int64_t experts = up.shape[0], size = x.shape.back();
  const int64_t tokens = numElements(x.shape) / std::max<int64_t>(size, 1);
  const int64_t inner = up.shape[1] / (activation == "swiglu" ? 2 : 1);
  const int64_t k = node.intAttr("k", 1);
  if (k < 1 || k > experts)
    return node.fail("takes " + Twine(k) + " of " + Twine(experts) +
                     " experts");
  if (!node.hasShape(1, "router_probs", {tokens, experts}) ||
      !node.hasShape(2, "fc1_experts_weights", {experts, up.shape[1], size}) ||
      !node.hasShape(4, "fc2_experts_weights", {experts, size, inner}) ||
      (node.has(3) &&
       !node.hasShape(3, "fc1_experts_bias", {experts, up.shape[1]})) ||
      (node.has(5) && !node.hasShape(5, "fc2_experts_bias", {experts, size})))
    return false;
  return node.setOutput(unknown(x.type, x.shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// Rows times the weights [E, N, K] and the bias [E, N] of their experts.
static Value byExperts(Legalization &n, Value rows, Value ids, Value weight,
                       Value bias) {
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
static Value gated(Legalization &n, Value x) {
  const int64_t rows = shapeOf(x)[0], size = shapeOf(x)[1] / 2;
  const bool isInterleaved = n.node().intAttr("swiglu_fusion", 0) == 1;
  const int64_t step = isInterleaved ? 2 : 1;
  Value gate = n.slice(x, {{0, 0}, {rows, size}, {1, step}});
  Value linear =
      n.slice(x, {{0, isInterleaved ? 1 : size}, {rows, size}, {1, step}});
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

static Value activated(Legalization &n, Value x) {
  StringRef kind = n.node().stringAttr("activation_type");
  if (kind == "relu")
    return n.max(x, 0.0);
  if (kind == "silu")
    return n.mul(x, n.sigmoid(x));
  if (kind == "swiglu")
    return gated(n, x);
  if (kind == "identity")
    return x;
  // gelu, by a tanh: x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x^3))
  Value square = n.mul(x, x);
  Value inner = n.mul(x, n.add(n.mul(square, 0.044715), 1.0));
  Value sigmoid = n.sigmoid(n.mul(inner, 2 * std::sqrt(2 / std::acos(-1))));
  return n.mul(x, sigmoid);
}

static bool mixture(Legalization &n) {
  Value x = n.input(0);
  const int64_t size = shapeOf(x).back();
  const int64_t tokens = numElements(shapeOf(x)) / size;
  const int64_t k = n.node().intAttr("k", 1);
  Extremes chosen = extremes(n, n.softmax(n.input(1)), 1, k, false);
  Value weights = chosen.values;
  if (n.node().intAttr("normalize_routing_weights", 0))
    weights = n.div(weights, n.keptReduced(weights, ReduceKind::Sum, {1}));
  Value repeated =
      n.reshape(n.expand(n.reshape(x, {tokens, 1, size}), {tokens, k, size}),
                {tokens * k, size});
  Value ids = n.reshape(chosen.places, {tokens * k});
  Value rows = byExperts(n, repeated, ids, n.input(2), n.optional(3));
  if (rows)
    rows = byExperts(n, activated(n, rows), ids, n.input(4), n.optional(5));
  if (!rows)
    return false;
  rows = n.mul(rows, n.reshape(weights, {tokens * k, 1}));
  Value sum = n.reduced(ReduceKind::Sum, n.reshape(rows, {tokens, k, size}), 1);
  return n.replace(n.reshape(sum, shapeOf(x)));
}

llvm::ArrayRef<Operator> wsec::infer::expertsOperators() {
  static const Operator operators[] = {
      {"com.microsoft.MoE", mixture, mixture,
       "activation_type=relu|gelu|silu|swiglu|identity k "
       "normalize_routing_weights use_sparse_mixer "
       "swiglu_fusion swiglu_limit activation_alpha activation_beta"},
  };
  return operators;
}
