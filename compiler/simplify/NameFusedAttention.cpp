// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and rotary embeddings of onnxruntime.
#include "compiler/simplify/Attention.h"
#include "compiler/simplify/AttentionMask.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;

/// 0, 1, 2, ... as f32.
static Value range(Naming &n, int64_t count) {
  Tensor tensor(ElementType::Float32, {count});
  for (int64_t i = 0; i < count; ++i)
    tensor.setFloat(i, i);
  return materialize(n.builder(), n.loc(), std::move(tensor));
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Where a mask [batch, keys] was summed to how many keys take part, the sums
/// as [batch, 1, 1, keys], each once for every key: a product by ones, which
/// asks for no exchange between PEs that hold one number each. Null elsewhere.
static Value sumsByKey(Naming &n, Value lengths, int64_t batch, int64_t keys) {
  auto uncast = [](Value x) {
    while (auto cast = x.getDefiningOp<onnx::CastOp>())
      x = cast.getX();
    return x;
  };
  auto sum = uncast(lengths).getDefiningOp<onnx::ReduceOp>();
  if (!sum || sum.getKind() != onnx::ReduceKind::Sum ||
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
static Value keyMask(Naming &n, Value mask, int64_t batch, int64_t keys) {
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
    Value keep =
        n.binary(BinaryKind::Less, range(n, keys), counts ? counts : part(0));
    if (shape[0] == 2 * batch)
      keep = n.binary(
          BinaryKind::And, keep,
          n.binary(BinaryKind::LessOrEqual, part(batch), range(n, keys)));
    return additiveMask(n.builder(), n.loc(), keep, filter, false);
  }
  Shape rank4 = {shape[0], 1, shape.size() == 3 ? shape[1] : 1, keys};
  Value zero = scalarLike(n.builder(), n.loc(), mask, 0);
  Value takesPart = n.binary(BinaryKind::Less, zero, mask);
  Value ones = n.cast(n.reshape(takesPart, rank4), f32);
  // (1 or 0) - 1, times 10000: what is masked gets -10000.
  Value bias = n.binary(BinaryKind::Sub, ones, 1.0);
  return n.binary(BinaryKind::Mul, bias, -filter);
}

/// The sum of masks, each of which may be null.
static Value sumOf(Naming &n, Value a, Value b) {
  return a && b ? addMasks(n.builder(), n.loc(), a, b) : a ? a : b;
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

//===----------------------------------------------------------------------===//
// Rotary embeddings
//===----------------------------------------------------------------------===//

/// Rows of a table of cosines or sines at `ids` [batch, tokens], as [batch,
/// tokens, half]; without ids at `first`, `first` + 1, ...: [1, tokens, half].
static Value anglesAt(Naming &n, Value table, Value ids, int64_t first,
                      int64_t tokens) {
  int64_t half = shapeOf(table)[1];
  if (!ids)
    return n.reshape(n.slice(table, {{first, 0}, {tokens, half}, {1, 1}}),
                     {1, tokens, half});
  Shape shape(shapeOf(ids));
  shape.push_back(half);
  return onnx::GatherOp::create(n.builder(), n.loc(), withShape(table, shape),
                                table, ids, n.nameAttr());
}

Value wsec::simplify::rotate(Naming &n, Value x, Value cosines, Value sines,
                             bool interleaved) {
  int64_t heads = shapeOf(x)[1], turned = 2 * shapeOf(cosines).back();
  x = mergeHeads(n, x);
  Value y =
      onnx::RotaryOp::create(n.builder(), n.loc(), x.getType(), x, cosines,
                             sines, heads, turned, interleaved, n.name());
  return splitHeads(n, y, heads);
}

static bool rotaryEmbedding(Naming &n) {
  Value x = n.input(0), ids = n.input(1), table = n.input(2);
  bool byHead = shapeOf(x).size() == 4;
  int64_t rotated = 2 * shapeOf(table)[1];
  if (!byHead) {
    int64_t heads = n.node().intAttr("num_heads", 0);
    // Without a number of heads all of a head's features turn.
    x = splitHeads(n, x, heads ? heads : shapeOf(x)[2] / rotated);
  }
  int64_t tokens = shapeOf(x)[2], first = 0;
  // One number is the position of the first token.
  if (shapeOf(ids).size() == 1) {
    std::optional<int64_t> offset = n.node().oneInt(1, "the first position");
    if (!offset)
      return false;
    first = *offset;
    ids = nullptr;
  }
  if (first < 0 || first + tokens > shapeOf(table)[0])
    return n.fail("positions " + Twine(first) + " to " +
                  Twine(first + tokens - 1) + " of a table of " +
                  Twine(shapeOf(table)[0]));
  Value y = rotate(n, x, anglesAt(n, table, ids, first, tokens),
                   anglesAt(n, n.input(3), ids, first, tokens),
                   n.node().intAttr("interleaved", 0));
  return n.replace(byHead ? y : mergeHeads(n, y));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Its results are the attention, keys and values, and, if asked for, weights.
static bool multiHeadAttention(Naming &n) {
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
  a.past = n.has(6) ? shapeOf(n.input(6))[2] : 0;
  a.scale = n.node().floatAttr("scale", 0);
  a.right = n.node().intAttr("unidirectional") ? 0 : -1;
  a.maskIsFinite = true;
  Value keyed =
      n.has(4) ? keyMask(n, n.input(4), shapeOf(a.q)[0], a.keys()) : Value();
  a.mask = sumOf(n, keyed, n.optional(5));
  SmallVector<Value> results = {attend(n, a), a.k, a.v};
  results.resize(n.op().getNumResults());
  return n.replace(results);
}

/// With packed weights: one product whose parts are Q, K, V.
static bool packedAttention(Naming &n) {
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
  a.maskIsFinite = true;
  Value keyed =
      n.has(3) ? keyMask(n, n.input(3), shapeOf(a.q)[0], a.keys()) : Value();
  a.mask = sumOf(n, keyed, n.optional(5));
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

/// A cache of as many tokens as it has room for, with `now` from token `past`
/// on; or one of exactly `past` tokens, which grows.
static Value grow(Naming &n, Value cache, Value now, int64_t past) {
  if (!cache)
    return now;
  Shape shape(shapeOf(cache)), starts(4, 0), steps(4, 1);
  int64_t room = shape[2], tokens = shapeOf(now)[2];
  SmallVector<Value> parts;
  auto keep = [&](int64_t start, int64_t count) {
    if (count <= 0)
      return;
    starts[2] = start;
    shape[2] = count;
    parts.push_back(count == room ? cache
                                  : n.slice(cache, {starts, shape, steps}));
  };
  keep(0, past);
  parts.push_back(now);
  keep(past + tokens, room - past - tokens);
  return n.concat(parts, 2);
}

static Value firstTokens(Naming &n, Value x, int64_t count) {
  Shape shape(shapeOf(x));
  if (shape[2] == count)
    return x;
  shape[2] = count;
  return n.slice(x, {Shape(4, 0), shape, Shape(4, 1)});
}

/// The rule of inference has held lengths and shapes against one another.
static bool groupQueryAttention(Naming &n) {
  int64_t heads = n.node().intAttr("num_heads", 0);
  int64_t groups = n.node().intAttr("kv_num_heads", 0);
  Value parts[] = {n.input(0), n.optional(1), n.optional(2)};
  if (!parts[1]) {
    int64_t size = shapeOf(parts[0])[2] / (heads + 2 * groups);
    Value packed = parts[0];
    parts[0] = n.sliceLast(packed, 0, heads * size);
    parts[1] = n.sliceLast(packed, heads * size, groups * size);
    parts[2] = n.sliceLast(packed, (heads + groups) * size, groups * size);
  }
  GeneralAttention a;
  a.q = splitHeads(n, parts[0], heads);
  a.k = splitHeads(n, parts[1], groups);
  a.v = splitHeads(n, parts[2], groups);
  int64_t tokens = a.queries(), total = *n.node().oneInt(6, "the length");
  a.past = total - tokens;
  if (n.node().intAttr("do_rotary", 0)) {
    // The positions of a first prompt are those of its tokens.
    Value ids = a.past ? n.optional(9) : Value();
    bool interleaved = n.node().intAttr("rotary_interleaved", 0);
    Value cosines = anglesAt(n, n.input(7), ids, a.past, tokens);
    Value sines = anglesAt(n, n.input(8), ids, a.past, tokens);
    a.q = rotate(n, a.q, cosines, sines, interleaved);
    a.k = rotate(n, a.k, cosines, sines, interleaved);
  }
  Value keys = grow(n, n.optional(3), a.k, a.past);
  Value values = grow(n, n.optional(4), a.v, a.past);
  a.k = firstTokens(n, keys, total);
  a.v = firstTokens(n, values, total);
  a.scale = n.node().floatAttr("scale", 0);
  a.softcap = n.node().floatAttr("softcap", 0);
  a.right = n.node().intAttr("causal") ? 0 : -1;
  // A window counts the query's own key.
  if (int64_t window = n.node().intAttr("local_window_size"); window > 0)
    a.left = window - 1;
  a.mask = n.optional(10);
  a.maskIsFinite = true;
  SmallVector<Value> results = {attend(n, a), keys, values};
  results.resize(n.op().getNumResults());
  return n.replace(results);
}

ArrayRef<NamedNamingRule> wsec::simplify::fusedNaming() {
  static const NamedNamingRule rules[] = {
      {"com.microsoft.MultiHeadAttention", multiHeadAttention},
      {"com.microsoft.Attention", packedAttention},
      {"com.microsoft.GroupQueryAttention", groupQueryAttention},
      {"com.microsoft.RotaryEmbedding", rotaryEmbedding},
  };
  return rules;
}
