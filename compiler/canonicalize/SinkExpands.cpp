// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasts: where operators do them anyway, below what works on each element,
// and of constants.
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/ValueNames.h"
#include "compiler/values/ViewTracing.h"

using namespace wsec::canonicalize;

namespace {
/// An operand need not be expanded where the operator broadcasts it anyway.
template <typename OpType>
struct DropExpand : OpRewritePattern<OpType> {
  using OpRewritePattern<OpType>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpType op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto expand = operand.get().template getDefiningOp<onnx::ExpandOp>();
      if (!expand)
        continue;
      std::optional<Shape> shape = Shape(shapeOf(expand.getX()));
      for (OpOperand &other : op->getOpOperands())
        if (other.getOperandNumber() != operand.getOperandNumber())
          shape = broadcastShapes(*shape, shapeOf(other.get()));
      if (*shape != Shape(shapeOf(op.getResult())))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(expand.getX()); });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no operand is expanded needlessly");
  }
};

/// f(expand(x)) -> expand(f(x))
template <typename OpType>
struct SinkExpand : OpRewritePattern<OpType> {
  using OpRewritePattern<OpType>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpType op,
                                PatternRewriter &rewriter) const override {
    auto expand = op.getX().template getDefiningOp<onnx::ExpandOp>();
    if (!expand || narrows(op))
      return rewriter.notifyMatchFailure(op, "not expanded");
    Operation *moved = cloneWithoutNames(rewriter, op);
    moved->setOperand(0, expand.getX());
    moved->getResult(0).setType(withShape(op.getY(), shapeOf(expand.getX())));
    rewriter.replaceOpWithNewOp<onnx::ExpandOp>(
        op, op.getType(), moved->getResult(0), op.getNodeAttr());
    return success();
  }
};

/// f(expand(x), c) -> expand(f(x, c)) where c is no larger than x.
struct SinkExpandBelowBinary : OpRewritePattern<onnx::BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::BinaryOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto expand = operand.get().getDefiningOp<onnx::ExpandOp>();
      Value other = op->getOperand(1 - operand.getOperandNumber());
      if (!expand)
        continue;
      auto shape = broadcastShapes(shapeOf(expand.getX()), shapeOf(other));
      if (!shape || numElements(*shape) >= numElements(shapeOf(op.getY())))
        continue;
      Operation *moved = cloneWithoutNames(rewriter, op);
      moved->setOperand(operand.getOperandNumber(), expand.getX());
      moved->getResult(0).setType(withShape(op.getY(), *shape));
      rewriter.replaceOpWithNewOp<onnx::ExpandOp>(
          op, op.getType(), moved->getResult(0), op.getNodeAttr());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no operand is expanded");
  }
};

/// Reducing an axis that was not expanded comes first.
struct SinkExpandBelowReduce : OpRewritePattern<onnx::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto expand = op.getX().getDefiningOp<onnx::ExpandOp>();
    if (!expand)
      return failure();
    ArrayRef<int64_t> from = shapeOf(expand.getX()), to = shapeOf(op.getX());
    if (from.size() != to.size())
      return failure();
    Shape reduced;
    for (size_t d = 0; d < from.size(); ++d) {
      bool isReduced = llvm::is_contained(op.getAxes(), int64_t(d));
      if (isReduced && from[d] != to[d])
        return failure();
      if (!isReduced)
        reduced.push_back(from[d]);
      else if (op.getKeepdims())
        reduced.push_back(1);
    }
    Value small = onnx::ReduceOp::create(
        rewriter, op.getLoc(), withShape(op.getY(), reduced), op.getKind(),
        expand.getX(), op.getAxes(), op.getKeepdims(), op.getNode());
    rewriter.replaceOpWithNewOp<onnx::ExpandOp>(op, op.getType(), small,
                                                op.getNodeAttr());
    return success();
  }
};
} // namespace

/// A constant as an element-wise operator wants it: a number, a vector along
/// the last axis, or all elements of `shape`, repeated by a view where needed.
static std::optional<Fact> broadcastForm(const Fact &fact,
                                         ArrayRef<int64_t> shape) {
  StridedView view = fact.constant->view;
  StridedView full = view.expanded(shape);
  auto varies = [&](size_t d) {
    return llvm::any_of(full.atoms(d, 1),
                        [](auto atom) { return atom.stride != 0; });
  };
  size_t last = shape.size() - 1, outer = 0;
  while (outer < last && !varies(outer))
    ++outer;
  Fact result = fact;
  if (outer < last) {
    // Differs between tokens.
    result.shape = Shape(shape);
    if (!varies(last)) {
      full = *full.sliced(last, 0, 1, 1);
      result.shape.back() = 1;
    }
    result.constant->view = full;
  } else if (fact.shape.empty() || !varies(last)) {
    result.constant->view =
        *StridedView::strided({1}, full.getOffset(), {1}).reshaped({});
    result.shape = {};
  } else {
    auto vector = full;
    for (size_t d = 0; d < last; ++d)
      vector = *vector.sliced(d, 0, 1, 1);
    result.constant->view = *vector.reshaped({shape.back()});
    result.shape = {shape.back()};
  }
  return result.shape == fact.shape ? std::nullopt : std::optional(result);
}

namespace {
struct BroadcastConstant : OpRewritePattern<onnx::BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::BinaryOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = shapeOf(op.getY());
    if (shape.empty() || numElements(shape) == 0)
      return failure();
    for (OpOperand &operand : op->getOpOperands()) {
      Value other = op->getOperand(1 - operand.getOperandNumber());
      std::optional<Fact> fact = factOf(operand.get());
      if (shapeOf(other) != shape || !fact || !fact->constant)
        continue;
      std::optional<Fact> form = broadcastForm(*fact, shape);
      Value value = form ? materialize(rewriter, op.getLoc(), *form,
                                       nodeName(operand.get().getDefiningOp()))
                         : Value();
      if (!value)
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(value); });
      return success();
    }
    return failure();
  }
};
} // namespace

void wsec::canonicalize::addSinkExpands(RewritePatternSet &patterns) {
  patterns.add<DropExpand<onnx::BinaryOp>, DropExpand<onnx::WhereOp>,
               SinkExpand<onnx::UnaryOp>, SinkExpand<onnx::CastOp>,
               SinkExpandBelowBinary, SinkExpandBelowReduce, BroadcastConstant>(
      patterns.getContext());
}
