// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's Attention in products, a bias and a softmax, for what onnx.attention
// does not do: grouped heads, caches, masks that differ between heads, softcap,
// windows, scores as a result. Follows the operator's text (versions 23 to 25):
//
//   scores = scale * Q K^T -> softcap -> + bias -> softmax -> 0 in rows whose
//   bias is -inf everywhere -> times V
#include "compiler/simplify/AttentionMask.h"
#include "compiler/simplify/Naming.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;
using onnx::UnaryKind;

static constexpr double hidden = -std::numeric_limits<double>::infinity();

namespace {
class Dissolving {
public:
  explicit Dissolving(Naming &n) : n(n) {}
  bool run();

private:
  void readOperands();
  Value heads(Value x, int64_t count);
  Value behindPast(size_t input, Value x);
  Value product(Value a, Value b);
  Value given();
  Value allowed();
  Value bias();
  Value rowsWithoutKey(Value bias);
  Value where(Value condition, Value a, Value b);
  Value numbers(ArrayRef<int64_t> shape,
                llvm::function_ref<double(int64_t query, int64_t key)> at);
  Value asFloat(Value x);

  Naming &n;
  bool byHead = false;
  Value q, k, v; // [batch, heads, tokens, size]
  int64_t batch = 0, queryHeads = 0, keyHeads = 0, queries = 0, keys = 0;
  int64_t past = 0;
};
} // namespace

Value Dissolving::where(Value condition, Value a, Value b) {
  Shape shape = *broadcastShapes(
      *broadcastShapes(shapeOf(condition), shapeOf(a)), shapeOf(b));
  Type element = typeOf(a).getElementType();
  return onnx::WhereOp::create(n.builder(), n.loc(),
                               RankedTensorType::get(shape, element), condition,
                               a, b, n.nameAttr());
}

Value Dissolving::asFloat(Value x) {
  Type f32 = n.builder().getF32Type();
  if (typeOf(x).getElementType() == f32)
    return x;
  return onnx::CastOp::create(n.builder(), n.loc(), typeOf(x).clone(f32), x,
                              n.nameAttr());
}

