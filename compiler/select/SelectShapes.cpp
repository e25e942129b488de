// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that change how many tokens or features there are, by the kernels
// that products, element-wise chains and sums over tokens already are.

#include "compiler/select/ScalarBody.h"
#include "compiler/select/Selector.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;
using wse::ColumnPlacement;
using wse::TiledAttr;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static wse::ReduceKind tokenReduction(onnx::ReduceKind kind) {
  switch (kind) {
  case onnx::ReduceKind::Sum:
    return wse::ReduceKind::Sum;
  case onnx::ReduceKind::Mean:
    return wse::ReduceKind::Mean;
  case onnx::ReduceKind::Max:
    return wse::ReduceKind::Max;
  }
  llvm_unreachable("all kinds are handled");
}

static RankedTensorType vectorType(Builder builder, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, builder.getF32Type());
}

// A sum over features is a product with a column of ones.
Value Selector::reduceFeatures(onnx::ReduceOp op, Value input) {
  if (op.getKind() == onnx::ReduceKind::Max) {
    refuse(op, "takes the maximum over the last axis; only sums and means can "
               "reduce features");
    return {};
  }
  int64_t features = wse::featuresOf(input);
  bool isMean = op.getKind() == onnx::ReduceKind::Mean;
  RankedTensorType type = vectorType(kernels, {features, 1});
  auto ones =
      DenseElementsAttr::get(type, isMean ? 1.0f / float(features) : 1.0f);
  auto weight = wse::WeightAttr::get(
      main.getContext(), kernels.getStringAttr(isMean ? "1/n" : "1"), type,
      StringAttr(), 0, 0, ones, 0, {});
  return buildMatmul(op, input, weight, {},
                     tilingOf(input).withColumns(ColumnPlacement::Balanced));
}

Value Selector::reduceTokens(Operation *op, Value input, wse::ReduceKind kind) {
  TiledAttr tiling = tilingOf(input);
  auto resultTiling = TiledAttr::get(
      main.getContext(), tiling.getBatch(), 1, wse::RowPlacement::Split,
      tiling.getGroup(), 0, tiling.getColumns(), tiling.getHeadSize());
  return create<wse::ReduceTokensOp>(
      op, nodesOf(op), Type(tensorType(resultTiling, wse::featuresOf(input))),
      input, wse::ReduceKindAttr::get(main.getContext(), kind));
}

