// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and rotary embeddings. Scores and weights of an attention are
// computed again, by products for each pair of matrices, and their gradients
// are those of the products, masks and the softmax, of some heads at a time
// where all have very many:
//
//   P = softmax(scale Q K^T + masks)        dV = P^T dO
//   dP = dO V^T    dS = P (dP - rowsum(dP P))    dQ = dS K    dK = dS^T Q
#include "compiler/differentiate/Differentiable.h"
#include "compiler/values/AttentionMask.h"
#include "compiler/values/Heads.h"
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::BinaryKind;
using onnx::TermKind;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double lowest = std::numeric_limits<float>::lowest();

/// Scores that are made at a time: of all heads and tokens they would be most
/// of what the store and the wafer hold.
static constexpr int64_t mostScores = int64_t(1) << 27;

static Term constantOf(Backward &n, Tensor tensor) {
  return {n, materialize(n.builder(), n.loc(), std::move(tensor))};
}

/// `number` for later keys, else `none`, of more scores than constants have.
static Term whereLater(Backward &n, int64_t queries, int64_t keys,
                       double number, double none) {
  const auto counted = [&](Shape shape) {
    Tensor numbers(ElementType::Int32, std::move(shape));
    for (int64_t i = 0; i < numbers.size(); ++i)
      numbers.setInt(i, i);
    return constantOf(n, std::move(numbers));
  };
  const auto scalar = [&](double value) {
    return constantOf(n, Tensor::scalar(ElementType::Float32, value));
  };
  return where(counted({queries, 1}) < counted({keys}), scalar(number),
               scalar(none));
}

/// What a term has for each score, as a tensor that fits [batch, heads,
/// queries, keys].
static Term valueOf(onnx::AttentionOp op, const MaskTerm &term, Backward &n,
                    Value &later) {
  const int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
  std::optional<Term> mask;
  if (term.operand) {
    Shape shape(shapeOf(term.operand));
    mask = Term{n, term.operand};
    if (shape.size() == 3) { // the keys of each head side by side
      shape.insert(shape.end() - 1, op.getNumHeads());
      shape.back() = keys;
      mask->value = n.transpose(n.reshape(mask->value, shape), {0, 2, 1, 3});
    }
  }
  if (!term.later)
    return *mask;
  const double none = mask ? infinity : 0;
  if (!later && queries * keys > maxFoldedBytes / int64_t(sizeof(float)))
    later = whereLater(n, queries, keys, *term.later, none).value;
  if (!later) {
    // Layers have the same numbers, each in a constant of its own.
    Attribute &known =
        n.masksOfLater[{queries, keys, llvm::bit_cast<uint64_t>(*term.later),
                        mask.has_value()}];
    if (known) {
      later = onnx::ConstantOp::create(
          n.builder(), n.loc(), cast<TypedAttr>(known).getType(), known,
          IntegerAttr(), DenseI64ArrayAttr(), n.builder().getStringAttr(""));
    } else {
      Tensor numbers(ElementType::Float32, {queries, keys});
      for (int64_t i = 0; i < numbers.size(); ++i)
        numbers.setFloat(i, i % keys > i / keys ? *term.later : none);
      later = constantOf(n, std::move(numbers)).value;
      known = later.getDefiningOp<onnx::ConstantOp>().getValue();
    }
  }
  Term bound{n, later};
  return mask ? min(*mask, bound) : bound;
}

/// Rows of which the largest element is `number` or less.
static Term rowsBelow(Term x, double number) {
  return Term{x.n, x.n.keptReduced(x.value, onnx::ReduceKind::Max,
                                   typeOf(x.value).getRank() - 1)} <= number;
}

