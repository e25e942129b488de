// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::BinaryKind;

#include "compiler/differentiate/Differentiable.cpp.inc"

/// Behind the name of a node whose gradients an operator computes.
static constexpr StringLiteral suffix = "/backward";

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

Backward::Backward(Block &block)
    : OperatorBuilder(OpBuilder(block.getTerminator()),
                      block.getTerminator()->getLoc(),
                      StringAttr::get(block.front().getContext(), "loss")),
      block(block) {}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void Backward::at(Operation *op) {
  atWork = op;
  place = op->getLoc();
  StringRef name = nodeName(op);
  if (!name.empty())
    node = build.getStringAttr(name.ends_with(suffix) ? Twine(name)
                                                      : name + suffix);
}

void Backward::markWanted(Operation *op) {
  if (llvm::any_of(op->getOperands(), [&](Value x) { return wants(x); }))
    for (Value result : op->getResults())
      if (isFloat(result))
        want(result);
}

bool Backward::run(Value loss) {
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator()) {
    markWanted(&op);
    forward.push_back(&op);
  }
  add(loss, filled(shapeOf(loss), 1));
  differentiate(forward);
  return refusals.empty();
}

void Backward::differentiate(ArrayRef<Operation *> forward) {
  for (Operation *op : llvm::reverse(forward)) {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
        !wants(op->getResult(0)))
      continue;
    at(op);
    Value dy = of(op->getResult(0));
    if (!dy || refusals.countConsequence(op))
      continue;
    if (auto differentiable = dyn_cast<Differentiable>(op))
      differentiable.addGradients(dy, *this);
    else
      refuse("has no gradient; what trains may not lie before it: --freeze "
             "leaves parameters as they are");
  }
}

void Backward::through(Value dy, llvm::function_ref<Value()> compose) {
  Operation *last = &*std::prev(build.getInsertionPoint());
  Value y = compose();
  SmallVector<Operation *> made;
  for (Block::iterator op = std::next(last->getIterator());
       op != build.getInsertionPoint(); ++op) {
    markWanted(&*op);
    made.push_back(&*op);
  }
  add(y, dy);
  StringAttr name = node;
  differentiate(made);
  node = name;
}

void Backward::refuse(const Twine &reason) { refusals.refuse(atWork, reason); }

//===----------------------------------------------------------------------===//
// Gradients of values
//===----------------------------------------------------------------------===//

void Backward::add(Value value, Value gradient) {
  if (!wants(value))
    return;
  ArrayRef<int64_t> shape = shapeOf(value);
  if (*broadcastShapes(shape, shapeOf(gradient)) != Shape(shape))
    gradient = sumTo(gradient, shape);
  Value &sum = sums[value];
  sum = sum ? binary(BinaryKind::Add, sum, gradient) : gradient;
}

void Backward::addRows(Value table, LookedUp lookedUp) {
  if (wants(table))
    rows[table].push_back(lookedUp);
}

ArrayRef<LookedUp> Backward::rowsOf(Value table) const {
  auto found = rows.find(table);
  return found == rows.end() ? ArrayRef<LookedUp>() : found->second;
}

Value Backward::of(Value value, bool withRows) {
  Value sum = sums.lookup(value);
  if (withRows)
    for (const LookedUp &lookedUp : rowsOf(value)) {
      Value dense = scattered(value, lookedUp);
      sum = sum ? binary(BinaryKind::Add, sum, dense) : dense;
    }
  return sum ? expand(sum, shapeOf(value)) : sum;
}

/// Where a row of the table was looked up: a product with ones and zeros.
Value Backward::scattered(Value table, const LookedUp &lookedUp) {
  const int64_t extent = shapeOf(table)[0];
  const int64_t lookups = ShapedType::getNumElements(shapeOf(lookedUp.ids));
  Term ids{*this, reshape(lookedUp.ids, {1, lookups})};
  Tensor numbers(*elementTypeOf(typeOf(ids.value).getElementType()),
                 {extent, 1});
  for (int64_t row = 0; row < extent; ++row)
    numbers.setInt(row, row);
  Term row{*this, materialize(build, loc(), std::move(numbers))};
  // Numbers below 0 count from the end.
  Term isTaken{*this,
               OperatorBuilder::binary(BinaryKind::Or, (ids == row).value,
                                       (ids == row + -extent).value)};
  return batchMatmul(cast(isTaken.value, build.getF32Type()),
                     asRows(lookedUp.rows));
}

