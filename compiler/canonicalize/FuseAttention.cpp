// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention out of primitives.
//
//   product(Q', K'^T) -> scale, cap, masks -> softmax -> product(., V')
//
// (of states also with one more score of each head before the softmax, whose
// weight is cut off) is matched backwards from the second product. Q', K' and
// V' are traced to the tensors with the projections (ViewTracing.h); an operand
// is in order when its strides are those of heads in a [batch, token, feature]
// tensor:
//
//   batch: tokens * features   head: size   token: features   feature: 1
//
// Several heads of queries in a row may share one of keys and values, which an
// exporter has repeated.
//
// So it does not matter which reshapes and transposes an exporter chose. The
// result goes back through a reshape and a transpose of our own, which cancel
// with those that follow.
#include "compiler/canonicalize/AttendToStates.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/AttentionMask.h"
#include "compiler/values/Heads.h"
#include "compiler/values/Refused.h"
#include "compiler/values/ValueNames.h"
#include "dialects/onnx/CachedCalls.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSEATTENTION
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;
using onnx::BinaryKind;

//===----------------------------------------------------------------------===//
// Scores: from softmax back to the product of Q and K
//===----------------------------------------------------------------------===//

static onnx::NodeOp productOf(Value value) {
  auto node = value.getDefiningOp<onnx::NodeOp>();
  return node && node.getOpType() == "MatMul" && node.getDomain().empty()
             ? node
             : onnx::NodeOp();
}

namespace {
/// What acts on the scores, of shape `scores` where that happens.
struct Mask {
  onnx::TermKind kind;
  Value value; // that is added, or a condition, true where scores are kept...
  Shape scores;
  bool isInverted = false; // ...or where they are replaced
  double number = 0;       // by this. Or the least that is left.
};

struct Scores {
  onnx::NodeOp product;
  double scale = 1;
  double softcap = 0;      // what a tanh is multiplied by; 0: there is none
  SmallVector<Mask> masks; // the last is the innermost
};
} // namespace

static bool keepsLastTwo(onnx::ReshapeOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getY());
  return from.size() >= 2 && to.size() >= 2 &&
         from.take_back(2) == to.take_back(2);
}

/// Peels what is applied to the product, outermost first. On failure `scores`
/// is not usable.
static bool peelScores(Value value, Scores &scores, unsigned depth = 0) {
  if ((scores.product = productOf(value)))
    return true;
  if (depth > 8)
    return false;
  auto inside = [&](Value x) { return peelScores(x, scores, depth + 1); };
  // Masks have to be outside of scales, or a scale would apply to them.
  auto withMask = [&](Mask mask, Value x) {
    if (scores.scale != 1 || scores.softcap || shapeOf(x) != shapeOf(value))
      return false;
    size_t before = scores.masks.size();
    scores.masks.push_back(std::move(mask));
    if (inside(x))
      return true;
    // The caller may try the other operand.
    scores.masks.truncate(before);
    scores.scale = 1;
    scores.softcap = 0;
    return false;
  };
  Operation *op = value.getDefiningOp();
  if (auto reshape = dyn_cast_or_null<onnx::ReshapeOp>(op))
    return keepsLastTwo(reshape) && inside(reshape.getX());
  if (auto where = dyn_cast_or_null<onnx::WhereOp>(op)) {
    Mask mask{onnx::TermKind::Replace, where.getCondition(),
              Shape(shapeOf(value))};
    for (auto [x, other] : {std::pair(where.getA(), where.getB()),
                            std::pair(where.getB(), where.getA())}) {
      std::optional<double> number = uniformValue(other);
      mask.isInverted = x == where.getB();
      if (!number || std::isnan(*number))
        continue;
      mask.number = *number;
      return withMask(mask, x);
    }
    return false;
  }
  // f * tanh(g * x): the scale so far is the cap.
  if (auto tanh = dyn_cast_or_null<onnx::UnaryOp>(op)) {
    if (tanh.getKind() != onnx::UnaryKind::Tanh || scores.softcap ||
        !(scores.scale > 0))
      return false;
    scores.softcap = std::exchange(scores.scale, 1);
    return inside(tanh.getX());
  }
  auto binary = dyn_cast_or_null<onnx::BinaryOp>(op);
  if (!binary)
    return false;
  Value a = binary.getA(), b = binary.getB();
  switch (binary.getKind()) {
  case BinaryKind::Add:
    return withMask({onnx::TermKind::Add, b, Shape(shapeOf(value))}, a) ||
           withMask({onnx::TermKind::Add, a, Shape(shapeOf(value))}, b);
  case BinaryKind::Mul:
    for (auto [x, c] : {std::pair(a, b), std::pair(b, a)})
      if (std::optional<double> factor = uniformValue(c)) {
        scores.scale *= *factor;
        return inside(x);
      }
    return false;
  case BinaryKind::Div:
    if (std::optional<double> divisor = uniformValue(b)) {
      scores.scale /= *divisor;
      return inside(a);
    }
    return false;
  case BinaryKind::Max: // a clamp, usually to the lowest float
    if (std::optional<double> low = uniformValue(b); low && !std::isnan(*low))
      return withMask({onnx::TermKind::Raise, {}, {}, false, *low}, a);
    return false;
  default:
    return false;
  }
}

