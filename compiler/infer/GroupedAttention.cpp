// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// onnxruntime's GroupQueryAttention: heads that share keys and values, a cache,
// rotary embeddings, and sequences of lengths of their own. `seqlens_k` says of
// each where its last token stands:
//
//   first prompt   tokens 0, 1, ... of each; rows behind its last one are
//                  padding, keys that nobody sees
//                  (a total length that is fed tells the two apart in the run)
//   behind a cache the tokens are the last ones: sequence b keeps the first
//                  start = seqlens_k[b] + 1 - tokens of its cache and writes
//                  these behind them; the rest of the cache becomes 0
#include "compiler/infer/Attention.h"
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/infer/States.h"
#include <limits>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Behind a cache of a fixed size, or in it without padding, nothing but its
/// room depends on the total length: one that is known in the run alone is
/// taken to be all of that. Of several tokens it decides which positions count.
static bool fillsRoom(const Node &node, int64_t tokens) {
  return (tokens == 1 || !node.has(9)) && !node.input(6).constant &&
         node.has(3) && node.input(3).rank() == 4 &&
         node.input(3).shape[2] >= tokens && !node.has(10);
}

/// Whether several tokens may be a prompt, too, with padding behind.
static bool mayPad(const Node &node, int64_t tokens) {
  return tokens > 1 && fillsRoom(node, tokens);
}

/// How many keys the longest sequence may have, its queries' own included.
static std::optional<int64_t> statedLength(Node &node, int64_t tokens) {
  if (fillsRoom(node, tokens))
    return node.input(3).shape[2];
  return node.oneInt(6, "the total length");
}

static std::optional<int64_t> totalLength(Node &node, int64_t tokens) {
  std::optional<int64_t> total = statedLength(node, tokens);
  if (!total)
    return std::nullopt;
  if (*total < tokens)
    return node.fail("a total length of " + llvm::Twine(*total) + " for " +
                     llvm::Twine(tokens) + " tokens");
  const int64_t least = *total > tokens && !mayPad(node, tokens) ? tokens : 1;
  std::optional<Tensor> last = node.input(5).load();
  for (int64_t i = 0; last && i < last->size(); ++i)
    if (last->asInt(i) < least - 1 || last->asInt(i) >= *total)
      return node.fail("seqlens_k is " + llvm::Twine(last->asInt(i)) +
                       ", expected " + llvm::Twine(least - 1) + " to " +
                       llvm::Twine(*total - 1));
  return total;
}

static bool rotaryFits(Node &node, int64_t batch, int64_t tokens, int64_t total,
                       int64_t size) {
  if (!node.intAttr("do_rotary", 0))
    return true;
  if (!node.has(7) || !node.has(8))
    return node.fail("rotates without cosines or sines");
  const Shape &table = node.input(7).shape;
  if (table.size() != 2 || node.input(8).shape != table ||
      2 * table[1] > size || table[0] < total)
    return node.fail("a table of cosines of shape " + printShape(table) +
                     " for " + llvm::Twine(total) + " tokens of size " +
                     llvm::Twine(size));
  if (!node.hasShape(9, "positions", {batch, tokens}))
    return false;
  std::optional<Tensor> ids = node.has(9) ? node.input(9).load() : std::nullopt;
  // Of a first prompt the first one counts, for all sequences.
  const bool isPrompt = total == tokens;
  for (int64_t i = 0; ids && i < (isPrompt ? 1 : ids->size()); ++i) {
    const int64_t first = ids->asInt(i), ahead = isPrompt ? tokens - 1 : 0;
    if (first < 0 || first >= table[0] - ahead)
      return node.fail("position " + llvm::Twine(first) + " of " +
                       llvm::Twine(ahead + 1) + " tokens in a table of " +
                       llvm::Twine(table[0]));
  }
  return true;
}

