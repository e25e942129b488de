// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention out of primitives.
//
//   product(Q', K'^T) -> scale, cap, masks -> softmax -> product(., V')
//
// is matched backwards from the second product. Q', K' and V' are traced to
// the tensors with the projections (ViewTracing.h); an operand is in order when
// its strides are those of heads in a [batch, token, feature] tensor:
//
//   batch: tokens * features   head: size   token: features   feature: 1
//
// Several heads of queries in a row may share one of keys and values, which an
// exporter has repeated.
//
// So it does not matter which reshapes and transposes an exporter chose. The
// result goes back through a reshape and a transpose of our own, which cancel
// with those that follow.
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/AttentionMask.h"
#include "compiler/values/Heads.h"
#include "compiler/values/ValueNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSEATTENTION
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;
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
/// Something added to the scores, of shape `scores` where that happens.
struct Mask {
  Value value;
  Shape scores;
  bool isCondition = false; // true where scores are kept...
  bool isInverted = false;  // ...or where they are replaced
  double masked = 0;        // by this.
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
    Mask mask{where.getCondition(), Shape(shapeOf(value)), true};
    for (auto [x, other] : {std::pair(where.getA(), where.getB()),
                            std::pair(where.getB(), where.getA())}) {
      std::optional<double> masked = uniformValue(other);
      mask.isInverted = x == where.getB();
      if (!masked || !(*masked <= maskedScore))
        continue;
      mask.masked = *masked;
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
    return withMask({b, Shape(shapeOf(value))}, a) ||
           withMask({a, Shape(shapeOf(value))}, b);
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
  case BinaryKind::Max: // a clamp to the lowest float
    if (std::optional<double> low = uniformValue(b); low && *low < -1e30)
      return inside(a);
    return false;
  default:
    return false;
  }
}

/// Whether a score plus this is this, whatever the score.
static bool absorbsScores(double masked) { return masked < -1e30; }

/// Behind reshapes of what stands in front of the last two dimensions.
static Value beforeReshapes(Value value) {
  auto reshape = value.getDefiningOp<onnx::ReshapeOp>();
  return reshape && keepsLastTwo(reshape) ? beforeReshapes(reshape.getX())
                                          : value;
}

static Value operandOf(Value value, onnx::UnaryKind kind) {
  value = beforeReshapes(value);
  auto op = value.getDefiningOp<onnx::UnaryOp>();
  return op && op.getKind() == kind ? op.getX() : Value();
}

/// Whether `condition` says which of `x` are not equal to themselves.
static bool isNaN(Value condition, Value x) {
  Value same = operandOf(condition, onnx::UnaryKind::Not);
  auto equal = same ? same.getDefiningOp<onnx::BinaryOp>() : onnx::BinaryOp();
  return equal && equal.getKind() == BinaryKind::Equal && equal.getA() == x &&
         equal.getB() == x;
}

/// Whether `condition` says in which rows all of `scores` are minus infinity:
/// the least of bools is found as the largest of their opposites.
static bool isEmptyRow(Value condition, Value scores) {
  Value any = operandOf(condition, onnx::UnaryKind::Neg);
  auto largest = any ? beforeReshapes(any).getDefiningOp<onnx::ReduceOp>()
                     : onnx::ReduceOp();
  if (!largest || largest.getKind() != onnx::ReduceKind::Max ||
      !largest.getKeepdims() ||
      largest.getAxes() !=
          ArrayRef<int64_t>(shapeOf(largest.getX()).size() - 1))
    return false;
  Value hidden = operandOf(largest.getX(), onnx::UnaryKind::Neg);
  auto equal = hidden ? beforeReshapes(hidden).getDefiningOp<onnx::BinaryOp>()
                      : onnx::BinaryOp();
  return equal && equal.getKind() == BinaryKind::Equal &&
         beforeReshapes(equal.getA()) == beforeReshapes(scores) &&
         uniformValue(equal.getB()) == -std::numeric_limits<double>::infinity();
}

/// Which weights are 0 in any case: none, those of rows whose scores are all
/// minus infinity, all that are NaN.
enum class Guard { None, EmptyRow, NaN };

/// Skips `where(isnan(p), 0, p)`, a guard for rows without any key, or one that
/// asks their scores, and reshapes; the softmax below, or null.
static onnx::SoftmaxOp peelProbabilities(Value value, Guard &guard) {
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
      guard = Guard::NaN;
    else if (guard == Guard::None && softmax &&
             isEmptyRow(where.getCondition(), softmax.getX()))
      guard = Guard::EmptyRow;
    else
      return {};
    value = where.getB();
  }
  return value.getDefiningOp<onnx::SoftmaxOp>();
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