/// `later`: what each term has for later keys, once that is made.
static Term masked(onnx::AttentionOp op, Term scores, Backward &n,
                   MutableArrayRef<Value> later) {
  std::optional<Term> hidden; // weights that a guard makes 0, by row
  std::optional<Term> value;
  bool isNaNZero = false;
  for (const auto &[index, term] : llvm::enumerate(maskTerms(op))) {
    switch (term.kind) {
    case TermKind::Add:
      value = valueOf(op, term, n, later[index]);
      scores = scores + *value;
      break;
    case TermKind::Replace:
      value = valueOf(op, term, n, later[index]);
      scores = where(*value == 0, scores, *value);
      break;
    case TermKind::Raise:
      scores = max(scores, *term.to);
      break;
    case TermKind::ZeroNaN:
      isNaNZero = true;
      break;
    case TermKind::ZeroEmpty:
      hidden = rowsBelow(scores, -infinity);
      break;
    case TermKind::ZeroHidden:
      hidden = rowsBelow(*value, lowest);
      break;
    }
  }
  Term weights{n, n.softmax(scores.value)};
  if (isNaNZero)
    weights = where(weights == weights, weights, weights.all(0));
  return hidden ? where(*hidden, weights.all(0), weights) : weights;
}

/// Some heads of keys, and those of queries that share them.
struct HeadRange {
  int64_t first, count;
};

/// Of features by head, those of a range of `all` heads.
static Value partOf(Value x, HeadRange range, int64_t all, Backward &n) {
  if (range.count == all)
    return x;
  Box box = wholeBox(x);
  const int64_t size = box.extents.back() / all;
  box.starts.back() = range.first * size;
  box.extents.back() = range.count * size;
  return n.slice(x, box);
}

/// Heads of the queries that share one of the keys are more rows of one matrix.
static Value compose(onnx::AttentionOp op, HeadRange range, Backward &n,
                     MutableArrayRef<Value> later) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  const int64_t batch = q[0], queries = q[1], keys = k[1];
  const int64_t all = op.keyHeads(), groups = range.count;
  const int64_t heads = groups * op.headsPerKey();
  const int64_t rows = op.headsPerKey() * queries;
  auto byHead = [&](Value x, int64_t number) {
    return splitHeads(n.builder(), n.loc(), partOf(x, range, all, n), number,
                      n.name());
  };
  const int64_t size = q[2] / op.getNumHeads();
  Term scaled = Term{n, partOf(op.getQ(), range, all, n)} *
                op.getScale().convertToDouble();
  Value left =
      n.reshape(splitHeads(n.builder(), n.loc(), scaled.value, heads, n.name()),
                {batch, groups, rows, size});
  Value right = n.swapped(byHead(op.getK(), groups));
  Term scores{
      n, n.reshape(n.batchMatmul(left, right), {batch, heads, queries, keys})};
  if (auto cap = op.getSoftcap())
    scores =
        tanh(scores * (1 / cap->convertToDouble())) * cap->convertToDouble();
  Term weights = masked(op, scores, n, later);
  Value values = byHead(op.getV(), groups);
  Value y = n.batchMatmul(n.reshape(weights.value, {batch, groups, rows, keys}),
                          values);
  y = n.reshape(y, {batch, heads, queries, shapeOf(values).back()});
  return n.reshape(n.transpose(y, {0, 2, 1, 3}),
                   {batch, queries, heads * shapeOf(values).back()});
}

/// Whether its gradients are an operator of their own.
static bool fuses(onnx::AttentionOp op, const Backward &n) {
  ScopedDiagnosticHandler silent(op.getContext(),
                                 [](Diagnostic &) { return success(); });
  return n.fusesAttention && !op.getSoftcap() && op.getMasks().empty() &&
         typeOf(op.getY()).getElementType().isF32() &&
         succeeded(onnx::verifyGradientTerms(
             op, op.getTerms(), shapeOf(op.getQ())[1], shapeOf(op.getK())[1]));
}

/// Heads of keys or values, each for the queries that share it, and their sum
/// over these.
class SharedHeads {
public:
  SharedHeads(onnx::AttentionOp op, Value x, Backward &n)
      : n(n), x(x), groups(shapeOf(x)) {
    groups.back() /= op.keyHeads();
    groups.insert(groups.end() - 1, {op.keyHeads(), 1});
    each = groups;
    each[each.size() - 2] = op.headsPerKey();
  }
  Value repeated() const {
    if (each == groups)
      return x;
    Shape all(shapeOf(x));
    all.back() *= each[each.size() - 2];
    return n.reshape(n.expand(n.reshape(x, groups), each), all);
  }
  /// The sum by sum of one of them each, of which none is a row of its own.
  void add(Value gradient) {
    if (each == groups)
      return n.add(x, gradient);
    gradient = n.reshape(gradient, each);
    const size_t axis = each.size() - 2;
    for (int64_t head = 0; head < each[axis]; ++head) {
      Box box = wholeBox(gradient);
      box.starts[axis] = head;
      box.extents[axis] = 1;
      n.add(x, n.reshape(n.slice(gradient, box), shapeOf(x)));
    }
  }

private:
  Backward &n;
  Value x;
  Shape groups, each;
};

