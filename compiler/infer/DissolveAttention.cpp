// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in products, a bias and a softmax, for what onnx.attention does not
// do: masks that differ between heads, scores as a result. Follows the text of
// ONNX's operator (versions 23 to 25):
//
//   scores = scale * Q K^T -> softcap -> + bias -> softmax -> 0 in rows whose
//   bias is -inf everywhere -> times V
#include "compiler/infer/Attention.h"
#include "compiler/values/AttentionMask.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;
using onnx::BinaryKind;
using onnx::UnaryKind;

static constexpr double hidden = -std::numeric_limits<double>::infinity();

double GeneralAttention::factor() const {
  return scale != 0 ? scale : 1 / std::sqrt(double(shapeOf(q)[3]));
}

/// A constant with a number for each query and key.
static Value numbers(Legalization &n, int64_t queries, int64_t keys,
                     llvm::function_ref<double(int64_t, int64_t)> at) {
  Tensor tensor(ElementType::Float32, {queries, keys});
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.setFloat(i, at(i / keys, i % keys));
  return materialize(n.builder(), n.loc(), std::move(tensor));
}

/// Head h of the left side meets head h / group of the right one: a group's
/// heads are more rows of one matrix.
static Value product(Legalization &n, Value a, Value b) {
  Shape left(shapeOf(a)), right(shapeOf(b));
  int64_t rows = left[1] / right[1] * left[2];
  Value y = n.batchMatmul(n.reshape(a, {left[0], right[1], rows, left[3]}), b);
  return n.reshape(y, {left[0], left[1], left[2], right[3]});
}

Value wsec::infer::behindPast(Legalization &n, Value past, Value x) {
  return past && shapeOf(past)[2] > 0 ? n.concat({past, x}, 2) : x;
}

//===----------------------------------------------------------------------===//
// What hides keys
//===----------------------------------------------------------------------===//

Value wsec::infer::maskOfAllKeys(Legalization &n, const GeneralAttention &a) {
  Value mask = a.mask;
  if (!mask)
    return mask;
  bool isCondition = typeOf(mask).getElementType().isInteger(1);
  Shape missing(shapeOf(mask));
  missing.back() = a.keys() - missing.back();
  if (missing.back() > 0) {
    Tensor rest(*elementTypeOf(typeOf(mask).getElementType()), missing);
    for (int64_t i = 0; !isCondition && i < rest.size(); ++i)
      rest.setFloat(i, hidden);
    mask = n.concat({mask, materialize(n.builder(), n.loc(), std::move(rest))},
                    missing.size() - 1);
  }
  return isCondition ? additiveMask(n.builder(), n.loc(), mask, hidden, false)
                     : mask;
}

/// Of each batch element, or, where no lengths are stated, of all.
static Value knownVisibleKeys(Legalization &n, const GeneralAttention &a,
                              const Tensor *lengths) {
  if (a.left < 0 && a.right < 0 && !lengths)
    return nullptr;
  const int64_t queries = a.queries(), keys = a.keys();
  const int64_t batch = lengths ? lengths->size() : 1;
  Tensor keep(ElementType::Bool,
              lengths ? Shape{batch, 1, queries, keys} : Shape{queries, keys});
  bool all = true;
  for (int64_t i = 0; i < keep.size(); ++i) {
    int64_t key = i % keys, query = i / keys % queries, past = a.past;
    int64_t length = keys;
    if (lengths) {
      length = lengths->asInt(i / keys / queries);
      past = length - queries;
    }
    int64_t ahead = key - query - past;
    keep.setInt(i, key < length && (a.right < 0 || ahead <= a.right) &&
                       (a.left < 0 || -ahead <= a.left));
    all &= keep.asBool(i);
  }
  return all ? Value() : materialize(n.builder(), n.loc(), std::move(keep));
}

