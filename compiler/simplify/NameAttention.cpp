// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's attention.
#include "compiler/simplify/Attention.h"
#include "compiler/simplify/AttentionMask.h"
#include "compiler/simplify/Heads.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;

static constexpr double hidden = -std::numeric_limits<double>::infinity();

Value wsec::simplify::mergeHeads(Naming &n, Value x) {
  // What `splitHeads` made is there already.
  auto transpose = x.getDefiningOp<onnx::TransposeOp>();
  if (transpose && transpose.getPerm() == ArrayRef<int64_t>{0, 2, 1, 3})
    if (auto split = transpose.getX().getDefiningOp<onnx::ReshapeOp>()) {
      ArrayRef<int64_t> s = shapeOf(split), from = shapeOf(split.getX());
      if (from == ArrayRef<int64_t>{s[0], s[1], s[2] * s[3]})
        return split.getX();
    }
  Shape s(shapeOf(x));
  return n.reshape(n.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

Value wsec::simplify::splitHeads(Naming &n, Value x, int64_t heads) {
  return splitHeads(n.builder(), n.loc(), x, heads, n.name());
}

/// onnx.attention hides later keys itself where queries and keys are as many.
static Value attentionOp(Naming &n, const GeneralAttention &a, Value bias) {
  bool causal = a.right == 0 && a.past == 0 && a.queries() == a.keys();
  if (Value keep = causal ? Value() : visibleKeys(n, a)) {
    Value hiding = additiveMask(n.builder(), n.loc(), keep, hidden, false);
    hiding = n.reshape(hiding, {1, 1, a.queries(), a.keys()});
    bias = bias ? addMasks(n.builder(), n.loc(), bias, hiding) : hiding;
  }
  Value q = mergeHeads(n, a.q), k = mergeHeads(n, a.k), v = mergeHeads(n, a.v);
  const int64_t heads = a.queryHeads(), shared = a.keyHeads();
  Shape shape{shapeOf(q)[0], shapeOf(q)[1], shapeOf(v)[2] / shared * heads};
  return onnx::AttentionOp::create(
      n.builder(), n.loc(), withShape(q, shape), q, k, v, bias,
      n.builder().getI64IntegerAttr(heads),
      shared != heads ? n.builder().getI64IntegerAttr(shared) : IntegerAttr(),
      n.builder().getF32FloatAttr(a.factor()),
      causal ? n.builder().getUnitAttr() : UnitAttr(), n.nameAttr());
}

/// Whether the mask is known and leaves every query a key: rows without any
/// give 0, which the kernel of onnx.attention does not.
static bool leavesKeys(const GeneralAttention &a) {
  std::optional<Fact> fact = factOf(a.mask);
  std::optional<Tensor> mask = fact ? fact->load() : std::nullopt;
  if (!mask || mask->shape().empty())
    return false;
  int64_t keys = mask->shape().back(), rows = mask->size() / keys;
  int64_t queries = mask->shape().size() > 1 ? *(mask->shape().end() - 2) : 1;
  bool isCondition = mask->type() == ElementType::Bool;
  for (int64_t row = 0; row < rows; ++row) {
    bool any = false;
    // With causality the first query sees the first keys only.
    int64_t seen = a.right == 0 ? row % queries + a.past + 1 : keys;
    for (int64_t key = 0; key < std::min(seen, keys); ++key) {
      double element = mask->asFloat(row * keys + key);
      any |= isCondition ? element != 0 : element > maskedScore;
    }
    if (!any)
      return false;
  }
  return true;
}

/// The mask as onnx.attention takes it; null if it does not.
static Value plainMask(Naming &n, const GeneralAttention &a) {
  AttentionExtents e = {shapeOf(a.q)[0], a.queryHeads(), a.queries(), a.keys()};
  if (shapeOf(a.mask).empty() || shapeOf(a.mask).back() != e.keys)
    return nullptr;
  std::string why;
  Value bias = maskOfRank4(n.builder(), n.loc(), a.mask,
                           {e.batch, e.heads, e.queries, e.keys}, e, why);
  if (bias && typeOf(bias).getElementType().isInteger(1))
    bias = additiveMask(n.builder(), n.loc(), bias, hidden, false);
  return bias;
}

/// As onnx.attention; null if that does not do it.
static Value attendPlainly(Naming &n, const GeneralAttention &a) {
  if (a.softcap > 0 || a.left >= 0 || a.right > 0 || a.lengths)
    return nullptr;
  if (!a.mask)
    return attentionOp(n, a, nullptr);
  Value bias = a.maskIsFinite || leavesKeys(a) ? plainMask(n, a) : Value();
  return bias ? attentionOp(n, a, bias) : Value();
}

Value wsec::simplify::attend(Naming &n, const GeneralAttention &a) {
  if (Value y = attendPlainly(n, a))
    return y;
  return mergeHeads(n, dissolve(n, a).y);
}

/// ONNX's own, opset 23 on. Its windows and its causality are of one kind.
static bool attention(Naming &n) {
  bool byHead = shapeOf(n.input(0)).size() == 4;
  auto heads = [&](size_t i, StringRef count) {
    return byHead ? n.input(i)
                  : splitHeads(n, n.input(i), n.node().intAttr(count, 0));
  };
  GeneralAttention a;
  a.q = heads(0, "q_num_heads");
  a.k = behindPast(n, n.optional(4), heads(1, "kv_num_heads"));
  a.v = behindPast(n, n.optional(5), heads(2, "kv_num_heads"));
  a.past = n.has(4) ? shapeOf(n.input(4))[2] : 0;
  a.mask = n.optional(3);
  a.lengths = n.optional(6);
  a.left = n.node().intAttr("left_window_size");
  a.right = n.node().intAttr("right_window_size");
  if (n.node().intAttr("is_causal"))
    a.right = a.right < 0 ? 0 : std::min<int64_t>(a.right, 0);
  a.scale = n.node().floatAttr("scale", 0);
  a.softcap = n.node().floatAttr("softcap", 0);
  bool onlyFirst = llvm::all_of(n.op().getResults().drop_front(),
                                [](Value other) { return other.use_empty(); });
  if (Value y = onlyFirst ? attendPlainly(n, a) : Value())
    return n.replace(byHead ? splitHeads(n, y, a.queryHeads()) : y);
  DissolvedAttention parts = dissolve(n, a);
  Value y = byHead ? parts.y : mergeHeads(n, parts.y);
  SmallVector<Value> results = {
      y, a.k, a.v, parts.scores[n.node().intAttr("qk_matmul_output_mode")]};
  results.resize(n.op().getNumResults());
  return n.replace(results);
}

ArrayRef<NamedNamingRule> wsec::simplify::attentionNaming() {
  static const NamedNamingRule rules[] = {
      {"Attention", attention},
  };
  return rules;
}
