// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens of a call that is shorter than it may be lie in all rows, and not in
// the first ones alone, where neighbours are dealt out:
//
//   8 tokens, 3 rows, a call of 4:   0 3 . | 1 . . | 2 .
//
// No operator but causality and running sums asks which token stands where, so
// the order is that of the model's ends: constants here, inputs and outputs
// where they are given. Attention is told how its tokens are dealt; what is
// summed up in order is put in order before, and dealt again.
#include "compiler/canonicalize/DealTokens.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/onnx/Lengths.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

/// So many have their scores in SRAM; keys of more may come from the store, in
/// the order in which they are dealt.
static constexpr int64_t mostCausalTokens = 1024;

static bool hidesLater(onnx::AttentionOp op) {
  return llvm::any_of(op.eachTerm(), [](onnx::TermAttr term) {
    return term.getLater() != nullptr;
  });
}

/// Whether an operator is the same for tokens in any order, or is told theirs.
static bool keepsOrder(Operation *op, LengthAxes axesOf) {
  auto has = [&](Value value, int64_t axis) {
    return llvm::is_contained(axesOf(value), axis);
  };
  if (auto attention = dyn_cast<onnx::AttentionOp>(op))
    return !hidesLater(attention) ||
           (has(attention.getQ(), 1) == has(attention.getK(), 1) &&
            shapeOf(attention.getK())[1] <= mostCausalTokens);
  if (auto gather = dyn_cast<onnx::GatherOp>(op))
    return !has(gather.getTable(), 0);
  if (auto slice = dyn_cast<onnx::SliceOp>(op))
    return axesOf(slice.getY()).size() <= axesOf(slice.getX()).size() &&
           llvm::all_of(axesOf(slice.getX()), [&](int64_t axis) {
             return has(slice.getY(), axis) || shapeOf(slice.getY())[axis] == 1;
           });
  if (isa<onnx::ConstantOp>(op) && !axesOf(op->getResult(0)).empty()) {
    std::optional<Fact> fact = factOf(op->getResult(0));
    return fact && fact->load();
  }
  // What makes tokens of no token, as a cut of a table does, makes them in
  // their own order; copies of one are alike.
  auto isDealt = [&](Value value) { return !axesOf(value).empty(); };
  return isa<onnx::ConstantOp, onnx::ExpandOp>(op) ||
         llvm::none_of(op->getResults(), isDealt) ||
         llvm::any_of(op->getOperands(), isDealt);
}

int64_t wsec::canonicalize::partsOfTokens(func::FuncOp function,
                                          LengthAxes axesOf, int64_t rows) {
  int64_t batch = 0, tokens = 0;
  for (BlockArgument argument : function.getArguments())
    if (const SmallVector<int64_t> axes = axesOf(argument); !axes.empty()) {
      batch =
          std::max(batch, numElements(shapeOf(argument).take_front(axes[0])));
      tokens = shapeOf(argument)[axes[0]];
    }
  const int64_t group = batch > 0 ? rows / batch : 0;
  if (group < 2 || group >= tokens)
    return 1;
  for (Operation &op : function.front())
    if (!keepsOrder(&op, axesOf))
      return 1;
  return group;
}

/// The elements in another order along some axes.
static Tensor dealt(const Tensor &tensor, ArrayRef<int64_t> axes,
                    int64_t tokens, int64_t parts) {
  Tensor result(tensor.type(), tensor.shape());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    int64_t rest = i, place = 0, stride = 1;
    for (int64_t axis = int64_t(tensor.shape().size()); axis-- > 0;) {
      const int64_t extent = tensor.shape()[axis], at = rest % extent;
      // An axis may have the tokens once for each head.
      place += stride * (llvm::is_contained(axes, axis)
                             ? at - at % tokens +
                                   onnx::dealtPlace(at % tokens, tokens, parts)
                             : at);
      rest /= extent;
      stride *= extent;
    }
    result.set(place, tensor, i);
  }
  return result;
}

static void dealConstant(onnx::ConstantOp op, ArrayRef<int64_t> axes,
                         int64_t tokens, int64_t parts) {
  OpBuilder builder(op);
  Fact fact = Fact::ofTensor(dealt(*factOf(op)->load(), axes, tokens, parts));
  op.replaceAllUsesWith(materialize(builder, op.getLoc(), fact, nodeName(op)));
}

/// Rows of `x` along an axis in another order: the i-th is that at places[i].
static Value reordered(OpBuilder &builder, onnx::RunningSumOp op, Value x,
                       ArrayRef<int64_t> places) {
  const Shape shape(shapeOf(x));
  const int64_t extent = int64_t(places.size());
  const int64_t inner = numElements(shapeOf(x).drop_front(op.getAxis() + 1));
  const Shape rows = {numElements(shape) / inner, inner};
  SmallVector<int64_t> from;
  for (int64_t i = 0; i < rows[0]; ++i)
    from.push_back(i - i % extent + places[i % extent]);
  Value taken = onnx::GatherOp::create(
      builder, op.getLoc(),
      RankedTensorType::get(rows, typeOf(x).getElementType()),
      reshapeTo(builder, op.getLoc(), x, rows, op.getNode()),
      materialize(builder, op.getLoc(), Tensor::ofInts(from)), op.getNode());
  return reshapeTo(builder, op.getLoc(), taken, shape, op.getNode());
}

static void sumInOrder(onnx::RunningSumOp op, int64_t parts) {
  const int64_t extent = shapeOf(op.getX())[op.getAxis()];
  SmallVector<int64_t> places(extent), tokens(extent);
  for (int64_t i = 0; i < extent; ++i) {
    places[i] = onnx::dealtPlace(i, extent, parts);
    tokens[places[i]] = i;
  }
  OpBuilder builder(op);
  op.getXMutable().assign(reordered(builder, op, op.getX(), places));
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op.getY().getUses())
    uses.push_back(&use);
  builder.setInsertionPointAfter(op);
  Value dealt = reordered(builder, op, op.getY(), tokens);
  for (OpOperand *use : uses)
    use->set(dealt);
}

void wsec::canonicalize::dealTokens(func::FuncOp function, LengthAxes axesOf,
                                    int64_t parts) {
  const int64_t tokens =
      function->getAttrOfType<DenseI64ArrayAttr>(onnx::lengthAttrName)[1];
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (auto constant = dyn_cast<onnx::ConstantOp>(op))
      if (const SmallVector<int64_t> axes = axesOf(constant); !axes.empty())
        dealConstant(constant, axes, tokens, parts);
    if (auto attention = dyn_cast<onnx::AttentionOp>(op);
        attention && llvm::is_contained(axesOf(attention.getY()), 1))
      attention->setAttr(onnx::lengthPartsAttrName,
                         Builder(attention).getI64IntegerAttr(parts));
    if (auto sum = dyn_cast<onnx::RunningSumOp>(op);
        sum && llvm::is_contained(axesOf(sum.getY()), int64_t(sum.getAxis())))
      sumInOrder(sum, parts);
    auto slice = dyn_cast<onnx::SliceOp>(op);
    if (!slice)
      continue;
    SmallVector<int64_t> starts(slice.getStarts());
    for (int64_t axis : axesOf(slice.getX()))
      starts[axis] =
          onnx::dealtPlace(starts[axis], shapeOf(slice.getX())[axis], parts);
    slice.setStarts(starts);
  }
}
