// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes of onnxruntime's fused operators, and what of them is supported.
#include "compiler/simplify/Node.h"
#include <algorithm>

using namespace wsec::simplify;
using llvm::ArrayRef;

static Fact unknown(ElementType type, ArrayRef<int64_t> shape) {
  return Fact{type, Shape(shape), std::nullopt};
}

static bool hasShape(Node &node, size_t i, llvm::StringRef what,
                     ArrayRef<int64_t> expected) {
  if (!node.has(i) || ArrayRef<int64_t>(node.input(i).shape) == expected)
    return true;
  return node.fail(what + " of shape " + printShape(node.input(i).shape) +
                   ", expected " + printShape(expected));
}

/// The first results; others, which nobody may use, are like the last.
static bool setOutputs(Node &node, ArrayRef<Fact> facts) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    node.outputs[i] = facts[std::min(i, facts.size() - 1)];
  return true;
}

static bool refuses(Node &node, ArrayRef<size_t> inputs, llvm::StringRef what) {
  for (size_t i : inputs)
    if (node.has(i))
      return node.fail(what);
  return true;
}

static bool dividesInto(Node &node, int64_t heads, int64_t features) {
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

static bool biasFits(Node &node, size_t i, ArrayRef<int64_t> scores) {
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

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Operand `i` of an attention as [batch, heads, tokens, size].
static std::optional<Shape> byHeads(Node &node, size_t i, int64_t heads) {
  const Shape &shape = node.input(i).shape;
  if (shape.size() == 4 && i > 0)
    return shape;
  if (shape.size() != 3) {
    node.fail("packed operands of shape " + printShape(shape));
    return std::nullopt;
  }
  if (!dividesInto(node, heads, shape[2]))
    return std::nullopt;
  return Shape{shape[0], heads, shape[1], shape[2] / heads};
}

static bool multiHeadAttention(Node &node) {
  if (!node.has(1) || !node.has(2))
    return node.fail("packed queries, keys and values, or keys and values");
  if (!refuses(node, {8, 9}, "a cache that grows where it lies"))
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
  if (!hasShape(node, 3, "a bias", {features}))
    return false;
  if (node.has(6) != node.has(7))
    return node.fail("a cache of keys or of values without the other");
  if (node.has(6)) {
    int64_t past = node.input(6).rank() == 4 ? node.input(6).shape[2] : 0;
    if (!hasShape(node, 6, "a cache of keys",
                  {(*k)[0], heads, past, (*k)[3]}) ||
        !hasShape(node, 7, "a cache of values",
                  {(*v)[0], heads, past, (*v)[3]}))
      return false;
    (*k)[2] += past;
    (*v)[2] += past;
  }
  Shape scores = {(*q)[0], heads, (*q)[2], (*k)[2]};
  if (!keyMaskFits(node, 4, scores[0], scores[2], scores[3]) ||
      !biasFits(node, 5, scores))
    return false;
  ElementType type = node.input(0).type;
  return setOutputs(node, {unknown(type, {(*q)[0], (*q)[2], heads * (*v)[3]}),
                           unknown(type, *k), unknown(type, *v)});
}

static bool packedAttention(Node &node) {
  const Fact &x = node.input(0), &weights = node.input(1);
  if (!refuses(node, {6}, "a cache that grows where it lies"))
    return false;
  if (node.intAttr("do_rotary", 0))
    return node.fail("rotary embedding");
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
      !hasShape(node, 2, "a bias", {features}))
    return false;
  int64_t batch = x.shape[0], tokens = x.shape[1], keys = tokens;
  if (node.has(4)) {
    if (widths[0] != widths[2])
      return node.fail("a cache of keys and values that differ in size");
    int64_t past = node.input(4).rank() == 5 ? node.input(4).shape[3] : 0;
    if (!hasShape(node, 4, "a cache",
                  {2, batch, heads, past, widths[0] / heads}))
      return false;
    keys += past;
  }
  if (!keyMaskFits(node, 3, batch, tokens, keys) ||
      !biasFits(node, 5, {batch, heads, tokens, keys}))
    return false;
  return setOutputs(
      node, {unknown(x.type, {batch, tokens, widths[2]}),
             unknown(x.type, {2, batch, heads, keys, widths[0] / heads})});
}

/// How many keys there are, the queries' own included; they are the last ones.
static std::optional<int64_t> totalLength(Node &node, int64_t tokens) {
  std::optional<int64_t> total = node.oneInt(6, "the total length");
  if (!total)
    return std::nullopt;
  if (*total < tokens) {
    node.fail("a total length of " + llvm::Twine(*total) + " for " +
              llvm::Twine(tokens) + " tokens");
    return std::nullopt;
  }
  // Behind a cache each batch element could stand elsewhere.
  if (*total > tokens) {
    std::optional<Tensor> lengths = node.input(5).load();
    for (int64_t i = 0; lengths && i < lengths->size(); ++i)
      if (lengths->asInt(i) != *total - 1) {
        node.fail("sequences of different lengths behind a cache; run those "
                  "of one length together");
        return std::nullopt;
      }
    if (!lengths) {
      node.fail("the lengths of sequences behind a cache are computed; bind "
                "the input that they come from, as --bind "
                "attention_mask=FILE.npy");
      return std::nullopt;
    }
  }
  return total;
}

static bool groupedRotaryFits(Node &node, int64_t batch, int64_t tokens,
                              int64_t total, int64_t size) {
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
  return hasShape(node, 9, "positions", {batch, tokens});
}

static bool groupQueryAttention(Node &node) {
  if (!refuses(node, {11}, "a sink of heads") ||
      !refuses(node, {12, 13}, "a cache of integers") ||
      !refuses(node, {14, 15}, "norms of queries and keys"))
    return false;
  if (node.has(1) != node.has(2) || node.has(3) != node.has(4))
    return node.fail("keys without values, or a cache of one of them");
  const Fact &x = node.input(0);
  int64_t heads = node.intAttr("num_heads", 0);
  int64_t groups = node.intAttr("kv_num_heads", 0);
  if (heads < 1 || groups < 1 || heads % groups != 0)
    return node.fail(llvm::Twine(heads) + " heads of queries for " +
                     llvm::Twine(groups) + " of keys");
  if (x.rank() != 3)
    return node.fail("queries of shape " + printShape(x.shape));
  int64_t split = node.has(1) ? heads : heads + 2 * groups;
  if (!dividesInto(node, split, x.shape[2]))
    return false;
  int64_t batch = x.shape[0], tokens = x.shape[1], size = x.shape[2] / split;
  Shape each = {batch, tokens, groups * size};
  if (!hasShape(node, 1, "keys", each) || !hasShape(node, 2, "values", each) ||
      !hasShape(node, 5, "lengths", {batch}))
    return false;
  std::optional<int64_t> total = totalLength(node, tokens);
  if (!total || !groupedRotaryFits(node, batch, tokens, *total, size))
    return false;
  Shape cache = {batch, groups, 0, size};
  if (node.has(3))
    cache[2] = node.input(3).rank() == 4 ? node.input(3).shape[2] : 0;
  if (!hasShape(node, 3, "a cache of keys", cache) ||
      !hasShape(node, 4, "a cache of values", cache))
    return false;
  if (cache[2] < *total - tokens)
    return node.fail("a cache of " + llvm::Twine(cache[2]) + " tokens for " +
                     llvm::Twine(*total - tokens) + " before these");
  cache[2] = std::max(cache[2], *total);
  if (!biasFits(node, 10, {batch, heads, tokens, *total}))
    return false;
  return setOutputs(node, {unknown(x.type, {batch, tokens, heads * size}),
                           unknown(x.type, cache)});
}

static bool rotaryEmbedding(Node &node) {
  const Fact &x = node.input(0);
  const Shape &table = node.input(2).shape, &ids = node.input(1).shape;
  if ((x.rank() != 3 && x.rank() != 4) || table.size() != 2)
    return node.fail("rotates " + printShape(x.shape) + " by a table of " +
                     printShape(table));
  int64_t tokens = x.shape[x.rank() - 2], rotated = 2 * table[1];
  int64_t heads = node.intAttr("num_heads", 0), size = x.shape.back();
  if (x.rank() == 3) {
    if (!dividesInto(node, heads ? heads : size / std::max<int64_t>(rotated, 1),
                     size))
      return false;
    size = heads ? size / heads : rotated;
  }
  int64_t stated = node.intAttr("rotary_embedding_dim", 0);
  if (rotated > size || (stated && stated != rotated) ||
      node.input(3).shape != table)
    return node.fail("a table of shape " + printShape(table) +
                     " for heads of size " + llvm::Twine(size));
  if (numElements(ids) != 1 && ids != Shape{x.shape[0], tokens})
    return node.fail("positions of shape " + printShape(ids) + ", expected " +
                     printShape({x.shape[0], tokens}));
  return setOutputs(node, {unknown(x.type, x.shape)});
}

//===----------------------------------------------------------------------===//
// Embeddings and products
//===----------------------------------------------------------------------===//

static bool embedLayerNorm(Node &node) {
  const Shape &ids = node.input(0).shape, &table = node.input(2).shape;
  if (ids.size() != 2 || table.size() != 2)
    return node.fail("looks up " + printShape(ids) + " in " +
                     printShape(table));
  int64_t width = table[1];
  for (size_t i : {3, 4})
    if (node.has(i) &&
        (node.input(i).rank() != 2 || node.input(i).shape[1] != width))
      return node.fail("embeddings of shape " + printShape(table) + " and " +
                       printShape(node.input(i).shape));
  if (!node.has(8) && node.input(3).shape[0] < ids[1])
    return node.fail(llvm::Twine(ids[1]) + " tokens for " +
                     llvm::Twine(node.input(3).shape[0]) + " positions");
  if (node.has(1) != node.has(4))
    return node.fail("segments without embeddings of them, or the reverse");
  if (!hasShape(node, 1, "segments", ids) ||
      !hasShape(node, 5, "a scale", {width}) ||
      !hasShape(node, 6, "a bias", {width}) ||
      !hasShape(node, 7, "a mask", ids))
    return false;
  if (node.has(8) && node.input(8).shape != Shape{1, ids[1]} &&
      !hasShape(node, 8, "positions", ids))
    return false;
  Fact sum = unknown(node.input(2).type, {ids[0], ids[1], width});
  return setOutputs(node, {sum, unknown(ElementType::Int32, {ids[0]}), sum});
}

static bool fusedMatMul(Node &node) {
  Shape a = node.input(0).shape, b = node.input(1).shape;
  if (a.size() < 2 || b.size() < 2)
    return node.fail("operands are not matrices");
  if (node.intAttr("transA"))
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (node.intAttr("transB"))
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  auto shape =
      broadcastShapes(ArrayRef(a).drop_back(2), ArrayRef(b).drop_back(2));
  if (!shape || a.back() != b[b.size() - 2])
    return node.fail("cannot multiply " + printShape(a) + " by " +
                     printShape(b));
  shape->append({a[a.size() - 2], b.back()});
  return setOutputs(node, {unknown(node.input(0).type, *shape)});
}

static bool matMulNBits(Node &node) {
  int64_t bits = node.intAttr("bits"), block = node.intAttr("block_size");
  int64_t rows = node.intAttr("K"), columns = node.intAttr("N");
  if ((bits != 2 && bits != 4 && bits != 8) || block < 16 || rows < 1 ||
      columns < 1)
    return node.fail(llvm::Twine(rows) + "x" + llvm::Twine(columns) +
                     " weights of " + llvm::Twine(bits) +
                     " bits in blocks of " + llvm::Twine(block));
  if (!refuses(node, {4}, "an order of groups (g_idx)"))
    return false;
  const Fact &x = node.input(0);
  if (x.rank() == 0 || x.shape.back() != rows)
    return node.fail("cannot multiply " + printShape(x.shape) + " by " +
                     printShape({rows, columns}));
  int64_t blocks = (rows + block - 1) / block;
  if (!hasShape(node, 1, "weights", {columns, blocks, block * bits / 8}) ||
      !hasShape(node, 5, "a bias", {columns}))
    return false;
  int64_t zeros = isFloat(node.has(3) ? node.input(3).type : ElementType::UInt8)
                      ? blocks
                      : (blocks * bits + 7) / 8;
  for (auto [i, count] : {std::pair<size_t, int64_t>{2, blocks}, {3, zeros}})
    if (node.has(i) && numElements(node.input(i).shape) != columns * count)
      return node.fail("scales or zero points of shape " +
                       printShape(node.input(i).shape) + ", expected " +
                       printShape({columns, count}));
  Shape shape = x.shape;
  shape.back() = columns;
  return setOutputs(node, {unknown(x.type, shape)});
}

llvm::ArrayRef<NamedRule> wsec::simplify::fusedRules() {
  static const NamedRule rules[] = {
      {"com.microsoft.Attention", packedAttention,
       "num_heads scale unidirectional mask_filter_value do_rotary "
       "qkv_hidden_sizes"},
      {"com.microsoft.MultiHeadAttention", multiHeadAttention,
       "num_heads scale unidirectional mask_filter_value"},
      {"com.microsoft.GroupQueryAttention", groupQueryAttention,
       "num_heads kv_num_heads scale softcap do_rotary rotary_interleaved "
       "local_window_size causal"},
      {"com.microsoft.RotaryEmbedding", rotaryEmbedding,
       "num_heads rotary_embedding_dim interleaved"},
      {"com.microsoft.EmbedLayerNormalization", embedLayerNorm, "epsilon"},
      {"com.microsoft.FusedMatMul", fusedMatMul, "alpha transA transB"},
      // How exactly a processor adds up is its own affair.
      {"com.microsoft.MatMulNBits", matMulNBits,
       "K N bits block_size accuracy_level"},
  };
  return rules;
}
