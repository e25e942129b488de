// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary embeddings out of primitives:
//
//   y = x * cos + other(x) * sin
//
// where other(x) is concat(-second half, first half) or, interleaved, -b, a for
// each pair a, b. Where only the first features of a head turn, y is followed
// by a concatenation with the others. As in attention, views say what is a
// head, and where its halves are (Heads.h).
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/AttentionMask.h"
#include "compiler/values/Heads.h"
#include "compiler/values/ValueNames.h"
#include "mlir/IR/BuiltinOps.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSEROTARY
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;
using onnx::BinaryKind;

/// Whether `value` shows those elements of what `x` shows.
static bool shows(Value value, const TracedView &x,
                  const std::optional<StridedView> &part) {
  TracedView traced = traceScaledLayout(value);
  if (!part || traced.root != x.root || traced.scale != x.scale ||
      traced.view.shape() != part->shape() ||
      traced.view.getOffset() != part->getOffset())
    return false;
  for (size_t dim = 0; dim < part->rank(); ++dim)
    if (traced.view.atoms(dim, 1) != part->atoms(dim, 1))
      return false;
  return true;
}

/// Two parts along the last dimension.
static std::pair<Value, Value> joinedLast(Value value) {
  auto op = value.getDefiningOp<onnx::ConcatOp>();
  if (!op || op.getParts().size() != 2 ||
      op.getAxis() + 1 != shapeOf(value).size())
    return {};
  return {op.getParts()[0], op.getParts()[1]};
}

/// Whether `value` holds, for each feature of `x`, the other one of its pair,
/// that of a first one negated.
static bool holdsOthers(Value value, Value x, bool interleaved) {
  if (interleaved) {
    auto reshape = value.getDefiningOp<onnx::ReshapeOp>();
    if (!reshape || shapeOf(value) != shapeOf(x))
      return false;
    value = reshape.getX();
  }
  auto [minus, plus] = joinedLast(value);
  Value second = minus ? operandOf(minus, onnx::UnaryKind::Neg) : Value();
  // The sign may come before the reshape that makes room for pairs.
  if (auto apart = minus ? minus.getDefiningOp<onnx::ReshapeOp>() : nullptr;
      apart && interleaved && !second)
    second = operandOf(apart.getX(), onnx::UnaryKind::Neg);
  if (!second)
    return false;
  const TracedView traced = traceScaledLayout(x);
  const size_t last = shapeOf(x).size() - 1;
  const int64_t half = shapeOf(x)[last] / 2;
  auto part = [&](int64_t number) -> std::optional<StridedView> {
    return interleaved ? traced.view.sliced(last, number, half, 2)
                       : traced.view.sliced(last, number * half, half, 1);
  };
  // Pairs have a dimension of their own while they are put together.
  auto isPart = [&](Value value, int64_t number) {
    std::optional<StridedView> view = part(number);
    if (interleaved && view && shapeOf(value).size() > last + 1) {
      Shape single = view->shape();
      single.push_back(1);
      view = view->reshaped(single);
    }
    return shows(value, traced, view);
  };
  return isPart(second, 1) && isPart(plus, 0);
}

namespace {
struct Rotary {
  Value x, cos, sin;
  bool interleaved = false;
};
} // namespace

static std::optional<Rotary> matchRotary(onnx::BinaryOp sum) {
  onnx::BinaryOp left = binaryOf(sum.getA(), BinaryKind::Mul),
                 right = binaryOf(sum.getB(), BinaryKind::Mul);
  if (!left || !right || shapeOf(sum.getY()).size() != 4 ||
      !isa<FloatType>(typeOf(sum.getY()).getElementType()))
    return std::nullopt;
  for (auto [own, other] : {std::pair(left, right), std::pair(right, left)})
    for (auto [x, cos] :
         {std::pair(own.getA(), own.getB()), std::pair(own.getB(), own.getA())})
      for (auto [others, sin] : {std::pair(other.getA(), other.getB()),
                                 std::pair(other.getB(), other.getA())}) {
        if (x.getType() != sum.getType() || others.getType() != sum.getType() ||
            shapeOf(x).back() % 2 != 0)
          continue;
        for (bool interleaved : {false, true})
          if (holdsOthers(others, x, interleaved))
            return Rotary{x, cos, sin, interleaved};
      }
  return std::nullopt;
}

