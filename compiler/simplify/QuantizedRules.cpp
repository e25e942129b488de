// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and types of operators that make or take quantised numbers, and of
// rotary embeddings and other operators without values of their own.
#include "compiler/simplify/Node.h"

using namespace wsec::simplify;
using llvm::ArrayRef;
using llvm::StringRef;

static Fact unknown(ElementType type, ArrayRef<int64_t> shape) {
  return Fact{type, Shape(shape), std::nullopt};
}

/// Whether `scale` is one number, one for each index of the axis, or one for
/// each block of `block_size` of them.
static bool scaleFits(Node &node) {
  const Fact &x = node.input(0), &scale = node.input(1);
  if (numElements(scale.shape) == 1)
    return true;
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis)
    return false;
  const int64_t block = node.intAttr("block_size");
  Shape expected = {x.shape[*axis]};
  if (block > 0) {
    expected = x.shape;
    expected[*axis] = (expected[*axis] + block - 1) / block;
  }
  return scale.shape == expected ||
         node.fail("its scale has shape " + printShape(scale.shape) +
                   ", expected " + printShape(expected));
}

static bool zeroPointFits(Node &node) {
  return !node.has(2) ||
         numElements(node.input(2).shape) == numElements(node.input(1).shape) ||
         node.fail("its zero point has shape " +
                   printShape(node.input(2).shape) + ", its scale " +
                   printShape(node.input(1).shape));
}

static bool quantizeLinear(Node &node) {
  if (!scaleFits(node) || !zeroPointFits(node))
    return false;
  ElementType type = ElementType::UInt8;
  if (int64_t stated = node.intAttr("output_dtype")) {
    std::optional<ElementType> known = elementTypeOfOnnx(stated);
    if (!known)
      return node.fail("gives ONNX element type " + llvm::Twine(stated));
    type = *known;
  }
  if (node.has(2))
    type = node.input(2).type;
  if (int64_t precision = node.intAttr("precision"); precision > 1)
    return node.fail("divides in ONNX element type " + llvm::Twine(precision));
  node.outputs[0] = unknown(type, node.input(0).shape);
  return true;
}

static bool dequantizeLinear(Node &node) {
  if (!scaleFits(node) || !zeroPointFits(node))
    return false;
  ElementType type = node.input(1).type;
  if (int64_t stated = node.intAttr("output_dtype")) {
    std::optional<ElementType> known = elementTypeOfOnnx(stated);
    if (!known)
      return node.fail("gives ONNX element type " + llvm::Twine(stated));
    type = *known;
  }
  node.outputs[0] = unknown(type, node.input(0).shape);
  return true;
}

static bool dynamicQuantizeLinear(Node &node) {
  if (node.outputs.size() != 3)
    return false;
  node.outputs[0] = unknown(ElementType::UInt8, node.input(0).shape);
  node.outputs[1] = unknown(ElementType::Float32, {});
  node.outputs[2] = unknown(ElementType::UInt8, {});
  return true;
}

static bool oneHot(Node &node) {
  const Fact &indices = node.input(0), &values = node.input(2);
  std::optional<Tensor> depth = node.input(1).load();
  std::optional<int64_t> axis = node.axisAttr(indices.rank() + 1);
  if (!axis)
    return false;
  if (!depth || depth->size() != 1)
    return node.fail("its depth has to be known at compile time");
  if (values.shape != Shape{2})
    return node.fail("its values have shape " + printShape(values.shape) +
                     ", expected 2");
  Shape shape = indices.shape;
  shape.insert(shape.begin() + *axis, depth->asInt(0));
  node.outputs[0] = unknown(values.type, shape);
  return true;
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
  node.outputs[0] = unknown(x.type, x.shape);
  return true;
}

/// Channels and pixels that change places, `blocksize` squared of them.
template <bool toDepth>
static bool blocks(Node &node) {
  Shape shape = node.input(0).shape;
  const int64_t b = node.intAttr("blocksize");
  StringRef mode = node.stringAttr("mode");
  if (mode != "DCR" && mode != "CRD")
    return node.fail("rearranges in mode '" + mode + "'");
  if (shape.size() != 4 || b < 1 ||
      (toDepth ? shape[2] % b || shape[3] % b : shape[1] % (b * b)))
    return node.fail("blocks of " + llvm::Twine(b) + " do not fit " +
                     printShape(shape));
  shape[1] = toDepth ? shape[1] * b * b : shape[1] / (b * b);
  for (int64_t d : {2, 3})
    shape[d] = toDepth ? shape[d] / b : shape[d] * b;
  node.outputs[0] = unknown(node.input(0).type, shape);
  return true;
}

static bool alongAxis(Node &node) {
  if (!node.axisAttr(node.input(0).rank()))
    return false;
  node.outputs[0] = unknown(node.input(0).type, node.input(0).shape);
  return true;
}

static bool hardmax(Node &node) {
  if (node.version() < 13)
    return node.fail("before opset 13 it flattens its operand");
  return alongAxis(node);
}

static bool globalPool(Node &node) {
  Shape shape = node.input(0).shape;
  if (shape.size() < 2)
    return node.fail("an image of " + printShape(shape));
  for (size_t d = 2; d < shape.size(); ++d)
    shape[d] = 1;
  node.outputs[0] = unknown(node.input(0).type, shape);
  return true;
}

/// Ones on a diagonal.
static bool eyeLike(Node &node) {
  const Fact &x = node.input(0);
  std::optional<ElementType> type = x.type;
  if (int64_t stated = node.intAttr("dtype", 0))
    type = elementTypeOfOnnx(stated);
  if (!type || x.rank() != 2)
    return node.fail("of " + printShape(x.shape) + ", expected a matrix");
  Tensor result(*type, x.shape);
  if (result.bytes() > maxFoldedBytes)
    return node.fail("is too large");
  const int64_t diagonal = node.intAttr("k");
  for (int64_t i = 0; i < result.size(); ++i) {
    const bool one = i % x.shape[1] - i / x.shape[1] == diagonal;
    isFloat(*type) ? result.setFloat(i, one) : result.setInt(i, one);
  }
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

llvm::ArrayRef<NamedRule> wsec::simplify::quantizedRules() {
  static const NamedRule rules[] = {
      {"QuantizeLinear", quantizeLinear,
       "axis block_size output_dtype saturate precision"},
      {"DequantizeLinear", dequantizeLinear, "axis block_size output_dtype"},
      {"DynamicQuantizeLinear", dynamicQuantizeLinear},
      {"OneHot", oneHot, "axis"},
      {"SpaceToDepth", blocks<true>, "blocksize mode"},
      {"DepthToSpace", blocks<false>, "blocksize mode"},
      {"Hardmax", hardmax, "axis"},
      {"LpNormalization", alongAxis, "axis p"},
      {"GlobalAveragePool", globalPool},
      {"GlobalMaxPool", globalPool},
      {"EyeLike", eyeLike, "dtype k"},
      {"RotaryEmbedding", rotaryEmbedding,
       "interleaved num_heads rotary_embedding_dim"},
  };
  return rules;
}
