// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reshapes and transposes that change nothing, and those that are one.
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/ViewTracing.h"
#include <numeric>

using namespace wsec::canonicalize;

namespace {
/// A chain of reshapes and transposes that changes no order is a reshape of
/// its root, or nothing.
template <typename LayoutOp>
struct CancelLayouts : OpRewritePattern<LayoutOp> {
  using OpRewritePattern<LayoutOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(LayoutOp op,
                                PatternRewriter &rewriter) const override {
    TracedView traced = traceLayout(op.getResult());
    if (!traced.view.isContiguous())
      return rewriter.notifyMatchFailure(op, "changes the order of elements");
    bool isPlainReshape = isa<onnx::ReshapeOp>(op) &&
                          traced.root == op.getX() &&
                          op.getX().getType() != op.getType();
    if (isPlainReshape || traced.root == op.getResult())
      return rewriter.notifyMatchFailure(op, "is a reshape already");
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), traced.root,
                                     shapeOf(op.getResult()), op.getNode()));
    return success();
  }
};

/// Two reshapes are one.
struct MergeReshapes : OpRewritePattern<onnx::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto first = op.getX().getDefiningOp<onnx::ReshapeOp>();
    if (!first)
      return rewriter.notifyMatchFailure(op, "the only reshape");
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), first.getX(),
                                     shapeOf(op.getY()), op.getNode()));
    return success();
  }
};

/// Several transposes, with reshapes between them, are a single one.
struct ComposeTransposes : OpRewritePattern<onnx::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    TracedView traced = traceLayout(op.getResult());
    if (numTransposes(op.getResult(), traced.root) < 2)
      return rewriter.notifyMatchFailure(op, "the only transpose");
    // Atoms in the order of the result; sorted by stride, that of the root.
    StridedView::Atoms atoms = traced.view.atoms(0, traced.view.rank());
    SmallVector<int64_t> byStride(atoms.size());
    std::iota(byStride.begin(), byStride.end(), 0);
    llvm::sort(byStride, [&](int64_t a, int64_t b) {
      return atoms[a].stride > atoms[b].stride;
    });
    Shape rootShape, resultShape;
    SmallVector<int64_t> perm(atoms.size());
    for (auto [position, atom] : llvm::enumerate(byStride)) {
      rootShape.push_back(atoms[atom].size);
      perm[atom] = position;
    }
    for (StridedView::Atom atom : atoms)
      resultShape.push_back(atom.size);
    Location loc = op.getLoc();
    Value x = reshapeTo(rewriter, loc, traced.root, rootShape, op.getNode());
    x = onnx::TransposeOp::create(rewriter, loc, withShape(x, resultShape), x,
                                  perm, op.getNode());
    rewriter.replaceOp(
        op, reshapeTo(rewriter, loc, x, shapeOf(op.getY()), op.getNode()));
    return success();
  }

  static unsigned numTransposes(Value value, Value root) {
    unsigned count = 0;
    while (value != root) {
      Operation *op = value.getDefiningOp();
      count += isa<onnx::TransposeOp>(op);
      value = op->getOperand(0);
    }
    return count;
  }
};

/// A reshape of a constant is a view of it.
struct ReshapeConstant : OpRewritePattern<onnx::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Fact> fact = factOf(op.getX());
    if (!fact || !fact->constant)
      return failure();
    Fact reshaped = reshapeFact(*fact, shapeOf(op.getY()));
    Value value = reshaped.constant ? materialize(rewriter, op.getLoc(),
                                                  reshaped, op.getNode())
                                    : Value();
    if (!value)
      return failure();
    rewriter.replaceOp(op, value);
    return success();
  }
};
} // namespace
void wsec::canonicalize::addCancelLayouts(RewritePatternSet &patterns) {
  patterns.add<CancelLayouts<onnx::ReshapeOp>, CancelLayouts<onnx::TransposeOp>,
               ComposeTransposes, MergeReshapes, ReshapeConstant>(
      patterns.getContext());
}
