// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that change how many tokens or features there are: by kernels where
// one fits where things lie, else through the store, which sends what it holds
// in any order.

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
  int64_t features = wse::featuresOf(input);
  bool isMean = op.getKind() == onnx::ReduceKind::Mean;
  RankedTensorType type = vectorType(kernels, {features, 1});
  auto ones =
      DenseElementsAttr::get(type, isMean ? 1.0f / float(features) : 1.0f);
  auto weight = wse::WeightAttr::get(
      main.getContext(), kernels.getStringAttr(isMean ? "1/n" : "1"), type,
      StringAttr(), 0, 0, ones, FlatSymbolRefAttr(), 0, {});
  return buildMatmul(op, input, weight, {},
                     tilingOf(input).withColumns(ColumnPlacement::Balanced));
}

Value Selector::reduceTokens(Operation *op, Value input, wse::ReduceKind kind) {
  TiledAttr tiling = tilingOf(input);
  auto resultTiling = TiledAttr::get(
      main.getContext(), tiling.getBatch(), 1, wse::RowPlacement::Split,
      tiling.getGroup(), 0, tiling.getColumns(), tiling.getHeadSize(),
      tiling.getHeadColumns());
  return create<wse::ReduceTokensOp>(
      op, nodesOf(op),
      Type(tensorType(resultTiling, wse::featuresOf(input), input)), input,
      wse::ReduceKindAttr::get(main.getContext(), kind));
}

// Any axes: they become the tokens, all others features of one batch element.
Value Selector::reduceInStore(onnx::ReduceOp op) {
  if (!toStore(op.getX(), op))
    return {};
  HostView host = *hostValues.view(op.getX());
  SmallVector<int64_t> permutation = llvm::to_vector(op.getAxes());
  int64_t rank = int64_t(host.view.shape.size()), tokens = 1;
  for (int64_t axis : op.getAxes())
    tokens *= host.view.shape[axis];
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(op.getAxes(), axis))
      permutation.push_back(axis);
  int64_t features = host.view.numElements() / tokens;
  host.view = host.view.transpose(permutation);
  Value rows = loadReshaped(host, {1, tokens, features},
                            defaultTiling({1, tokens, features}), op);
  storeWhole(op.getY(), reduceTokens(op, rows, tokenReduction(op.getKind())),
             op);
  return {};
}

/// Partial results are i32, which would have to wrap in between.
static bool reducesOtherIntegers(onnx::ReduceOp op) {
  auto integer = dyn_cast<IntegerType>(
      cast<RankedTensorType>(op.getX().getType()).getElementType());
  if (!integer || integer.getWidth() == 1)
    return false;
  const bool isMax = op.getKind() == onnx::ReduceKind::Max;
  return isMax ? integer.isUnsignedInteger(32)
               : integer.getWidth() < 32 || integer.isUnsigned();
}

