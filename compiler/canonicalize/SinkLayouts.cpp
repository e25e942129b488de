// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reshapes and transposes sink below operators until they meet.
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/ValueNames.h"
#include "compiler/values/ViewTracing.h"

using namespace wsec::canonicalize;

namespace {
/// A reshape that merges batch and tokens, or a transpose.
struct SinkingLayout {
  Value x; // before it
  Operation *op;
  /// Whether the last dimension is another one behind it.
  bool movesFeatures = false;

  /// The same operation for other features.
  Value again(PatternRewriter &rewriter, Value y, Type type) const {
    Operation *moved = cloneWithoutNames(rewriter, op);
    moved->setOperand(0, y);
    moved->getResult(0).setType(type);
    return moved->getResult(0);
  }
  bool isLike(const SinkingLayout &other) const {
    return x.getType() == other.x.getType() &&
           op->getName() == other.op->getName() &&
           op->getAttr("perm") == other.op->getAttr("perm");
  }
};
} // namespace

static std::optional<SinkingLayout> layoutBefore(Value value) {
  ArrayRef<int64_t> to = shapeOf(value);
  if (auto reshape = value.getDefiningOp<onnx::ReshapeOp>()) {
    ArrayRef<int64_t> from = shapeOf(reshape.getX());
    if (from.size() == 3 && to.size() != 3 && !to.empty() &&
        from.back() == to.back())
      return SinkingLayout{reshape.getX(), reshape};
  }
  if (auto transpose = value.getDefiningOp<onnx::TransposeOp>())
    return SinkingLayout{transpose.getX(), transpose,
                         transpose.getPerm().back() + 1 != int64_t(to.size())};
  return std::nullopt;
}

namespace {
/// op(layout(x)) -> layout(op(x)) for operators that work on each token or each
/// element. Further operands come through the same layout or are the same for
/// all tokens: numbers, vectors of features, weights. Where features move, too,
/// such as channels of an image, which lie in front for its exporter and last
/// for a product, only numbers are.
template <typename SinkingOp>
struct SinkLayout : OpRewritePattern<SinkingOp> {
  using OpRewritePattern<SinkingOp>::OpRewritePattern;
  static constexpr bool isProduct = std::is_same_v<SinkingOp, onnx::MatMulOp>;
  static constexpr bool onElements =
      llvm::is_one_of<SinkingOp, onnx::UnaryOp, onnx::CastOp, onnx::BinaryOp,
                      onnx::WhereOp>::value;

  LogicalResult matchAndRewrite(SinkingOp op,
                                PatternRewriter &rewriter) const override {
    Value y = op->getResult(0);
    SmallVector<Value> operands;
    std::optional<SinkingLayout> layout;
    size_t mostDimensions = 0; // of what has no layout
    bool onlyNumbers = onElements;
    for (Value operand : op->getOperands()) {
      ArrayRef<int64_t> shape = shapeOf(operand);
      const bool isNumber = onElements && numElements(shape) == 1;
      if ((isProduct && !operands.empty()) || shape.size() <= 1 || isNumber) {
        operands.push_back(operand);
        onlyNumbers &= isNumber;
        if (!isProduct)
          mostDimensions = std::max(mostDimensions, shape.size());
        continue;
      }
      auto before = layoutBefore(operand);
      const bool sameTokens = isProduct
                                  ? shape.drop_back() == shapeOf(y).drop_back()
                                  : shape == shapeOf(y);
      if (!before || !sameTokens || (layout && !layout->isLike(*before)))
        return rewriter.notifyMatchFailure(op, "operands differ in layout");
      layout = before;
      operands.push_back(before->x);
    }
    if (!layout || narrows(op))
      return rewriter.notifyMatchFailure(op, "no layout before it");
    if ((layout->movesFeatures && !onlyNumbers) ||
        mostDimensions > shapeOf(layout->x).size())
      return rewriter.notifyMatchFailure(op, "an operand needs the layout");
    Shape shape(shapeOf(layout->x));
    if (!layout->movesFeatures)
      shape.back() = shapeOf(y).back();
    Operation *moved = cloneWithoutNames(rewriter, op);
    moved->setOperands(operands);
    moved->getResult(0).setType(withShape(y, shape));
    rewriter.replaceOp(
        op, layout->again(rewriter, moved->getResult(0), y.getType()));
    return success();
  }
};
} // namespace

void wsec::canonicalize::addSinkLayouts(RewritePatternSet &patterns) {
  patterns.add<SinkLayout<onnx::MatMulOp>, SinkLayout<onnx::LayerNormOp>,
               SinkLayout<onnx::RMSNormOp>, SinkLayout<onnx::SoftmaxOp>,
               SinkLayout<onnx::UnaryOp>, SinkLayout<onnx::CastOp>,
               SinkLayout<onnx::BinaryOp>, SinkLayout<onnx::WhereOp>>(
      patterns.getContext());
}