static void attention(onnx::AttentionOp op, Value dy, Backward &n) {
  if (fuses(op, n)) {
    SharedHeads keys(op, op.getK(), n), values(op, op.getV(), n);
    Value k = keys.repeated(), v = values.repeated();
    auto gradient = onnx::AttentionGradientOp::create(
        n.builder(), n.loc(), op.getQ().getType(), k.getType(), v.getType(),
        op.getQ(), k, v, op.getY(), dy, op.getNumHeadsAttr(), op.getScaleAttr(),
        op.getTermsAttr(), n.nameAttr());
    n.add(op.getQ(), gradient.getDq());
    keys.add(gradient.getDk());
    values.add(gradient.getDv());
    return;
  }
  ArrayRef<int64_t> q = shapeOf(op.getQ());
  const int64_t all = op.keyHeads();
  const int64_t scores =
      q[0] * op.headsPerKey() * q[1] * shapeOf(op.getK())[1]; // of a key head
  const bool divides = op.getMasks().empty();
  const int64_t most =
      divides ? std::clamp<int64_t>(mostScores / scores, 1, all) : all;
  const int64_t each = llvm::divideCeil(all, llvm::divideCeil(all, most));
  SmallVector<Value> later(maskTerms(op).size());
  for (int64_t first = 0; first < all; first += each) {
    const HeadRange range = {first, std::min(each, all - first)};
    n.through(partOf(dy, range, all, n),
              [&] { return compose(op, range, n, later); });
  }
}

//===----------------------------------------------------------------------===//
// Rotary embeddings
//===----------------------------------------------------------------------===//

/// Of each feature of a pair, minus the sine of the other one.
static Value sinesBack(onnx::RotaryOp op, Backward &n) {
  Shape shape(shapeOf(op.getSin()));
  const int64_t extent = shape.back(),
                isPair = extent == int64_t(op.getRotaryDim());
  const int64_t distance = op.getInterleaved() ? 1 : extent / 2;
  std::optional<Fact> fact = factOf(op.getSin());
  if (std::optional<Tensor> sines = fact->load()) {
    Tensor back(sines->type(), shape);
    for (int64_t i = 0; i < back.size(); ++i) {
      const bool isFirst = i % extent / distance % 2 == 0;
      back.setFloat(i, -sines->asFloat(!isPair   ? i
                                       : isFirst ? i + distance
                                                 : i - distance));
    }
    return materialize(n.builder(), n.loc(), std::move(back));
  }
  Term back = -Term{n, op.getSin()};
  if (!isPair)
    return back.value;
  Shape pairs = {shape[0], shape[1], extent / (2 * distance), 2, distance};
  Value x = n.reshape(back.value, pairs);
  auto half = [&](int64_t start) {
    Box box = wholeBox(x);
    box.starts[3] = start;
    box.extents[3] = 1;
    return n.slice(x, box);
  };
  return n.reshape(n.concat({half(1), half(0)}, 3), shape);
}

/// Turns back. Angles get no gradient.
static void rotary(onnx::RotaryOp op, Value dy, Backward &n) {
  if (n.wants(op.getCos()) || n.wants(op.getSin()))
    return n.refuse("has no gradient of angles; --freeze leaves parameters as "
                    "they are");
  if (n.wants(op.getX()))
    n.add(op.getX(),
          onnx::RotaryOp::create(n.builder(), n.loc(), dy.getType(), dy,
                                 op.getCos(), sinesBack(op, n),
                                 op.getNumHeadsAttr(), op.getRotaryDimAttr(),
                                 op.getInterleavedAttr(), n.nameAttr()));
}

void wsec::differentiate::attachAttention(MLIRContext &context) {
  attach<onnx::AttentionOp, attention>(context);
  attach<onnx::RotaryOp, rotary>(context);
}
