// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of one token computes what a convolution along tokens gives for that
// one alone, and where its features are called channels, in front of the one
// token, they are features: slices come before what they leave less of.
#include "compiler/canonicalize/Patterns.h"

using namespace wsec::canonicalize;

namespace {
/// A slice of `x`, by the node of `op`.
Value sliceOf(PatternRewriter &rewriter, onnx::SliceOp op, Value x,
              const Shape &shape, const Shape &starts, const Shape &steps) {
  return onnx::SliceOp::create(rewriter, op.getLoc(),
                               withShape(op.getY(), shape), x, starts, steps,
                               op.getNodeAttr());
}

/// Whether it is joined parts, or a slice, or terms of a sum of such, that
/// nothing else needs.
bool isOfSlices(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_present<onnx::ConcatOp>(op))
    return true;
  if (!op || !op->hasOneUse())
    return false;
  if (isa<onnx::SliceOp>(op))
    return true;
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op))
    return isOfSlices(transpose.getX());
  auto binary = dyn_cast<onnx::BinaryOp>(op);
  return binary && llvm::all_of(op->getOperands(), [&](Value operand) {
           return shapeOf(operand) == shapeOf(value)
                      ? isOfSlices(operand)
                      : shapeOf(operand).size() == 1;
         });
}

/// slice(a * w + b) -> slice(a) * w + slice(b), where a and b are slices, and w
/// numbers of the last axis, which is whole.
struct SliceOfSum : OpRewritePattern<onnx::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto sum = op.getX().getDefiningOp<onnx::BinaryOp>();
    const ArrayRef<int64_t> shape = shapeOf(op.getX());
    if (!sum || shape.empty() || !isOfSlices(op.getX()) ||
        shapeOf(op.getY()).back() != shape.back() || op.getSteps().back() != 1)
      return failure();
    SmallVector<Value> operands;
    for (Value operand : sum->getOperands())
      operands.push_back(
          shapeOf(operand) == shape
              ? sliceOf(rewriter, op, operand, Shape(shapeOf(op.getY())),
                        Shape(op.getStarts()), Shape(op.getSteps()))
              : operand);
    auto less = cast<onnx::BinaryOp>(rewriter.clone(*sum));
    less->setOperands(operands);
    less->getResult(0).setType(op.getY().getType());
    less->removeAttr(onnx::valuesAttrName);
    rewriter.replaceOp(op, less);
    return success();
  }
};

/// slice(slice(x)) -> slice(x)
struct SliceOfSlice : OpRewritePattern<onnx::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto before = op.getX().getDefiningOp<onnx::SliceOp>();
    if (!before || !llvm::all_of(before->getUsers(), [](Operation *user) {
          return isa<onnx::SliceOp>(user);
        }))
      return failure();
    Shape starts, steps;
    for (size_t d = 0; d < op.getStarts().size(); ++d) {
      starts.push_back(before.getStarts()[d] +
                       op.getStarts()[d] * before.getSteps()[d]);
      steps.push_back(op.getSteps()[d] * before.getSteps()[d]);
    }
    rewriter.replaceOp(op, sliceOf(rewriter, op, before.getX(),
                                   Shape(shapeOf(op.getY())), starts, steps));
    return success();
  }
};

/// slice(transpose(x)) -> transpose(slice(x)), where x is parts, or of slices.
struct SliceBeforeTranspose : OpRewritePattern<onnx::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getX().getDefiningOp<onnx::TransposeOp>();
    if (!transpose || !(transpose.getX().getDefiningOp<onnx::ConcatOp>() ||
                        isOfSlices(transpose)))
      return failure();
    const ArrayRef<int64_t> perm = transpose.getPerm();
    Shape shape(perm.size()), starts(perm.size()), steps(perm.size());
    for (auto [to, from] : llvm::enumerate(perm)) {
      shape[from] = shapeOf(op.getY())[to];
      starts[from] = op.getStarts()[to];
      steps[from] = op.getSteps()[to];
    }
    rewriter.replaceOpWithNewOp<onnx::TransposeOp>(
        op, op.getType(),
        sliceOf(rewriter, op, transpose.getX(), shape, starts, steps), perm,
        transpose.getNodeAttr());
    return success();
  }
};

/// slice(reshape(x)) -> reshape(slice(x)), where only axes of one element come
/// and go.
struct SliceBeforeReshape : OpRewritePattern<onnx::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getX().getDefiningOp<onnx::ReshapeOp>();
    if (!reshape)
      return failure();
    const ArrayRef<int64_t> from = shapeOf(reshape.getX());
    const ArrayRef<int64_t> to = shapeOf(op.getX());
    Shape shape(from), starts(from.size(), 0), steps(from.size(), 1);
    size_t d = 0;
    for (size_t at = 0; at < to.size(); ++at) {
      if (to[at] == 1)
        continue;
      while (d < from.size() && from[d] == 1)
        ++d;
      if (d == from.size() || from[d] != to[at])
        return failure();
      shape[d] = shapeOf(op.getY())[at];
      starts[d] = op.getStarts()[at];
      steps[d] = op.getSteps()[at];
      ++d;
    }
    rewriter.replaceOpWithNewOp<onnx::ReshapeOp>(
        op, op.getType(),
        sliceOf(rewriter, op, reshape.getX(), shape, starts, steps),
        reshape.getNodeAttr());
    return success();
  }
};
} // namespace

void wsec::canonicalize::addCutSlices(RewritePatternSet &patterns) {
  patterns
      .add<SliceOfSum, SliceOfSlice, SliceBeforeTranspose, SliceBeforeReshape>(
          patterns.getContext());
}
