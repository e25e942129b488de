// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised numbers, element by element, and rotary embeddings.
#include "compiler/simplify/Attention.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;
using onnx::ReduceKind;
using onnx::UnaryKind;

static Value castTo(Naming &n, Value x, Type element) {
  if (typeOf(x).getElementType() == element)
    return x;
  return onnx::CastOp::create(n.builder(), n.loc(), typeOf(x).clone(element), x,
                              n.nameAttr());
}

static Value asF32(Naming &n, Value x) {
  return castTo(n, x, n.builder().getF32Type());
}

/// A scale or zero point against `x`: of one number, of one for each index of
/// the axis, or of one for each block, which is repeated.
static Value spread(Naming &n, Value parameter, Value x) {
  Shape shape(shapeOf(x));
  const int64_t rank = shape.size();
  if (numElements(shapeOf(parameter)) == 1)
    return n.reshape(parameter, {});
  const int64_t axis = *n.node().axisAttr(rank);
  const int64_t block = n.node().intAttr("block_size");
  if (block <= 0) {
    Shape along(rank, 1);
    along[axis] = shape[axis];
    return n.reshape(parameter, along);
  }
  Shape blocks(shapeOf(parameter)), once = blocks, repeated = blocks;
  once.insert(once.begin() + axis + 1, 1);
  repeated.insert(repeated.begin() + axis + 1, block);
  blocks[axis] *= block;
  Value wide = n.reshape(parameter, once);
  wide = onnx::ExpandOp::create(n.builder(), n.loc(), withShape(wide, repeated),
                                wide, n.nameAttr());
  wide = n.reshape(wide, blocks);
  if (blocks == shape)
    return wide;
  // The last block may be smaller.
  return n.slice(wide, Box{Shape(rank, 0), shape, Shape(rank, 1)});
}

/// round(x / scale) + zero point, between the least and the largest number.
static bool quantizeLinear(Naming &n) {
  Value x = asF32(n, n.input(0));
  x = n.binary(BinaryKind::Div, x, spread(n, asF32(n, n.input(1)), x));
  auto integer = dyn_cast<IntegerType>(n.resultType().getElementType());
  if (!integer) { // floats of 8 bits have no zero point
    if (x.getType() != n.resultType())
      return n.fail("gives elements that are rounded no further");
    return n.replace(x);
  }
  if (integer.getWidth() > 16)
    return n.fail("gives integers of more than 16 bits");
  x = n.unary(UnaryKind::Round, x);
  if (n.has(2))
    x = n.binary(BinaryKind::Add, x, spread(n, asF32(n, n.input(2)), x));
  const double count = double(int64_t(1) << integer.getWidth());
  const double least = integer.isUnsigned() ? 0 : -count / 2;
  x = n.binary(BinaryKind::Max, x, least);
  x = n.binary(BinaryKind::Min, x, least + count - 1);
  return n.replace(castTo(n, x, integer));
}

static bool dequantizeLinear(Naming &n) {
  Value x = n.input(0);
  auto integer = dyn_cast<IntegerType>(typeOf(x).getElementType());
  if (n.has(2) && integer) {
    Type i32 = n.builder().getI32Type();
    x = castTo(n, x, i32);
    x = n.binary(BinaryKind::Sub, x, spread(n, castTo(n, n.input(2), i32), x));
  }
  x = asF32(n, x);
  x = n.binary(BinaryKind::Mul, x, spread(n, asF32(n, n.input(1)), x));
  return n.replace(castTo(n, x, n.resultType().getElementType()));
}

/// Scale and zero point from the extremes, which take 0 in.
static bool dynamicQuantizeLinear(Naming &n) {
  Value x = n.input(0);
  const int64_t count = numElements(shapeOf(x));
  Value flat = n.reshape(x, {count});
  auto largest = [&](Value value) -> Value {
    Value most =
        onnx::ReduceOp::create(n.builder(), n.loc(), withShape(value, Shape{}),
                               ReduceKind::Max, value, 0, false, n.nameAttr());
    return n.binary(BinaryKind::Max, most, 0.0);
  };
  Value high = largest(flat);
  Value low = n.unary(UnaryKind::Neg, largest(n.unary(UnaryKind::Neg, flat)));
  Value range = n.binary(BinaryKind::Sub, high, low);
  // All zero: 1, as onnxruntime has it.
  Value isEmpty = n.binary(BinaryKind::Equal, range,
                           scalarLike(n.builder(), n.loc(), range, 0));
  Value scale = Value(onnx::WhereOp::create(
      n.builder(), n.loc(), cast<RankedTensorType>(range.getType()), isEmpty,
      scalarLike(n.builder(), n.loc(), range, 1),
      n.binary(BinaryKind::Div, range, 255.0), n.nameAttr()));
  auto clamped = [&](Value value) {
    return n.binary(BinaryKind::Min, n.binary(BinaryKind::Max, value, 0.0),
                    255.0);
  };
  Value zero = n.unary(
      UnaryKind::Round,
      clamped(n.unary(UnaryKind::Neg, n.binary(BinaryKind::Div, low, scale))));
  Value y = n.unary(UnaryKind::Round, n.binary(BinaryKind::Div, x, scale));
  y = clamped(n.binary(BinaryKind::Add, y, zero));
  Type byte = n.resultType().getElementType();
  return n.replace({castTo(n, y, byte), scale, castTo(n, zero, byte)});
}

//===----------------------------------------------------------------------===//
// Rotary embeddings
//===----------------------------------------------------------------------===//

/// Cosines or sines, [batch, tokens, half]; ids name rows of a table.
static Value anglesOf(Naming &n, size_t input) {
  Value angles = n.input(input);
  if (!n.has(3))
    return angles;
  Shape shape(shapeOf(n.input(3)));
  shape.push_back(shapeOf(angles)[1]);
  return onnx::GatherOp::create(n.builder(), n.loc(), withShape(angles, shape),
                                angles, n.input(3), n.nameAttr());
}

static bool rotaryEmbedding(Naming &n) {
  Value x = n.input(0);
  const bool byHead = shapeOf(x).size() == 4;
  if (!byHead)
    x = splitHeads(n, x, n.node().intAttr("num_heads", 0));
  Value y = rotate(n, x, anglesOf(n, 1), anglesOf(n, 2),
                   n.node().intAttr("interleaved", 0));
  return n.replace(byHead ? y : mergeHeads(n, y));
}

ArrayRef<NamedNamingRule> wsec::simplify::quantizedNaming() {
  static const NamedNamingRule rules[] = {
      {"QuantizeLinear", quantizeLinear},
      {"DequantizeLinear", dequantizeLinear},
      {"DynamicQuantizeLinear", dynamicQuantizeLinear},
      {"RotaryEmbedding", rotaryEmbedding},
  };
  return rules;
}
