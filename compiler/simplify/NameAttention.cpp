// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attention operators of ONNX and of onnxruntime.
#include "compiler/simplify/AttentionMask.h"
#include "compiler/simplify/Naming.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;

namespace {
/// What all of them come down to; operands of rank 3.
struct Parts {
  Value q, k, v;
  Value bias = nullptr;
  int64_t heads = 0;
  double scale = 0; // 0: one over the root of the head size
  bool causal = false;
};
} // namespace

static Value build(Naming &n, const Parts &p) {
  int64_t size = shapeOf(p.q)[2] / p.heads;
  double scale = p.scale != 0 ? p.scale : 1 / std::sqrt(double(size));
  auto type =
      withShape(p.q, {shapeOf(p.q)[0], shapeOf(p.q)[1], shapeOf(p.v)[2]});
  return onnx::AttentionOp::create(
      n.builder(), n.loc(), type, p.q, p.k, p.v, p.bias,
      n.builder().getI64IntegerAttr(p.heads),
      n.builder().getF32FloatAttr(scale),
      p.causal ? n.builder().getUnitAttr() : UnitAttr(), n.nameAttr());
}

/// Checks heads against the operands; both have to fit for `build`.
static bool fits(Naming &n, const Parts &p) {
  if (p.heads <= 0 || shapeOf(p.q)[2] % p.heads || shapeOf(p.v)[2] % p.heads)
    return n.fail(Twine(p.heads) + " heads do not divide " +
                  Twine(shapeOf(p.q)[2]) + " features");
  return true;
}

static AttentionExtents extentsOf(const Parts &p) {
  return {shapeOf(p.q)[0], p.heads, shapeOf(p.q)[1], shapeOf(p.k)[1]};
}

/// Adds a mask (bool: true takes part; float: added) to the bias.
static bool addMask(Naming &n, Parts &p, Value mask) {
  AttentionExtents e = extentsOf(p);
  std::string why;
  Value bias = maskOfRank4(n.builder(), n.loc(), mask,
                           {e.batch, e.heads, e.queries, e.keys}, e, why);
  if (!bias)
    return n.fail(why);
  if (typeOf(bias).getElementType().isInteger(1))
    bias = additiveMask(n.builder(), n.loc(), bias,
                        -std::numeric_limits<double>::infinity(), false);
  p.bias = p.bias ? addMasks(n.builder(), n.loc(), p.bias, bias) : bias;
  return true;
}

