// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention to keys and values that each call makes of states: of a latent
// vector c of each token, and of a key r that all heads share (multi-head
// latent attention).
//
//   scores of head h = [q, s] [c K_h, r]^T        values of head h = c V_h
//
// The queries go to the latents instead, so that nothing is made of tokens that
// have been, and one state, [c, r], has all that there is of a token:
//
//   scores of head h = [q K_h^T, s] [c, r]^T      p (c V_h) = (p c) V_h
#include "compiler/canonicalize/AttendToStates.h"
#include "compiler/values/Heads.h"
#include "compiler/values/OperatorBuilder.h"
#include "dialects/onnx/CachedCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

namespace {
/// Heads of `size` columns of the result of a product, `pitch` apart.
struct Expansion {
  onnx::MatMulOp product;
  int64_t start, pitch, size;
};

/// What an attention reads.
struct Latents {
  onnx::UpdateOp latent, shared;
  Expansion keys, values;
};
} // namespace

static std::optional<Expansion> expansionOf(const std::optional<Heads> &h) {
  auto product = h ? h->root.getDefiningOp<onnx::MatMulOp>() : nullptr;
  if (!product || product.getBias() || h->scale != 1 || h->repeats != 1 ||
      (h->groups != 1 && h->groups != h->heads))
    return std::nullopt;
  const int64_t pitch = h->groups == 1 ? h->size : h->features / h->groups;
  return Expansion{product, h->offset, pitch, h->size};
}

/// The state whose tokens `x` are, all features of each.
static onnx::UpdateOp stateBehind(Value x) {
  TracedView traced = traceLayout(x);
  const bool isWhole = traced.view.isContiguous();
  return isWhole ? traced.root.getDefiningOp<onnx::UpdateOp>() : nullptr;
}

/// What heads of keys are joined of, [batch, heads, tokens, size] each.
static onnx::ConcatOp joinedKeys(onnx::AttentionOp op) {
  TracedView traced = traceLayout(op.getK());
  auto joined = traced.root.getDefiningOp<onnx::ConcatOp>();
  const Shape shape(shapeOf(op.getK()));
  const int64_t tokens = shape[1], heads = op.getNumHeads(),
                size = shape[2] / heads;
  auto byHead = traced.view.reshaped({shape[0], tokens, heads, size});
  if (!joined || !byHead || joined.getAxis() != 3 ||
      joined.getParts().size() != 2 ||
      shapeOf(joined.getY()) != ArrayRef({shape[0], heads, tokens, size}))
    return {};
  StridedView expected =
      StridedView::strided({shape[0], tokens, heads, size}, 0,
                           {heads * tokens * size, size, tokens * size, 1});
  return byHead->getOffset() == 0 && byHead->atoms(0, 4) == expected.atoms(0, 4)
             ? joined
             : onnx::ConcatOp();
}

static std::optional<Heads> headsOfValues(onnx::AttentionOp op) {
  const int64_t heads = op.getNumHeads();
  Value x = op.getV();
  auto slice = x.getDefiningOp<onnx::SliceHeadsOp>();
  const int64_t size = shapeOf(x)[2] / heads;
  if (slice)
    x = slice.getX();
  TracedView traced = slice ? traceLayout(x) : traceScaledLayout(x);
  auto byHead = traced.view.reshaped(
      {shapeOf(x)[0], shapeOf(x)[1], heads, shapeOf(x)[2] / heads});
  if (!byHead)
    return std::nullopt;
  traced.view = byHead->transposed({0, 2, 1, 3});
  if (slice) {
    auto part = traced.view.sliced(3, int64_t(slice.getStart()), size, 1);
    if (!part)
      return std::nullopt;
    traced.view = *part;
  }
  return matchHeads(traced, 2, 3);
}

static std::optional<Latents> latentsOf(onnx::AttentionOp op) {
  onnx::ConcatOp joined = op.headsPerKey() == 1 ? joinedKeys(op) : nullptr;
  if (!joined)
    return std::nullopt;
  auto keys =
      expansionOf(matchHeads(traceRepeated(joined.getParts()[0]), 2, 3));
  auto values = expansionOf(headsOfValues(op));
  TracedView repeated = traceRepeated(joined.getParts()[1]);
  std::optional<Heads> shared = matchHeads(repeated, 2, 3);
  if (!keys || !values || !shared || shared->heads != 1 || shared->scale != 1 ||
      shared->offset != 0 || shared->size != shared->features)
    return std::nullopt;
  Latents its{stateBehind(keys->product.getX()),
              repeated.root.getDefiningOp<onnx::UpdateOp>(), *keys, *values};
  if (!its.latent || !its.shared ||
      its.latent != stateBehind(values->product.getX()) ||
      its.latent.getPosition() != its.shared.getPosition())
    return std::nullopt;
  return its;
}

