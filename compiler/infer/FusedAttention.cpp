// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// onnxruntime's attentions, and what of them is supported.
#include "compiler/infer/Attention.h"
#include "compiler/infer/Operators.h"
#include "compiler/values/Arithmetic.h"

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

bool wsec::infer::dividesInto(Node &node, int64_t heads, int64_t features) {
  if (heads > 0 && features % heads == 0)
    return true;
  return node.fail(llvm::Twine(heads) + " heads do not divide " +
                   llvm::Twine(features) + " features");
}

/// A mask of keys: by batch element and key, or query and key; or as bounds.
static bool keyMaskFits(Node &node, size_t i, int64_t batch, int64_t queries,
                        int64_t keys) {
  if (!node.has(i))
    return true;
  const Shape &shape = node.input(i).shape;
  for (const Shape &form : {Shape{batch, keys}, Shape{batch, queries, keys},
                            Shape{batch}, Shape{2 * batch}})
    if (shape == form)
      return true;
  return node.fail("a key mask of shape " + printShape(shape) + ", expected " +
                   printShape({batch, keys}));
}

bool wsec::infer::biasFits(Node &node, size_t i, ArrayRef<int64_t> scores) {
  if (!node.has(i))
    return true;
  auto together = broadcastShapes(node.input(i).shape, scores);
  if (together && ArrayRef<int64_t>(*together) == scores &&
      node.input(i).rank() > 0 && node.input(i).shape.back() == scores.back())
    return true;
  return node.fail("an attention bias of shape " +
                   printShape(node.input(i).shape) +
                   " does not fit scores of shape " + printShape(scores));
}

/// Operand `i` of an attention as [batch, heads, tokens, size].
static std::optional<Shape> byHeads(Node &node, size_t i, int64_t heads) {
  const Shape &shape = node.input(i).shape;
  if (shape.size() == 4 && i > 0)
    return shape;
  if (shape.size() != 3)
    return node.fail("packed operands of shape " + printShape(shape));
  if (!dividesInto(node, heads, shape[2]))
    return std::nullopt;
  return Shape{shape[0], heads, shape[1], shape[2] / heads};
}

static bool multiHeadAttention(Node &node) {
  if (!node.has(1) || !node.has(2))
    return node.fail("packed queries, keys and values, or keys and values");
  if (!node.refuses({8, 9}, "a cache that grows where it lies"))
    return false;
  int64_t heads = node.intAttr("num_heads", 0);
  auto q = byHeads(node, 0, heads), k = byHeads(node, 1, heads),
       v = byHeads(node, 2, heads);
  if (!q || !k || !v)
    return false;
  if ((*k)[0] != (*q)[0] || (*v)[0] != (*q)[0] || (*k)[1] != heads ||
      (*v)[1] != heads || (*k)[3] != (*q)[3] || (*k)[2] != (*v)[2])
    return node.fail("queries " + printShape(*q) + ", keys " + printShape(*k) +
                     " and values " + printShape(*v) + " do not fit");
  int64_t features = 0;
  for (size_t i : {0, 1, 2})
    features += node.input(i).rank() == 3 ? node.input(i).shape[2] : 0;
  if (!node.hasShape(3, "a bias", {features}))
    return false;
  if (node.has(6) != node.has(7))
    return node.fail("a cache of keys or of values without the other");
  if (node.has(6)) {
    int64_t past = node.input(6).rank() == 4 ? node.input(6).shape[2] : 0;
    if (!node.hasShape(6, "a cache of keys", {(*k)[0], heads, past, (*k)[3]}) ||
        !node.hasShape(7, "a cache of values", {(*v)[0], heads, past, (*v)[3]}))
      return false;
    (*k)[2] += past;
    (*v)[2] += past;
  }
  Shape scores = {(*q)[0], heads, (*q)[2], (*k)[2]};
  if (!keyMaskFits(node, 4, scores[0], scores[2], scores[3]) ||
      !biasFits(node, 5, scores))
    return false;
  ElementType type = node.input(0).type;
  return node.setOutputs({unknown(type, {(*q)[0], (*q)[2], heads * (*v)[3]}),
                          unknown(type, *k), unknown(type, *v)});
}