/// [B,H,S,D] to [B,S,H*D] and back.
static Value mergeHeads(Naming &n, Value x) {
  Shape s(shapeOf(x));
  return n.reshape(n.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}
static Value splitHeads(Naming &n, Value x, int64_t heads) {
  Shape s(shapeOf(x));
  Value split = n.reshape(x, {s[0], s[1], heads, s[2] / heads});
  return n.transpose(split, {0, 2, 1, 3});
}

/// Whether onnx.attention does it: one head of keys for each of queries, no
/// cache, no result but the first, as many queries as keys if causal.
static bool isPlain(Naming &n, const Parts &p, int64_t shared) {
  for (size_t i : {4, 5, 6})
    if (n.has(i))
      return false;
  for (Value other : n.op().getResults().drop_front())
    if (!other.use_empty())
      return false;
  return shared == p.heads && n.node().floatAttr("softcap", 0) == 0 &&
         n.node().intAttr("left_window_size", -1) < 0 &&
         n.node().intAttr("right_window_size", -1) < 0 &&
         (!p.causal || shapeOf(p.q)[1] == shapeOf(p.k)[1]);
}

/// Whether the mask is known and leaves every query a key: rows without any
/// give 0, which the kernel of onnx.attention does not.
static bool leavesKeys(Naming &n, bool causal) {
  if (!n.has(3))
    return true;
  std::optional<Tensor> mask = n.node().input(3).load();
  if (!mask || mask->shape().empty())
    return false;
  int64_t keys = mask->shape().back(), rows = mask->size() / keys;
  int64_t queries = mask->shape().size() > 1 ? *(mask->shape().end() - 2) : 1;
  bool isCondition = mask->type() == ElementType::Bool;
  for (int64_t row = 0; row < rows; ++row) {
    bool any = false;
    // With causality the first query sees the first key only.
    int64_t seen = causal ? row % queries + 1 : keys;
    for (int64_t key = 0; key < std::min(seen, keys); ++key) {
      double element = mask->asFloat(row * keys + key);
      any |= isCondition ? element != 0 : element > maskedScore;
    }
    if (!any)
      return false;
  }
  return true;
}

/// ONNX's own, opset 23 on.
static bool attention(Naming &n) {
  Parts p{n.input(0), n.input(1), n.input(2)};
  bool byHead = shapeOf(p.q).size() == 4;
  p.heads = byHead ? shapeOf(p.q)[1] : n.node().intAttr("q_num_heads", 0);
  int64_t shared =
      byHead ? shapeOf(p.k)[1] : n.node().intAttr("kv_num_heads", 0);
  p.scale = n.node().floatAttr("scale", 0);
  p.causal = n.node().intAttr("is_causal", 0);
  if (byHead && shared == p.heads)
    for (Value *operand : {&p.q, &p.k, &p.v})
      *operand = mergeHeads(n, *operand);
  if (!isPlain(n, p, shared) || !leavesKeys(n, p.causal) ||
      (n.has(3) && !addMask(n, p, n.input(3))))
    return dissolveAttention(n);
  Value y = build(n, p);
  return n.replace(byHead ? splitHeads(n, y, p.heads) : y);
}

/// An integer mask of keys [B,T], 1 takes part, as additive [B,1,1,T].
static bool addKeyMask(Naming &n, Parts &p, Value mask) {
  AttentionExtents e = extentsOf(p);
  if (shapeOf(mask) != ArrayRef<int64_t>{e.batch, e.keys})
    return n.fail("a key mask of shape " + printShape(shapeOf(mask)) +
                  ", expected " + printShape({e.batch, e.keys}));
  Value ones = n.reshape(mask, {e.batch, 1, 1, e.keys});
  if (!typeOf(ones).getElementType().isF32())
    ones = onnx::CastOp::create(n.builder(), n.loc(),
                                typeOf(ones).clone(n.builder().getF32Type()),
                                ones, n.nameAttr());
  // (mask - 1) * 10000: what is masked gets -10000.
  double filter = n.node().floatAttr("mask_filter_value", -10000);
  Value bias = n.binary(BinaryKind::Sub, ones, 1.0);
  bias = n.binary(BinaryKind::Mul, bias, -filter);
  p.bias = p.bias ? addMasks(n.builder(), n.loc(), p.bias, bias) : bias;
  return true;
}

/// Part `i` of three of a bias for Q, K and V, added to `x`.
static Value addBiasPart(Naming &n, Value x, Value bias, int64_t start) {
  int64_t width = shapeOf(x)[2];
  Fact part = *factOf(bias);
  if (part.constant) {
    part.constant->view = *part.constant->view.sliced(0, start, width, 1);
    part.shape = {width};
    return n.binary(BinaryKind::Add, x, n.constant(part));
  }
  return n.binary(BinaryKind::Add, x, n.sliceLast(bias, start, width));
}

/// onnxruntime's, with separate operands.
static bool multiHeadAttention(Naming &n) {
  Parts p{n.input(0), n.input(1), n.input(2)};
  if (shapeOf(p.k).size() != 3)
    return n.fail("packed keys and values");
  if (shapeOf(p.k)[2] != shapeOf(p.q)[2])
    return n.fail("queries of " + Twine(shapeOf(p.q)[2]) +
                  " features, keys of " + Twine(shapeOf(p.k)[2]));
  if (Value bias = n.optional(3)) {
    int64_t features = shapeOf(p.q)[2];
    p.q = addBiasPart(n, p.q, bias, 0);
    p.k = addBiasPart(n, p.k, bias, features);
    p.v = addBiasPart(n, p.v, bias, 2 * features);
  }
  p.heads = n.node().intAttr("num_heads", 0);
  p.scale = n.node().floatAttr("scale", 0);
  p.causal = n.node().intAttr("unidirectional", 0);
  if (!fits(n, p) || (n.has(4) && !addKeyMask(n, p, n.input(4))) ||
      (n.has(5) && !addMask(n, p, n.input(5))))
    return false;
  return n.replace(build(n, p));
}

/// onnxruntime's, with packed weights: one product whose parts are Q, K, V.
static bool packedAttention(Naming &n) {
  Value weight = n.input(1);
  if (!isConstant(weight))
    return n.fail("the weights are computed");
  Value x = n.matmul(n.input(0), weight, n.optional(2));
  int64_t width = shapeOf(x)[2] / 3;
  Parts p{n.sliceLast(x, 0, width), n.sliceLast(x, width, width),
          n.sliceLast(x, 2 * width, width)};
  p.heads = n.node().intAttr("num_heads", 0);
  p.scale = n.node().floatAttr("scale", 0);
  p.causal = n.node().intAttr("unidirectional", 0);
  if (!fits(n, p) || (n.has(3) && !addKeyMask(n, p, n.input(3))) ||
      (n.has(5) && !addMask(n, p, n.input(5))))
    return false;
  return n.replace(build(n, p));
}

ArrayRef<NamedNamingRule> wsec::simplify::attentionNaming() {
  static const NamedNamingRule rules[] = {
      {"Attention", attention},
      {"com.microsoft.MultiHeadAttention", multiHeadAttention},
      {"com.microsoft.Attention", packedAttention},
  };
  return rules;
}
