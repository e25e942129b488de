// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model with a dimension that each call chooses comes at its most, and as
// samples that are shorter, with the same operations. Where extents differ is
// the length; what stands behind that of a call is there, and nothing that a
// caller sees may depend on it:
//
//   operators of one token              as they are
//   softmax, attention, sums, products  of tokens: those behind count nothing
//   constants                           begin alike at all lengths
//   all else                            refused, by node
#include "compiler/Refusals.h"
#include "compiler/canonicalize/DealTokens.h"
#include "compiler/canonicalize/LengthMasks.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/onnx/Lengths.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FOLLOWLENGTH
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;

namespace {

using Axes = SmallVector<int64_t>;

class LengthFollower {
public:
  LengthFollower(func::FuncOp entry, ArrayRef<func::FuncOp> samples,
                 int64_t rows, Refusals &refusals)
      : rows(rows), entry(entry), samples(samples), refusals(refusals),
        masks(entry) {}
  void run();

private:
  bool match();
  bool matchWith(func::FuncOp sample);
  /// Where extents are the length; nothing where they follow it otherwise.
  std::optional<Axes> axesOf(Value value) const;
  Axes known(Value value) const { return axesOf(value).value_or(Axes()); }
  bool has(Value value, int64_t axis) const {
    return llvm::is_contained(known(value), axis);
  }
  bool lastIsLength(Value value) const {
    return has(value, int64_t(shapeOf(value).size()) - 1);
  }
  bool isAlike(Operation *op) const;
  void follow(Operation *op);
  void followConstant(onnx::ConstantOp op);
  void followReshape(onnx::ReshapeOp op);
  void followSlice(onnx::SliceOp op);
  void followReduce(onnx::ReduceOp op);
  void followAttention(onnx::AttentionOp op);
  void followProduct(Operation *op, int64_t ofA, int64_t ofB);
  void followGather(onnx::GatherOp op);
  void followRunningSum(onnx::RunningSumOp op);
  void describe();
  bool followsByTokens(onnx::MatMulOp op) const;

  void refuse(Operation *op, const Twine &why) {
    refusals.refuse(op, why +
                            "; export the model without it, or compile for "
                            "one length: --dim " +
                            masks.name() + "=N");
  }

  const int64_t rows;
  func::FuncOp entry;
  ArrayRef<func::FuncOp> samples;
  Refusals &refusals;
  LengthMasks masks;
  DenseMap<Value, SmallVector<Value>> same;            // looked up only
  DenseMap<Operation *, SmallVector<Operation *>> ops; // looked up only
};

} // namespace

static int64_t mostOf(func::FuncOp function) {
  return function->getAttrOfType<DenseI64ArrayAttr>(onnx::lengthAttrName)[1];
}
static int64_t leastOf(func::FuncOp function) {
  return function->getAttrOfType<DenseI64ArrayAttr>(onnx::lengthAttrName)[0];
}

/// What is computed, in order; constants stand where somebody needs them.
static SmallVector<Operation *> computedIn(func::FuncOp function) {
  SmallVector<Operation *> all;
  for (Operation &op : function.front())
    if (!isa<onnx::ConstantOp, onnx::NoneOp>(op))
      all.push_back(&op);
  return all;
}

static bool holdsTheSame(Value a, Value b) {
  auto one = a.getDefiningOp<onnx::ConstantOp>();
  auto other = b.getDefiningOp<onnx::ConstantOp>();
  return a == b || (one && other && one.getType() == other.getType() &&
                    one.getValue() == other.getValue());
}

bool LengthFollower::match() {
  return llvm::all_of(samples,
                      [&](func::FuncOp sample) { return matchWith(sample); });
}

