// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written piece by piece, each at its place along an axis, is the
// pieces joined: a slice of joined parts is one of the part that it lies in,
// and parts that a transpose has put in the same order, which another one
// undoes, are joined as they were.
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/ValueNames.h"

using namespace wsec::canonicalize;

namespace {
/// slice(concat(..., x, ...)) -> slice(x)
struct SliceOfPart : OpRewritePattern<onnx::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto joined = op.getX().getDefiningOp<onnx::ConcatOp>();
    if (!joined)
      return failure();
    const auto axis = size_t(joined.getAxis());
    const int64_t step = op.getSteps()[axis];
    int64_t first = op.getStarts()[axis];
    int64_t last = first + step * (shapeOf(op.getY())[axis] - 1);
    for (Value part : joined.getParts()) {
      const int64_t extent = shapeOf(part)[axis];
      if (std::min(first, last) >= 0 && std::max(first, last) < extent) {
        Shape starts(op.getStarts());
        starts[axis] = first;
        const bool isWhole =
            part.getType() == op.getType() &&
            llvm::all_of(starts, [](int64_t at) { return at == 0; }) &&
            llvm::all_of(op.getSteps(), [](int64_t by) { return by == 1; });
        if (!isWhole)
          part =
              onnx::SliceOp::create(rewriter, op.getLoc(), op.getType(), part,
                                    starts, op.getSteps(), op.getNodeAttr());
        moveValueNames(op.getY(), part);
        rewriter.replaceOp(op, part);
        return success();
      }
      first -= extent;
      last -= extent;
    }
    return rewriter.notifyMatchFailure(op, "has elements of several parts");
  }
};

/// concat(concat(a, b), c) -> concat(a, b, c)
struct ConcatOfParts : OpRewritePattern<onnx::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (Value part : op.getParts()) {
      auto joined = part.getDefiningOp<onnx::ConcatOp>();
      if (joined && joined.getAxis() == op.getAxis())
        llvm::append_range(parts, joined.getParts());
      else
        parts.push_back(part);
    }
    if (parts.size() == op.getParts().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(parts); });
    return success();
  }
};

/// transpose(concat(transpose(a), transpose(b))) ->
/// transpose(transpose(concat(a, b)))
struct JoinBeforeTranspose : OpRewritePattern<onnx::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto joined = op.getX().getDefiningOp<onnx::ConcatOp>();
    if (!joined || !joined->hasOneUse())
      return failure();
    SmallVector<Value> parts;
    onnx::TransposeOp before;
    for (Value part : joined.getParts()) {
      auto its = part.getDefiningOp<onnx::TransposeOp>();
      if (!its || (before && its.getPerm() != before.getPerm()))
        return rewriter.notifyMatchFailure(op, "parts are not in one order");
      before = its;
      parts.push_back(its.getX());
    }
    const int64_t axis = before.getPerm()[joined.getAxis()];
    Shape shape(shapeOf(before.getX()));
    shape[axis] = shapeOf(joined.getY())[joined.getAxis()];
    Value all = onnx::ConcatOp::create(
        rewriter, joined.getLoc(), withShape(joined.getY(), shape), parts,
        rewriter.getI64IntegerAttr(axis), joined.getNodeAttr());
    Value again = onnx::TransposeOp::create(
        rewriter, joined.getLoc(), joined.getY().getType(), all,
        before.getPerm(), joined.getNodeAttr());
    absorb(all.getDefiningOp(), joined.getOperation());
    moveValueNames(joined.getY(), again);
    rewriter.replaceOp(joined, again);
    return success();
  }
};
} // namespace

void wsec::canonicalize::addPartConcats(RewritePatternSet &patterns) {
  patterns.add<SliceOfPart, ConcatOfParts, JoinBeforeTranspose>(
      patterns.getContext());
}