/// Of a cache of integers: 8 bits, a scale for all or one for each channel.
static bool scalesFit(Node &node, int64_t groups, int64_t size) {
  constexpr StringLiteral names[] = {"k_quant_type", "v_quant_type"};
  for (size_t i : {0, 1}) {
    const StringRef scales = node.stringAttr(names[i]);
    const bool isInteger =
        node.has(3 + i) && node.input(3 + i).type != node.input(0).type;
    if (isInteger != (scales != "NONE") || isInteger != node.has(12 + i))
      return node.fail(names[i] + Twine(" is ") + scales +
                       (isInteger ? ", of a cache of integers"
                                  : ", of a cache of floats, or of none"));
    if (!isInteger)
      continue;
    const int64_t bits = node.intAttr("kv_cache_bit_width");
    if (bits != 8 || node.input(3 + i).type != ElementType::Int8)
      return node.fail("a cache of integers of " + Twine(bits) +
                       " bits, expected 8, with a sign");
    const Shape &shape = node.input(12 + i).shape;
    if (scales == "PER_CHANNEL"
            ? ArrayRef(shape) != ArrayRef<int64_t>({1, groups, 1, size})
            : numElements(shape) != 1)
      return node.fail("scales of shape " + printShape(shape) +
                       " of a cache whose scales are " + scales);
  }
  return true;
}