namespace {
/// A bias and whether "causal" was taken out of it.
struct Bias {
  Value rest; // null: nothing is left
  bool causal = false;
  bool strict = false; // hides by minus infinity
};
} // namespace

static bool hidesAsCausal(double masked) {
  return masked == -std::numeric_limits<float>::max() || std::isinf(masked);
}

/// Takes constant parts out of `where(condition and ..., 0, masked)`, as
/// decoders with a key mask have it: what is always true, and what is causal.
/// A token that sees no key then gets what all its scores alike give, so causal
/// is only what hides by the lowest number, or by minus infinity, throughout.
static std::optional<Bias> withoutConstantConditions(onnx::AttentionOp op) {
  auto where = op.getBias().getDefiningOp<onnx::WhereOp>();
  if (!where || uniformValue(where.getA()) != 0.0)
    return std::nullopt;
  std::optional<double> masked = uniformValue(where.getB());
  if (!masked || !(*masked <= maskedScore))
    return std::nullopt;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
  Bias bias;
  bool changed = false;
  for (Value condition : conditionsOf(where.getCondition())) {
    if (uniformValue(condition) == 1.0) {
      changed = true;
      continue;
    }
    if (isConstant(condition) && !bias.causal && hidesAsCausal(*masked)) {
      Value mask = additiveMask(builder, loc, condition, *masked, false);
      if (causalMask(mask, queries, keys)) {
        changed = bias.causal = true;
        bias.strict = std::isinf(*masked);
        continue;
      }
    }
    bias.rest = bias.rest ? binary(builder, loc, BinaryKind::And, bias.rest,
                                   condition, where.getNode())
                          : condition;
  }
  if (!changed)
    return std::nullopt;
  if (!bias.rest)
    return bias;
  ArrayRef<int64_t> shape = shapeOf(bias.rest);
  if (shape.size() != 4 || shape[1] != 1 || shape[3] != keys)
    return std::nullopt;
  bias.rest = additiveMask(builder, loc, bias.rest, *masked, false);
  return bias;
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
  bool run() {
    auto softmax = peelProbabilities(output.getInputs()[0], guard);
    Scores scores;
    if (!softmax || !peelScores(softmax.getX(), scores))
      return false;
    if (!matchOperands(scores))
      return false;
    OpBuilder builder(output);
    Value bias;
    for (const Mask &mask : llvm::reverse(scores.masks)) {
      bias = maskBias(builder, mask, bias);
      if (!bias)
        return false;
    }
    if (bias)
      bias = biasOfRank4(builder, loc(), bias, q.tokens);
    replace(builder, bias, scores);
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
      if (!*heads) {
        why = std::string("the ") + what +
              " of this attention are not heads of a [batch, token, feature] "
              "tensor";
        return false;
      }
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
        v.repeats != k.repeats || v.tokens != k.tokens) {
      why = "queries, keys and values differ in batch or heads";
      return false;
    }
    if (v.scale != 1) {
      why = "the values are scaled";
      return false;
    }
    return true;
  }

  /// A mask as additive bias of rank 4, with the masks inside of it.
  Value maskBias(OpBuilder &builder, const Mask &mask, Value inner) {
    AttentionExtents extents{q.batch, q.heads, q.tokens, k.tokens};
    Value value =
        maskOfRank4(builder, loc(), mask.value, mask.scores, extents, why);
    if (!value || !mask.isCondition)
      return value && inner ? addMasks(builder, loc(), inner, value) : value;
    // What replaces scores is not what is added to them, unless they vanish in
    // it: of scores that differ by more, a hidden one could be the largest.
    if (!absorbsScores(mask.masked)) {
      why = "scores are replaced by " +
            llvm::formatv("{0}", mask.masked).str() +
            ", which is not the lowest number";
      return nullptr;
    }
    return additiveMask(builder, loc(), value, mask.masked, mask.isInverted,
                        inner);
  }

  void replace(OpBuilder &builder, Value bias, const Scores &scores) {
    auto flag = [&](bool isSet) {
      return isSet ? builder.getUnitAttr() : UnitAttr();
    };
    // What is added inside or outside of it is added to scores that are hidden,
    // as well.
    const bool replaces =
        scores.masks.size() == 1 && scores.masks.front().isCondition;
    double scale = scores.scale * q.scale * k.scale;
    if (scores.softcap)
      scale *= scores.softcap;
    StringRef node = output.getNode();
    Value x = toRank3(builder, loc(), q, node);
    auto type = withShape(x, {q.batch, q.tokens, q.heads * v.size});
    Value y = onnx::AttentionOp::create(
        builder, loc(), type, x, toRank3(builder, loc(), k, node),
        toRank3(builder, loc(), v, node), bias,
        builder.getI64IntegerAttr(q.heads),
        k.repeats > 1 ? builder.getI64IntegerAttr(k.heads) : IntegerAttr(),
        builder.getF32FloatAttr(scale),
        scores.softcap ? builder.getF32FloatAttr(scores.softcap) : FloatAttr(),
        UnitAttr(), UnitAttr(), UnitAttr(), flag(replaces),
        flag(guard == Guard::EmptyRow), flag(guard == Guard::NaN),
        builder.getStringAttr(node));
    Operation *attention = y.getDefiningOp();
    y = splitHeads(builder, loc(), y, q.heads, node);
    y = reshapeTo(builder, loc(), y, shapeOf(output.getResult(0)), node);
    moveValueNames(output.getResult(0), y);
    output.getResult(0).replaceAllUsesWith(y);
    absorb(attention, neededOnlyBy(output));
    output.erase();
  }

  onnx::NodeOp output;
  Heads q, k, v;
  Guard guard = Guard::None;
};

