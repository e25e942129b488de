// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/Differentiable.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::BinaryKind;

#include "compiler/differentiate/Differentiable.cpp.inc"

/// Behind the name of a node whose gradients an operator computes.
static constexpr StringLiteral suffix = "/backward";

/// Behind that of a node that is computed again.
static constexpr StringLiteral againSuffix = "/recompute";

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
// Segments
//===----------------------------------------------------------------------===//

/// What so many read is not of one layer: it is there throughout.
static constexpr int64_t readersOfOneLayer = 4;

static bool severalRead(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user != *value.getUsers().begin();
  });
}

/// Cuts before operators where, of what earlier ones computed that is wanted
/// and that later ones read, only one value is left, and several read it: the
/// residual stream of a transformer. What more than a layer's operators read,
/// such as biases by position, is no part of that.
static SmallVector<Segment>
cutWhereOneLivesOn(ArrayRef<Operation *> forward,
                   llvm::function_ref<bool(Value)> isWanted) {
  llvm::DenseMap<Operation *, size_t> lastReader; // looked up only
  for (auto [index, op] : llvm::enumerate(forward))
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        lastReader[source] = index;
  SmallVector<Segment> segments(1);
  SmallVector<Operation *> live;
  for (auto [index, op] : llvm::enumerate(forward)) {
    const size_t now = index;
    llvm::erase_if(live, [&](Operation *source) {
      return lastReader.lookup(source) < now;
    });
    Value only = live.size() == 1 ? live.front()->getResult(0) : Value();
    if (only && severalRead(only) && only != segments.back().start) {
      segments.push_back({{}, only});
    }
    segments.back().ops.push_back(op);
    const bool isComputed = op->getNumOperands() > 0 &&
                            op->getNumResults() == 1 &&
                            isWanted(op->getResult(0));
    if (isComputed &&
        std::distance(op->user_begin(), op->user_end()) <= readersOfOneLayer)
      live.push_back(op);
  }
  return segments;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void Backward::at(Operation *op) {
  atWork = op;
  place = op->getLoc();
  StringRef name = nodeName(op);
  name.consume_back(againSuffix);
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

SmallVector<unsigned, 1> Backward::wantedResults(Operation *op) const {
  SmallVector<unsigned, 1> numbers;
  for (OpResult result : op->getResults())
    if (op->getNumOperands() > 0 && wants(result))
      numbers.push_back(result.getResultNumber());
  return numbers;
}

bool Backward::run(Value loss, Value gradient, bool recomputes) {
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator()) {
    markWanted(&op);
    forward.push_back(&op);
  }
  SmallVector<Segment> segments = {{forward, nullptr}};
  if (recomputes)
    segments =
        cutWhereOneLivesOn(forward, [&](Value value) { return wants(value); });
  add(loss, gradient);
  differentiate(segments.back().ops);
  for (const Segment &segment : llvm::reverse(ArrayRef(segments).drop_back()))
    recompute(segment);
  return refusals.empty();
}

/// What a piece is computed again from: what it begins with or, of the first,
/// the inputs that it reads.
static SmallVector<Value> originsOf(const Segment &segment) {
  if (segment.start)
    return {segment.start};
  llvm::SmallSetVector<Value, 4> inputs;
  for (Operation *op : segment.ops)
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand))
        inputs.insert(operand);
  return inputs.takeVector();
}

void Backward::recompute(const Segment &segment) {
  IRMapping again;
  const SmallVector<Value> origins = originsOf(segment);
  for (Value origin : origins) {
    OpBuilder behind(build.getContext());
    behind.setInsertionPointAfterValue(origin);
    Operation *source = origin.getDefiningOp();
    Value kept = onnx::KeepOp::create(
        behind, origin.getLoc(), origin,
        build.getStringAttr(source ? nodeName(source) : ""));
    again.map(origin, kept);
    if (wants(origin))
      want(kept);
  }
  SmallVector<Operation *> clones;
  for (Operation *op : segment.ops) {
    const SmallVector<unsigned, 1> results = wantedResults(op);
    if (results.empty())
      continue;
    Operation *clone = build.clone(*op, again);
    originals[clone] = op;
    if (!nodeName(op).empty())
      clone->setAttr("node", build.getStringAttr(nodeName(op) + againSuffix));
    clone->removeAttr(onnx::valuesAttrName);
    clone->removeAttr(onnx::absorbedAttrName);
    clones.push_back(clone);
    for (unsigned number : results) {
      want(clone->getResult(number));
      // What later segments read: its end, and what is there throughout.
      if (Value gradient = of(op->getResult(number)))
        add(clone->getResult(number), gradient);
    }
  }
  differentiate(clones);
  for (Value origin : origins)
    if (Value gradient = of(again.lookup(origin)))
      add(origin, gradient);
}

