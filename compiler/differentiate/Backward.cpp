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
    : FoldingBuilder(OpBuilder(block.getTerminator()),
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