bool LengthFollower::matchWith(func::FuncOp sample) {
  DenseMap<Value, Value> pairs; // looked up only
  auto pair = [&](Value here, Value there) {
    if (!pairs.try_emplace(here, there).second)
      return holdsTheSame(pairs[here], there);
    same[here].push_back(there);
    return true;
  };
  auto differs = [&](Operation *op) {
    refuse(op, "is computed otherwise at length " + Twine(mostOf(sample)) +
                   " than at " + Twine(mostOf(entry)));
    return false;
  };
  for (auto [here, there] :
       llvm::zip_equal(entry.getArguments(), sample.getArguments()))
    pair(here, there);
  const SmallVector<Operation *> here = computedIn(entry),
                                 there = computedIn(sample);
  for (auto [number, op] : llvm::enumerate(here)) {
    Operation *other = number < there.size() ? there[number] : nullptr;
    if (!other || op->getName() != other->getName() ||
        op->getNumOperands() != other->getNumOperands() ||
        op->getNumResults() != other->getNumResults() ||
        nodeName(op) != nodeName(other))
      return differs(op);
    for (auto [its, others] :
         llvm::zip(op->getOperands(), other->getOperands()))
      if (bool(its.getDefiningOp<onnx::ConstantOp>()) !=
              bool(others.getDefiningOp<onnx::ConstantOp>()) ||
          !pair(its, others))
        return differs(op);
    for (auto [its, others] : llvm::zip(op->getResults(), other->getResults()))
      pair(its, others);
    ops[op].push_back(other);
  }
  return true;
}

/// Heads that have keys of their own, one head behind the other, in the last
/// axis of a constant that attention takes as a mask; 1: it is none.
static int64_t headsOfMask(Value value) {
  if (!value.getDefiningOp<onnx::ConstantOp>() || shapeOf(value).size() != 3)
    return 1;
  int64_t heads = 1;
  for (OpOperand &use : value.getUses()) {
    auto attention = dyn_cast<onnx::AttentionOp>(use.getOwner());
    if (!attention || use.getOperandNumber() < 3)
      return 1;
    heads = int64_t(attention.getNumHeads());
  }
  return heads;
}

std::optional<Axes> LengthFollower::axesOf(Value value) const {
  Axes axes;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto found = same.find(value);
  if (!type || found == same.end())
    return axes;
  for (auto [axis, extent] : llvm::enumerate(type.getShape())) {
    const int64_t heads =
        axis + 1 == size_t(type.getRank()) ? headsOfMask(value) : 1;
    bool differs = false, isLength = extent == heads * mostOf(entry);
    for (auto [sample, other] : llvm::zip(samples, found->second)) {
      auto its = dyn_cast<RankedTensorType>(other.getType());
      if (!its || its.getRank() != type.getRank())
        return std::nullopt;
      differs |= its.getDimSize(axis) != extent;
      isLength &= its.getDimSize(axis) == heads * mostOf(sample);
    }
    if (differs && !isLength)
      return std::nullopt;
    if (differs)
      axes.push_back(int64_t(axis));
  }
  return axes;
}

bool LengthFollower::isAlike(Operation *op) const {
  return llvm::all_of(ops.lookup(op), [&](Operation *other) {
    return op->getPropertiesAsAttribute() == other->getPropertiesAsAttribute();
  });
}

static bool equalAt(const Tensor &a, int64_t i, const Tensor &b, int64_t j) {
  return isFloat(a.type()) ? a.asFloat(i) == b.asFloat(j)
                           : a.asInt(i) == b.asInt(j);
}

/// Whether `part` is the first elements of `whole`, along each axis; of a mask
/// of several heads, of each.
static bool isBeginOf(Tensor part, Tensor whole, int64_t heads) {
  for (Tensor *its : {&part, &whole}) {
    Shape shape = its->shape();
    if (heads > 1) {
      shape.back() /= heads;
      shape.insert(shape.end() - 1, heads);
    }
    *its = its->reshaped(shape);
  }
  Shape strides(whole.shape().size(), 1);
  for (size_t d = strides.size(); d-- > 1;)
    strides[d - 1] = strides[d] * whole.shape()[d];
  int64_t i = 0;
  bool holds = true;
  forEachPosition(part.shape(), 0, strides, [&](int64_t j) {
    holds = holds && equalAt(part, i++, whole, j);
  });
  return holds;
}