/// Query i stands at position i + past, or, where lengths are stated, i +
/// length - queries.
Value wsec::infer::visibleKeys(Legalization &n, const GeneralAttention &a) {
  int64_t queries = a.queries(), keys = a.keys();
  if (!a.lengths)
    return knownVisibleKeys(n, a, nullptr);
  if (std::optional<Fact> fact = factOf(a.lengths))
    if (std::optional<Tensor> known = fact->load())
      return knownVisibleKeys(n, a, &*known);
  Value length = n.reshape(n.cast(a.lengths, n.builder().getF32Type()),
                           {shapeOf(a.q)[0], 1, 1, 1});
  Value result = n.binary(
      BinaryKind::Less,
      numbers(n, 1, keys, [](int64_t, int64_t key) { return key; }), length);
  auto with = [&](Value test) {
    result = n.binary(BinaryKind::And, result, test);
  };
  // key - (query + length - queries) <= right, and >= -left
  auto ahead = [&](int64_t slack) {
    return numbers(n, queries, keys, [&](int64_t query, int64_t key) {
      return key - query + queries + slack;
    });
  };
  if (a.right >= 0)
    with(n.binary(BinaryKind::LessOrEqual, ahead(-a.right), length));
  if (a.left >= 0)
    with(n.binary(BinaryKind::LessOrEqual, length, ahead(a.left)));
  return result;
}

static Value biasOf(Legalization &n, const GeneralAttention &a) {
  Value mask = maskOfAllKeys(n, a), keep = visibleKeys(n, a);
  if (!keep)
    return mask;
  Value hiding = additiveMask(n.builder(), n.loc(), keep, hidden, false);
  return mask ? addMasks(n.builder(), n.loc(), mask, hiding) : hiding;
}

/// Which rows the bias hides from end to end; null if it is known that none.
static Value rowsWithoutKey(Legalization &n, Value bias) {
  Shape shape(shapeOf(bias));
  int64_t keys = shape.back();
  std::optional<Fact> fact = factOf(bias);
  shape.back() = 1;
  if (std::optional<Tensor> known = fact ? fact->load() : std::nullopt) {
    Tensor empty(ElementType::Bool, shape);
    bool any = false;
    for (int64_t row = 0; row < empty.size(); ++row) {
      bool all = true;
      for (int64_t key = 0; key < keys; ++key)
        all &= known->asFloat(row * keys + key) == hidden;
      empty.setInt(row, all);
      any |= all;
    }
    return any ? materialize(n.builder(), n.loc(), std::move(empty)) : Value();
  }
  int64_t last = shape.size() - 1;
  Value most = onnx::ReduceOp::create(
      n.builder(), n.loc(), withShape(bias, shape), onnx::ReduceKind::Max, bias,
      last, true, n.nameAttr());
  return n.binary(BinaryKind::Equal, most, hidden);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

DissolvedAttention wsec::infer::dissolve(Legalization &n,
                                         const GeneralAttention &a) {
  DissolvedAttention result;
  Value scaled = n.binary(BinaryKind::Mul, a.q, a.factor());
  Value scores = product(n, scaled, n.transpose(a.k, {0, 1, 3, 2}));
  result.scores.push_back(scores);
  if (a.softcap > 0) {
    scores =
        n.unary(UnaryKind::Tanh, n.binary(BinaryKind::Div, scores, a.softcap));
    scores = n.binary(BinaryKind::Mul, scores, a.softcap);
  }
  result.scores.push_back(scores);
  Value hiding = biasOf(n, a), empty;
  if (hiding) {
    scores = n.binary(BinaryKind::Add, scores, hiding);
    empty = rowsWithoutKey(n, hiding);
  }
  result.scores.push_back(scores);
  Value weights = onnx::SoftmaxOp::create(
      n.builder(), n.loc(), scores.getType(), scores, n.nameAttr());
  if (empty)
    weights =
        n.where(empty, scalarLike(n.builder(), n.loc(), weights, 0), weights);
  result.scores.push_back(weights);
  result.y = product(n, weights, a.v);
  return result;
}
