// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised numbers, element by element, and rotary embeddings.
#include "compiler/simplify/Naming.h"

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

/// Every second one of the last axis, from `start`; or its halves.
static Value partOf(Naming &n, Value x, bool interleaved, int64_t number) {
  Shape shape(shapeOf(x));
  const int64_t half = shape.back() / 2;
  if (!interleaved)
    return n.sliceLast(x, number * half, half);
  Box box{Shape(shape.size(), 0), shape, Shape(shape.size(), 1)};
  box.starts.back() = number;
  box.extents.back() = half;
  box.steps.back() = 2;
  return n.slice(x, box);
}

static Value joined(Naming &n, Value first, Value second, bool interleaved) {
  const int64_t rank = shapeOf(first).size();
  if (!interleaved)
    return n.concat({first, second}, rank - 1);
  Shape single(shapeOf(first)), both(shapeOf(first));
  single.push_back(1);
  both.back() *= 2;
  return n.reshape(
      n.concat({n.reshape(first, single), n.reshape(second, single)}, rank),
      both);
}

/// Cosines or sines of all tokens, against batch x heads x tokens x features or
/// batch x tokens x heads x features.
static Value cacheOf(Naming &n, size_t input, bool tokensFirst) {
  Value cache = n.input(input);
  if (n.has(3)) {
    Value ids = n.input(3);
    Shape shape(shapeOf(ids));
    shape.push_back(shapeOf(cache)[1]);
    cache =
        onnx::GatherOp::create(n.builder(), n.loc(), withShape(cache, shape),
                               cache, ids, n.nameAttr());
  }
  Shape shape(shapeOf(cache));
  shape.insert(shape.begin() + (tokensFirst ? 2 : 1), 1);
  return n.reshape(cache, shape);
}

static bool rotaryEmbedding(Naming &n) {
  Value x = n.input(0);
  const bool tokensFirst = shapeOf(x).size() == 3;
  const bool interleaved = n.node().intAttr("interleaved", 0);
  if (tokensFirst) {
    const int64_t heads = n.node().intAttr("num_heads", 0);
    ArrayRef<int64_t> shape = shapeOf(x);
    x = n.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  }
  const int64_t size = shapeOf(x).back();
  const int64_t stated = n.node().intAttr("rotary_embedding_dim", 0);
  const int64_t rotated = stated ? stated : size;
  Value moving = rotated == size ? x : n.sliceLast(x, 0, rotated);
  Value cos = cacheOf(n, 1, tokensFirst), sin = cacheOf(n, 2, tokensFirst);
  Value first = partOf(n, moving, interleaved, 0);
  Value second = partOf(n, moving, interleaved, 1);
  auto times = [&](Value a, Value b) {
    return n.binary(BinaryKind::Mul, a, b);
  };
  Value real = n.binary(BinaryKind::Sub, times(first, cos), times(second, sin));
  Value imaginary =
      n.binary(BinaryKind::Add, times(first, sin), times(second, cos));
  Value y = joined(n, real, imaginary, interleaved);
  if (rotated != size)
    y = n.concat({y, n.sliceLast(x, rotated, size - rotated)}, 3);
  return n.replace(n.reshape(y, n.resultType().getShape()));
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