/// A constant with a number for each query and key.
Value Dissolving::numbers(
    ArrayRef<int64_t> shape,
    llvm::function_ref<double(int64_t query, int64_t key)> at) {
  Tensor tensor(ElementType::Float32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.setFloat(i, at(i / keys, i % keys));
  return materialize(n.builder(), n.loc(), std::move(tensor));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value Dissolving::heads(Value x, int64_t count) {
  if (byHead)
    return x;
  Shape s(shapeOf(x));
  return n.transpose(n.reshape(x, {s[0], s[1], count, s[2] / count}),
                     {0, 2, 1, 3});
}

Value Dissolving::behindPast(size_t input, Value x) {
  Value before = n.optional(input);
  return before && shapeOf(before)[2] > 0 ? n.concat({before, x}, 2) : x;
}

void Dissolving::readOperands() {
  byHead = shapeOf(n.input(0)).size() == 4;
  queryHeads =
      byHead ? shapeOf(n.input(0))[1] : n.node().intAttr("q_num_heads", 0);
  keyHeads =
      byHead ? shapeOf(n.input(1))[1] : n.node().intAttr("kv_num_heads", 0);
  q = heads(n.input(0), queryHeads);
  k = behindPast(4, heads(n.input(1), keyHeads));
  v = behindPast(5, heads(n.input(2), keyHeads));
  past = n.has(4) ? shapeOf(n.input(4))[2] : 0;
  batch = shapeOf(q)[0];
  queries = shapeOf(q)[2];
  keys = shapeOf(k)[2];
}

/// Head h of the left side meets head h / group of the right one: a group's
/// heads are more rows of one matrix.
Value Dissolving::product(Value a, Value b) {
  Shape s(shapeOf(a));
  int64_t rows = queryHeads / keyHeads * s[2], columns = shapeOf(b)[3];
  Value y = n.batchMatmul(n.reshape(a, {batch, keyHeads, rows, s[3]}), b);
  return n.reshape(y, {batch, queryHeads, s[2], columns});
}

//===----------------------------------------------------------------------===//
// What hides keys
//===----------------------------------------------------------------------===//

/// The mask as something to add; keys that it does not speak of are hidden.
Value Dissolving::given() {
  Value mask = n.optional(3);
  if (!mask)
    return mask;
  bool isCondition = typeOf(mask).getElementType().isInteger(1);
  Shape missing(shapeOf(mask));
  missing.back() = keys - missing.back();
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

/// Which keys causality, windows and the length of the cache allow: a
/// constant, or, where the length is data, a comparison with it. Null: all.
///
/// Query i stands at position i + offset; the offset is the length of the past,
/// or the length of the cache less the queries.
Value Dissolving::allowed() {
  int64_t left = n.node().intAttr("left_window_size", -1);
  int64_t right = n.node().intAttr("right_window_size", -1);
  if (n.node().intAttr("is_causal", 0))
    right = right < 0 ? 0 : std::min<int64_t>(right, 0);
  if (!n.has(6)) {
    if (left < 0 && right < 0)
      return nullptr;
    Tensor keep(ElementType::Bool, {queries, keys});
    for (int64_t i = 0; i < keep.size(); ++i) {
      int64_t ahead = i % keys - i / keys - past;
      keep.setInt(i, (right < 0 || ahead <= right) &&
                         (left < 0 || -ahead <= left));
    }
    return materialize(n.builder(), n.loc(), std::move(keep));
  }
  Value length = n.reshape(asFloat(n.input(6)), {batch, 1, 1, 1});
  Value result = n.binary(
      BinaryKind::Less,
      numbers({1, keys}, [](int64_t, int64_t key) { return key; }), length);
  auto with = [&](Value test) {
    result = n.binary(BinaryKind::And, result, test);
  };
  // key - (query + length - queries) <= right, and >= -left
  auto ahead = [&](int64_t slack) {
    return numbers({queries, keys}, [&](int64_t query, int64_t key) {
      return key - query + queries + slack;
    });
  };
  if (right >= 0)
    with(n.binary(BinaryKind::LessOrEqual, ahead(-right), length));
  if (left >= 0)
    with(n.binary(BinaryKind::LessOrEqual, length, ahead(left)));
  return result;
}

Value Dissolving::bias() {
  Value mask = given(), keep = allowed();
  if (!keep)
    return mask;
  Value hiding = additiveMask(n.builder(), n.loc(), keep, hidden, false);
  return mask ? addMasks(n.builder(), n.loc(), mask, hiding) : hiding;
}

/// Which rows the bias hides from end to end; null if it is known that none.
Value Dissolving::rowsWithoutKey(Value bias) {
  Shape shape(shapeOf(bias));
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

bool Dissolving::run() {
  readOperands();
  double scale = n.node().floatAttr("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(shapeOf(q)[3]));
  Value scaled = n.binary(BinaryKind::Mul, q, scale);
  Value scores = product(scaled, n.transpose(k, {0, 1, 3, 2}));
  SmallVector<Value> stages = {scores}; // by qk_matmul_output_mode
  if (double cap = n.node().floatAttr("softcap", 0); cap > 0) {
    scores = n.unary(UnaryKind::Tanh, n.binary(BinaryKind::Div, scores, cap));
    scores = n.binary(BinaryKind::Mul, scores, cap);
  }
  stages.push_back(scores);
  Value hiding = bias(), empty;
  if (hiding) {
    scores = n.binary(BinaryKind::Add, scores, hiding);
    empty = rowsWithoutKey(hiding);
  }
  stages.push_back(scores);
  Value weights = onnx::SoftmaxOp::create(
      n.builder(), n.loc(), scores.getType(), scores, n.nameAttr());
  if (empty)
    weights =
        where(empty, scalarLike(n.builder(), n.loc(), weights, 0), weights);
  stages.push_back(weights);
  Value y = product(weights, v);
  if (!byHead)
    y = n.reshape(n.transpose(y, {0, 2, 1, 3}),
                  {batch, queries, queryHeads * shapeOf(y)[3]});
  SmallVector<Value> results = {
      y, k, v, stages[n.node().intAttr("qk_matmul_output_mode", 0)]};
  results.resize(n.op().getNumResults());
  return n.replace(results);
}

bool wsec::simplify::dissolveAttention(Naming &n) {
  return Dissolving(n).run();
}
