// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Distributions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace wsec;

TokenShape wsec::tokenShape(ArrayRef<int64_t> shape) {
  TokenShape result;
  if (shape.empty())
    return result;
  result.features = shape.back();
  ArrayRef<int64_t> leading = shape.drop_back();
  if (leading.size() > 1) {
    result.batch = leading.front();
    leading = leading.drop_front();
  }
  result.tokens = ShapedType::getNumElements(leading);
  return result;
}

bool wsec::areTokens(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes,
                     wse::TokenTiling tiling) {
  int64_t last = int64_t(shape.size()) - 1;
  SmallVector<int64_t> kept = llvm::to_vector(shape);
  for (int64_t axis : axes)
    kept[axis] = 1;
  int64_t leading = ShapedType::getNumElements(ArrayRef(kept).drop_back());
  bool inOrder = true;
  for (int64_t axis = axes.front(); axis < last; ++axis)
    inOrder &= kept[axis] == 1;
  return inOrder && kept[last] == shape[last] && leading == tiling.getBatch();
}

bool wsec::isElementwise(Operation *op) {
  return op && isa<onnx::UnaryOp, onnx::BinaryOp, onnx::WhereOp, onnx::CastOp,
                   onnx::BitCastOp>(op);
}

bool wsec::isFloatCast(Operation *op) {
  auto cast = dyn_cast_or_null<onnx::CastOp>(op);
  auto isFloat = [](Value value) {
    return mlir::cast<RankedTensorType>(value.getType())
        .getElementType()
        .isFloat();
  };
  return cast && isFloat(cast.getX()) && isFloat(cast.getY());
}

Value wsec::beforeFloatCasts(Value value) {
  while (isFloatCast(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

static int64_t lastExtent(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return shape.empty() ? 1 : shape.back();
}

int64_t wsec::headsOf(onnx::UpdateOp update) {
  for (Operation *user : update.getPresent().getUsers())
    if (auto attention = dyn_cast<onnx::CachedAttentionOp>(user))
      return attention.getKvHeads();
  return 1;
}

WantedHeads::WantedHeads(Block &main, int64_t width) : width(width) {
  for (Operation &op : llvm::reverse(main))
    for (Value result : op.getResults())
      visit(result);
  for (Value input : main.getArguments())
    visit(input);
}

/// Of what `update` writes as the values of an attention whose keys are
/// rotated, and so come as whole heads, the size of its heads; else 0. Where
/// values lie as keys do, the products of both share their code.
static int64_t headSizeBesideKeys(onnx::UpdateOp update) {
  for (Operation *user : update->getUsers())
    if (auto attention = dyn_cast<onnx::CachedAttentionOp>(user)) {
      auto keys = attention.getKeys().getDefiningOp<onnx::UpdateOp>();
      if (keys && keys != update &&
          keys.getValue().getDefiningOp<onnx::RotaryOp>() &&
          lastExtent(keys.getValue()) == lastExtent(update.getValue()))
        return lastExtent(update.getValue()) / int64_t(attention.getKvHeads());
    }
  return 0;
}

/// The columns of the state that a product goes into, or that it asks.
std::optional<WantedHeads::Attention>
WantedHeads::ofState(OpOperand &use) const {
  if (!use.get().hasOneUse() || !use.get().getDefiningOp<onnx::MatMulOp>())
    return std::nullopt;
  auto spread = [&](int64_t heads, int64_t size, int64_t repeat) {
    const auto state =
        wse::TokenTiling::ofState(1, 1, heads, size, width).forState(1, repeat);
    return Attention{0, state.getHeadSize(), state.getHeadColumns()};
  };
  const int64_t features = lastExtent(use.get());
  if (auto update = dyn_cast<onnx::UpdateOp>(use.getOwner());
      update && update.getValue() == use.get())
    return spread(headsOf(update), features / headsOf(update), 1);
  auto attention = dyn_cast<onnx::CachedAttentionOp>(use.getOwner());
  if (!attention || attention.getQ() != use.get())
    return std::nullopt;
  const int64_t heads = attention.getKvHeads();
  const int64_t repeat = int64_t(attention.getNumHeads()) / heads;
  return spread(heads, features / heads / repeat, repeat);
}

void WantedHeads::visit(Value value) {
  std::optional<Attention> best;
  auto offer = [&](Attention other) {
    if (!best || other.distance < best->distance)
      best = other;
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto attention = dyn_cast<onnx::AttentionOp>(user);
    if (attention && use.getOperandNumber() < 3) {
      // Keys and values that are repeated are moved anyway.
      if (use.getOperandNumber() == 0 || attention.headsPerKey() == 1)
        offer({0, lastExtent(value) / int64_t(attention.getNumHeads())});
      continue;
    }
    if (auto gradient = dyn_cast<onnx::AttentionGradientOp>(user)) {
      offer({0, lastExtent(value) / int64_t(gradient.getNumHeads())});
      continue;
    }
    if (auto slice = dyn_cast<onnx::SliceHeadsOp>(user)) {
      offer({0, lastExtent(value) / int64_t(slice.getNumHeads())});
      continue;
    }
    if (auto norm = dyn_cast<onnx::RMSNormOp>(user);
        norm && norm.getNumHeads() && use.getOperandNumber() == 0) {
      offer({0, lastExtent(value) / int64_t(*norm.getNumHeads())});
      continue;
    }
    if (auto rotary = dyn_cast<onnx::RotaryOp>(user);
        rotary && use.getOperandNumber() == 0) {
      offer({0, lastExtent(value) / int64_t(rotary.getNumHeads())});
      continue;
    }
    if (auto update = dyn_cast<onnx::UpdateOp>(user))
      if (int64_t size = headSizeBesideKeys(update)) {
        offer({0, size});
        continue;
      }
    if (std::optional<Attention> state = ofState(use)) {
      offer(*state);
      continue;
    }
    bool sameFeatures = (isElementwise(user) || isa<onnx::ReshapeOp>(user)) &&
                        lastExtent(user->getResult(0)) == lastExtent(value);
    auto behind =
        sameFeatures ? nearest.find(user->getResult(0)) : nearest.end();
    if (behind != nearest.end())
      offer({behind->second.distance + 1, behind->second.headSize,
             behind->second.headColumns});
  }
  if (best)
    nearest[value] = *best;
}

int64_t WantedHeads::sizeFor(Value value) const {
  auto found = nearest.find(value);
  return found == nearest.end() ? 0 : found->second.headSize;
}

wse::TokenTiling WantedHeads::columnsFor(Value value,
                                         wse::TokenTiling rows) const {
  if (auto found = nearest.find(value); found != nearest.end())
    return rows.withColumns(wse::ColumnPlacement::Heads, found->second.headSize)
        .withHeadColumns(found->second.headColumns);
  return rows.withColumns(wse::ColumnPlacement::Balanced);
}

bool wsec::leavesWafer(Operation *user) {
  return isa<func::ReturnOp, onnx::GradientOp>(user);
}

bool wsec::onlyLeavesWafer(Operation *op) {
  return llvm::all_of(op->getUsers(), leavesWafer);
}