void Backward::differentiate(ArrayRef<Operation *> forward) {
  for (Operation *op : llvm::reverse(forward)) {
    const SmallVector<unsigned, 1> results = wantedResults(op);
    if (results.empty())
      continue;
    assert(results.size() == 1 && "no operator has two results of floats");
    at(op);
    Value dy = of(op->getResult(results.front()));
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

void Backward::refuse(const Twine &reason) {
  Operation *original = originals.lookup(atWork);
  refusals.refuse(original ? original : atWork, reason);
}

//===----------------------------------------------------------------------===//
// Gradients of values
//===----------------------------------------------------------------------===//

void Backward::add(Value value, Value gradient) {
  if (!wants(value))
    return;
  ArrayRef<int64_t> shape = shapeOf(value);
  if (*broadcastShapes(shape, shapeOf(gradient)) != Shape(shape))
    gradient = sumTo(gradient, shape);
  if (leaves.contains(value))
    return leave(value, expand(gradient, shape), nullptr);
  Value &sum = sums[value];
  sum = sum ? binary(BinaryKind::Add, sum, gradient) : gradient;
}

void Backward::addPart(Value value, Value part, int64_t start, Value gradient) {
  if (!wants(value))
    return;
  if (leaves.contains(value) && part.getDefiningOp<onnx::ConstantOp>()) {
    wantLeaving(part);
    return add(part, gradient);
  }
  const int64_t last = int64_t(shapeOf(value).size()) - 1;
  add(value, padded(sumTo(gradient, shapeOf(part)), last, start,
                    shapeOf(value).back()));
}

int64_t wsec::differentiate::evenParts(int64_t extent, int64_t least) {
  int64_t parts = least; // an eighth more is worth it
  while (8 * parts < 9 * least && extent % parts != 0)
    ++parts;
  return extent % parts == 0
             ? parts
             : llvm::divideCeil(extent, llvm::divideCeil(extent, least));
}

int64_t Backward::partsOf(Value value) const {
  constexpr int64_t thirdOfWafer = 8, part = 3; // times as many as logits
  const int64_t elements = typeOf(value).getNumElements();
  if (!leaves.contains(value) || mostLogits <= 0 ||
      elements / thirdOfWafer <= mostLogits)
    return 1;
  const int64_t extent = shapeOf(value).back();
  return evenParts(
      extent,
      std::min<int64_t>(extent, llvm::divideCeil(elements, part * mostLogits)));
}

void Backward::addRows(Value table, Value ids, Value rows) {
  if (leaves.contains(table))
    leave(table, rows, ids);
  else if (wants(table))
    add(table, scattered(table, ids, rows));
}

Value Backward::of(Value value) {
  Value sum = sums.lookup(value);
  return sum ? expand(sum, shapeOf(value)) : sum;
}

/// A product with ones, where a row of the table was looked up, and zeros.
Value Backward::scattered(Value table, Value ids, Value rows) {
  const int64_t extent = shapeOf(table)[0];
  Term all{*this, reshape(ids, {1, ShapedType::getNumElements(shapeOf(ids))})};
  Tensor numbers(*elementTypeOf(typeOf(ids).getElementType()), {extent, 1});
  for (int64_t row = 0; row < extent; ++row)
    numbers.setInt(row, row);
  Term row{*this, materialize(std::move(numbers))};
  // Numbers below 0 count from the end.
  Value isTaken =
      binary(BinaryKind::Or, (all == row).value, (all == row + -extent).value);
  return batchMatmul(cast(isTaken, build.getF32Type()), asRows(rows));
}