void LengthFollower::followConstant(onnx::ConstantOp op) {
  if (llvm::all_of(same[op],
                   [&](Value other) { return holdsTheSame(op, other); }))
    return;
  auto load = [](Value value) {
    std::optional<Fact> fact = factOf(value);
    return fact ? fact->load() : std::nullopt;
  };
  const std::optional<Tensor> whole = load(op);
  bool begins = whole.has_value();
  for (Value other : same[op]) {
    const std::optional<Tensor> part = load(other);
    begins = begins && part && part->type() == whole->type() &&
             isBeginOf(*part, *whole, headsOfMask(op));
  }
  if (begins)
    return;
  // A number may be the length times one, and one more.
  SmallVector<int64_t> lengths{mostOf(entry)};
  SmallVector<std::optional<double>> numbers{uniformValue(op)};
  for (auto [sample, other] : llvm::zip(samples, same[op])) {
    lengths.push_back(mostOf(sample));
    numbers.push_back(uniformValue(other));
  }
  const auto at = [&](size_t i) { return numbers[i].value_or(NAN); };
  const double factor = (at(0) - at(1)) / double(lengths[0] - lengths[1]);
  const double more = at(0) - factor * double(lengths[0]);
  bool isAffine = known(op).empty() && numElements(shapeOf(op)) == 1 &&
                  factor == std::floor(factor) && more == std::floor(more);
  for (size_t i = 0; i < lengths.size(); ++i)
    isAffine &= at(i) == factor * double(lengths[i]) + more;
  if (isAffine)
    return op.replaceAllUsesWith(masks.number(op, factor, more));
  refuse(op, "holds other numbers at each length, which neither begin alike "
             "nor are the length times a whole number");
}

/// Elements that follow the length stay as far apart.
void LengthFollower::followReshape(onnx::ReshapeOp op) {
  auto inner = [&](Value value) {
    SmallVector<int64_t> behind;
    for (int64_t axis : known(value))
      behind.push_back(numElements(shapeOf(value).drop_front(axis + 1)));
    return behind;
  };
  if (inner(op.getX()) != inner(op.getY()))
    refuse(op, "gives the length another place, or joins it with others");
}

void LengthFollower::followSlice(onnx::SliceOp op) {
  for (int64_t axis : known(op.getX())) {
    const int64_t start = op.getStarts()[axis], step = op.getSteps()[axis];
    const int64_t last = start + (shapeOf(op.getY())[axis] - 1) * step;
    const bool isWhole = has(op.getY(), axis) && start == 0 && step == 1;
    if (!isWhole &&
        (has(op.getY(), axis) || std::max(start, last) >= leastOf(entry)))
      refuse(op, "takes element " + Twine(std::max(start, last)) +
                     " along the length, which has " + Twine(leastOf(entry)) +
                     " at least");
  }
}

void LengthFollower::followReduce(onnx::ReduceOp op) {
  Axes summed;
  for (int64_t axis : op.getAxes())
    if (has(op.getX(), axis))
      summed.push_back(axis);
  if (summed.empty())
    return;
  if (summed.size() > 1)
    return refuse(op, "combines elements along the length twice");
  const bool isMax = op.getKind() == onnx::ReduceKind::Max;
  if (!isFloat(*elementTypeOf(typeOf(op.getX()).getElementType())))
    return refuse(op, "combines integers along the length");
  OpBuilder builder(op);
  op.getXMutable().assign(
      masks.masked(builder, op.getX(), summed[0], isMax ? -INFINITY : 0, op));
  if (op.getKind() != onnx::ReduceKind::Mean)
    return;
  int64_t others = 1;
  for (int64_t axis : op.getAxes())
    others *= axis == summed[0] ? 1 : shapeOf(op.getX())[axis];
  op.setKind(onnx::ReduceKind::Sum);
  builder.setInsertionPointAfter(op);
  Value count =
      masks.number(builder, op.getLoc(), op.getY(), double(others), 0);
  Value mean = binary(builder, op.getLoc(), onnx::BinaryKind::Div, op.getY(),
                      count, op.getNode());
  same[mean] = same[op.getY()];
  op.getY().replaceAllUsesExcept(mean, mean.getDefiningOp());
}

