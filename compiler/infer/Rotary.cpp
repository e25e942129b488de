// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary embeddings.
#include "compiler/infer/Attention.h"
#include "compiler/infer/Operators.h"
#include <algorithm>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool fusedRotary(Node &node) {
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
  return node.setOutputs({unknown(x.type, x.shape)});
}

static bool rotaryEmbedding(Node &node) {
  const Fact &x = node.input(0);
  const int64_t heads = node.intAttr("num_heads", 0);
  if (x.rank() != 4 && (x.rank() != 3 || heads < 1 || x.shape[2] % heads))
    return node.fail("rotates " + printShape(x.shape) + " with " +
                     llvm::Twine(heads) + " heads");
  const int64_t size = x.rank() == 4 ? x.shape[3] : x.shape[2] / heads;
  const int64_t stated = node.intAttr("rotary_embedding_dim", 0);
  const int64_t rotated = stated ? stated : size;
  if (rotated % 2 || rotated > size || rotated < 2)
    return node.fail("rotates " + llvm::Twine(rotated) + " of " +
                     llvm::Twine(size) + " features");
  const int64_t tokens = x.rank() == 4 ? x.shape[2] : x.shape[1];
  const Shape each = {x.shape[0], tokens, rotated / 2};
  for (size_t i : {1, 2}) {
    const Shape &cache = node.input(i).shape;
    const bool fits = node.has(3) ? cache.size() == 2 && cache[1] == rotated / 2
                                  : cache == each;
    if (!fits)
      return node.fail("a cache has shape " + printShape(cache) +
                       ", expected " + printShape(each));
  }
  if (node.has(3) && node.input(3).shape != Shape{x.shape[0], tokens})
    return node.fail("its positions have shape " +
                     printShape(node.input(3).shape));
  return node.setOutput(unknown(x.type, x.shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

Value wsec::infer::anglesAt(Legalization &n, Value table, Value ids,
                            int64_t first, int64_t tokens) {
  int64_t half = shapeOf(table)[1];
  if (!ids)
    return n.reshape(n.slice(table, {{first, 0}, {tokens, half}, {1, 1}}),
                     {1, tokens, half});
  Shape shape(shapeOf(ids));
  shape.push_back(half);
  return onnx::GatherOp::create(n.builder(), n.loc(), withShape(table, shape),
                                table, ids, n.nameAttr());
}

Value wsec::infer::rotate(Legalization &n, Value x, Value cosines, Value sines,
                          bool interleaved) {
  int64_t heads = shapeOf(x)[1], turned = 2 * shapeOf(cosines).back();
  x = mergeHeads(n, x);
  Value y =
      onnx::RotaryOp::create(n.builder(), n.loc(), x.getType(), x, cosines,
                             sines, heads, turned, interleaved, n.name());
  return splitHeads(n, y, heads);
}

static bool fusedRotary(Legalization &n) {
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

/// Cosines or sines, [batch, tokens, half]; ids name rows of a table.
static Value anglesOf(Legalization &n, size_t input) {
  Value angles = n.input(input);
  if (!n.has(3))
    return angles;
  Shape shape(shapeOf(n.input(3)));
  shape.push_back(shapeOf(angles)[1]);
  return onnx::GatherOp::create(n.builder(), n.loc(), withShape(angles, shape),
                                angles, n.input(3), n.nameAttr());
}

static bool rotaryEmbedding(Legalization &n) {
  Value x = n.input(0);
  const bool byHead = shapeOf(x).size() == 4;
  if (!byHead)
    x = splitHeads(n, x, n.node().intAttr("num_heads", 0));
  Value y = rotate(n, x, anglesOf(n, 1), anglesOf(n, 2),
                   n.node().intAttr("interleaved", 0));
  return n.replace(byHead ? y : mergeHeads(n, y));
}

llvm::ArrayRef<Operator> wsec::infer::rotaryOperators() {
  static const Operator operators[] = {
      {"RotaryEmbedding", rotaryEmbedding, rotaryEmbedding,
       "interleaved num_heads rotary_embedding_dim"},
      {"com.microsoft.RotaryEmbedding", fusedRotary, fusedRotary,
       "num_heads rotary_embedding_dim interleaved"},
  };
  return operators;
}