static bool groupQueryAttention(Node &node) {
  if (node.has(1) != node.has(2) || node.has(3) != node.has(4))
    return node.fail("keys without values, or a cache of one of them");
  const Fact &x = node.input(0);
  int64_t heads = node.intAttr("num_heads", 0);
  int64_t groups = node.intAttr("kv_num_heads", 0);
  if (heads < 1 || groups < 1 || heads % groups != 0)
    return node.fail(llvm::Twine(heads) + " heads of queries for " +
                     llvm::Twine(groups) + " of keys");
  if (x.rank() != 3 || numElements(x.shape) == 0)
    return node.fail("queries of shape " + printShape(x.shape));
  if (!node.intAttr("causal") && node.intAttr("local_window_size") > 0)
    return node.fail("a window of queries that see later keys");
  int64_t split = node.has(1) ? heads : heads + 2 * groups;
  if (!dividesInto(node, split, x.shape[2]))
    return false;
  int64_t batch = x.shape[0], tokens = x.shape[1], size = x.shape[2] / split;
  Shape each = {batch, tokens, groups * size};
  if (!node.hasShape(1, "keys", each) || !node.hasShape(2, "values", each) ||
      !node.hasShape(11, "sinks", {heads}) ||
      !node.hasShape(14, "the norm of queries", {size}) ||
      !node.hasShape(15, "the norm of keys", {size}))
    return false;
  if (!scalesFit(node, groups, size))
    return false;
  if (node.has(14) != node.has(15))
    return node.fail("a norm of queries without one of keys, or of keys alone");
  if (node.input(5).shape != Shape{batch, 1} &&
      !node.hasShape(5, "lengths", {batch}))
    return false;
  std::optional<int64_t> total = totalLength(node, tokens);
  if (!total || !rotaryFits(node, batch, tokens, *total, size))
    return false;
  Shape cache = {batch, groups, 0, size};
  if (node.has(3))
    cache[2] = node.input(3).rank() == 4 ? node.input(3).shape[2] : 0;
  if (!node.hasShape(3, "a cache of keys", cache) ||
      !node.hasShape(4, "a cache of values", cache))
    return false;
  if (cache[2] < *total - tokens)
    return node.fail("a cache of " + llvm::Twine(cache[2]) + " tokens for " +
                     llvm::Twine(*total - tokens) + " before these");
  cache[2] = std::max(cache[2], *total);
  if (!biasFits(node, 10, {batch, heads, tokens, *total}))
    return false;
  const ElementType held = node.has(12) ? ElementType::Int8 : x.type;
  return node.setOutputs(
      {unknown(x.type, {batch, tokens, heads * size}), unknown(held, cache)});
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

namespace {
/// Where the tokens of each sequence begin: known, or i32 [batch].
struct Starts {
  Shape known;
  Value computed;
  Value lengths; // [batch], keys that are no padding; null: those up to the end
  int64_t tokens; // of each
  int64_t total;  // of the longest, or more

  bool isUniform() const { return !computed && llvm::all_equal(known); }
};
} // namespace

static Value counted(Legalization &n, Shape shape, size_t axis) {
  return countAlong(n, ElementType::Int32, shape.size(), axis, shape[axis], 1);
}

/// `seqlens_k` [batch] - `least` as i32. One that is not from `least` to total
/// - 1, or below `first`, ends the run: it is looked up among those that are,
/// whose name says so.
static Value checkedLasts(Legalization &n, int64_t least, int64_t total,
                          Value first = nullptr) {
  Value index = asI32(n, n.reshape(n.input(5), {shapeOf(n.input(5))[0]}));
  if (least)
    index = n.sub(index, double(least));
  Value negative = first ? n.less(index, first) : n.less(index, 0.0);
  const int64_t rows = total - least;
  Value outside = n.scalarLike(index, double(rows));
  Tensor all(ElementType::Int32, {rows, 1});
  for (int64_t i = 0; i < rows; ++i)
    all.setInt(i, i);
  auto limits = [&](int64_t from) {
    return std::to_string(from) + " to " + std::to_string(total - 1);
  };
  const int64_t tokens = shapeOf(n.input(0))[1];
  auto name = NameLoc::get(n.builder().getStringAttr(
      "seqlens_k of " + n.op().getNode() + ", " + limits(least) +
      (first ? " in a prompt, else " + limits(tokens - 1) : "")));
  Value table = materialize(n.builder(), name, std::move(all));
  Value checked = rowsAt(n, table, n.where(negative, outside, index));
  return n.reshape(checked, shapeOf(index));
}

/// How many keys of a first prompt each sequence has, [batch]; null: all.
static Value promptLengths(Legalization &n, int64_t keys) {
  std::optional<Tensor> last = n.node().input(5).load();
  if (!last)
    return n.binary(BinaryKind::Add, checkedLasts(n, 0, keys), 1.0);
  Tensor lengths(ElementType::Int32, {last->size()});
  bool isWhole = true;
  for (int64_t b = 0; b < last->size(); ++b) {
    lengths.setInt(b, last->asInt(b) + 1);
    isWhole &= lengths.asInt(b) == keys;
  }
  return isWhole ? Value()
                 : materialize(n.builder(), n.loc(), std::move(lengths));
}

/// The least that `seqlens_k` may be: of a prompt, whose total length is that
/// of the call, 0; else there is no padding.
static Value firstLast(Legalization &n, int64_t tokens) {
  Value total = n.reshape(asI32(n, n.input(6)), {});
  Value none = scalarLike(n.builder(), n.loc(), total, 0);
  Value all = scalarLike(n.builder(), n.loc(), total, double(tokens - 1));
  return n.where(n.binary(BinaryKind::Less, total, double(tokens + 1)), none,
                 all);
}

static Starts startsOf(Legalization &n, int64_t tokens, int64_t total) {
  const int64_t batch = shapeOf(n.input(5))[0];
  Starts starts{Shape(batch, 0), nullptr, nullptr, tokens, total};
  if (total == tokens)
    return starts;
  const bool pads = mayPad(n.node(), tokens);
  std::optional<Tensor> last = n.node().input(5).load();
  auto isPadded = [&](int64_t b) { return last->asInt(b) + 1 < tokens; };
  if (pads && last && llvm::any_of(llvm::seq(batch), isPadded))
    last.reset(); // that it is a prompt, each run has to say
  if (!last && pads) {
    starts.lengths = n.binary(
        BinaryKind::Add, checkedLasts(n, 0, total, firstLast(n, tokens)), 1.0);
    starts.computed = n.binary(
        BinaryKind::Max,
        n.binary(BinaryKind::Sub, starts.lengths, double(tokens)), 0.0);
  } else if (!last) {
    starts.computed = checkedLasts(n, tokens - 1, total);
  }
  for (int64_t b = 0; last && b < batch; ++b)
    starts.known[b] = last->asInt(b) + 1 - tokens;
  return starts;
}

/// The starts, and so many more, [batch].
static Value startsPlus(Legalization &n, const Starts &starts, int64_t more) {
  if (starts.computed)
    return more ? n.add(starts.computed, double(more)) : starts.computed;
  Tensor known(ElementType::Int32, {int64_t(starts.known.size())});
  for (auto [b, start] : llvm::enumerate(starts.known))
    known.setInt(b, start + more);
  return n.materialize(std::move(known));
}

/// Positions [batch or 1, tokens] of the tokens, or null: those from the start
/// on that all sequences have in common.
static Value positionsOf(Legalization &n, const Starts &starts) {
  const int64_t batch = starts.known.size();
  const bool isPrompt = starts.total == starts.tokens;
  if (Value ids = n.optional(9); ids && !isPrompt)
    return ids;
  if (!n.has(9) && starts.isUniform())
    return nullptr;
  Value start = n.has(9)
                    ? asI32(n, n.slice(n.input(9), {{0, 0}, {1, 1}, {1, 1}}))
                    : startsPlus(n, starts, 0);
  return n.add(n.reshape(start, {isPrompt ? 1 : batch, 1}),
               counted(n, {1, starts.tokens}, 1));
}

static Value zeros(Legalization &n, ArrayRef<int64_t> shape) {
  Fact zero = Fact::ofTensor(Tensor::scalar(ElementType::Float32, 0));
  zero.constant->view = zero.constant->view.expanded(Shape(shape));
  zero.shape = Shape(shape);
  return n.constant(zero);
}

static Value tokensOf(Legalization &n, Value x, int64_t first, int64_t count) {
  Shape shape(shapeOf(x)), begin(4, 0);
  begin[2] = first;
  if (shape[2] == count)
    return x;
  shape[2] = count;
  return n.slice(x, {begin, shape, Shape(4, 1)});
}

static Value entryOf(Legalization &n, Value x, int64_t b) {
  Shape shape(shapeOf(x)), begin(4, 0);
  begin[0] = b;
  shape[0] = 1;
  return n.slice(x, {begin, shape, Shape(4, 1)});
}

/// [batch, heads, room, size]: the first `start` tokens of the cache, `now`,
/// zeros.
static Value grown(Legalization &n, Value cache, Value now, int64_t start,
                   int64_t room) {
  Shape rest(shapeOf(now));
  rest[2] = room - start - rest[2];
  SmallVector<Value> parts;
  if (start)
    parts.push_back(tokensOf(n, cache, 0, start));
  parts.push_back(now);
  if (rest[2])
    parts.push_back(zeros(n, rest));
  return n.concat(parts, 2);
}

/// `grown`, by sequence.
static Value cacheOf(Legalization &n, Value cache, Value now,
                     const Starts &starts, int64_t room) {
  const Shape shape(shapeOf(now));
  if (starts.isUniform())
    return grown(n, cache, now, starts.known.front(), room);
  if (!starts.computed) {
    SmallVector<Value> entries;
    for (auto [b, start] : llvm::enumerate(starts.known))
      entries.push_back(
          grown(n, entryOf(n, cache, b), entryOf(n, now, b), start, room));
    return n.concat(entries, 0);
  }
  Shape rest(shape);
  rest[2] = room - shapeOf(cache)[2];
  if (rest[2])
    cache = n.concat({cache, zeros(n, rest)}, 2);
  Value start = n.reshape(starts.computed, {shape[0], 1, 1, 1});
  Value at = counted(n, {1, 1, room, 1}, 2);
  Value end = n.add(start, double(starts.tokens));
  if (starts.tokens > 1)
    now = rowsWritten(n, cache, now, starts.computed, 2, false);
  Value zero = n.scalarLike(now, 0);
  Value upToEnd = n.where(n.less(at, end), now, zero);
  return n.where(n.less(at, start), cache, upToEnd);
}

/// `x` [batch, heads, tokens, size], 0 behind the last token: 0 times what
/// stands there need not be 0.
static Value withoutPadding(Legalization &n, Value x, Value lengths) {
  const int64_t batch = shapeOf(x)[0], heads = shapeOf(x)[1];
  const int64_t tokens = shapeOf(x)[2];
  Value isToken =
      n.less(counted(n, {1, tokens, 1}, 1), n.reshape(lengths, {batch, 1, 1}));
  x = mergeHeads(n, x);
  Value zero = n.scalarLike(x, 0);
  return splitHeads(n, n.where(isToken, x, zero), heads);
}

/// Which of `keys` are no padding, [batch, 1, 1, keys]; with a window, also
/// among the last so many that a query sees, [batch, 1, tokens, keys]: one that
/// is padding sees those of the last token.
static Value paddingMask(Legalization &n, Value lengths, const Starts &starts,
                         int64_t keys, int64_t window) {
  const int64_t batch = shapeOf(lengths)[0];
  const int64_t queries = window ? starts.tokens : 1;
  std::optional<Fact> fact = factOf(lengths);
  if (std::optional<Tensor> known = fact ? fact->load() : std::nullopt) {
    Tensor mask(ElementType::Bool, {batch, 1, queries, keys});
    for (int64_t i = 0; i < mask.size(); ++i) {
      const int64_t key = i % keys, b = i / keys / queries;
      const int64_t length = known->asInt(b);
      const int64_t own =
          std::min(starts.known[b] + i / keys % queries, length - 1);
      mask.setInt(i, key < length && (!window || own < key + window));
    }
    return n.materialize(std::move(mask));
  }
  Value key = counted(n, {1, 1, 1, keys}, 3);
  Value length = n.reshape(lengths, {batch, 1, 1, 1});
  Value isToken = n.less(key, length);
  if (!window)
    return isToken;
  Value own = counted(n, {1, 1, queries, 1}, 2);
  if (starts.computed)
    own = n.add(own, n.reshape(starts.computed, {batch, 1, 1, 1}));
  own = n.min(own, n.sub(length, 1.0));
  Value isNear = n.less(own, n.add(key, double(window)));
  return n.logicalAnd(isToken, isNear);
}

/// A scale of a cache of integers, for all elements or for each channel.
static Value scaleOf(Legalization &n, size_t i) {
  Value scale = n.cast(n.input(i), n.builder().getF32Type());
  return numElements(shapeOf(scale)) == 1 ? n.reshape(scale, {}) : scale;
}

/// The integers that a cache of 8 bits holds of `x`, as f32.
static Value integersOf(Legalization &n, Value x, Value scale) {
  x = n.round(n.div(x, scale));
  return n.min(n.max(x, -128.0), 127.0);
}

/// Heads [batch, heads, tokens, size] of `x`, each over its own root mean
/// square, if there is a scale for that.
static Value headsOf(Legalization &n, Value x, int64_t heads, Value scale) {
  if (!scale)
    return splitHeads(n, x, heads);
  const Shape shape(shapeOf(x));
  x = n.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  x = onnx::RMSNormOp::create(
      n.builder(), n.loc(), x.getType(), x, scale,
      n.builder().getF32FloatAttr(n.node().floatAttr("qk_norm_epsilon", 1e-6)),
      IntegerAttr(), n.nameAttr());
  return splitHeads(n, n.reshape(x, shape), heads);
}

/// The rule of inference has held lengths and shapes against one another.
static bool groupQueryAttention(Legalization &n) {
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
  a.q = headsOf(n, parts[0], heads, n.optional(14));
  a.k = headsOf(n, parts[1], groups, n.optional(15));
  a.v = splitHeads(n, parts[2], groups);
  const int64_t tokens = a.queries(), total = *statedLength(n.node(), tokens);
  if (n.has(3) && isGrowingState(n.input(3)) && fillsRoom(n.node(), tokens))
    return n.fail("the total length of a cache that grows is computed in each "
                  "run");
  const Starts starts = startsOf(n, tokens, total);
  if (n.node().intAttr("do_rotary", 0)) {
    Value ids = positionsOf(n, starts);
    bool interleaved = n.node().intAttr("rotary_interleaved", 0);
    int64_t first = starts.known.front();
    Value cosines = anglesAt(n, n.input(7), ids, first, tokens);
    Value sines = anglesAt(n, n.input(8), ids, first, tokens);
    a.q = rotate(n, a.q, cosines, sines, interleaved);
    a.k = rotate(n, a.k, cosines, sines, interleaved);
  }
  const int64_t room =
      n.has(3) ? std::max(shapeOf(n.input(3))[2], total) : total;
  Value held[2], *both[] = {&a.k, &a.v};
  for (auto [i, its] : llvm::enumerate(both)) {
    Value past = n.optional(3 + i),
          scale = n.has(12) ? scaleOf(n, 12 + i) : Value();
    const bool grows = past && isGrowingState(past);
    if (scale && grows)
      return n.fail("a cache of integers that grows");
    if (scale) {
      past = n.cast(past, n.builder().getF32Type());
      *its = integersOf(n, *its, scale);
    }
    held[i] = grows ? appendToState(n, past, *its, 2, /*isInPlace=*/true)
                    : cacheOf(n, past, *its, starts, room);
    if (!held[i])
      return false;
    *its = tokensOf(n, held[i], 0, total);
    if (!scale)
      continue;
    *its = n.mul(*its, scale);
    held[i] = n.cast(held[i], n.resultType(1 + i).getElementType());
  }
  a.scale = n.node().floatAttr("scale", 0);
  a.softcap = n.node().floatAttr("softcap", 0);
  a.right = n.node().intAttr("causal") ? 0 : -1;
  // A window counts the query's own key.
  if (int64_t window = n.node().intAttr("local_window_size"); window > 0)
    a.left = window - 1;
  a.mask = n.optional(10);
  a.sink = n.optional(11);
  if (!a.sink && n.node().intAttr("smooth_softmax") == 1)
    a.sink = zeros(n, {heads});
  a.hidden = -std::numeric_limits<double>::infinity();
  a.replaces = true;
  const bool seesLater = a.right < 0;
  if (Value lengths =
          total == tokens ? promptLengths(n, tokens) : starts.lengths) {
    a.k = withoutPadding(n, a.k, lengths);
    a.v = withoutPadding(n, a.v, lengths);
    // Rows of padding see no padding either, as onnxruntime's. Of a window
    // that is all padding nothing is left: 0. But where scores are capped,
    // onnxruntime's windows of padding end with the last token.
    int64_t window = a.softcap > 0 ? std::min<int64_t>(a.left + 1, total) : 0;
    a.tokens = paddingMask(n, lengths, starts, total, window);
    if (window)
      a.left = -1;
    if (a.left >= 0)
      a.guard = onnx::TermKind::ZeroEmpty;
  }
  const bool isLast =
      !seesLater || starts.known.front() + tokens == total; // its own key
  if (starts.isUniform() && isLast)
    a.past = starts.known.front();
  else
    a.lengths = startsPlus(n, starts, tokens);
  Value y = attend(n, a);
  if (!y)
    return false;
  SmallVector<Value> results = {y, held[0], held[1]};
  results.resize(n.op().getNumResults());
  return n.replace(results);
}

llvm::ArrayRef<Operator> wsec::infer::groupedAttentionOperators() {
  static const Operator operators[] = {
      {"com.microsoft.GroupQueryAttention", groupQueryAttention,
       groupQueryAttention,
       "num_heads kv_num_heads scale softcap do_rotary rotary_interleaved "
       "local_window_size causal smooth_softmax qk_norm_epsilon "
       "kv_cache_bit_width k_quant_type=NONE|PER_TENSOR|PER_CHANNEL "
       "v_quant_type=NONE|PER_TENSOR|PER_CHANNEL"},
  };
  return operators;
}
