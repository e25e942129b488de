// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's Attention, and what all attentions are made of.
#include "compiler/infer/Attention.h"
#include "compiler/infer/Operators.h"
#include "compiler/infer/States.h"
#include "compiler/values/AttentionMask.h"
#include "compiler/values/Heads.h"
#include "dialects/onnx/CachedCalls.h"
#include <algorithm>
#include <limits>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

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
  return node.fail(
      "an operand of shape " + printShape(x.shape) + " and " + count + " = " +
      llvm::Twine(heads) +
      ", expected rank 4, or rank 3 and a number of heads that divides "
      "its features");
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

/// The wafer computes in f32, which is no less than what 16 bits ask for.
static bool softmaxFits(Node &node, ArrayRef<int64_t> types) {
  const int64_t precision = node.intAttr("softmax_precision", 1);
  return llvm::is_contained(types, precision) ||
         node.fail("softmax in ONNX element type " + llvm::Twine(precision) +
                   (precision == 11 ? "; --allow-f64-as-f32 computes it in f32"
                                    : ""));
}

/// ONNX's Attention: [B,S,H*D] with head counts, or [B,H,S,D]; see
/// DissolveAttention.cpp.
static bool attention(Node &node) {
  if (!softmaxFits(node, {1, 10, 11, 16}))
    return false;
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

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

Value wsec::infer::mergeHeads(Legalization &n, Value x) {
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

Value wsec::infer::splitHeads(Legalization &n, Value x, int64_t heads) {
  return values::splitHeads(n.builder(), n.loc(), x, heads, n.name());
}

/// Heads of states that an exporter has repeated for those of queries, once.
static void shareStates(Legalization &n, GeneralAttention &a) {
  std::optional<Heads> k = matchHeads(traceRepeated(a.k), 2, 3),
                       v = matchHeads(traceRepeated(a.v), 2, 3);
  auto isShared = [](const std::optional<Heads> &its) {
    return its && its->repeats > 1 && its->scale == 1 &&
           its->root.getDefiningOp<onnx::UpdateOp>();
  };
  if (!isShared(k) || !isShared(v) || k->heads != v->heads)
    return;
  for (auto [x, heads] : {std::pair(&a.k, &*k), std::pair(&a.v, &*v)})
    *x = splitHeads(n, toRank3(n.builder(), n.loc(), *heads, n.name()),
                    heads->heads);
}

static Value attentionOp(Legalization &n, GeneralAttention a,
                         ArrayRef<MaskTerm> terms) {
  shareStates(n, a);
  Value q = mergeHeads(n, a.q), k = mergeHeads(n, a.k), v = mergeHeads(n, a.v);
  const int64_t heads = a.queryHeads(), shared = a.keyHeads();
  Shape shape{shapeOf(q)[0], shapeOf(q)[1], shapeOf(v)[2] / shared * heads};
  auto op = onnx::AttentionOp::create(
      n.builder(), n.loc(), withShape(q, shape), q, k, v, ValueRange(),
      n.builder().getI64IntegerAttr(heads),
      shared != heads ? n.builder().getI64IntegerAttr(shared) : IntegerAttr(),
      n.builder().getF32FloatAttr(a.factor()),
      a.softcap > 0 ? n.builder().getF32FloatAttr(a.softcap) : FloatAttr(),
      ArrayAttr(), n.nameAttr());
  setMaskTerms(op, terms);
  return op;
}

/// As onnx.attention; null if that does not do it.
static Value attendPlainly(Legalization &n, const GeneralAttention &a) {
  AttentionExtents e = {shapeOf(a.q)[0], a.queryHeads(), a.queries(), a.keys()};
  std::optional<MaskTerms> terms = termsOf(n, a, [&](Value mask) {
    std::string why;
    return maskOfRank4(n.builder(), n.loc(), mask,
                       {e.batch, e.heads, e.queries, e.keys}, e, why);
  });
  if (!terms)
    return nullptr;
  for (MaskTerm &term : *terms)
    if (term.operand)
      term.operand =
          biasOfRank4(n.builder(), n.loc(), term.operand, a.queries());
  return attentionOp(n, a, *terms);
}

Value wsec::infer::attend(Legalization &n, const GeneralAttention &a) {
  const bool isCall = n.op()->getParentOp()->hasAttr(onnx::callAttrName);
  if (a.sink && isCall && readsState(a))
    return attendToState(n, a);
  if (Value y = a.sink ? Value() : attendPlainly(n, a))
    return y;
  return mergeHeads(n, dissolve(n, a).y);
}

/// ONNX's own, opset 23 on. Its windows and its causality are of one kind.
static bool attention(Legalization &n) {
  if (!softmaxFits(n.node(), {1, 10, 16})) // f64 has become f32 before
    return false;
  bool byHead = shapeOf(n.input(0)).size() == 4;
  auto heads = [&](size_t i, StringRef count) {
    return byHead ? n.input(i)
                  : splitHeads(n, n.input(i), n.node().intAttr(count, 0));
  };
  GeneralAttention a;
  a.q = heads(0, "q_num_heads");
  const Value newKeys = heads(1, "kv_num_heads");
  a.k = behindPast(n, n.optional(4), newKeys);
  a.v = behindPast(n, n.optional(5), heads(2, "kv_num_heads"));
  if (!a.k || !a.v)
    return false;
  a.past = a.keys() - shapeOf(newKeys)[2];
  a.mask = n.optional(3);
  a.lengths = n.optional(6);
  a.left = n.node().intAttr("left_window_size");
  a.right = n.node().intAttr("right_window_size");
  if (n.node().intAttr("is_causal"))
    a.right = a.right < 0 ? 0 : std::min<int64_t>(a.right, 0);
  a.scale = n.node().floatAttr("scale", 0);
  a.softcap = n.node().floatAttr("softcap", 0);
  a.guard = onnx::TermKind::ZeroHidden;
  bool onlyFirst = llvm::all_of(n.op().getResults().drop_front(),
                                [](Value other) { return other.use_empty(); });
  Value plain;
  const bool grows = n.op()->getParentOp()->hasAttr(onnx::callAttrName);
  if (!grows && readsState(a)) {
    if (!onlyFirst)
      return n.fail("attends to a state, and has more results than the first; "
                    "leave the others out");
    if (!(plain = attendToState(n, a)))
      return false;
  } else if (onlyFirst || (grows && n.has(4))) {
    plain = attendPlainly(n, a);
  }
  if (plain) {
    SmallVector<Value> results = {
        byHead ? splitHeads(n, plain, a.queryHeads()) : plain, a.k, a.v};
    results.resize(std::min<size_t>(n.op().getNumResults(), 3));
    return n.replace(results);
  }
  // Scores that are results have what ONNX's text says.
  if (n.op().getNumResults() > 3 && !n.op().getResult(3).use_empty())
    a.hidden = -std::numeric_limits<double>::infinity();
  DissolvedAttention parts = dissolve(n, a);
  Value y = byHead ? parts.y : mergeHeads(n, parts.y);
  SmallVector<Value> results = {
      y, a.k, a.v, parts.scores[n.node().intAttr("qk_matmul_output_mode")]};
  results.resize(n.op().getNumResults());
  return n.replace(results);
}

llvm::ArrayRef<Operator> wsec::infer::attentionOperators() {
  static const Operator operators[] = {
      {"Attention", attention, attention,
       "q_num_heads kv_num_heads is_causal scale softcap softmax_precision "
       "qk_matmul_output_mode left_window_size right_window_size"},
  };
  return operators;
}