/// Behind reshapes of what stands in front of the last two dimensions.
static Value beforeReshapes(Value value) {
  auto reshape = value.getDefiningOp<onnx::ReshapeOp>();
  return reshape && keepsLastTwo(reshape) ? beforeReshapes(reshape.getX())
                                          : value;
}

/// Whether `condition` says which of `x` are not equal to themselves.
static bool isNaN(Value condition, Value x) {
  Value same = operandOf(beforeReshapes(condition), onnx::UnaryKind::Not);
  auto equal = same ? binaryOf(same, BinaryKind::Equal) : onnx::BinaryOp();
  return equal && equal.getA() == x && equal.getB() == x;
}

/// Whether `condition` says in which rows all of `scores` are minus infinity:
/// the least of bools is found as the largest of their opposites.
static bool isEmptyRow(Value condition, Value scores) {
  Value any = operandOf(beforeReshapes(condition), onnx::UnaryKind::Neg);
  auto largest = any ? beforeReshapes(any).getDefiningOp<onnx::ReduceOp>()
                     : onnx::ReduceOp();
  if (!largest || largest.getKind() != onnx::ReduceKind::Max ||
      !largest.getKeepdims() ||
      largest.getAxes() !=
          ArrayRef<int64_t>(shapeOf(largest.getX()).size() - 1))
    return false;
  Value hidden =
      operandOf(beforeReshapes(largest.getX()), onnx::UnaryKind::Neg);
  auto equal = hidden ? binaryOf(beforeReshapes(hidden), BinaryKind::Equal)
                      : onnx::BinaryOp();
  return equal && beforeReshapes(equal.getA()) == beforeReshapes(scores) &&
         uniformValue(equal.getB()) == -std::numeric_limits<double>::infinity();
}

/// Skips `where(isnan(p), 0, p)`, a guard for rows without any key, or one that
/// asks their scores, and reshapes; the softmax below, or null.
static onnx::SoftmaxOp peelProbabilities(Value value,
                                         std::optional<onnx::TermKind> &guard) {
  while (!value.getDefiningOp<onnx::SoftmaxOp>()) {
    if (auto reshape = value.getDefiningOp<onnx::ReshapeOp>()) {
      if (!keepsLastTwo(reshape))
        return {};
      value = reshape.getX();
      continue;
    }
    auto where = value.getDefiningOp<onnx::WhereOp>();
    if (!where || uniformValue(where.getA()) != 0.0)
      return {};
    auto softmax =
        beforeReshapes(where.getB()).getDefiningOp<onnx::SoftmaxOp>();
    if (isNaN(where.getCondition(), where.getB()))
      guard = onnx::TermKind::ZeroNaN;
    else if (!guard && softmax &&
             isEmptyRow(where.getCondition(), softmax.getX()))
      guard = onnx::TermKind::ZeroEmpty;
    else
      return {};
    value = where.getB();
  }
  return value.getDefiningOp<onnx::SoftmaxOp>();
}

/// Whether that is `x` less its largest of the last dimension, which softmax
/// does not tell from `x`.
static bool isShifted(onnx::BinaryOp less, Value x) {
  auto largest = beforeReshapes(less.getB()).getDefiningOp<onnx::ReduceOp>();
  return less.getKind() == BinaryKind::Sub && largest &&
         largest.getKind() == onnx::ReduceKind::Max && largest.getX() == x &&
         largest.getAxes() == ArrayRef<int64_t>(shapeOf(x).size() - 1);
}

