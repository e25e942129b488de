// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by weights in one form: on [batch, token, feature] tensors, with
// their bias, one per part. Patterns of a few lines each that feed each other,
// to a fix-point.
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/ValueNames.h"
#include "compiler/values/ViewTracing.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <numeric>

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSEMATMUL
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

//===----------------------------------------------------------------------===//
// Reshapes and transposes
//===----------------------------------------------------------------------===//

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

namespace {
/// A reshape that merges batch and tokens, or a transpose of them, in front of
/// a token-wise operator. Features, the last dimension, stay where they are.
struct TokenLayout {
  Value x; // before it
  Operation *op;
  /// The same operation for other features.
  Value again(PatternRewriter &rewriter, Value y, Type type) const {
    Operation *moved = cloneWithoutNames(rewriter, op);
    moved->setOperand(0, y);
    moved->getResult(0).setType(type);
    return moved->getResult(0);
  }
  bool isLike(const TokenLayout &other) const {
    return x.getType() == other.x.getType() &&
           op->getName() == other.op->getName() &&
           op->getAttr("perm") == other.op->getAttr("perm");
  }
};
} // namespace

static std::optional<TokenLayout> tokenLayoutBefore(Value value) {
  ArrayRef<int64_t> to = shapeOf(value);
  if (auto reshape = value.getDefiningOp<onnx::ReshapeOp>()) {
    ArrayRef<int64_t> from = shapeOf(reshape.getX());
    if (from.size() == 3 && to.size() != 3 && !to.empty() &&
        from.back() == to.back())
      return TokenLayout{reshape.getX(), reshape};
  }
  if (auto transpose = value.getDefiningOp<onnx::TransposeOp>())
    if (transpose.getPerm().back() + 1 == int64_t(to.size()))
      return TokenLayout{transpose.getX(), transpose};
  return std::nullopt;
}

/// Numbers of 16 bits are what leaves the wafer: nothing is done to them.
static bool narrows(Operation *op) {
  Type element = typeOf(op->getResult(0)).getElementType();
  return isa<FloatType>(element) && !element.isF32();
}

namespace {
/// op(layout(x)) -> layout(op(x)) for operators that work on each token.
/// Further operands come through the same layout or are the same for all
/// tokens: numbers, vectors of features, weights.
template <typename TokenOp>
struct SinkLayout : OpRewritePattern<TokenOp> {
  using OpRewritePattern<TokenOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(TokenOp op,
                                PatternRewriter &rewriter) const override {
    if (narrows(op))
      return failure();
    SmallVector<Value> operands;
    std::optional<TokenLayout> layout;
    for (Value operand : op->getOperands()) {
      bool isFirst = operands.empty();
      bool isWeight = isa<onnx::MatMulOp>(op) && !isFirst;
      if (isWeight || shapeOf(operand).size() <= 1) {
        operands.push_back(operand);
        continue;
      }
      auto before = tokenLayoutBefore(operand);
      bool sameTokens = shapeOf(operand).drop_back() ==
                            shapeOf(op->getResult(0)).drop_back() &&
                        (isa<onnx::MatMulOp>(op) ||
                         shapeOf(operand) == shapeOf(op->getResult(0)));
      if (!before || !sameTokens || (layout && !layout->isLike(*before)))
        return rewriter.notifyMatchFailure(op, "operands differ in layout");
      layout = before;
      operands.push_back(before->x);
    }
    if (!layout)
      return rewriter.notifyMatchFailure(op, "no layout before it");
    Value y = op->getResult(0);
    Shape shape(shapeOf(layout->x));
    shape.back() = shapeOf(y).back();
    Operation *moved = cloneWithoutNames(rewriter, op);
    moved->setOperands(operands);
    moved->getResult(0).setType(withShape(y, shape));
    rewriter.replaceOp(
        op, layout->again(rewriter, moved->getResult(0), y.getType()));
    return success();
  }
};

/// op(transpose(x)) -> transpose(op(x)) for operators on elements, where
/// features move, too: channels of an image lie in front for its exporter and
/// last for a product. Further operands are transposed alike, or one number.
template <typename ElementOp>
struct SinkTranspose : OpRewritePattern<ElementOp> {
  using OpRewritePattern<ElementOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ElementOp op,
                                PatternRewriter &rewriter) const override {
    Value y = op->getResult(0);
    auto isNumber = [&](Value operand) {
      return typeOf(operand).hasStaticShape() &&
             typeOf(operand).getNumElements() == 1 &&
             shapeOf(operand).size() <= shapeOf(y).size();
    };
    onnx::TransposeOp layout;
    for (Value operand : op->getOperands()) {
      auto before = operand.getDefiningOp<onnx::TransposeOp>();
      if (isNumber(operand))
        continue;
      if (!before || shapeOf(operand) != shapeOf(y) ||
          (layout && layout.getPerm() != before.getPerm()))
        return rewriter.notifyMatchFailure(op, "operands differ in layout");
      layout = before;
    }
    if (!layout || narrows(op))
      return rewriter.notifyMatchFailure(op, "no transpose before it");
    Operation *moved = cloneWithoutNames(rewriter, op);
    for (OpOperand &operand : moved->getOpOperands())
      if (!isNumber(operand.get()))
        operand.set(operand.get().getDefiningOp<onnx::TransposeOp>().getX());
    moved->getResult(0).setType(withShape(y, shapeOf(layout.getX())));
    Operation *again = cloneWithoutNames(rewriter, layout);
    again->setOperand(0, moved->getResult(0));
    again->getResult(0).setType(y.getType());
    rewriter.replaceOp(op, again);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Norms of heads
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Bias and parts
//===----------------------------------------------------------------------===//

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

struct FuseMatMulPass
    : wsec::canonicalize::impl::FuseMatMulBase<FuseMatMulPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns
        .add<CancelLayouts<onnx::ReshapeOp>, CancelLayouts<onnx::TransposeOp>,
             ComposeTransposes, MergeReshapes, ReshapeConstant,
             SinkLayout<onnx::MatMulOp>, SinkLayout<onnx::LayerNormOp>,
             SinkLayout<onnx::RMSNormOp>, SinkLayout<onnx::SoftmaxOp>,
             SinkLayout<onnx::UnaryOp>, SinkLayout<onnx::CastOp>,
             SinkLayout<onnx::BinaryOp>, SinkLayout<onnx::WhereOp>,
             SinkTranspose<onnx::UnaryOp>, SinkTranspose<onnx::CastOp>,
             SinkTranspose<onnx::BinaryOp>, SinkTranspose<onnx::WhereOp>,
             DropExpand<onnx::BinaryOp>, DropExpand<onnx::WhereOp>,
             SinkExpand<onnx::UnaryOp>, SinkExpand<onnx::CastOp>,
             SinkExpandBelowBinary, SinkExpandBelowReduce, BroadcastConstant,
             NormHeads, AddBias, SplitProduct>(context);
    ValueNameListener listener;
    GreedyRewriteConfig config;
    config.setListener(&listener);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     config))) {
      getOperation().emitError("products by weights do not settle");
      signalPassFailure();
    }
  }
};
} // namespace
