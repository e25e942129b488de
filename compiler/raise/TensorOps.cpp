// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of tensor, and what of arith and linalg works on whole tensors.
#include "compiler/raise/Raiser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace wsec;
using namespace wsec::raise;

bool wsec::raise::isEmpty(Operation *op) { return isa<tensor::EmptyOp>(op); }

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {
/// What a slice takes, where all of it is known.
struct Slice {
  ArrayRef<int64_t> offsets, sizes, strides;

  bool isKnown() const {
    return !llvm::any_of(offsets, ShapedType::isDynamic) &&
           !llvm::any_of(sizes, ShapedType::isDynamic) &&
           !llvm::any_of(strides, ShapedType::isDynamic);
  }
};
} // namespace

template <class Op>
static Slice sliceOf(Op op) {
  return {op.getStaticOffsets(), op.getStaticSizes(), op.getStaticStrides()};
}

static Term sliced(Raiser &raiser, const Term &from, const Slice &slice) {
  Extents ends;
  bool isWhole = true;
  for (size_t d = 0; d < from.shape.size(); ++d) {
    ends.push_back(slice.offsets[d] + (slice.sizes[d] - 1) * slice.strides[d] +
                   1);
    isWhole &= slice.sizes[d] == from.shape[d];
  }
  if (isWhole)
    return from;
  Extents axes(from.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return raiser.node("Slice",
                     {from, raiser.integers(slice.offsets),
                      raiser.integers(ends), raiser.integers(axes),
                      raiser.integers(slice.strides)},
                     Extents(slice.sizes));
}

static Term concatenated(Raiser &raiser, ArrayRef<Term> parts, int64_t axis,
                         Extents shape) {
  if (parts.size() == 1)
    return parts.front();
  return raiser.node("Concat", parts, std::move(shape),
                     raiser.builder.getNamedAttr(
                         "axis", raiser.builder.getI64IntegerAttr(axis)));
}

/// What is written into a tensor stands between what stays before and behind
/// it. An empty tensor that slices fill one behind the other, as in a
/// concatenation, is as long as what it holds so far.
static LogicalResult insert(Raiser &raiser, tensor::InsertSliceOp op) {
  Slice slice = sliceOf(op);
  ArrayRef<int64_t> shape = shapeOf(op.getDest());
  if (!slice.isKnown() ||
      llvm::any_of(slice.strides, [](int64_t stride) { return stride != 1; }))
    return raiser.refuse("it writes to places that are not known, or apart");
  std::optional<int64_t> axis;
  for (size_t d = 0; d < shape.size(); ++d)
    if (slice.sizes[d] != shape[d]) {
      if (axis)
        return raiser.refuse("it writes a part of several dimensions");
      axis = int64_t(d);
    }
  FailureOr<Term> source = raiser.term(op.getSource());
  if (failed(source))
    return failure();
  Term part = raiser.reshape(*source, slice.sizes);
  if (!axis) {
    raiser.define(op.getResult(), part);
    return success();
  }
  int64_t begin = slice.offsets[*axis], end = begin + slice.sizes[*axis];
  Term dest = raiser.filled(op.getDest());
  Operation *maker = op.getDest().getDefiningOp();
  if (!dest.value && !(maker && isEmpty(maker)))
    return raiser.term(op.getDest());
  if (!dest.value) {
    dest.shape = Extents(shape);
    dest.shape[*axis] = 0;
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (int64_t(d) != *axis && dest.shape[d] != shape[d])
      return raiser.refuse("it fills an empty tensor along two dimensions");
  int64_t length = dest.shape[*axis];
  if (begin > length)
    return raiser.refuse("it leaves elements of an empty tensor out");
  auto between = [&](int64_t from, int64_t to) {
    Extents offsets(shape.size(), 0), sizes(shape), strides(shape.size(), 1);
    offsets[*axis] = from;
    sizes[*axis] = to - from;
    return sliced(raiser, dest, {offsets, sizes, strides});
  };
  SmallVector<Term> parts;
  if (begin > 0)
    parts.push_back(between(0, begin));
  parts.push_back(part);
  if (end < length)
    parts.push_back(between(end, length));
  Extents filled(shape);
  filled[*axis] = std::max(end, length);
  raiser.define(op.getResult(),
                concatenated(raiser, parts, *axis, std::move(filled)));
  return success();
}

static LogicalResult pad(Raiser &raiser, tensor::PadOp op) {
  Value value = op.getConstantPaddingValue();
  if (!value || llvm::any_of(op.getStaticLow(), ShapedType::isDynamic) ||
      llvm::any_of(op.getStaticHigh(), ShapedType::isDynamic))
    return raiser.refuse("it pads by what is not known");
  FailureOr<Term> from = raiser.term(op.getSource());
  FailureOr<Term> number = raiser.term(value);
  if (failed(from) || failed(number))
    return failure();
  Extents amounts(op.getStaticLow());
  llvm::append_range(amounts, op.getStaticHigh());
  raiser.define(op.getResult(),
                raiser.node("Pad", {*from, raiser.integers(amounts), *number},
                            Extents(shapeOf(op.getResult()))));
  return success();
}

LogicalResult Raiser::raiseTensorOp(Operation *op) {
  SmallVector<Term> operands;
  auto readAll = [&]() -> LogicalResult {
    for (Value value : op->getOperands()) {
      FailureOr<Term> found = term(value);
      if (failed(found))
        return failure();
      operands.push_back(*found);
    }
    return success();
  };
  if (isEmpty(op))
    return success();
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return insert(*this, slice);
  if (auto padding = dyn_cast<tensor::PadOp>(op))
    return pad(*this, padding);
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
    FailureOr<Term> from = term(softmax.getInput());
    if (failed(from))
      return failure();
    auto axis = builder.getI64IntegerAttr(int64_t(softmax.getDimension()));
    define(op->getResult(0), node("Softmax", *from, from->shape,
                                  builder.getNamedAttr("axis", axis)));
    return success();
  }
  if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ReshapeOp,
           tensor::CastOp, tensor::ExtractSliceOp, tensor::ConcatOp>(op) &&
      !(isa<tensor::FromElementsOp>(op) && op->getNumOperands() == 1) &&
      !OpTrait::hasElementwiseMappableTraits(op))
    return refuse("no operator means the same");
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (slice && !sliceOf(slice).isKnown())
    return refuse("it takes a part that is not known");
  if (isa<tensor::ReshapeOp>(op)) {
    FailureOr<Term> from = term(op->getOperand(0));
    if (failed(from))
      return failure();
    operands.push_back(*from);
  } else if (failed(readAll())) {
    return failure();
  }
  Value result = op->getResult(0);
  if (slice)
    operands.front() = sliced(*this, operands.front(), sliceOf(slice));
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    define(result, concatenated(*this, operands, int64_t(concat.getDim()),
                                Extents(shapeOf(result))));
    return success();
  }
  if (OpTrait::hasElementwiseMappableTraits(op)) {
    FailureOr<Term> made = scalar(op, operands);
    if (failed(made))
      return failure();
    define(result, *made);
    return success();
  }
  define(result, reshape(operands.front(), shapeOf(result)));
  return success();
}

