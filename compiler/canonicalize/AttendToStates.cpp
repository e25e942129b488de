// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/canonicalize/AttendToStates.h"
#include "compiler/values/AttentionMask.h"
#include "dialects/onnx/CachedCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

/// From here on down, what is added to a score leaves nothing of its weight:
/// the lowest number of f16.
static constexpr double hides = -65504;

namespace {
/// What a query sees of the keys.
struct Seen {
  bool later = true;    ///< also those behind its own
  int64_t window = 0;   ///< up to its own so many; 0: all
  bool chunked = false; ///< or those from the last multiple of it on
  std::string whyNot;   ///< why no kernel does that for states
};
} // namespace

static std::optional<Tensor> constantOf(Value value) {
  std::optional<Fact> fact = factOf(value);
  return fact ? fact->load() : std::nullopt;
}

static bool isPositions(Value value) {
  while (auto reshape = value.getDefiningOp<onnx::ReshapeOp>())
    value = reshape.getX();
  auto argument = dyn_cast<BlockArgument>(value);
  return argument &&
         cast<func::FuncOp>(argument.getOwner()->getParentOp())
             .getArgAttr(argument.getArgNumber(), onnx::positionsAttrName);
}

/// The table, [keys, keys], of which `mask` is the rows at the positions of a
/// call, the same for all heads: so a mask is of a static cache.
static std::optional<Tensor> tableOf(Value mask, int64_t keys) {
  while (auto reshape = mask.getDefiningOp<onnx::ReshapeOp>())
    mask = reshape.getX();
  if (auto where = mask.getDefiningOp<onnx::WhereOp>()) {
    std::optional<double> seen = uniformValue(where.getA()),
                          hidden = uniformValue(where.getB());
    std::optional<Tensor> isSeen = tableOf(where.getCondition(), keys);
    if (!seen || !hidden || !isSeen)
      return std::nullopt;
    Tensor numbers(ElementType::Float32, isSeen->shape());
    for (int64_t i = 0; i < numbers.size(); ++i)
      numbers.setFloat(i, isSeen->asInt(i) ? *seen : *hidden);
    return numbers;
  }
  auto gather = mask.getDefiningOp<onnx::GatherOp>();
  if (!gather || !isPositions(gather.getIds()))
    return std::nullopt;
  std::optional<Tensor> table = constantOf(gather.getTable());
  if (!table || table->shape().size() != 2 || table->shape()[0] < keys ||
      table->shape()[1] != keys)
    return std::nullopt;
  // Of several sequences it is there as often; no position is behind the first.
  return table->viewed(
      *StridedView::whole(table->shape()).sliced(0, 0, keys, 1));
}

/// What `mask`, which is added, leaves, with the last query's own key the last
/// one; nothing where it does more than to hide keys behind each query's own,
/// and those that are so many before it. It is a constant, or rows of one.
static std::optional<Seen> seenBy(Value mask, int64_t queries, int64_t keys) {
  std::optional<Tensor> numbers = constantOf(mask);
  const ArrayRef<int64_t> shape = shapeOf(mask);
  const int64_t sequences = numElements(shape) / (queries * keys);
  if (!numbers && shape.back() == keys &&
      (sequences == 1 || shape.front() == sequences) &&
      numElements(shape) == sequences * queries * keys) {
    numbers = tableOf(mask, keys);
    queries = keys;
  } else if (!numbers || numbers->shape().size() != 4 ||
             numbers->shape()[2] != queries || numbers->shape()[3] != keys) {
    return std::nullopt;
  }
  if (!numbers)
    return std::nullopt;
  Seen seen;
  int64_t later = 0, laterHidden = 0;
  SmallVector<int64_t> firsts; // keys that rows see, one behind the other
  for (int64_t row = 0; row < numbers->size() / keys; ++row) {
    const int64_t own = keys - queries + row % queries;
    int64_t first = own + 1;
    for (int64_t key = keys - 1; key >= 0; --key) {
      const double number = numbers->asFloat(row * keys + key);
      const bool isHidden = number <= hides;
      if (number != 0 && !isHidden)
        return std::nullopt;
      if (key > own) {
        ++later;
        laterHidden += isHidden;
      } else if (isHidden ? key == own : key != first - 1) {
        return std::nullopt;
      } else if (!isHidden) {
        first = key;
      }
    }
    firsts.push_back(first);
    if (const int64_t count = own + 1 - first;
        first > 0 && (seen.window == 0 || count < seen.window))
      seen.window = count;
  }
  // Of all tokens the first that does not see the first one begins a chunk, if
  // there are any.
  const auto *second =
      llvm::find_if(firsts, [](int64_t first) { return first > 0; });
  if (queries == keys && second != firsts.end() && *second > 1 &&
      *second == second - firsts.begin())
    seen.window = *second, seen.chunked = true;
  for (auto [row, first] : llvm::enumerate(firsts)) {
    const int64_t own = keys - queries + int64_t(row) % queries;
    const int64_t window = seen.window ? seen.window : keys;
    if (first != (seen.chunked ? own / window * window
                               : std::max<int64_t>(own + 1 - window, 0)))
      return std::nullopt;
  }
  if (laterHidden != 0 && laterHidden != later)
    return std::nullopt;
  seen.later = laterHidden == 0;
  return seen;
}

