// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/Differentiable.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>

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

bool Backward::run(Value loss, Value gradient, const Recomputation &how) {
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator()) {
    markWanted(&op);
    forward.push_back(&op);
  }
  SmallVector<Piece> cut =
      cutIntoPieces(forward, [&](Value value) { return wants(value); });
  pieces = cut.size();
  layers = findRepeats(cut);
  elementsAgain = how.elements;
  if (how.repeats)
    leaveOut(cut, layers, size_t(how.repeats));
  const auto last =
      how.of == Recomputation::Of::None
          ? cut.size()
          : size_t(std::clamp<int64_t>(how.kept, 1, int64_t(cut.size())));
  add(loss, gradient);
  differentiateByRuns(opsOf(ArrayRef(cut).take_back(last)));
  ArrayRef<Piece> rest = ArrayRef(cut).drop_back(last);
  const auto each = size_t(std::max<int64_t>(1, how.segment));
  while (!rest.empty()) {
    const size_t now = (rest.size() - 1) % each + 1;
    recompute(rest.take_back(now), how);
    rest = rest.drop_back(now);
  }
  return refusals.empty();
}

/// What a piece is computed again from: what it begins with or, of the first,
/// the inputs that it reads.
static SmallVector<Value> originsOf(const Piece &piece) {
  if (piece.start)
    return {piece.start};
  llvm::SmallSetVector<Value, 4> inputs;
  for (Operation *op : piece.ops)
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand))
        inputs.insert(operand);
  return inputs.takeVector();
}

/// Inputs are the host's anyway.
Value Backward::kept(Value value, bool onWafer) {
  OpBuilder behind(build.getContext());
  behind.setInsertionPointAfterValue(value);
  Operation *source = value.getDefiningOp();
  if (auto keep = dyn_cast_or_null<onnx::KeepOp>(source);
      keep && !keep.getOnWafer())
    onWafer = false;
  return onnx::KeepOp::create(
      behind, value.getLoc(), value, onWafer && source,
      build.getStringAttr(source ? nodeName(source) : ""));
}

/// `op`, computed of `values`, which has its results then.
Operation *Backward::again(Operation *op, IRMapping &values) {
  Operation *clone = build.clone(*op, values);
  if (!nodeName(op).empty() && !nodeName(op).ends_with(againSuffix))
    clone->setAttr("node", build.getStringAttr(nodeName(op) + againSuffix));
  clone->removeAttr(onnx::valuesAttrName);
  clone->removeAttr(onnx::absorbedAttrName);
  return clone;
}

void Backward::recompute(ArrayRef<Piece> segment, const Recomputation &how) {
  IRMapping from;
  for (Value origin : originsOf(segment.front()))
    from.map(origin, kept(origin, how.onWafer));
  if (how.of == Recomputation::Of::Segments)
    return recompute(opsOf(segment), originsOf(segment.front()), from,
                     /*byRuns=*/true);
  IRMapping starts = from; // of all pieces
  for (const Piece &piece : segment.drop_back()) {
    for (Operation *op : piece.ops)
      if (!wantedResults(op).empty())
        again(op, starts);
  }
  for (const Piece &piece : llvm::reverse(segment)) {
    const SmallVector<Value> origins = originsOf(piece);
    if (segment.size() > 1) // what makes inputs again is not computed of these
      for (Value origin : origins)
        from.map(origin, kept(starts.lookup(origin), how.onWafer));
    recompute(piece.ops, origins, from, /*byRuns=*/true);
  }
}

void Backward::recompute(ArrayRef<Operation *> ops, ArrayRef<Value> origins,
                         const IRMapping &from, bool byRuns) {
  IRMapping values;
  for (Value origin : origins) {
    values.map(origin, from.lookup(origin));
    if (wants(origin))
      want(from.lookup(origin));
  }
  SmallVector<Operation *> clones;
  for (Operation *op : ops) {
    const SmallVector<unsigned, 1> results = wantedResults(op);
    if (results.empty())
      continue;
    Operation *clone = again(op, values);
    Operation *original = originals.lookup(op);
    originals[clone] = original ? original : op;
    clones.push_back(clone);
    for (unsigned number : results) {
      want(clone->getResult(number));
      // What later pieces read: its end, and what is there throughout.
      if (Value gradient = of(op->getResult(number)))
        add(clone->getResult(number), gradient);
    }
  }
  byRuns ? differentiateByRuns(clones) : differentiate(clones);
  for (Value origin : origins)
    if (Value gradient = of(from.lookup(origin)))
      add(origin, gradient);
}

/// Several functions of elements between other operators are computed again
/// where their gradients are, of what the first of them read: what is between
/// them takes no SRAM until then, and leaves no launch.
void Backward::differentiateByRuns(ArrayRef<Operation *> forward) {
  if (!elementsAgain)
    return differentiate(forward);
  const auto isWanted = [&](Operation *op) {
    return !wantedResults(op).empty();
  };
  const auto isOfRun = [&](Operation *op) {
    return !isWanted(op) ||
           isa<onnx::UnaryOp, onnx::BinaryOp, onnx::WhereOp, onnx::CastOp>(op);
  };
  while (!forward.empty()) {
    const auto before = llvm::find_if_not(llvm::reverse(forward), isOfRun);
    const ArrayRef<Operation *> run(before.base(), forward.end());
    llvm::SmallSetVector<Value, 4> origins;
    for (Operation *op : run)
      for (Value operand : op->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && wants(operand) &&
            !isa<onnx::ConstantOp, onnx::KeepOp>(source) &&
            !llvm::is_contained(run, source))
          origins.insert(operand);
    forward = forward.drop_back(run.size());
    IRMapping from;
    if (llvm::count_if(run, isWanted) > 1) {
      for (Value origin : origins)
        from.map(origin, kept(origin, /*onWafer=*/true));
      recompute(run, origins.getArrayRef(), from, /*byRuns=*/false);
    } else {
      differentiate(run);
    }
    differentiate(forward.take_back(!forward.empty()));
    forward = forward.drop_back(!forward.empty());
  }
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
  const int64_t elements = typeOf(value).getNumElements();
  const int64_t least =
      llvm::divideCeil(elements, std::max<int64_t>(1, room / 8));
  if (!leaves.contains(value) || least == 1)
    return 1;
  const int64_t extent = shapeOf(value).back();
  return evenParts(extent, std::min(extent, least));
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