/// Where `weights` are those of all but the last of some scores, which each
/// head has of its own beside keys, these scores, [batch, head, query, key];
/// else null.
static onnx::ConcatOp scoresWithSinks(Value weights) {
  auto slice = beforeReshapes(weights).getDefiningOp<onnx::SliceOp>();
  auto softmax =
      slice ? slice.getX().getDefiningOp<onnx::SoftmaxOp>() : onnx::SoftmaxOp();
  if (!softmax)
    return {};
  Value scores = softmax.getX();
  if (auto less = scores.getDefiningOp<onnx::BinaryOp>();
      less && isShifted(less, less.getA()))
    scores = less.getA();
  auto joined = scores.getDefiningOp<onnx::ConcatOp>();
  if (!joined || joined.getParts().size() != 2 || joined.getAxis() != 3)
    return {};
  auto all = [](ArrayRef<int64_t> numbers, int64_t number) {
    return llvm::all_of(numbers, [&](int64_t its) { return its == number; });
  };
  const bool isCut = shapeOf(joined.getParts()[1]).back() == 1 &&
                     shapeOf(slice.getY()) == shapeOf(joined.getParts()[0]) &&
                     all(slice.getStarts(), 0) && all(slice.getSteps(), 1);
  return isCut ? joined : onnx::ConcatOp();
}

//===----------------------------------------------------------------------===//
// Causal masks
//===----------------------------------------------------------------------===//

/// The conditions that `value` is the conjunction of, from the left, each once.
static SmallVector<Value> conditionsOf(Value value) {
  SmallVector<Value> open = {value}, all;
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    auto both = next.getDefiningOp<onnx::BinaryOp>();
    if (both && both.getKind() == BinaryKind::And)
      open.append({both.getB(), both.getA()});
    else
      all.push_back(next);
  }
  return all;
}

/// Takes constant parts out of `where(condition and ..., 0, masked)`, as
/// decoders with a key mask have it: what is always true, and what is causal.
static void takeConstantConditions(onnx::AttentionOp op, MaskTerm &term) {
  auto where = term.operand.getDefiningOp<onnx::WhereOp>();
  if (!where || uniformValue(where.getA()) != 0.0)
    return;
  std::optional<double> masked = uniformValue(where.getB());
  if (!masked || !(*masked < 0))
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
  MaskTerm taken{term.kind, nullptr};
  Value rest;
  bool changed = false;
  for (Value condition : conditionsOf(where.getCondition())) {
    if (uniformValue(condition) == 1.0) {
      changed = true;
      continue;
    }
    if (isConstant(condition) && !taken.later) {
      Value mask = additiveMask(builder, loc, condition, *masked, false);
      taken.later = causalMask(mask, queries, keys);
      if (taken.later) {
        changed = true;
        continue;
      }
    }
    rest = rest ? binary(builder, loc, BinaryKind::And, rest, condition,
                         where.getNode())
                : condition;
  }
  if (!changed)
    return;
  if (rest) {
    ArrayRef<int64_t> shape = shapeOf(rest);
    if (shape.size() != 4 || shape[1] != 1 || shape[3] != keys)
      return;
    taken.operand = additiveMask(builder, loc, rest, *masked, false);
  }
  term = taken;
}