static Seen seenBy(onnx::AttentionOp op) {
  const int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
  Seen all;
  for (const MaskTerm &term : maskTerms(op))
    switch (term.kind) {
    case onnx::TermKind::Add:
    case onnx::TermKind::Replace: {
      std::optional<Seen> its;
      if (!term.later && term.operand)
        its = seenBy(term.operand, queries, keys);
      if (!its) {
        all.whyNot = "has a mask or bias besides causality and windows";
        return all;
      }
      all.later &= its->later;
      if (its->window && all.window && (its->chunked || all.chunked) &&
          (its->chunked != all.chunked || its->window != all.window))
        all.whyNot = "has two masks, of which one is of chunks";
      if (its->window && (!all.window || its->window < all.window))
        all.window = its->window, all.chunked = its->chunked;
      break;
    }
    case onnx::TermKind::Raise: // to the lowest number
      if (!(term.to <= hides))
        all.whyNot = "has a bound of scores";
      break;
    default: // guards of what sees nothing: each token sees itself
      break;
    }
  if (!(op.getScale().convertToDouble() > 0))
    all.whyNot = "scales scores by a number that is not positive";
  else if (all.later && queries > 1)
    all.whyNot = "lets tokens see later ones";
  return all;
}

static void attend(onnx::AttentionOp op, Value sinks) {
  auto keys = op.getK().getDefiningOp<onnx::UpdateOp>();
  auto values = op.getV().getDefiningOp<onnx::UpdateOp>();
  if (!keys && !values)
    return;
  std::string why;
  Seen seen;
  if (!keys || !values || keys.getPosition() != values.getPosition())
    why = "has keys or values of which only one is a state; give both";
  else if (shapeOf(keys.getValue())[1] != shapeOf(op.getQ())[1])
    why = "has other queries than the tokens that the state gets";
  else
    why = (seen = seenBy(op)).whyNot;
  if (!why.empty()) {
    op->setAttr(reasonAttrName,
                StringAttr::get(op.getContext(),
                                "attends to a state, and " + why +
                                    "; leave --kv-capacity and --states out"));
    return;
  }
  OpBuilder builder(op);
  auto attention = onnx::CachedAttentionOp::create(
      builder, op.getLoc(), op.getType(), op.getQ(), keys, values,
      keys.getPosition(), sinks, op.getNumHeadsAttr(),
      builder.getI64IntegerAttr(op.keyHeads()), op.getScaleAttr(),
      seen.window ? builder.getI64IntegerAttr(seen.window) : IntegerAttr(),
      seen.chunked ? builder.getUnitAttr() : UnitAttr(), op.getSoftcapAttr(),
      op.getNodeAttr());
  for (StringRef kept : {onnx::absorbedAttrName, onnx::valuesAttrName})
    if (Attribute its = op->getAttr(kept))
      attention->setAttr(kept, its);
  op.replaceAllUsesWith(attention.getResult());
  op.erase();
}

void canonicalize::attendToStates(ModuleOp module, const Sinks &sinks) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(onnx::callAttrName))
      continue;
    SmallVector<onnx::AttentionOp> all(function.getOps<onnx::AttentionOp>());
    for (onnx::AttentionOp op : all)
      attend(attendToLatents(op), sinks.lookup(op));
  }
}
