// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LinearAttention: a matrix for each head of keys is the memory of all tokens
// before. Token by token
//
//   S = exp(decay) S        if it is gated
//   v = beta (v - S^T k)    if it corrects by delta
//   S = S + k v^T
//   y = scale S^T q
//
// so that each is some products of its own.
#include "compiler/infer/Attention.h"
#include "compiler/infer/Operators.h"
#include <cmath>

using namespace wsec::infer;

/// Each token adds kernels.
static constexpr int64_t mostTokens = 64;

static bool isGated(Node &node) {
  return node.stringAttr("update_rule").starts_with("gated");
}
static bool isDelta(Node &node) {
  return node.stringAttr("update_rule").ends_with("delta");
}

static bool linearAttention(Node &node) {
  const Fact &q = node.input(0), &v = node.input(2);
  const int64_t heads = node.intAttr("q_num_heads");
  const int64_t groups = node.intAttr("kv_num_heads");
  if (heads < 1 || groups < 1 || heads % groups)
    return node.fail(Twine(heads) + " heads of queries for " + Twine(groups) +
                     " of keys");
  if (q.rank() != 3 || v.rank() != 3 || numElements(q.shape) == 0)
    return node.fail("queries of shape " + printShape(q.shape) +
                     " and values of shape " + printShape(v.shape));
  const int64_t batch = q.shape[0], tokens = q.shape[1];
  if (!dividesInto(node, heads, q.shape[2]) ||
      !dividesInto(node, groups, v.shape[2]))
    return false;
  const int64_t size = q.shape[2] / heads, width = v.shape[2] / groups;
  const Shape state = {batch, groups, size, width};
  if (!node.hasShape(1, "keys", {batch, tokens, groups * size}) ||
      !node.hasShape(2, "values", {batch, tokens, groups * width}) ||
      !node.hasShape(3, "a state", state))
    return false;
  if (node.has(4) != isGated(node) || node.has(5) != isDelta(node))
    return node.fail("update_rule '" + node.stringAttr("update_rule") +
                     "' with or without decay and beta: what is gated has a "
                     "decay, what corrects by delta a beta");
  for (auto [input, least] : {std::pair<size_t, int64_t>(4, groups), {5, 1}}) {
    const int64_t most = input == 4 ? groups * size : groups;
    if (node.has(input) &&
        node.input(input).shape != Shape{batch, tokens, least} &&
        !node.hasShape(input, input == 4 ? "a decay" : "a beta",
                       {batch, tokens, most}))
      return false;
  }
  if (tokens > mostTokens)
    return node.fail(Twine(tokens) + " tokens, one after another, at most " +
                     Twine(mostTokens) + "; call it with fewer and the state");
  return node.setOutputs(
      {unknown(q.type, {batch, tokens, heads * width}),
       unknown(node.has(3) ? node.input(3).type : q.type, state)});
}

/// [batch, tokens, groups * n] as [batch * groups, tokens, n].
static Value byGroup(Legalization &n, Value x, int64_t groups) {
  x = splitHeads(n, x, groups);
  ArrayRef<int64_t> shape = shapeOf(x);
  return n.reshape(x, {shape[0] * groups, shape[2], shape[3]});
}

/// Token `t` of [many, tokens, n], as [many, 1, n].
static Value tokenOf(Legalization &n, Value x, int64_t t) {
  Box box = wholeBox(x);
  box.starts[1] = t;
  box.extents[1] = 1;
  return n.slice(x, box);
}

static bool linearAttention(Legalization &n) {
  const int64_t heads = n.node().intAttr("q_num_heads");
  const int64_t groups = n.node().intAttr("kv_num_heads");
  const int64_t each = heads / groups;
  Value q = splitHeads(n, n.input(0), heads);
  const int64_t batch = shapeOf(q)[0], tokens = shapeOf(q)[2],
                size = shapeOf(q)[3], many = batch * groups;
  double scale = n.node().floatAttr("scale");
  q = n.mul(q, scale != 0 ? scale : 1 / std::sqrt(size));
  q = n.transpose(n.reshape(q, {many, each, tokens, size}), {0, 2, 1, 3});
  q = n.reshape(q, {many, tokens, each * size});
  Value k = byGroup(n, n.input(1), groups), v = byGroup(n, n.input(2), groups);
  const int64_t width = shapeOf(v)[2];
  Value decay, beta;
  if (n.has(4))
    decay = n.exp(byGroup(n, n.input(4), groups));
  if (n.has(5))
    beta = byGroup(n, n.expand(n.input(5), {batch, tokens, groups}), groups);
  Value state;
  if (n.has(3))
    state = n.reshape(n.input(3), {many, size, width});
  SmallVector<Value> results;
  for (int64_t t = 0; t < tokens; ++t) {
    Value key = tokenOf(n, k, t), value = tokenOf(n, v, t);
    if (state && decay) {
      Value factor = tokenOf(n, decay, t);
      state = n.mul(state, n.reshape(factor, {many, shapeOf(factor)[2], 1}));
    }
    if (state && beta)
      value = n.sub(value, n.batchMatmul(key, state));
    if (beta)
      value = n.mul(value, tokenOf(n, beta, t));
    Value more = n.batchMatmul(n.reshape(key, {many, size, 1}), value);
    state = state ? n.add(state, more) : more;
    Value query = n.reshape(tokenOf(n, q, t), {many, each, size});
    results.push_back(
        n.reshape(n.batchMatmul(query, state), {many, each, 1, width}));
  }
  Value y = n.reshape(n.concat(results, 2), {batch, heads, tokens, width});
  SmallVector<Value> outputs = {mergeHeads(n, y)};
  if (n.op().getNumResults() > 1)
    outputs.push_back(n.reshape(state, {batch, groups, size, width}));
  return n.replace(outputs);
}

llvm::ArrayRef<Operator> wsec::infer::linearAttentionOperators() {
  static const Operator operators[] = {
      {"LinearAttention", linearAttention, linearAttention,
       "chunk_size kv_num_heads q_num_heads scale "
       "update_rule=linear|gated|delta|gated_delta"},
  };
  return operators;
}