/// Sums of neighbours that are added and known, where that makes no difference.
static void mergeAdded(onnx::AttentionOp op, MaskTerms &terms) {
  OpBuilder builder(op);
  auto isAdded = [](const MaskTerm &term) {
    return term.kind == onnx::TermKind::Add && term.operand && !term.later;
  };
  for (size_t i = 1; i < terms.size();) {
    Value sum = isAdded(terms[i - 1]) && isAdded(terms[i])
                    ? sumInPlaceOf(builder, op.getLoc(), terms[i - 1].operand,
                                   terms[i].operand)
                    : Value();
    if (!sum) {
      ++i;
      continue;
    }
    terms[i].operand = sum;
    terms.erase(&terms[i - 1]);
  }
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

namespace {
class AttentionFusion {
public:
  explicit AttentionFusion(onnx::NodeOp output) : output(output) {}

  /// Replaces the product by V; false with a reason if it is no attention we
  /// can map, or without one if it is no attention at all.
  bool run(Sinks &sinks) {
    Scores scores;
    auto joined = scoresWithSinks(output.getInputs()[0]);
    auto softmax = joined ? onnx::SoftmaxOp()
                          : peelProbabilities(output.getInputs()[0], guard);
    if (!(joined || softmax) ||
        !peelScores(joined ? joined.getParts()[0] : softmax.getX(), scores))
      return false;
    if (!matchOperands(scores))
      return false;
    Value sink;
    if (joined && !(sink = sinkOf(joined)))
      return false;
    MaskTerms terms;
    for (const Mask &mask : llvm::reverse(scores.masks))
      if (!addTerm(mask, terms))
        return false;
    if (guard)
      terms.push_back({*guard, nullptr});
    onnx::AttentionOp attention = replace(terms, scores);
    if (sink)
      sinks[attention] = sink;
    return true;
  }

  std::string why;

private:
  Location loc() { return output.getLoc(); }

  bool matchOperands(const Scores &scores) {
    onnx::NodeOp product = scores.product;
    size_t rank = shapeOf(product.getInputs()[0]).size();
    size_t valueRank = shapeOf(output.getInputs()[1]).size();
    if (rank < 2 || shapeOf(product.getInputs()[1]).size() != rank ||
        valueRank < 2)
      return false;
    auto query = matchHeads(traceScaledLayout(product.getInputs()[0]), rank - 2,
                            rank - 1);
    auto key =
        matchHeads(traceRepeated(product.getInputs()[1]), rank - 1, rank - 2);
    auto value = matchHeads(traceRepeated(output.getInputs()[1]), valueRank - 2,
                            valueRank - 1);
    for (auto [heads, what] :
         {std::pair(&query, "queries"), std::pair(&key, "keys"),
          std::pair(&value, "values")})
      if (!*heads)
        return because(
            why,
            std::string("the ") + what +
                " of this attention are not heads of a [batch, token, feature] "
                "tensor");
    // A cache is [batch, heads, tokens, size], and so is what lies behind it.
    const int64_t batch = std::min({query->batch, key->batch, value->batch});
    OpBuilder builder(output);
    auto outside = [&](const Heads &heads) {
      return withTokensOutside(builder, loc(), heads, batch, output.getNode());
    };
    q = outside(*query), k = outside(*key), v = outside(*value);
    // The products repeat a single head for all heads of queries.
    for (Heads *heads : {&k, &v})
      if (heads->heads * heads->repeats == 1)
        heads->repeats = q.heads;
    if (q.batch != k.batch || q.size != k.size || v.batch != k.batch ||
        q.heads != k.heads * k.repeats || v.heads != k.heads ||
        v.repeats != k.repeats || v.tokens != k.tokens)
      return because(why, "queries, keys and values differ in batch or heads");
    if (v.scale != 1)
      return because(why, "the values are scaled");
    return true;
  }

  /// One number for each head, where keys and values are states of a call:
  /// attention to others takes none.
  Value sinkOf(onnx::ConcatOp joined) {
    if (!joined->getParentOp()->hasAttr(onnx::callAttrName) ||
        !k.root.getDefiningOp<onnx::UpdateOp>() ||
        !v.root.getDefiningOp<onnx::UpdateOp>())
      return {};
    OpBuilder builder(output);
    Value sink = joined.getParts()[1];
    if (auto expand = sink.getDefiningOp<onnx::ExpandOp>())
      sink = expand.getX();
    for (size_t dim = 0; dim < shapeOf(sink).size(); dim += 2)
      sink = withoutRepeats(builder, loc(), sink, dim);
    if (shapeOf(sink) != ArrayRef<int64_t>({1, q.heads, 1, 1}))
      return {};
    return reshapeTo(builder, loc(), sink, {q.heads}, output.getNode());
  }

  bool addTerm(const Mask &mask, MaskTerms &terms) {
    if (mask.kind == onnx::TermKind::Raise) {
      terms.push_back({mask.kind, nullptr, std::nullopt, mask.number});
      return true;
    }
    OpBuilder builder(output);
    AttentionExtents extents{q.batch, q.heads, q.tokens, k.tokens};
    Value value =
        maskOfRank4(builder, loc(), mask.value, mask.scores, extents, why);
    if (!value)
      return false;
    const bool replaces = mask.kind == onnx::TermKind::Replace;
    if (replaces && mask.number == 0)
      return because(
          why,
          "scores are replaced by 0, where a mask says 0 for those that stay");
    if (replaces)
      value = additiveMask(builder, loc(), value, mask.number, mask.isInverted);
    terms.push_back({mask.kind, biasOfRank4(builder, loc(), value, q.tokens)});
    return true;
  }

  onnx::AttentionOp replace(const MaskTerms &terms, const Scores &scores) {
    OpBuilder builder(output);
    double scale = scores.scale * q.scale * k.scale;
    if (scores.softcap)
      scale *= scores.softcap;
    StringRef node = output.getNode();
    Value x = toRank3(builder, loc(), q, node);
    auto type = withShape(x, {q.batch, q.tokens, q.heads * v.size});
    auto attention = onnx::AttentionOp::create(
        builder, loc(), type, x, toRank3(builder, loc(), k, node),
        toRank3(builder, loc(), v, node), ValueRange(),
        builder.getI64IntegerAttr(q.heads),
        k.repeats > 1 ? builder.getI64IntegerAttr(k.heads) : IntegerAttr(),
        builder.getF32FloatAttr(scale),
        scores.softcap ? builder.getF32FloatAttr(scores.softcap) : FloatAttr(),
        ArrayAttr(), builder.getStringAttr(node));
    setMaskTerms(attention, terms);
    Value y = attention;
    y = splitHeads(builder, loc(), y, q.heads, node);
    y = reshapeTo(builder, loc(), y, shapeOf(output.getResult(0)), node);
    moveValueNames(output.getResult(0), y);
    output.getResult(0).replaceAllUsesWith(y);
    absorb(attention, neededOnlyBy(output));
    output.erase();
    return attention;
  }

  onnx::NodeOp output;
  Heads q, k, v;
  std::optional<onnx::TermKind> guard;
};

struct FuseAttentionPass
    : wsec::canonicalize::impl::FuseAttentionBase<FuseAttentionPass> {
  llvm::DenseMap<Value, std::optional<double>> later; // looked up only

  void runOnOperation() override {
    Sinks sinks;
    later.clear();
    // From the last: the inner products lose their users first.
    SmallVector<onnx::NodeOp> products;
    getOperation().walk([&](onnx::NodeOp op) {
      if (op->getNumResults() == 1 && productOf(op.getResult(0)) &&
          isa<RankedTensorType>(op.getResult(0).getType()))
        products.push_back(op);
    });
    for (onnx::NodeOp op : llvm::reverse(products)) {
      AttentionFusion fusion(op);
      if (!fusion.run(sinks) && !fusion.why.empty())
        op->setAttr(reasonAttrName, StringAttr::get(&getContext(), fusion.why));
    }
    getOperation().walk([&](onnx::AttentionOp op) {
      simplifyMasks(op);
      const int64_t queries = op.getNumHeads(), keys = op.keyHeads();
      for (auto [number, heads] :
           llvm::enumerate(std::array<int64_t, 3>{queries, keys, keys})) {
        OpBuilder builder(op);
        if (Value x = beforeLayouts(builder, op.getLoc(), op.getOperand(number),
                                    heads, op.getNode()))
          op.setOperand(number, x);
      }
    });
    attendToStates(getOperation(), sinks);
  }

  /// By what number a mask hides later keys, if it is causal. Layers share
  /// theirs, and masks are large, so each is read once.
  std::optional<double> laterOf(onnx::AttentionOp op, Value mask) {
    int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
    auto [known, isNew] = later.try_emplace(mask, std::nullopt);
    if (isNew)
      known->second = causalMask(mask, queries, keys);
    return known->second;
  }

  /// A mask that is causal, alone or together with other conditions, becomes
  /// the number for later keys; one that does nothing goes.
  void simplifyMasks(onnx::AttentionOp op) {
    MaskTerms terms = maskTerms(op);
    for (MaskTerm &term : terms) {
      if (!term.operand || term.later)
        continue;
      if (uniformValue(term.operand) == 0.0)
        term.operand = nullptr;
      else if ((term.later = laterOf(op, term.operand)))
        term.operand = nullptr;
      else
        takeConstantConditions(op, term);
    }
    llvm::erase_if(terms, [](const MaskTerm &term) {
      return term.kind <= onnx::TermKind::Replace && !term.operand &&
             !term.later;
    });
    mergeAdded(op, terms);
    if (!terms.empty() && terms.back().kind == onnx::TermKind::ZeroHidden &&
        !maySeeNothing(op, terms.front()))
      terms.pop_back();
    setMaskTerms(op, terms);
  }

  /// Whether what is added may hide all keys of a query: of what is later none
  /// is its own.
  static bool maySeeNothing(onnx::AttentionOp op, const MaskTerm &term) {
    const bool laterHidden =
        term.later && *term.later <= std::numeric_limits<float>::lowest();
    return term.operand && mayHideAll(term.operand, shapeOf(op.getQ())[1],
                                      shapeOf(op.getK())[1], laterHidden);
  }
};
} // namespace