Value Selector::select(onnx::ReduceOp op) {
  if (reducesOtherIntegers(op)) {
    refuse(op, "combines integers whose partial results 32 bits with a sign "
               "do not hold; cast to int32 or int64 first");
    return {};
  }
  Value input = onWafer(op.getX(), op);
  if (!input)
    return {};
  bool integers = elementOnWafer(op.getX()).isInteger();
  if (integers && op.getKind() == onnx::ReduceKind::Mean) {
    refuse(op, "takes a mean of integers, which would have to round towards "
               "zero; cast to float first");
    return {};
  }
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  int64_t last = int64_t(shape.size()) - 1;
  if (op.getAxes() == ArrayRef<int64_t>(last) &&
      op.getKind() != onnx::ReduceKind::Max && !integers &&
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
  if (!inOrder || kept[last] != shape[last] || leading != tiling.getBatch())
    return reduceInStore(op);
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
  if (!input || onlyLeavesWafer(op) || features == wse::featuresOf(input))
    return input;
  selectView(op);
  return {};
}

Value Selector::select(onnx::TransposeOp op) {
  selectView(op);
  return {};
}

Value Selector::select(onnx::ExpandOp op) {
  selectView(op);
  return {};
}

// Each part is stored at its place: all that lies before `axis` makes batch
// elements, what is between there and the features tokens.
Value Selector::select(onnx::ConcatOp op) {
  ArrayRef<int64_t> whole = shapeOf(op.getY());
  int64_t axis = op.getAxis();
  auto elements = [](ArrayRef<int64_t> shape) {
    return ShapedType::getNumElements(shape);
  };
  int64_t outer = elements(whole.take_front(axis));
  int64_t step = elements(whole.drop_front(axis)), offset = 0;
  wse::IntermediateOp into = declare(whole, op.getY(), op);
  for (Value part : op.getParts()) {
    ArrayRef<int64_t> inner = shapeOf(part).drop_front(axis);
    int64_t tokens = elements(inner.drop_back());
    TiledAttr tiling = defaultTiling({outer, tokens, inner.back()});
    Value tensor = alreadyOnWafer(part);
    if (!tensor || wse::featuresOf(tensor) != inner.back() ||
        (tokens > 1 && outer > 1 && tilingOf(tensor).getBatch() != outer)) {
      if (!toStore(part, op))
        return {};
      tensor = loadReshaped(*hostValues.view(part),
                            {outer, tokens, inner.back()}, tiling, op);
    }
    TiledAttr own = tilingOf(tensor);
    // Token number n of `own` is token n % tokens of batch element n / tokens.
    int64_t perToken = tokens > 1 ? inner.back() : step;
    int64_t strides[] = {own.getBatch() == outer ? step
                                                 : own.getTokens() * perToken,
                         perToken, 1};
    store(tensor, into, offset, strides, op);
    offset += elements(inner);
  }
  hostValues.store(op.getY(), FlatSymbolRefAttr::get(into.getSymNameAttr()));
  return {};
}

// The mask of a token streams in from the program file, which has to hold it.
static constexpr int64_t maxStoredMask = 1 << 24;

// One token of each batch element: all others become 0, then tokens add up.
Value Selector::takeToken(onnx::SliceOp op, Value input, int64_t token) {
  TiledAttr tiling = tilingOf(input);
  int64_t tokens = tiling.getTokens();
  SmallVector<float> oneHot(tokens, 0.0f);
  oneHot[token] = 1.0f;
  auto data = DenseElementsAttr::get(vectorType(kernels, {tokens}),
                                     ArrayRef<float>(oneHot));
  int64_t strides[] = {0, 1, 0};
  auto source = wse::WeightAttr::get(
      main.getContext(), kernels.getStringAttr("token"),
      vectorType(kernels, {tiling.getBatch(), tokens, 1}), StringAttr(), 0, 0,
      data, FlatSymbolRefAttr(), 0, strides);
  TiledAttr perToken = tiling.withColumns(ColumnPlacement::Replicated);
  Value mask = create<wse::LoadOp>(
      op, nodesOf(op.getOperation()), Type(tensorType(perToken, 1)), source,
      kernels.getI64IntegerAttr(0), DenseI64ArrayAttr());

  auto kernel = create<wse::ElementwiseOp>(
      op, nodesOf(op.getOperation()),
      Type(tensorType(tiling, wse::featuresOf(input), input)),
      ValueRange{input, mask}, kernels.getArrayAttr({}));
  Block &block = kernel.getBody().emplaceBlock();
  Type f32 = kernels.getF32Type();
  Type element = elementOnWafer(input);
  Value x = block.addArgument(element, op.getLoc());
  Value chosen = block.addArgument(f32, op.getLoc());
  OpBuilder body = OpBuilder::atBlockEnd(&block);
  Value zero = buildConstant(body, op.getLoc(), 0);
  Value isChosen = arith::CmpFOp::create(
      body, op.getLoc(), arith::CmpFPredicate::UNE, chosen, zero);
  Value none = element.isInteger() ? buildInteger(body, op.getLoc(), 0) : zero;
  Value kept = arith::SelectOp::create(body, op.getLoc(), isChosen, x, none);
  wse::YieldOp::create(body, op.getLoc(), kept);
  return reduceTokens(op, kernel.getResult(), wse::ReduceKind::Sum);
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
  std::optional<View> oneToken = view.reshape({batch, 1, features});
  auto strided = [](const View &view, ArrayRef<int64_t> strides) {
    for (size_t d = 0; d < strides.size(); ++d)
      if (view.shape[d] > 1 && view.strides[d] != strides[d])
        return false;
    return true;
  };
  if (view.numElements() == batch * features && oneToken &&
      strided(*oneToken, {tokens * features, 0, 1}) &&
      view.offset % features == 0 && view.offset / features < tokens &&
      tokens <= maxStoredMask)
    return takeToken(op, input, view.offset / features);
  selectView(op);
  return {};
}

//===----------------------------------------------------------------------===//
// Products of two computed tensors
//===----------------------------------------------------------------------===//

// One product for each pair of matrices; the right one streams from the store.
Value Selector::select(onnx::BatchMatMulOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getY());
  ArrayRef<int64_t> leading = shape.drop_back(2);
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  int64_t depth = shapeOf(op.getA()).back();
  int64_t pairs = ShapedType::getNumElements(leading);
  if (!toStore(op.getB(), op))
    return {};
  HostView right = *hostValues.view(op.getB());
  if (ShapedType::getNumElements(shapeOf(op.getB()).drop_back(2)) == 1) {
    right.view = *right.view.reshape({depth, columns});
    Value input = onWafer(op.getA(), op);
    return input
               ? buildMatmul(op, input, right.weight(), {},
                             wantedHeads.columnsFor(op.getY(), tilingOf(input)))
               : Value();
  }
  if (!toStore(op.getA(), op))
    return {};
  HostView left = *hostValues.view(op.getA());
  auto over = [&](const View &view, int64_t m, int64_t n) {
    SmallVector<int64_t> extents = llvm::to_vector(leading);
    extents.append({m, n});
    return view.broadcast(extents);
  };
  left.view = over(left.view, rows, depth);
  right.view = over(right.view, depth, columns);
  // The matrices of pair number `pair`.
  auto matrix = [&](HostView host, int64_t pair) {
    for (size_t d = leading.size(); d-- > 0; pair /= leading[d])
      host.view.offset += pair % leading[d] * host.view.strides[d];
    host.view.shape.erase(host.view.shape.begin(), host.view.shape.end() - 2);
    host.view.strides.erase(host.view.strides.begin(),
                            host.view.strides.end() - 2);
    return host;
  };
  wse::IntermediateOp into = declare(shape, op.getY(), op);
  TiledAttr tiling = defaultTiling({1, rows, depth});
  for (int64_t pair = 0; pair < pairs; ++pair) {
    HostView rowsOf = matrix(left, pair);
    rowsOf.view = *rowsOf.view.reshape({1, rows, depth});
    Value product = buildMatmul(op, load(rowsOf, tiling, op),
                                matrix(right, pair).weight(), {}, tiling);
    store(product, into, pair * rows * columns, {0, columns, 1}, op);
  }
  hostValues.store(op.getY(), FlatSymbolRefAttr::get(into.getSymNameAttr()));
  return {};
}
