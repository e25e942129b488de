// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by weights in one form: on [batch, token, feature] tensors, with
// their bias, one per part. Patterns of a few lines each that feed each other,
// to a fix-point.
#include "compiler/simplify/Passes.h"
#include "compiler/simplify/ViewTracing.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace wsec::simplify {
#define GEN_PASS_DEF_FUSEMATMUL
#include "compiler/simplify/Passes.h.inc"
} // namespace wsec::simplify

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;

//===----------------------------------------------------------------------===//
// Reshapes and transposes
//===----------------------------------------------------------------------===//

namespace {
/// A chain of reshapes and transposes that changes no order is a reshape of
/// its root, or nothing.
template <typename LayoutOp> struct ComposeLayouts : OpRewritePattern<LayoutOp> {
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

/// The operand of a reshape that merges batch and tokens of a tensor of rank
/// 3 and leaves features alone; null for anything else.
static Value beforeTokenReshape(Value value) {
  auto reshape = value.getDefiningOp<onnx::ReshapeOp>();
  if (!reshape)
    return nullptr;
  ArrayRef<int64_t> from = shapeOf(reshape.getX()), to = shapeOf(value);
  if (from.size() != 3 || to.size() == 3 || to.empty() ||
      from.back() != to.back())
    return nullptr;
  return reshape.getX();
}

namespace {
/// op(reshape(x)) -> reshape(op(x)) for operators that work on each token.
template <typename TokenOp> struct SinkReshape : OpRewritePattern<TokenOp> {
  using OpRewritePattern<TokenOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(TokenOp op,
                                PatternRewriter &rewriter) const override {
    Value x = beforeTokenReshape(op.getX());
    if (!x)
      return rewriter.notifyMatchFailure(op, "no reshape of tokens before it");
    Shape shape(shapeOf(x));
    shape.back() = shapeOf(op.getY()).back();
    Operation *moved = rewriter.clone(*op);
    moved->setOperand(0, x);
    moved->getResult(0).setType(withShape(op.getY(), shape));
    rewriter.replaceOp(op,
                       reshapeTo(rewriter, op.getLoc(), moved->getResult(0),
                                 shapeOf(op.getY()), op.getNode()));
    return success();
  }
};

/// The same for operators with several operands, all of them reshaped from
/// one shape or the same for all tokens.
template <typename OpType>
struct SinkReshapes : OpRewritePattern<OpType> {
  using OpRewritePattern<OpType>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpType op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    std::optional<Shape> shape;
    for (Value operand : op->getOperands()) {
      Value x = beforeTokenReshape(operand);
      bool isVector = shapeOf(operand).size() <= 1;
      if (!x && !isVector)
        return rewriter.notifyMatchFailure(op, "an operand keeps its shape");
      if (!isVector && shapeOf(operand) != shapeOf(op.getResult()))
        return rewriter.notifyMatchFailure(op, "an operand is broadcast");
      if (x && !isVector) {
        if (shape && *shape != Shape(shapeOf(x)))
          return rewriter.notifyMatchFailure(op, "operands differ in shape");
        shape = Shape(shapeOf(x));
      }
      operands.push_back(isVector ? operand : x);
    }
    if (!shape)
      return rewriter.notifyMatchFailure(op, "no reshape of tokens before it");
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    moved->getResult(0).setType(withShape(op.getResult(), *shape));
    rewriter.replaceOp(op,
                       reshapeTo(rewriter, op.getLoc(), moved->getResult(0),
                                 shapeOf(op.getResult()), op.getNode()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

/// An operand need not be expanded where the operator broadcasts it anyway.
template <typename OpType> struct DropExpand : OpRewritePattern<OpType> {
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
template <typename OpType> struct SinkExpand : OpRewritePattern<OpType> {
  using OpRewritePattern<OpType>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpType op,
                                PatternRewriter &rewriter) const override {
    auto expand = op.getX().template getDefiningOp<onnx::ExpandOp>();
    if (!expand)
      return rewriter.notifyMatchFailure(op, "not expanded");
    Operation *moved = rewriter.clone(*op);
    moved->setOperand(0, expand.getX());
    moved->getResult(0).setType(
        withShape(op.getY(), shapeOf(expand.getX())));
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
      Operation *moved = rewriter.clone(*op);
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
    result.constant->view = full;
    result.shape = Shape(shape);
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

//===----------------------------------------------------------------------===//
// Bias and parts
//===----------------------------------------------------------------------===//

struct AddBias : OpRewritePattern<onnx::BinaryOp> {
  AddBias(MLIRContext *context, Pass::Statistic &biases)
      : OpRewritePattern(context), biases(biases) {}
  LogicalResult matchAndRewrite(onnx::BinaryOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getKind() != onnx::BinaryKind::Add)
      return failure();
    for (auto [y, bias] : {std::pair(op.getA(), op.getB()),
                           std::pair(op.getB(), op.getA())}) {
      auto product = y.getDefiningOp<onnx::MatMulOp>();
      if (!product || product.getBias() || !y.hasOneUse() ||
          !isConstant(bias) ||
          shapeOf(bias) != ArrayRef<int64_t>(shapeOf(y).back()))
        continue;
      rewriter.replaceOpWithNewOp<onnx::MatMulOp>(
          op, op.getType(), product.getX(), product.getWeight(), bias,
          product.getNodeAttr());
      ++biases;
      return success();
    }
    return failure();
  }
  Pass::Statistic &biases;
};
} // namespace

/// Holds for a slice of the last axis only, without steps.
static bool isFeatureSlice(Operation *op) {
  auto slice = dyn_cast<onnx::SliceOp>(op);
  if (!slice || !llvm::all_of(slice.getSteps(), [](int64_t s) {
        return s == 1;
      }))
    return false;
  return shapeOf(slice.getX()).drop_back() == shapeOf(slice.getY()).drop_back();
}

/// Columns [start, start + size) of a constant.
static Value columnsOf(PatternRewriter &rewriter, Value constant,
                       int64_t start, int64_t size) {
  std::optional<Fact> fact = factOf(constant);
  size_t last = fact->shape.size() - 1;
  auto view = fact->constant->view.sliced(last, start, size, 1);
  if (!view)
    return nullptr;
  fact->constant->view = *view;
  fact->shape[last] = size;
  return materialize(rewriter, constant.getLoc(), *fact,
                     nodeName(constant.getDefiningOp()));
}

namespace {
struct SplitProduct : OpRewritePattern<onnx::MatMulOp> {
  SplitProduct(MLIRContext *context, Pass::Statistic &parts)
      : OpRewritePattern(context), parts(parts) {}
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
    for (Operation *user : slices) {
      auto slice = cast<onnx::SliceOp>(user);
      int64_t start = slice.getStarts().back();
      int64_t size = shapeOf(slice.getY()).back();
      rewriter.setInsertionPoint(op);
      Value weight = columnsOf(rewriter, op.getWeight(), start, size);
      Value bias = op.getBias()
                       ? columnsOf(rewriter, op.getBias(), start, size)
                       : Value();
      if (!weight)
        return rewriter.notifyMatchFailure(op, "the weight has no such view");
      rewriter.replaceOpWithNewOp<onnx::MatMulOp>(
          slice, slice.getType(), op.getX(), weight, bias, op.getNodeAttr());
      ++parts;
    }
    return success();
  }
  Pass::Statistic &parts;
};

struct FuseMatMulPass : wsec::simplify::impl::FuseMatMulBase<FuseMatMulPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<ComposeLayouts<onnx::ReshapeOp>,
                 ComposeLayouts<onnx::TransposeOp>, ReshapeConstant,
                 SinkReshape<onnx::MatMulOp>, SinkReshape<onnx::LayerNormOp>,
                 SinkReshape<onnx::RMSNormOp>, SinkReshape<onnx::SoftmaxOp>,
                 SinkReshape<onnx::UnaryOp>, SinkReshape<onnx::CastOp>,
                 SinkReshapes<onnx::BinaryOp>, SinkReshapes<onnx::WhereOp>,
                 DropExpand<onnx::BinaryOp>, DropExpand<onnx::WhereOp>,
                 SinkExpand<onnx::UnaryOp>, SinkExpand<onnx::CastOp>,
                 SinkExpandBelowBinary, SinkExpandBelowReduce,
                 BroadcastConstant>(context);
    patterns.add<AddBias>(context, biases);
    patterns.add<SplitProduct>(context, parts);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      getOperation().emitError("products by weights do not settle");
      signalPassFailure();
    }
  }
};
} // namespace