Value Selector::select(onnx::ReduceOp op) {
  Value input = onWafer(op.getX(), op);
  if (!input)
    return {};
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  int64_t last = int64_t(shape.size()) - 1;
  if (op.getAxes() == ArrayRef<int64_t>(last) &&
      (op.getKeepdims() || onlyLeavesWafer(op)))
    return reduceFeatures(op, input);
  // The reduced axes must be the tokens: all that is left is batch, features.
  TiledAttr tiling = tilingOf(input);
  SmallVector<int64_t> kept = llvm::to_vector(shape);
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  int64_t leading = ShapedType::getNumElements(ArrayRef(kept).drop_back());
  bool inOrder = true;
  for (int64_t axis = op.getAxes().front(); axis < last; ++axis)
    inOrder &= kept[axis] == 1;
  if (!inOrder || kept[last] != shape[last] || leading != tiling.getBatch()) {
    refuse(op, "reduces other axes than the tokens of each batch element");
    return {};
  }
  return reduceTokens(op, input, tokenReduction(op.getKind()));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

// Tokens may be regrouped, since kernels see batch, token and feature only.
Value Selector::select(onnx::ReshapeOp op) {
  Value input = onWafer(op.getX(), op);
  ArrayRef<int64_t> shape = shapeOf(op.getY());
  int64_t features = shape.empty() ? 1 : shape.back();
  if (input && !onlyLeavesWafer(op) && features != wse::featuresOf(input)) {
    refuse(op, "moves elements between tokens and features (" +
                   Twine(wse::featuresOf(input)) + " features become " +
                   Twine(features) + "), which takes a transpose of the mesh");
    return {};
  }
  return input;
}

// Zeros around a one stream in from the program file, which has to hold them.
static constexpr int64_t maxStoredZeros = 1 << 24;

bool Selector::canStore(onnx::SliceOp op, int64_t zeros) {
  if (zeros > maxStoredZeros)
    refuse(op, "takes a part of " + Twine(zeros) +
                   " tokens or features; at most " + Twine(maxStoredZeros) +
                   " can be chosen from");
  return zeros <= maxStoredZeros;
}

// One token of each batch element: all others become 0, then tokens add up.
Value Selector::takeToken(onnx::SliceOp op, Value input, int64_t token) {
  TiledAttr tiling = tilingOf(input);
  int64_t tokens = tiling.getTokens();
  if (!canStore(op, tokens))
    return {};
  SmallVector<float> oneHot(tokens, 0.0f);
  oneHot[token] = 1.0f;
  auto data = DenseElementsAttr::get(vectorType(kernels, {tokens}),
                                     ArrayRef<float>(oneHot));
  int64_t strides[] = {0, 1, 0};
  auto source =
      wse::WeightAttr::get(main.getContext(), kernels.getStringAttr("token"),
                           vectorType(kernels, {tiling.getBatch(), tokens, 1}),
                           StringAttr(), 0, 0, data, 0, strides);
  TiledAttr perToken = tiling.withColumns(ColumnPlacement::Replicated);
  Value mask = create<wse::LoadOp>(
      op, nodesOf(op.getOperation()), Type(tensorType(perToken, 1)), source,
      kernels.getI64IntegerAttr(0), DenseI64ArrayAttr());

  auto kernel = create<wse::ElementwiseOp>(
      op, nodesOf(op.getOperation()),
      Type(tensorType(tiling, wse::featuresOf(input))), ValueRange{input, mask},
      kernels.getArrayAttr({}));
  Block &block = kernel.getBody().emplaceBlock();
  Type f32 = kernels.getF32Type();
  Value x = block.addArgument(f32, op.getLoc());
  Value chosen = block.addArgument(f32, op.getLoc());
  OpBuilder body = OpBuilder::atBlockEnd(&block);
  Value zero = buildConstant(body, op.getLoc(), 0);
  Value isChosen = arith::CmpFOp::create(
      body, op.getLoc(), arith::CmpFPredicate::UNE, chosen, zero);
  Value kept = arith::SelectOp::create(body, op.getLoc(), isChosen, x, zero);
  wse::YieldOp::create(body, op.getLoc(), kept);
  return reduceTokens(op, kernel.getResult(), wse::ReduceKind::Sum);
}

// Features first, first + step, ...: a product with a 0-1 matrix. All its
// diagonals are alike, so it is a view of one row of zeros around a 1.
Value Selector::takeFeatures(onnx::SliceOp op, Value input, int64_t first,
                             int64_t step, int64_t count) {
  int64_t features = wse::featuresOf(input);
  if (!canStore(op, features))
    return {};
  // Element (k, n) is stored at k - n * step + offset; the 1 at first + offset.
  int64_t offset = std::max<int64_t>(0, (count - 1) * step);
  int64_t last = features - 1 + std::max<int64_t>(0, -(count - 1) * step);
  SmallVector<float> stored(last + offset + 1, 0.0f);
  stored[first + offset] = 1.0f;
  auto data = DenseElementsAttr::get(
      vectorType(kernels, {int64_t(stored.size())}), ArrayRef<float>(stored));
  int64_t strides[] = {1, -step};
  auto weight = wse::WeightAttr::get(main.getContext(),
                                     kernels.getStringAttr("selection"),
                                     vectorType(kernels, {features, count}),
                                     StringAttr(), 0, 0, data, offset, strides);
  return buildMatmul(op, input, weight, {},
                     wantedHeads.columnsFor(op.getY(), tilingOf(input)));
}

Value Selector::select(onnx::SliceOp op) {
  Value input = normInput(op.getX(), op);
  if (!input)
    return {};
  TiledAttr tiling = tilingOf(input);
  int64_t batch = tiling.getBatch(), tokens = tiling.getTokens();
  int64_t features = wse::featuresOf(input);
  View view = View::dense(shapeOf(op.getX()))
                  .slice(op.getStarts(), op.getSteps(), shapeOf(op.getY()));
  auto strided = [](const View &view, ArrayRef<int64_t> strides) {
    for (size_t d = 0; d < strides.size(); ++d)
      if (view.shape[d] > 1 && view.strides[d] != strides[d])
        return false;
    return true;
  };
  std::optional<View> oneToken = view.reshape({batch, 1, features});
  if (view.numElements() == batch * features && oneToken &&
      strided(*oneToken, {tokens * features, 0, 1}) &&
      view.offset % features == 0 && view.offset / features < tokens)
    return takeToken(op, input, view.offset / features);
  int64_t count = shapeOf(op.getY()).back();
  std::optional<View> rows = view.reshape({batch, tokens, count});
  if (view.numElements() == batch * tokens * count && rows &&
      view.offset < features &&
      strided(*rows, {tokens * features, features, rows->strides[2]}))
    return takeFeatures(op, input, view.offset, op.getSteps().back(), count);
  refuse(op, "takes neither one token of each batch element nor features of "
             "all tokens");
  return {};
}