static bool packedAttention(Node &node) {
  const Fact &x = node.input(0), &weights = node.input(1);
  if (!node.refuses({6}, "a cache that grows where it lies"))
    return false;
  if (node.intAttr("do_rotary", 0))
    return node.fail("do_rotary turns queries and keys of no known angles; "
                     "write it as RotaryEmbedding and MultiHeadAttention");
  if (x.rank() != 3 || weights.rank() != 2 || weights.shape[0] != x.shape[2])
    return node.fail("cannot multiply " + printShape(x.shape) + " by " +
                     printShape(weights.shape));
  int64_t features = weights.shape[1], heads = node.intAttr("num_heads", 0);
  Shape widths = node.intsAttr("qkv_hidden_sizes")
                     .value_or(Shape{features / 3, features / 3, features / 3});
  if (widths.size() != 3 || widths[0] != widths[1] ||
      widths[0] + widths[1] + widths[2] != features)
    return node.fail(llvm::Twine(features) +
                     " features are not queries, keys as wide, and values");
  if (!dividesInto(node, heads, widths[0]) ||
      !dividesInto(node, heads, widths[2]) ||
      !node.hasShape(2, "a bias", {features}))
    return false;
  int64_t batch = x.shape[0], tokens = x.shape[1], keys = tokens;
  if (node.has(4)) {
    if (widths[0] != widths[2])
      return node.fail("a cache of keys and values that differ in size");
    int64_t past = node.input(4).rank() == 5 ? node.input(4).shape[3] : 0;
    if (!node.hasShape(4, "a cache",
                       {2, batch, heads, past, widths[0] / heads}))
      return false;
    keys += past;
  }
  if (!keyMaskFits(node, 3, batch, tokens, keys) ||
      !biasFits(node, 5, {batch, heads, tokens, keys}))
    return false;
  return node.setOutputs(
      {unknown(x.type, {batch, tokens, widths[2]}),
       unknown(x.type, {2, batch, heads, keys, widths[0] / heads})});
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// 0, 1, 2, ... as f32.
static Value range(Legalization &n, int64_t count) {
  Tensor tensor(ElementType::Float32, {count});
  for (int64_t i = 0; i < count; ++i)
    tensor.setFloat(i, i);
  return n.materialize(std::move(tensor));
}

/// Where a mask [batch, keys] was summed to how many keys take part, the sums
/// as [batch, 1, 1, keys], each once for every key: a product by ones, which
/// asks for no exchange between PEs that hold one number each. Null elsewhere.
static Value sumsByKey(Legalization &n, Value lengths, int64_t batch,
                       int64_t keys) {
  auto uncast = [](Value x) {
    while (auto cast = x.getDefiningOp<onnx::CastOp>())
      x = cast.getX();
    return x;
  };
  auto sum = uncast(lengths).getDefiningOp<onnx::ReduceOp>();
  if (!sum || sum.getKind() != ReduceKind::Sum ||
      sum.getAxes() != ArrayRef<int64_t>{1} ||
      shapeOf(sum.getX()) != ArrayRef<int64_t>{batch, keys})
    return nullptr;
  Fact ones = Fact::ofTensor(Tensor::scalar(ElementType::Float32, 1));
  ones.constant->view = ones.constant->view.expanded({keys, keys});
  ones.shape = {keys, keys};
  Value mask = n.cast(uncast(sum.getX()), n.builder().getF32Type());
  return n.reshape(n.matmul(mask, n.constant(ones), nullptr),
                   {batch, 1, 1, keys});
}

/// f32 [batch, 1, 1 or queries, keys], added to scores: what is hidden gets a
/// finite number. An integer mask says by key, or by query and key, 1 for what
/// takes part; or by batch element how many keys do, or also from which on.
static Value keyMask(Legalization &n, Value mask, int64_t batch, int64_t keys) {
  Type f32 = n.builder().getF32Type();
  double filter = n.node().floatAttr("mask_filter_value", -10000);
  Shape shape(shapeOf(mask));
  if (shape.size() == 1) {
    auto part = [&](int64_t start) {
      Value bounds =
          shape[0] == batch ? mask : n.slice(mask, {{start}, {batch}, {1}});
      return n.reshape(n.cast(bounds, f32), {batch, 1, 1, 1});
    };
    Value counts = sumsByKey(n, mask, batch, keys);
    Value keep = n.less(range(n, keys), counts ? counts : part(0));
    if (shape[0] == 2 * batch)
      keep = n.logicalAnd(keep, n.lessOrEqual(part(batch), range(n, keys)));
    return additiveMask(n.builder(), n.loc(), keep, filter, false);
  }
  Shape rank4 = {shape[0], 1, shape.size() == 3 ? shape[1] : 1, keys};
  Value zero = n.scalarLike(mask, 0);
  Value takesPart = n.less(zero, mask);
  Value ones = n.cast(n.reshape(takesPart, rank4), f32);
  // (1 or 0) - 1, times 10000: what is masked gets -10000.
  Value bias = n.sub(ones, 1.0);
  return n.mul(bias, -filter);
}

/// Part `i` of three of a bias for Q, K and V, added to `x`.
static Value addBiasPart(Legalization &n, Value x, Value bias, int64_t start) {
  int64_t width = shapeOf(x)[2];
  Fact part = *factOf(bias);
  if (part.constant) {
    part.constant->view = *part.constant->view.sliced(0, start, width, 1);
    part.shape = {width};
    return n.add(x, n.constant(part));
  }
  return n.add(x, n.sliceLast(bias, start, width));
}

/// Its results are the attention, keys and values, and, if asked for, weights.
static bool multiHeadAttention(Legalization &n) {
  int64_t heads = n.node().intAttr("num_heads", 0);
  Value parts[] = {n.input(0), n.input(1), n.input(2)};
  int64_t start = 0;
  for (Value &part : parts)
    if (shapeOf(part).size() == 3) {
      int64_t width = shapeOf(part)[2];
      if (Value bias = n.optional(3))
        part = addBiasPart(n, part, bias, start);
      start += width;
      part = splitHeads(n, part, heads);
    }
  GeneralAttention a;
  a.q = parts[0];
  a.k = behindPast(n, n.optional(6), parts[1]);
  a.v = behindPast(n, n.optional(7), parts[2]);
  if (!a.k || !a.v)
    return false;
  a.past = a.keys() - shapeOf(parts[1])[2];
  a.scale = n.node().floatAttr("scale", 0);
  a.right = n.node().intAttr("unidirectional") ? 0 : -1;
  if (n.has(4))
    a.mask = keyMask(n, n.input(4), shapeOf(a.q)[0], a.keys());
  a.positions = n.optional(5);
  SmallVector<Value> results = {attend(n, a), a.k, a.v};
  results.resize(n.op().getNumResults());
  return n.replace(results);
}

/// With packed weights: one product whose parts are Q, K, V.
static bool packedAttention(Legalization &n) {
  Value weight = n.input(1);
  if (!isConstant(weight))
    return n.fail("the weights are computed");
  Value x = n.matmul(n.input(0), weight, n.optional(2));
  int64_t heads = n.node().intAttr("num_heads", 0), width = shapeOf(x)[2] / 3;
  Shape widths = n.node()
                     .intsAttr("qkv_hidden_sizes")
                     .value_or(Shape{width, width, width});
  Value parts[3];
  int64_t start = 0;
  for (int i = 0; i < 3; ++i) {
    parts[i] = splitHeads(n, n.sliceLast(x, start, widths[i]), heads);
    start += widths[i];
  }
  auto ofPast = [&](int64_t number) -> Value {
    if (!n.has(4) || shapeOf(n.input(4))[3] == 0)
      return nullptr;
    Shape shape(shapeOf(n.input(4))), starts(5, 0);
    starts[0] = number;
    shape[0] = 1;
    Value part = n.slice(n.input(4), {starts, shape, Shape(5, 1)});
    return n.reshape(part, ArrayRef<int64_t>(shape).drop_front());
  };
  GeneralAttention a;
  a.q = parts[0];
  a.k = behindPast(n, ofPast(0), parts[1]);
  a.v = behindPast(n, ofPast(1), parts[2]);
  a.past = a.keys() - a.queries();
  a.scale = n.node().floatAttr("scale", 0);
  a.right = n.node().intAttr("unidirectional") ? 0 : -1;
  if (n.has(3))
    a.mask = keyMask(n, n.input(3), shapeOf(a.q)[0], a.keys());
  a.positions = n.optional(5);
  SmallVector<Value> results = {attend(n, a)};
  if (n.op().getNumResults() > 1) {
    Shape shape(shapeOf(a.k));
    shape.insert(shape.begin(), 1);
    results.push_back(
        n.op().getResult(1).use_empty()
            ? Value()
            : n.concat({n.reshape(a.k, shape), n.reshape(a.v, shape)}, 0));
  }
  return n.replace(results);
}

llvm::ArrayRef<Operator> wsec::infer::fusedAttentionOperators() {
  static const Operator operators[] = {
      {"com.microsoft.Attention", packedAttention, packedAttention,
       "num_heads scale unidirectional mask_filter_value do_rotary "
       "qkv_hidden_sizes"},
      {"com.microsoft.MultiHeadAttention", multiHeadAttention,
       multiHeadAttention, "num_heads scale unidirectional mask_filter_value"},
  };
  return operators;
}
