// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products take their bias, and are one for each part that is read.
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/ValueNames.h"

using namespace wsec::canonicalize;

namespace {
struct AddBias : OpRewritePattern<onnx::BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::BinaryOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getKind() != onnx::BinaryKind::Add)
      return failure();
    for (auto [y, bias] :
         {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())}) {
      auto product = y.getDefiningOp<onnx::MatMulOp>();
      if (!product || product.getBias() || !y.hasOneUse() ||
          !isConstant(bias) ||
          shapeOf(bias) != ArrayRef<int64_t>(shapeOf(y).back()))
        continue;
      auto sum = onnx::MatMulOp::create(rewriter, op.getLoc(), op.getType(),
                                        product.getX(), product.getWeight(),
                                        bias, product.getNodeAttr());
      absorb(sum, {product, op});
      rewriter.replaceOp(op, sum);
      return success();
    }
    return failure();
  }
};
} // namespace

/// Holds for a slice of the last axis only, without steps.
static bool isFeatureSlice(Operation *op) {
  auto slice = dyn_cast<onnx::SliceOp>(op);
  if (!slice ||
      !llvm::all_of(slice.getSteps(), [](int64_t s) { return s == 1; }))
    return false;
  return shapeOf(slice.getX()).drop_back() == shapeOf(slice.getY()).drop_back();
}

/// Columns [start, start + size) of a constant, if they are a view of it.
static std::optional<Fact> columnsOf(Value constant, int64_t start,
                                     int64_t size) {
  std::optional<Fact> fact = factOf(constant);
  size_t last = fact->shape.size() - 1;
  auto view = fact->constant->view.sliced(last, start, size, 1);
  // What stays in its file has to be a view.
  if (!view || (fact->constant->storage->isExternal() && !view->strides()))
    return std::nullopt;
  fact->constant->view = *view;
  fact->shape[last] = size;
  return fact;
}

namespace {
struct SplitProduct : OpRewritePattern<onnx::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::MatMulOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Operation *> slices(op->getUsers());
    bool constantBias = !op.getBias() || isConstant(op.getBias());
    if (slices.empty() || !llvm::all_of(slices, isFeatureSlice) ||
        !isConstant(op.getWeight()) || !constantBias)
      return rewriter.notifyMatchFailure(op, "not only read in parts");
    llvm::sort(slices, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b); // users are listed backwards
    });
    auto isView = [&](Value constant, Operation *user) {
      auto slice = cast<onnx::SliceOp>(user);
      return !constant || columnsOf(constant, slice.getStarts().back(),
                                    shapeOf(slice.getY()).back());
    };
    for (Operation *user : slices)
      if (!isView(op.getWeight(), user) || !isView(op.getBias(), user))
        return rewriter.notifyMatchFailure(op, "a part is no view");
    for (Operation *user : slices)
      replacePart(rewriter, op, cast<onnx::SliceOp>(user));
    return success();
  }

  void replacePart(PatternRewriter &rewriter, onnx::MatMulOp op,
                   onnx::SliceOp slice) const {
    rewriter.setInsertionPoint(op);
    auto part = [&](Value constant) -> Value {
      if (!constant)
        return nullptr;
      std::optional<Fact> columns = columnsOf(
          constant, slice.getStarts().back(), shapeOf(slice.getY()).back());
      return materialize(rewriter, constant.getLoc(), *columns,
                         nodeName(constant.getDefiningOp()));
    };
    Value weight = part(op.getWeight()), bias = part(op.getBias());
    auto product =
        onnx::MatMulOp::create(rewriter, slice.getLoc(), slice.getType(),
                               op.getX(), weight, bias, op.getNodeAttr());
    absorb(product, {op, slice});
    rewriter.replaceOp(slice, product);
  }
};
} // namespace

void wsec::canonicalize::addMergeProducts(RewritePatternSet &patterns) {
  patterns.add<AddBias, SplitProduct>(patterns.getContext());
}
