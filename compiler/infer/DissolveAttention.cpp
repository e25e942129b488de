// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What masks an attention; and attention in products, masks and a softmax, for
// what onnx.attention does not do, such as scores as a result. Follows the text
// of ONNX's operator (versions 23 to 25):
//
//   scores = scale * Q K^T -> softcap -> + mask -> softmax -> 0 in rows whose
//   mask hides everything -> times V
//
// What hides is minus infinity there. In onnxruntime it is the lowest number,
// and so here: that differs where all scores that are seen are minus infinity,
// and where a mask of numbers has the lowest one for all keys.
#include "compiler/infer/States.h"
#include <cmath>
#include <limits>

using namespace wsec::infer;

double GeneralAttention::factor() const {
  return scale != 0 ? scale : 1 / std::sqrt(double(shapeOf(q)[3]));
}

/// A constant with a number for each query and key.
static Value numbers(Legalization &n, int64_t queries, int64_t keys,
                     llvm::function_ref<double(int64_t, int64_t)> at) {
  Tensor tensor(ElementType::Float32, {queries, keys});
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.setFloat(i, at(i / keys, i % keys));
  return n.materialize(std::move(tensor));
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
  if (past && isGrowingState(past))
    return appendToState(n, past, x, 2);
  return past && shapeOf(past)[2] > 0 ? n.concat({past, x}, 2) : x;
}

//===----------------------------------------------------------------------===//
// What hides keys
//===----------------------------------------------------------------------===//

bool wsec::infer::isCausal(const GeneralAttention &a) {
  return a.right == 0 && a.left < 0 && a.past == 0 && !a.lengths &&
         a.queries() == a.keys();
}

static bool isCondition(Value mask) {
  return typeOf(mask).getElementType().isInteger(1);
}

/// The mask with keys that it does not speak of: these are hidden.
static Value maskOfAllKeys(Legalization &n, const GeneralAttention &a) {
  Shape missing(shapeOf(a.mask));
  missing.back() = a.keys() - missing.back();
  if (missing.back() <= 0)
    return a.mask;
  Tensor rest(*elementTypeOf(typeOf(a.mask).getElementType()), missing);
  for (int64_t i = 0; !isCondition(a.mask) && i < rest.size(); ++i)
    rest.setFloat(i, a.hidden);
  return n.concat({a.mask, n.materialize(std::move(rest))}, missing.size() - 1);
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
  return all ? Value() : n.materialize(std::move(keep));
}

/// Which keys windows, causality and lengths allow, as a condition that fits
/// the scores: a constant, or, where lengths are computed, a comparison with
/// them. Null: all. Query i stands at position i + past, or, where lengths are
/// stated, i + length - queries.
static Value visibleKeys(Legalization &n, const GeneralAttention &a) {
  int64_t queries = a.queries(), keys = a.keys();
  if (!a.lengths)
    return knownVisibleKeys(n, a, nullptr);
  if (std::optional<Fact> fact = factOf(a.lengths))
    if (std::optional<Tensor> known = fact->load())
      return knownVisibleKeys(n, a, &*known);
  Value length = n.reshape(n.cast(a.lengths, n.builder().getF32Type()),
                           {shapeOf(a.q)[0], 1, 1, 1});
  Value result = n.less(
      numbers(n, 1, keys, [](int64_t, int64_t key) { return key; }), length);
  auto with = [&](Value test) { result = n.logicalAnd(result, test); };
  // key - (query + length - queries) <= right, and >= -left
  auto ahead = [&](int64_t slack) {
    return numbers(n, queries, keys, [&](int64_t query, int64_t key) {
      return key - query + queries + slack;
    });
  };
  if (a.right >= 0)
    with(n.lessOrEqual(ahead(-a.right), length));
  if (a.left >= 0)
    with(n.lessOrEqual(length, ahead(a.left)));
  return result;
}

/// Whether a mask is known to have numbers below that for hidden keys, which
/// stands in place of them.
static bool hasLess(Value mask, double hidden) {
  std::optional<Fact> fact = mask ? factOf(mask) : std::nullopt;
  std::optional<Tensor> known = fact ? fact->load() : std::nullopt;
  for (int64_t i = 0; known && i < known->size(); ++i)
    if (known->asFloat(i) < hidden)
      return true;
  return false;
}