/// [batch, heads, tokens, size], or, with `tokensFirst`, [batch, tokens, heads,
/// size], as heads.
static std::optional<Heads> headsOf(Value x, bool tokensFirst) {
  TracedView traced = traceScaledLayout(x);
  if (tokensFirst)
    traced.view = traced.view.transposed({0, 2, 1, 3});
  const Shape shape = traced.view.shape();
  std::optional<Heads> heads = matchHeads(traced, 2, 3);
  // Of a root that is [batch, heads, ..] itself each head counts as a batch.
  const bool isWhole = heads && heads->scale == 1 && heads->repeats == 1 &&
                       heads->batch == shape[0] && heads->heads == shape[1] &&
                       heads->tokens == shape[2];
  return isWhole ? heads : std::nullopt;
}

/// What broadcasts to all heads as [batch or 1, tokens or 1, features]; null if
/// it differs between heads.
static Value anglesOf(OpBuilder &builder, Location loc, Value value,
                      bool tokensFirst, StringRef node) {
  while (auto expand = value.getDefiningOp<onnx::ExpandOp>())
    value = expand.getX();
  Shape shape(4 - shapeOf(value).size(), 1);
  llvm::append_range(shape, shapeOf(value));
  value = reshapeTo(builder, loc, value, shape, node);
  for (size_t dim : {0, 1, 2})
    value = withoutRepeats(builder, loc, value, dim);
  ArrayRef<int64_t> s = shapeOf(value);
  if (s[tokensFirst ? 2 : 1] != 1)
    return nullptr;
  return reshapeTo(builder, loc, value, {s[0], s[tokensFirst ? 1 : 2], s[3]},
                   node);
}

/// The concatenation of the turned features with the rest of their heads, and
/// these whole heads; the sum and its operand where all turn.
static std::pair<Value, Value> wholeHeads(onnx::BinaryOp sum, Value x) {
  auto first = x.getDefiningOp<onnx::SliceOp>();
  auto concat = sum->hasOneUse()
                    ? dyn_cast<onnx::ConcatOp>(sum->use_begin()->getOwner())
                    : onnx::ConcatOp();
  if (!first || !concat)
    return {sum.getY(), x};
  Value joined = concat.getY();
  auto [turned, rest] = joinedLast(joined);
  Value heads = first.getX();
  const int64_t size = shapeOf(x).back();
  if (turned != sum.getY() || joined.getType() != heads.getType())
    return {sum.getY(), x};
  const TracedView traced = traceScaledLayout(heads);
  if (!shows(x, traced, traced.view.sliced(3, 0, size, 1)) ||
      !shows(rest, traced,
             traced.view.sliced(3, size, shapeOf(rest).back(), 1)))
    return {sum.getY(), x};
  return {joined, heads};
}

static bool fuse(onnx::BinaryOp sum) {
  std::optional<Rotary> rotary = matchRotary(sum);
  if (!rotary)
    return false;
  auto [root, x] = wholeHeads(sum, rotary->x);
  Operation *last = root.getDefiningOp();
  OpBuilder builder(last);
  const StringRef node = nodeName(last);
  for (bool tokensFirst : {false, true}) {
    std::optional<Heads> heads = headsOf(x, tokensFirst);
    if (!heads)
      continue;
    auto angles = [&](Value value) {
      return anglesOf(builder, sum.getLoc(), value, tokensFirst, node);
    };
    Value cos = angles(rotary->cos), sin = angles(rotary->sin);
    const int64_t turned = shapeOf(rotary->x).back();
    if (!cos || !sin || cos.getType() != sin.getType() ||
        shapeOf(cos).back() != turned)
      continue;
    Value whole = toRank3(builder, sum.getLoc(), *heads, node);
    Value y = onnx::RotaryOp::create(builder, sum.getLoc(), whole.getType(),
                                     whole, cos, sin, heads->heads, turned,
                                     rotary->interleaved, node);
    absorb(y.getDefiningOp(), neededOnlyBy(last));
    if (tokensFirst)
      y = reshapeTo(builder, sum.getLoc(), y, shapeOf(root), node);
    else
      y = splitHeads(builder, sum.getLoc(), y, heads->heads, node);
    moveValueNames(root, y);
    root.replaceAllUsesWith(y);
    return true;
  }
  return false;
}

namespace {
struct FuseRotaryPass
    : wsec::canonicalize::impl::FuseRotaryBase<FuseRotaryPass> {
  void runOnOperation() override {
    getOperation().walk([](onnx::RotaryOp op) {
      OpBuilder builder(op);
      if (Value x = beforeLayouts(builder, op.getLoc(), op.getX(),
                                  op.getNumHeads(), op.getNode()))
        op.getXMutable().assign(x);
    });
    SmallVector<onnx::BinaryOp> sums;
    getOperation().walk([&](onnx::BinaryOp op) {
      if (op.getKind() == BinaryKind::Add)
        sums.push_back(op);
    });
    for (onnx::BinaryOp sum : sums)
      fuse(sum);
  }
};
} // namespace