//===----------------------------------------------------------------------===//
// For rules
//===----------------------------------------------------------------------===//

/// What an operand repeats, if it need not.
static Value unrepeated(Value x) {
  if (auto expand = x.getDefiningOp<onnx::ExpandOp>())
    return expand.getX();
  return x;
}

Value Backward::binary(BinaryKind kind, Value a, Value b) {
  const Shape shape = *broadcastShapes(shapeOf(a), shapeOf(b));
  std::optional<double> first = uniformValue(a), second = uniformValue(b);
  if (kind == BinaryKind::Mul && first && second)
    return filled(shape, *first * *second);
  if (kind == BinaryKind::Mul)
    for (auto [one, x] : {std::pair(first, b), std::pair(second, a)})
      if (one == 1.0 && Shape(shapeOf(x)) == shape)
        return x;
  auto fits = [&](Value x, Value y) {
    return broadcastShapes(shapeOf(x), shapeOf(y)) == shape;
  };
  auto shrink = [&](Value &x, std::optional<double> number, Value other) {
    Value less = number && typeOf(x).getRank() > 0
                     ? scalarLike(build, loc(), x, *number)
                     : unrepeated(x);
    if (fits(less, other))
      x = less;
  };
  shrink(a, first, b);
  shrink(b, second, a);
  return OperatorBuilder::binary(kind, a, b);
}

/// Another view of a constant; null if `x` is none.
Value Backward::viewed(
    Value x, llvm::function_ref<std::optional<StridedView>(const StridedView &)>
                 change) {
  std::optional<Fact> fact = factOf(x);
  if (!fact || !fact->constant)
    return nullptr;
  return materialize(build, loc(), reindexed(*fact, change),
                     nodeName(x.getDefiningOp()));
}

Value Backward::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  Value view = viewed(x, [&](auto &of) { return of.reshaped(shape); });
  return view ? view : OperatorBuilder::reshape(x, shape);
}

Value Backward::transpose(Value x, ArrayRef<int64_t> perm) {
  Value view =
      viewed(x, [&](auto &of) { return std::optional(of.transposed(perm)); });
  return view ? view : OperatorBuilder::transpose(x, perm);
}

Value Backward::expand(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  Value view =
      viewed(x, [&](auto &of) { return std::optional(of.expanded(shape)); });
  return view ? view : OperatorBuilder::expand(x, shape);
}

Value Backward::swapped(Value x) {
  Shape perm;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    perm.push_back(d);
  std::swap(perm[perm.size() - 2], perm.back());
  return transpose(x, perm);
}

Value Backward::asRows(Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return reshape(x,
                 {ShapedType::getNumElements(shape.drop_back()), shape.back()});
}

Value Backward::filled(ArrayRef<int64_t> shape, double number) {
  Tensor scalar = Tensor::scalar(ElementType::Float32, number);
  return expand(materialize(build, loc(), std::move(scalar)), shape);
}

Value Backward::padded(Value x, int64_t axis, int64_t start, int64_t extent) {
  auto zeros = [&](int64_t count) {
    Shape shape(shapeOf(x));
    shape[axis] = count;
    return filled(shape);
  };
  SmallVector<Value> parts;
  const int64_t behind = extent - start - shapeOf(x)[axis];
  if (start > 0)
    parts.push_back(zeros(start));
  parts.push_back(x);
  if (behind > 0)
    parts.push_back(zeros(behind));
  return concat(parts, axis);
}

Value Backward::sumTo(Value x, ArrayRef<int64_t> shape) {
  const Shape from(shapeOf(x));
  const size_t more = from.size() - shape.size();
  Shape axes, kept(from);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 && (d < more || shape[d - more] == 1)) {
      axes.push_back(d);
      kept[d] = 1;
    }
  if (std::optional<double> number = uniformValue(x))
    return filled(shape, *number * double(numElements(from)) /
                             double(numElements(kept)));
  // Features first, then tokens: as one axis, if all are summed.
  if (!axes.empty() && axes.back() + 1 == int64_t(from.size())) {
    x = keptReduced(x, onnx::ReduceKind::Sum, axes.back());
    axes.pop_back();
  }
  if (numElements(ArrayRef(kept).drop_back(!kept.empty())) == 1 &&
      !axes.empty())
    x = keptReduced(asRows(x), onnx::ReduceKind::Sum, 0);
  else
    x = keptReduced(x, onnx::ReduceKind::Sum, axes);
  return reshape(x, shape);
}