struct FuseAttentionPass
    : wsec::canonicalize::impl::FuseAttentionBase<FuseAttentionPass> {
  llvm::DenseMap<Value, std::optional<double>> causal; // looked up only

  void runOnOperation() override {
    causal.clear();
    // From the last: the inner products lose their users first.
    SmallVector<onnx::NodeOp> products;
    getOperation().walk([&](onnx::NodeOp op) {
      if (op->getNumResults() == 1 && productOf(op.getResult(0)) &&
          isa<RankedTensorType>(op.getResult(0).getType()))
        products.push_back(op);
    });
    for (onnx::NodeOp op : llvm::reverse(products)) {
      AttentionFusion fusion(op);
      if (!fusion.run() && !fusion.why.empty())
        op->setAttr(reasonAttrName, StringAttr::get(&getContext(), fusion.why));
    }
    getOperation().walk([&](onnx::AttentionOp op) {
      simplifyMask(op);
      const int64_t queries = op.getNumHeads(), keys = op.keyHeads();
      for (auto [number, heads] :
           llvm::enumerate(std::array<int64_t, 3>{queries, keys, keys})) {
        OpBuilder builder(op);
        if (Value x = beforeLayouts(builder, op.getLoc(), op.getOperand(number),
                                    heads, op.getNode()))
          op.setOperand(number, x);
      }
    });
  }

  /// Whether the bias is a causal mask, and by what it hides. Layers share
  /// theirs, and masks are large, so each is read once.
  std::optional<double> causalMask(onnx::AttentionOp op) {
    int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
    auto [known, isNew] = causal.try_emplace(op.getBias(), std::nullopt);
    if (isNew)
      known->second = values::causalMask(op.getBias(), queries, keys);
    return known->second;
  }

  /// A bias that says "causal", alone or together with other conditions,
  /// becomes the flag.
  void simplifyMask(onnx::AttentionOp op) {
    if (op.getBias() && !op.getCausal())
      takeCausal(op);
    // Without a bias every query sees a key.
    if (!op.getBias())
      op.setZeroRows(false);
  }

  void takeCausal(onnx::AttentionOp op) {
    Bias bias{op.getBias(), false};
    if (uniformValue(op.getBias()) == 0.0)
      bias = {};
    else if (std::optional<double> hidden = causalMask(op))
      bias = {nullptr, true, std::isinf(*hidden)};
    else if (std::optional<Bias> parts = withoutConstantConditions(op))
      bias = *parts;
    if (bias.rest != op.getBias())
      op.getBiasMutable().assign(bias.rest ? ValueRange(bias.rest)
                                           : ValueRange());
    op.setCausal(bias.causal);
    op.setStrict(bias.strict);
    op.setAdded(bias.causal && !op.getReplaces());
    op.setReplaces(op.getReplaces() && bias.rest);
  }
};
} // namespace