/// What is computed from constants. Where that is nothing, those that read it
/// say so; constants themselves are made there, too.
LogicalResult Raiser::raiseScalar(Operation *op) {
  if (!isMemoryEffectFree(op) || op->getNumRegions() || !op->getNumResults())
    return refuse("no operator means the same");
  SmallVector<Term> operands;
  for (Value operand : op->getOperands())
    if (FailureOr<Term> found = term(operand); succeeded(found))
      operands.push_back(*found);
  if (operands.empty() || operands.size() != op->getNumOperands())
    return success();
  Value result = op->getResult(0);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op);
      extract && extract.getIndices().empty())
    define(result, operands[0]);
  else if (OpTrait::hasElementwiseMappableTraits(op))
    if (FailureOr<Term> made = scalar(op, operands); succeeded(made))
      define(result, *made);
  return success();
}

LogicalResult Raiser::raise(Operation *op) {
  current = op;
  names.clear();
  reason.clear();
  ++position;
  if (llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>))
    return raiseScalar(op);
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        !tensor || !tensor.hasStaticShape())
      return refuse("its extents are not known; export with static shapes");
  Attribute value;
  if (op->getNumResults() == 1 && op->getNumOperands() == 0 &&
      matchPattern(op, m_Constant(&value)))
    return raiseConstant(op->getResult(0), value);
  if (isa<linalg::LinalgOp>(op))
    return raiseStructured(op);
  return raiseTensorOp(op);
}