std::optional<MaskTerms>
wsec::infer::termsOf(Legalization &n, const GeneralAttention &a,
                     llvm::function_ref<Value(Value)> arrange) {
  bool fits = true;
  auto arranged = [&](Value mask) -> Value {
    if (mask)
      fits &= bool(mask = arrange(mask));
    return mask;
  };
  Value mask = arranged(a.mask ? maskOfAllKeys(n, a) : Value());
  Value positions = arranged(a.positions), tokens = arranged(a.tokens);
  std::optional<double> later;
  if (isCausal(a) && (a.replaces || !hasLess(mask, a.hidden)))
    later = a.hidden;
  Value keep = arranged(later ? Value() : visibleKeys(n, a));
  if (!fits)
    return std::nullopt;
  // Conditions become what hides keys: other numbers, 0 if there are none, or
  // the number for hidden ones.
  auto hiding = [&](Value condition, Value others = nullptr) {
    return condition ? additiveMask(n.builder(), n.loc(), condition, a.hidden,
                                    false, others)
                     : others;
  };
  if (mask && isCondition(mask))
    mask = hiding(mask);
  MaskTerms terms;
  auto add = [&](onnx::TermKind kind, Value operand,
                 std::optional<double> number = std::nullopt) {
    if (operand || number)
      terms.push_back({kind, operand, number});
  };
  if (a.replaces)
    add(onnx::TermKind::Add, mask);
  else
    add(onnx::TermKind::Add, hiding(keep, mask), later);
  add(onnx::TermKind::Add, positions);
  if (a.replaces) {
    Value padding = hiding(tokens);
    if (padding && keep)
      padding = combineMasks(n.builder(), n.loc(), BinaryKind::Min, padding,
                             hiding(keep));
    add(onnx::TermKind::Replace, padding ? padding : hiding(keep), later);
  }
  // Who sees at least itself is never without a key.
  const bool isHiding = a.guard == onnx::TermKind::ZeroHidden;
  if (a.guard && !(isHiding && (terms.empty() || !terms.front().operand)))
    terms.push_back({*a.guard, nullptr});
  return terms;
}

/// In which rows `bias` is `hidden` or less from end to end; null if it is
/// known that in none.
static Value rowsWithoutKey(Legalization &n, Value bias, double hidden) {
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
        all &= known->asFloat(row * keys + key) <= hidden;
      empty.setInt(row, all);
      any |= all;
    }
    return any ? n.materialize(std::move(empty)) : Value();
  }
  int64_t last = shape.size() - 1;
  Value most =
      onnx::ReduceOp::create(n.builder(), n.loc(), withShape(bias, shape),
                             ReduceKind::Max, bias, last, true, n.nameAttr());
  return n.lessOrEqual(most, hidden);
}

/// What a term has for each score, as a tensor that fits these.
static Value valueOf(Legalization &n, const GeneralAttention &a,
                     const MaskTerm &term) {
  if (!term.later)
    return term.operand;
  const double others =
      term.operand ? std::numeric_limits<double>::infinity() : 0;
  Value later = numbers(n, a.queries(), a.keys(), [&](int64_t i, int64_t j) {
    return j > i ? *term.later : others;
  });
  return term.operand ? combineMasks(n.builder(), n.loc(), BinaryKind::Min,
                                     term.operand, later)
                      : later;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

DissolvedAttention wsec::infer::dissolve(Legalization &n,
                                         const GeneralAttention &a) {
  DissolvedAttention result;
  Value scaled = n.mul(a.q, a.factor());
  Value scores = product(n, scaled, n.transpose(a.k, {0, 1, 3, 2}));
  result.scores.push_back(scores);
  if (a.softcap > 0) {
    scores = n.tanh(n.div(scores, a.softcap));
    scores = n.mul(scores, a.softcap);
  }
  result.scores.push_back(scores);
  Value value, empty;
  const std::optional<MaskTerms> terms =
      termsOf(n, a, [](Value x) { return x; });
  for (const MaskTerm &term : *terms) {
    if (term.kind == onnx::TermKind::ZeroHidden) {
      empty = rowsWithoutKey(n, value, lowestNumber); // of the term before
      continue;
    }
    if (term.kind == onnx::TermKind::ZeroEmpty) {
      empty =
          rowsWithoutKey(n, scores, -std::numeric_limits<double>::infinity());
      continue;
    }
    value = valueOf(n, a, term);
    if (term.kind == onnx::TermKind::Add)
      scores = n.add(scores, value);
    else
      scores = n.where(n.equal(value, 0.0), scores, value);
  }
  result.scores.push_back(scores);
  Shape sinks(shapeOf(scores));
  sinks.back() = 1;
  if (a.sink)
    scores = n.concat(
        {scores, n.expand(n.reshape(a.sink, {1, sinks[1], 1, 1}), sinks)}, 3);
  Value weights = onnx::SoftmaxOp::create(
      n.builder(), n.loc(), scores.getType(), scores, n.nameAttr());
  if (a.sink)
    weights = n.sliceLast(weights, 0, a.keys());
  if (empty)
    weights = n.where(empty, n.scalarLike(weights, 0), weights);
  result.scores.push_back(weights);
  result.y = product(n, weights, a.v);
  return result;
}