void LengthFollower::followAttention(onnx::AttentionOp op) {
  if (has(op.getQ(), 2) || has(op.getK(), 2) || has(op.getV(), 2))
    return refuse(op, "has heads of the length");
  if (!has(op.getK(), 1))
    return;
  OpBuilder builder(op);
  if (!masks.isFinite(op.getV()))
    op.getVMutable().assign(masks.masked(builder, op.getV(), 1, 0, op));
  bool asksForMask = false, isLast = true;
  const SmallVector<onnx::TermAttr> all = llvm::to_vector(op.eachTerm());
  for (onnx::TermAttr term : llvm::reverse(all)) {
    asksForMask |= term.getKind() == onnx::TermKind::ZeroHidden;
    // Terms behind it would put other numbers there.
    isLast &= !term.isOfScores() || term.getKind() == onnx::TermKind::Add;
    if (!isLast || term.getKind() != onnx::TermKind::Add || !term.getOperand())
      continue;
    // A mask that is added to scores hides what is behind the length as well.
    OpOperand &mask = op.getMasksMutable()[unsigned(*term.getOperand())];
    if (shapeOf(mask.get()).size() != 4 || !has(mask.get(), 3))
      continue;
    if (!masks.isFinite(op.getK()))
      op.getKMutable().assign(masks.masked(builder, op.getK(), 1, 0, op));
    return mask.set(masks.masked(builder, mask.get(), 3, -INFINITY, op));
  }
  if (asksForMask)
    return refuse(op, "asks whether a mask hides all keys, which is not of "
                      "[batch, 1, queries, keys]");
  const int64_t number = int64_t(op.getMasks().size());
  op.getMasksMutable().append(masks.hidden(builder, op));
  SmallVector<Attribute> terms(op.getTerms().getValue());
  auto behindScores = llvm::find_if(terms, [](Attribute term) {
    return !cast<onnx::TermAttr>(term).isOfScores();
  });
  terms.insert(behindScores,
               onnx::TermAttr::get(op.getContext(), onnx::TermKind::Replace,
                                   number, FloatAttr(), FloatAttr()));
  op.setTermsAttr(builder.getArrayAttr(terms));
}

/// A product over the axes `ofA` and `ofB` of its operands.
void LengthFollower::followProduct(Operation *op, int64_t ofA, int64_t ofB) {
  if (!has(op->getOperand(0), ofA))
    return;
  OpBuilder builder(op);
  for (auto [number, axis] : {std::pair(0, ofA), std::pair(1, ofB)}) {
    Value operand = op->getOperand(number);
    if (number == 1 && masks.isFinite(operand))
      continue;
    if (number == 0 && masks.isZeroBehind(operand))
      continue;
    op->setOperand(number, masks.masked(builder, operand, axis, 0, op));
  }
}

void LengthFollower::followGather(onnx::GatherOp op) {
  if (!has(op.getTable(), 0))
    return;
  std::optional<Fact> fact = factOf(op.getIds());
  std::optional<Tensor> ids = fact ? fact->load() : std::nullopt;
  for (int64_t i = 0; ids && i < ids->size(); ++i)
    if (ids->asInt(i) < 0 || ids->asInt(i) >= leastOf(entry))
      ids.reset();
  if (!ids)
    refuse(op, "looks up, along the length, what is not always there");
}

/// What stands behind the length is behind all that is there.
void LengthFollower::followRunningSum(onnx::RunningSumOp op) {
  if (!op.getReverse() || !has(op.getX(), int64_t(op.getAxis())))
    return;
  OpBuilder builder(op);
  op.getXMutable().assign(
      masks.masked(builder, op.getX(), int64_t(op.getAxis()), 0, op));
}

void LengthFollower::follow(Operation *op) {
  auto follows = [&](Value value) {
    std::optional<Axes> axes = axesOf(value);
    return !axes || !axes->empty();
  };
  for (Value result : op->getResults())
    if (!axesOf(result))
      return refuse(op, "has a result of " + printShape(shapeOf(result)) +
                            " elements where the length is " +
                            Twine(mostOf(entry)) +
                            ": an extent that follows it, and is another");
  if (!isAlike(op))
    return refuse(op, "reads other elements, or scales by another number, at "
                      "another length");
  if (auto constant = dyn_cast<onnx::ConstantOp>(op))
    return followConstant(constant);
  if (llvm::none_of(op->getOperands(), follows) &&
      llvm::none_of(op->getResults(), follows))
    return;
  llvm::TypeSwitch<Operation *>(op)
      .Case<onnx::UnaryOp, onnx::BinaryOp, onnx::WhereOp, onnx::CastOp,
            onnx::KeepOp, onnx::ExpandOp, onnx::TransposeOp, onnx::RotaryOp>(
          [](auto) {})
      .Case([&](onnx::ReshapeOp its) { followReshape(its); })
      .Case([&](onnx::SliceOp its) { followSlice(its); })
      .Case([&](onnx::ReduceOp its) { followReduce(its); })
      .Case([&](onnx::GatherOp its) { followGather(its); })
      .Case([&](onnx::RunningSumOp its) { followRunningSum(its); })
      .Case([&](onnx::AttentionOp its) { followAttention(its); })
      .Case([&](onnx::MatMulOp its) {
        followProduct(its, int64_t(shapeOf(its.getX()).size()) - 1, 0);
      })
      .Case([&](onnx::BatchMatMulOp its) {
        followProduct(its, int64_t(shapeOf(its.getA()).size()) - 1,
                      int64_t(shapeOf(its.getB()).size()) - 2);
      })
      .Case([&](onnx::SoftmaxOp its) {
        if (!lastIsLength(its.getX()))
          return;
        OpBuilder builder(its);
        its.getXMutable().assign(masks.masked(
            builder, its.getX(), int64_t(shapeOf(its.getX()).size()) - 1,
            -INFINITY, its));
        masks.noteZeroBehind(its.getY());
      })
      .Case([&](onnx::ConcatOp its) {
        if (has(its.getY(), its.getAxis()))
          refuse(its, "joins parts along the length");
      })
      .Case<onnx::LayerNormOp, onnx::RMSNormOp, onnx::SliceHeadsOp,
            onnx::TopKOp>([&](auto its) {
        if (lastIsLength(its.getX()))
          refuse(its, "takes all elements along the length");
      })
      .Default([&](Operation *) {
        refuse(op, "has no form for tensors that follow a length");
      });
}