/// Of each head the columns of a product's weight, in this order of latents,
/// heads and columns.
static Value weightOf(OperatorBuilder &n, Expansion of, int64_t batch,
                      int64_t heads, ArrayRef<int64_t> order) {
  Value weight = of.product.getWeight();
  std::optional<Fact> fact = factOf(weight);
  if (!fact || !fact->constant || fact->constant->storage->quantized)
    return {};
  const int64_t latent = shapeOf(weight)[0], columns = shapeOf(weight)[1];
  Fact part = reindexed(
      *fact, [&](const StridedView &all) -> std::optional<StridedView> {
        std::optional<StridedView> view = all;
        if (of.pitch * heads == columns)
          view = view->reshaped({latent, heads, of.pitch});
        else if ((view = view->sliced(1, of.start, heads * of.size, 1)))
          view = view->reshaped({latent, heads, of.size});
        if (view && of.pitch * heads == columns)
          view = view->sliced(2, of.start, of.size, 1);
        if (!view)
          return std::nullopt;
        StridedView turned = view->transposed(order);
        Shape shape = turned.shape();
        shape.insert(shape.begin(), batch);
        return turned.expanded(shape);
      });
  return part.constant ? n.materialize(part) : Value();
}

static func::FuncOp functionOf(onnx::UpdateOp update) {
  return update->getParentOfType<func::FuncOp>();
}

/// The operand of the return that is what `update` left.
static OpOperand *returned(onnx::UpdateOp update) {
  for (OpOperand &value :
       functionOf(update).front().getTerminator()->getOpOperands())
    if (traceLayout(value.get()).root == update.getPresent())
      return &value;
  return nullptr;
}

/// Whether nobody reads the state but `op`, and the result that has it.
static bool isAlone(onnx::UpdateOp update, onnx::AttentionOp op) {
  OpOperand *result = returned(update);
  if (!isa<BlockArgument>(update.getPast()) || !update.getPast().hasOneUse() ||
      !result)
    return false;
  llvm::SetVector<Value> reached;
  reached.insert(update.getPresent());
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : Value(reached[i]).getUses()) {
      if (use.getOwner() == result->getOwner() && &use != result)
        return false;
      if (use.getOwner() != op)
        reached.insert_range(use.getOwner()->getResults());
    }
  return true;
}

/// One state of the features of both, in place of the first one.
static onnx::UpdateOp join(OperatorBuilder &n, Latents its) {
  auto past = cast<BlockArgument>(its.latent.getPast());
  Value value = n.concat({its.latent.getValue(), its.shared.getValue()}, 2);
  const int64_t size = shapeOf(value)[2];
  Shape held(shapeOf(past)), present(shapeOf(its.latent.getPresent()));
  held.back() = present.back() = size;
  past.setType(withShape(past, held));
  auto update = onnx::UpdateOp::create(
      n.builder(), n.loc(), withShape(its.latent.getPresent(), present), past,
      value, its.latent.getPosition(), its.latent.getNodeAttr());
  OpOperand *result = returned(its.latent);
  result->set(n.reshape(update.getPresent(), held));
  absorb(update, {its.latent, its.shared});
  return update;
}

/// Takes a state that nothing reads any more out of the function.
static void drop(func::FuncOp function, BlockArgument past,
                 OpOperand *present) {
  const unsigned result = present->getOperandNumber();
  present->getOwner()->eraseOperand(result);
  (void)function.eraseResult(result);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  (void)function.eraseArgument(past.getArgNumber());
}

onnx::AttentionOp canonicalize::attendToLatents(onnx::AttentionOp op) {
  std::optional<Latents> its = latentsOf(op);
  if (!its || !isAlone(its->latent, op) || !isAlone(its->shared, op))
    return op;
  const Shape q(shapeOf(op.getQ()));
  const int64_t heads = op.getNumHeads(), own = its->keys.size;
  const int64_t latent = shapeOf(its->latent.getPresent())[2];
  const int64_t shared = shapeOf(its->shared.getPresent())[2];
  OperatorBuilder n(OpBuilder(op), op.getLoc(), op.getNodeAttr());
  Value toLatents = weightOf(n, its->keys, q[0], heads, {1, 2, 0});
  Value toValues = weightOf(n, its->values, q[0], heads, {1, 0, 2});
  if (!toLatents || !toValues || own + shared != q[2] / heads)
    return op;
  auto byHead = [&](Value x, int64_t size) {
    return n.transpose(n.reshape(x, {q[0], q[1], heads, size}), {0, 2, 1, 3});
  };
  auto merged = [&](Value x) {
    const int64_t size = shapeOf(x).back();
    return n.reshape(n.transpose(x, {0, 2, 1, 3}), {q[0], q[1], heads * size});
  };
  Value queries = byHead(op.getQ(), own + shared);
  Value asked = n.batchMatmul(n.sliceLast(queries, 0, own), toLatents);
  asked = merged(n.concat({asked, n.sliceLast(queries, own, shared)}, 3));
  onnx::UpdateOp state = join(n, *its);
  auto attention = cast<onnx::AttentionOp>(n.builder().clone(*op));
  attention->removeAttr(onnx::valuesAttrName);
  attention.getQMutable().assign(asked);
  attention.getKMutable().assign(state.getPresent());
  attention.getVMutable().assign(state.getPresent());
  attention.setKvHeads(1);
  attention.getY().setType(
      withShape(op.getY(), {q[0], q[1], heads * (latent + shared)}));
  n.builder().setInsertionPointAfter(attention);
  Value seen =
      n.sliceLast(byHead(attention.getY(), latent + shared), 0, latent);
  op.getY().replaceAllUsesWith(merged(n.batchMatmul(seen, toValues)));
  op.erase();
  auto function = functionOf(state);
  auto past = cast<BlockArgument>(its->shared.getPast());
  drop(function, past, returned(its->shared));
  Block &body = function.front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
  return attention;
}
