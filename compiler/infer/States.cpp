// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/States.h"
#include "dialects/onnx/CachedCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace wsec::infer;

/// The argument that `value` is, but for its shape and type; null if it is
/// computed.
static BlockArgument argumentBehind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<onnx::ReshapeOp, onnx::CastOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

static func::FuncOp functionOf(BlockArgument argument) {
  return cast<func::FuncOp>(argument.getOwner()->getParentOp());
}

bool wsec::infer::isOfState(Value past) {
  BlockArgument argument = argumentBehind(past);
  return argument && functionOf(argument).getArgAttr(argument.getArgNumber(),
                                                     onnx::stateAttrName);
}

/// From now on `argument` is one of the entry, whose calls write `tokens` to a
/// state of this capacity.
static void bindPosition(BlockArgument argument, int64_t capacity,
                         int64_t tokens) {
  func::FuncOp function = functionOf(argument);
  const unsigned index = argument.getArgNumber();
  int64_t last = capacity - tokens;
  if (auto range = function.getArgAttrOfType<DenseI64ArrayAttr>(
          index, onnx::argumentAttrName))
    last = std::min(last, range[1]);
  function.setArgAttr(index, onnx::argumentAttrName,
                      Builder(function).getDenseI64ArrayAttr({0, last}));
}

Value wsec::infer::updateState(Legalization &n, Value past, Value written,
                               Value start, int64_t axis, bool isCircular) {
  auto fail = [&](const Twine &why) {
    n.fail(why);
    return Value();
  };
  const Shape shape(shapeOf(past));
  if (!isa<BlockArgument>(past) || !typeOf(past).getElementType().isF32())
    return fail("writes to a state that is no float; export caches as floats, "
                "or leave --states out");
  if (isCircular)
    return fail("writes to a state in a circle; take mode=\"linear\", and a "
                "capacity for all tokens");
  if (shape.size() < 3 || shape.size() > 4 || axis != int64_t(shape.size()) - 2)
    return fail("writes along axis " + Twine(axis) + " of a state of shape " +
                printShape(shape) +
                ", expected the tokens of [batch, tokens, features] or [batch, "
                "heads, tokens, size]");
  BlockArgument position = start ? argumentBehind(start) : BlockArgument();
  if (!position || shapeOf(position) != ArrayRef<int64_t>{shape[0]})
    return fail("writes to a state at computed places; make write_indices an "
                "input of the model, of shape [" +
                Twine(shape[0]) + "]");
  const bool byHeads = shape.size() == 4;
  Value tokens = byHeads ? mergeHeads(n, written) : written;
  const Shape present{shape[0], shape[axis],
                      numElements(shape) / shape[0] / shape[axis]};
  bindPosition(position, present[1], shapeOf(tokens)[1]);
  Value state =
      onnx::UpdateOp::create(n.builder(), n.loc(), withShape(past, present),
                             past, tokens, position, n.nameAttr());
  return byHeads ? splitHeads(n, state, shape[1]) : state;
}

bool wsec::infer::isGrowingState(Value past) {
  BlockArgument argument = argumentBehind(past);
  return argument && functionOf(argument)->hasAttr(onnx::callAttrName) &&
         onnx::isGrowing(
             functionOf(argument).getArgAttrDict(argument.getArgNumber()));
}

/// Whether an argument has tokens of the capacity, and not of those before the
/// call alone.
static bool hasCapacity(BlockArgument state, int64_t axis) {
  auto call =
      functionOf(state)->getAttrOfType<DenseI64ArrayAttr>(onnx::callAttrName);
  return axis >= 0 && axis < int64_t(shapeOf(state).size()) &&
         shapeOf(state)[axis] == call[0] + call[1];
}

Value wsec::infer::appendToState(Legalization &n, Value past, Value written,
                                 int64_t axis, bool isInPlace) {
  BlockArgument state = argumentBehind(past);
  func::FuncOp function = functionOf(state);
  Shape shape(shapeOf(past));
  if (!past.hasOneUse())
    return n.fail(
        "is one of several that read the past; let all read what it returns "
        "as present, or leave --kv-capacity out");
  const bool isStatic = hasCapacity(state, axis);
  if (isStatic && !isInPlace)
    return n.fail(
        "joins what is new to a past of the capacity; write to it, or export "
        "the model with dynamic axes, of which the tokens of the past are "
        "one");
  if (!isStatic && axis >= 0 && axis < int64_t(shape.size()))
    shape[axis] += shapeOf(written)[axis];
  BlockArgument position;
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), onnx::argumentAttrName))
      position = argument;
  if (past == state) {
    // The call finds what states hold, of which no more than it wrote is seen.
    state.setType(withShape(state, shape));
    function.setFunctionType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(),
        function.getFunctionType().getResults()));
  }
  return updateState(n, past, written, position, axis, false);
}

/// The axes of a state that `cache` has, in its order.
static Shape axesOf(Value cache) {
  Shape axes(llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(cache).size())));
  if (auto transpose = cache.getDefiningOp<onnx::TransposeOp>())
    llvm::copy(transpose.getPerm(), axes.begin());
  return axes;
}

static Value untransposed(Value cache) {
  auto transpose = cache.getDefiningOp<onnx::TransposeOp>();
  return transpose ? transpose.getX() : cache;
}

bool wsec::infer::isStaticCache(Value cache) {
  Value past = untransposed(cache);
  return argumentBehind(past) && isGrowingState(past);
}

