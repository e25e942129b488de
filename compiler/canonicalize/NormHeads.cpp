// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms of heads are norms of features, head by head.
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/ValueNames.h"

using namespace wsec::canonicalize;

namespace {
/// norm(reshape(x)), where the reshape makes heads of the features, is a norm
/// of each head of x.
struct NormHeads : OpRewritePattern<onnx::RMSNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::RMSNormOp op,
                                PatternRewriter &rewriter) const override {
    auto split = op.getX().getDefiningOp<onnx::ReshapeOp>();
    if (!split || op.getNumHeads() || shapeOf(split.getX()).size() != 3)
      return rewriter.notifyMatchFailure(op, "no features become heads");
    const int64_t size = shapeOf(op.getX()).back();
    const int64_t features = shapeOf(split.getX()).back();
    std::optional<Fact> fact = factOf(op.getScale());
    std::optional<Tensor> scale = fact ? fact->load() : std::nullopt;
    if (features == size || features % size != 0 || !scale)
      return rewriter.notifyMatchFailure(op, "no features become heads");
    const int64_t heads = features / size;
    Tensor repeated =
        scale->viewed(StridedView::whole({1, size}).expanded({heads, size}))
            .reshaped({features});
    Value y = onnx::RMSNormOp::create(
        rewriter, op.getLoc(), split.getX().getType(), split.getX(),
        materialize(rewriter, op.getLoc(), Fact::ofTensor(std::move(repeated)),
                    nodeName(op.getScale().getDefiningOp())),
        op.getEpsilonAttr(), rewriter.getI64IntegerAttr(heads),
        op.getNodeAttr());
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), y,
                                     shapeOf(op.getY()), op.getNode()));
    return success();
  }
};
} // namespace

void wsec::canonicalize::addNormHeads(RewritePatternSet &patterns) {
  patterns.add<NormHeads>(patterns.getContext());
}