/// What callers give and get is as long as the call is.
void LengthFollower::describe() {
  Builder builder(entry);
  for (BlockArgument argument : entry.getArguments())
    if (const Axes axes = known(argument); !axes.empty())
      entry.setArgAttr(argument.getArgNumber(), onnx::lengthAxesAttrName,
                       builder.getDenseI64ArrayAttr(axes));
  for (OpOperand &result : entry.front().getTerminator()->getOpOperands())
    if (const Axes axes = known(result.get()); !axes.empty())
      entry.setResultAttr(result.getOperandNumber(), onnx::lengthAxesAttrName,
                          builder.getDenseI64ArrayAttr(axes));
}

void LengthFollower::run() {
  if (!match())
    return;
  describe();
  for (BlockArgument argument : entry.getArguments())
    if (!axesOf(argument))
      refusals.refuseInput(argument,
                           "has an extent that follows the length "
                           "and is another",
                           masks.name());
  const auto axes = [&](Value value) { return known(value); };
  const int64_t parts = partsOfTokens(entry, axes, rows);
  entry->setAttr(onnx::lengthPartsAttrName,
                 Builder(entry).getI64IntegerAttr(parts));
  masks.length(); // there, too, where nothing asks for it
  SmallVector<Operation *> all;
  for (Operation &op : entry.front().without_terminator())
    all.push_back(&op);
  for (Operation *op : all)
    follow(op);
  if (!refusals.empty())
    return;
  for (Operation *op : all)
    if (auto product = dyn_cast<onnx::MatMulOp>(op);
        product && parts > 1 && followsByTokens(product))
      op->setAttr(onnx::lengthPartsAttrName,
                  entry->getAttr(onnx::lengthPartsAttrName));
  if (parts > 1)
    dealTokens(entry, axes, parts);
}

/// Whether the tokens of a product are those of the length, of each sequence.
bool LengthFollower::followsByTokens(onnx::MatMulOp op) const {
  const int64_t rank = int64_t(shapeOf(op.getX()).size());
  return rank >= 2 && known(op.getX()) == Axes{rank - 2};
}

namespace {
struct FollowLengthPass
    : wsec::canonicalize::impl::FollowLengthBase<FollowLengthPass> {
  using FollowLengthBase::FollowLengthBase;
  void runOnOperation() override {
    SmallVector<func::FuncOp> samples, entries;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(onnx::lengthOfAttrName))
        samples.push_back(function);
      else if (function->hasAttr(onnx::lengthAttrName))
        entries.push_back(function);
    }
    Refusals refusals;
    for (func::FuncOp entry : entries) {
      SmallVector<func::FuncOp> its;
      for (func::FuncOp sample : samples)
        if (sample->getAttrOfType<FlatSymbolRefAttr>(onnx::lengthOfAttrName)
                .getValue() == entry.getSymName())
          its.push_back(sample);
      // What is refused whatever the length is said by itself.
      if (entry.getOps<onnx::NodeOp>().empty())
        LengthFollower(entry, its, rows, refusals).run();
    }
    for (func::FuncOp sample : samples)
      sample.erase();
    if (failed(refusals.report(&getContext())))
      signalPassFailure();
  }
};
} // namespace