/// Whether `places` are those of the tokens of the call along `axis`, and of no
/// other one.
static bool arePositions(Value places, int64_t axis) {
  auto isAlone = [&](Value value) {
    const ArrayRef<int64_t> shape = shapeOf(value);
    return axis < int64_t(shape.size()) && numElements(shape) == shape[axis];
  };
  if (auto expand = places.getDefiningOp<onnx::ExpandOp>()) {
    places = expand.getX();
    if (!isAlone(places))
      return false;
  }
  BlockArgument argument = argumentBehind(places);
  return argument &&
         numElements(shapeOf(places)) == numElements(shapeOf(argument)) &&
         functionOf(argument).getArgAttr(argument.getArgNumber(),
                                         onnx::positionsAttrName);
}

Value wsec::infer::scatterToState(Legalization &n, Value cache, Value places,
                                  Value written, int64_t axis) {
  if (!arePositions(places, axis))
    return n.fail(
        "writes to a state at other places than the positions of the call; "
        "write at cache_position, or leave --kv-capacity out");
  const Shape axes = axesOf(cache);
  Shape back(axes.size());
  for (auto [to, from] : llvm::enumerate(axes))
    back[from] = int64_t(to);
  const bool isTransposed = cache.getDefiningOp<onnx::TransposeOp>() != nullptr;
  Value present =
      appendToState(n, untransposed(cache),
                    isTransposed ? n.transpose(written, back) : written,
                    axes[axis], /*isInPlace=*/true);
  return present && isTransposed ? n.transpose(present, axes) : present;
}

/// What `heads` [batch, heads, tokens, size] is made of.
static onnx::UpdateOp updateBehind(Value heads) {
  auto transpose = heads.getDefiningOp<onnx::TransposeOp>();
  auto split =
      transpose ? transpose.getX().getDefiningOp<onnx::ReshapeOp>() : nullptr;
  const bool isSplit =
      split && transpose.getPerm() == ArrayRef<int64_t>{0, 2, 1, 3};
  return isSplit ? split.getX().getDefiningOp<onnx::UpdateOp>() : nullptr;
}

bool wsec::infer::readsState(const GeneralAttention &a) {
  return updateBehind(a.k) || updateBehind(a.v);
}

/// Whether `lengths` are `position` + `tokens`.
static bool endsBehind(Value lengths, Value position, int64_t tokens) {
  while (lengths && isa_and_present<onnx::ReshapeOp, onnx::CastOp>(
                        lengths.getDefiningOp()))
    lengths = lengths.getDefiningOp()->getOperand(0);
  auto sum = lengths ? lengths.getDefiningOp<onnx::BinaryOp>() : nullptr;
  if (!sum || sum.getKind() != BinaryKind::Add)
    return false;
  auto isSum = [&](Value a, Value b) {
    return argumentBehind(a) == position && uniformValue(b) == double(tokens);
  };
  return isSum(sum.getA(), sum.getB()) || isSum(sum.getB(), sum.getA());
}

Value wsec::infer::attendToState(Legalization &n, const GeneralAttention &a) {
  auto fail = [&](const Twine &why) {
    n.fail(why);
    return Value();
  };
  onnx::UpdateOp keys = updateBehind(a.k), values = updateBehind(a.v);
  if (!keys || !values || keys.getPosition() != values.getPosition())
    return fail("attends to keys and values of which only one is a state, or "
                "that are written at different places; give both a state, and "
                "both writes one write_indices");
  const int64_t tokens = a.queries();
  if (shapeOf(keys.getValue())[1] != tokens ||
      shapeOf(values.getValue())[1] != tokens)
    return fail("has " + Twine(tokens) + " queries, and the states got " +
                Twine(shapeOf(keys.getValue())[1]) +
                " tokens; write the keys and values of the queries");
  // A call finds as many tokens as its room is left for, and lengths are those.
  const bool isCall = n.op()->getParentOp()->hasAttr(onnx::callAttrName);
  const bool isMasked = a.mask || a.positions || a.tokens;
  const bool isCausal = a.right == 0 || (a.right < 0 && tokens == 1);
  if (isCall && (isMasked || a.lengths || a.past + tokens != a.keys()))
    return fail("attends to a state, and has a mask or bias besides causality "
                "and windows; leave --kv-capacity out");
  if (isCall && !isCausal)
    return fail("attends to a state, and lets tokens see later ones; leave "
                "--kv-capacity out");
  if (isMasked)
    return fail("attends to a state with a mask; leave it out, and let "
                "nonpad_kv_seqlen and is_causal say what is seen");
  if (!isCall && (!isCausal || a.past != 0 ||
                  !endsBehind(a.lengths, keys.getPosition(), tokens)))
    return fail("does not attend to all tokens of a state up to each query's "
                "own; nonpad_kv_seqlen has to be write_indices + " +
                Twine(tokens) + ", and is_causal 1");
  if (!(a.factor() > 0))
    return fail("scales the scores of a state by a number that is not "
                "positive; leave the state out of --states");
  Value q = mergeHeads(n, a.q);
  const Shape shape{shapeOf(q)[0], tokens,
                    shapeOf(values)[2] / a.keyHeads() * a.queryHeads()};
  Builder &make = n.builder();
  const bool slides = a.left >= 0 && a.left + 1 < a.keys();
  return onnx::CachedAttentionOp::create(
      n.builder(), n.loc(), withShape(q, shape), q, keys, values,
      keys.getPosition(), a.sink, make.getI64IntegerAttr(a.queryHeads()),
      make.getI64IntegerAttr(a.keyHeads()), make.getF32FloatAttr(a.factor()),
      slides ? make.getI64IntegerAttr(a.left + 1) : IntegerAttr(), UnitAttr(),
      a.softcap > 0 ? make.getF32FloatAttr(a.softcap) : FloatAttr(),
      n.nameAttr());
}
