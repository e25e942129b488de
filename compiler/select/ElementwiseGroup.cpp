// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/ElementwiseGroup.h"

#include "compiler/select/ScalarBody.h"

#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

ElementwiseGroup::ElementwiseGroup(Selector &selector, Value value,
                                   ArrayRef<int64_t> shape,
                                   wse::TokenTiling tiling, Operation *user)
    : selector(selector), value(value), shape(llvm::to_vector(shape)),
      tiling(tiling), features(shape.empty() ? 1 : shape.back()), user(user),
      body(user->getLoc(), value.getContext()),
      block(std::make_unique<Block>()),
      vectorsAllowed(selector.host().dependsOnInput(value)) {
  body.setInsertionPointToStart(block.get());
}

Value ElementwiseGroup::build() {
  const Step *steps = nullptr;
  if (shapeOf(value) != ArrayRef<int64_t>(shape))
    steps = before(nullptr, shape, nullptr);
  while (Operation *op = withoutStrides(steps))
    if (!selector.toStoreInOrder(op->getOperand(0), user))
      return {};
  Value result = emit(value, steps);
  return result ? finish(result) : Value();
}

Value ElementwiseGroup::refuse(const Twine &reason) {
  selector.refuse(user, reason);
  return {};
}

//===----------------------------------------------------------------------===//
// The body, from the result to its leaves
//===----------------------------------------------------------------------===//

const ElementwiseGroup::Step *
ElementwiseGroup::before(Operation *op, ArrayRef<int64_t> broadcast,
                         const Step *next) {
  auto shape = op ? DenseI64ArrayAttr() : body.getDenseI64ArrayAttr(broadcast);
  const Step *&known = knownSteps[{op, shape, next}];
  if (!known)
    known = &allSteps.emplace_back(Step{op, shape, next});
  return known;
}

/// What has to be emitted before `op` can be; nothing for leaves.
SmallVector<ElementwiseGroup::Request>
ElementwiseGroup::requestsOf(Operation *op, const Step *steps) {
  bool host = op && selector.host().contains(op->getResult(0));
  if (op && (selector.host().isStored(op->getResult(0)) ||
             selector.alreadyOnWafer(op->getResult(0))))
    return {};
  if (host && broughtBefore(op->getResult(0), steps))
    return {};
  if (host && isShapeOnly(op))
    return {{op->getOperand(0), before(op, {}, steps)}};
  if (!isElementwise(op) ||
      !(host || selector.isInGroup(op, value.getDefiningOp())))
    return {};
  ArrayRef<int64_t> resultShape = shapeOf(op->getResult(0));
  SmallVector<Request> operands;
  for (Value operand : op->getOperands())
    operands.push_back({operand, shapeOf(operand) == resultShape
                                     ? steps
                                     : before(nullptr, resultShape, steps)});
  return operands;
}

/// A part of the chain that another group has computed, as this one needs it.
/// Outputs that are computed of one another are each computed once.
Value ElementwiseGroup::broughtBefore(Value current, const Step *steps) {
  bool sameShape = !steps && shapeOf(current) == ArrayRef<int64_t>(shape);
  return sameShape && current != value ? selector.brought(current, tiling)
                                       : Value();
}

/// An operator that changes the shape of a value of the host in a way that no
/// strides describe, or null: it needs its operand in the store, in order.
Operation *ElementwiseGroup::withoutStrides(const Step *steps) {
  llvm::SetVector<Request> requests;
  requests.insert({value, steps});
  for (size_t next = 0; next < requests.size(); ++next) {
    auto [current, after] = requests[next];
    SmallVector<Request> operands = requestsOf(current.getDefiningOp(), after);
    requests.insert_range(operands);
    if (!operands.empty() || broughtBefore(current, after) ||
        selector.alreadyOnWafer(current) || !selector.host().contains(current))
      continue;
    StridedView view = selector.host().trace(current)->view;
    if (Operation *op = applySteps(view, after))
      return op;
  }
  return nullptr;
}

/// Operands before what is computed of them, from the left. A stack of our own:
/// a chain may be longer than the program's stack is deep.
Value ElementwiseGroup::emit(Value result, const Step *steps) {
  SmallVector<Request> open = {{result, steps}};
  while (!open.empty()) {
    Request request = open.back();
    Operation *op = request.first.getDefiningOp();
    if (emitted.contains(request)) {
      open.pop_back();
      continue;
    }
    SmallVector<Request> operands = requestsOf(op, request.second);
    size_t before = open.size();
    for (const Request &operand : llvm::reverse(operands))
      if (!emitted.contains(operand))
        open.push_back(operand);
    if (open.size() != before)
      continue;
    Value scalar = operands.empty()  ? emitLeaf(request.first, request.second)
                   : isShapeOnly(op) ? emitted.lookup(operands.front())
                                     : emitOperator(op, operands);
    if (!scalar)
      return {};
    emitted[request] = scalar;
  }
  return emitted.lookup({result, steps});
}

Value ElementwiseGroup::emitOperator(Operation *op,
                                     ArrayRef<Request> operands) {
  if (std::optional<std::string> problem = scalarProblem(op)) {
    selector.refuse(op, *problem);
    return {};
  }
  SmallVector<Value> scalars;
  for (const Request &operand : operands)
    scalars.push_back(emitted.lookup(operand));
  operators.push_back(op);
  return buildScalar(body, op, scalars);
}

Value ElementwiseGroup::emitLeaf(Value current, const Step *steps) {
  if (Value tensor = broughtBefore(current, steps))
    return leaf(tensor, {});
  if (Value tensor = selector.alreadyOnWafer(current))
    return emitWafer(current, tensor, steps);
  return selector.host().contains(current) ? emitHost(current, steps) : Value();
}

/// Applies the steps to `view`; the operator of the first that no strides
/// describe, or null.
Operation *ElementwiseGroup::applySteps(StridedView &view, const Step *steps) {
  for (const Step *step = steps; step; step = step->next) {
    if (!step->op) {
      view = view.expanded(step->broadcast);
      continue;
    }
    std::optional<StridedView> next =
        withStrides(values::throughShapeOp(step->op, view));
    if (!next)
      return step->op;
    view = *next;
  }
  return nullptr;
}

// A view with the group's shape as batch x tokens x features.
std::optional<StridedView> ElementwiseGroup::asTokens(const StridedView &view) {
  return withStrides(
      view.reshaped({tiling.getBatch(), tiling.getTokens(), features}));
}

Value ElementwiseGroup::leaf(Value tensor, wse::WeightAttr vector) {
  for (Leaf &known : leaves)
    if (known.tensor == tensor && known.vector == vector)
      return known.scalar;
  Location location = user->getLoc();
  leaves.push_back(
      {tensor, vector,
       block->addArgument(tensor ? elementOnWafer(tensor) : body.getF32Type(),
                          location)});
  return leaves.back().scalar;
}

//===----------------------------------------------------------------------===//
// Leaves that the host provides
//===----------------------------------------------------------------------===//

wse::TokenTiling ElementwiseGroup::operandTiling(bool perBatchElement,
                                                 bool perToken) {
  wse::TokenTiling result = tiling;
  if (perBatchElement)
    result = result.perBatchElement(selector.machine().height);
  if (perToken)
    result = result.withColumns(wse::ColumnPlacement::Replicated);
  return result;
}

// Loads what differs only: one token per batch element or one feature where
// the others repeat it.
Value ElementwiseGroup::load(values::TracedView traced) {
  std::optional<StridedView> tokens = asTokens(traced.view);
  if (!tokens)
    return selector.load(selector.weight(traced), tiling, user);
  auto repeats = [&](size_t d) {
    return tokens->shape()[d] > 1 && (*tokens->strides())[d] == 0;
  };
  const bool perBatchElement = repeats(1), perToken = repeats(2);
  traced.view = *tokens;
  if (perBatchElement)
    traced.view = *traced.view.sliced(1, 0, 1, 1);
  if (perToken)
    traced.view = *traced.view.sliced(2, 0, 1, 1);
  return selector.load(selector.weight(traced),
                       operandTiling(perBatchElement, perToken), user);
}

Value ElementwiseGroup::integer(double number) {
  if (number < INT32_MIN || number > INT32_MAX)
    return refuse("computes with the constant " +
                  Twine(std::to_string(int64_t(number))) +
                  ", which 32 bits do not hold");
  return buildInteger(body, int32_t(number));
}

Value ElementwiseGroup::emitHost(Value base, const Step *steps) {
  values::TracedView traced = *selector.host().trace(base);
  if (applySteps(traced.view, steps))
    llvm_unreachable("such operands are in the store");
  onnx::ConstantOp constant = selector.host().constantOf(traced.root);
  std::optional<double> number = scalarOf(constant, traced.view);
  bool integers = elementOnWafer(base).isInteger();
  // An i32 has the bits of a ui32.
  if (number && *number > INT32_MAX &&
      cast<RankedTensorType>(base.getType())
          .getElementType()
          .isUnsignedInteger(32))
    *number -= std::exp2(32);
  if (number && vectorsAllowed)
    return integers ? integer(*number) : buildConstant(body, *number);
  std::optional<StridedView> tokens = asTokens(traced.view);
  auto isOne = [&](size_t d) { // or the same again
    StridedView::Atoms atoms = tokens->atoms(d, 1);
    return atoms.empty() || atoms.front().stride == 0;
  };
  bool perFeature = tokens && isOne(0) && isOne(1);
  // Words of one stream have one type: integers are loaded.
  if (perFeature && vectorsAllowed && constant && !integers) {
    traced.view = StridedView::strided({features}, tokens->getOffset(),
                                       tokens->strides()->back());
    return leaf({}, selector.weight(traced));
  }
  return leaf(load(traced), {});
}

//===----------------------------------------------------------------------===//
// Leaves on the wafer
//===----------------------------------------------------------------------===//

Value ElementwiseGroup::emitWafer(Value onnxValue, Value tensor,
                                  const Step *steps) {
  StridedView view = StridedView::whole(shapeOf(onnxValue));
  if (applySteps(view, steps))
    llvm_unreachable("tensors on the wafer are broadcast only");
  std::optional<StridedView> tokens = asTokens(view);
  const values::Shape extents = tokens ? tokens->shape() : values::Shape(3);
  const values::Shape strides = tokens ? *tokens->strides() : values::Shape(3);
  wse::TokenTiling own = wse::TokenTiling::of(tensor.getType());
  int64_t ownFeatures = wse::featuresOf(tensor);
  bool repeatsToken = extents[1] > 1 && strides[1] == 0;
  bool repeatsFeature = tokens && features > 1 && strides[2] == 0;
  auto isInOrder = [&] {
    if (!tokens || tokens->getOffset() != 0 ||
        own.getBatch() != tiling.getBatch())
      return false;
    return ownFeatures == (repeatsFeature ? 1 : features) &&
           own.getTokens() == (repeatsToken ? 1 : tiling.getTokens()) &&
           (repeatsFeature || features == 1 || strides[2] == 1) &&
           (repeatsToken || extents[1] == 1 || strides[1] == ownFeatures) &&
           (extents[0] == 1 || strides[0] == own.getTokens() * ownFeatures) &&
           own.sameRows(repeatsToken
                            ? tiling.perBatchElement(selector.machine().height)
                            : tiling);
  };
  // What lies in other rows, or in another order, comes back from the store.
  if (!isInOrder())
    return selector.toStore(onnxValue, user) ? emitHost(onnxValue, steps)
                                             : Value();
  wse::TokenTiling wanted = operandTiling(false, repeatsFeature);
  if (!own.sameColumns(wanted))
    tensor = selector.redistribute(tensor, wanted.getColumns(),
                                   wanted.getHeadSize(), user);
  return tensor ? leaf(tensor, {}) : Value();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Would a number of the body become infinite as a float of this type? Masks
/// are made of the lowest f32, and a row of minus infinities has no softmax.
static bool hasNumbersBeyond(Block &body, Type element) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  return llvm::any_of(body.getOps<arith::ConstantOp>(), [&](auto constant) {
    auto number = dyn_cast<FloatAttr>(constant.getValue());
    if (!number || !number.getValue().isFinite())
      return false;
    APFloat rounded = number.getValue();
    bool inexact;
    rounded.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
    return rounded.isInfinity();
  });
}

Value ElementwiseGroup::finish(Value result) {
  // Nothing to compute, as when integers become floats: the operand itself.
  for (const Leaf &leaf : leaves)
    if (leaf.scalar == result && leaf.tensor &&
        tilingOf(leaf.tensor) == tiling &&
        wse::featuresOf(leaf.tensor) == features)
      return leaf.tensor;
  // Tensors come first in the body's arguments, then vectors.
  SmallVector<Value> tensors;
  SmallVector<Attribute> vectors;
  auto renumber = [&](Leaf &leaf) {
    Value argument = block->addArgument(leaf.scalar.getType(), user->getLoc());
    if (leaf.scalar == result)
      result = argument;
    leaf.scalar.replaceAllUsesWith(argument);
  };
  for (Leaf &leaf : leaves)
    if (leaf.tensor) {
      tensors.push_back(leaf.tensor);
      renumber(leaf);
    }
  for (Leaf &leaf : leaves)
    if (leaf.vector) {
      vectors.push_back(leaf.vector);
      renumber(leaf);
    }
  block->eraseArguments(0, leaves.size());
  if (tensors.empty())
    return refuse("computes a constant, which should have been folded");
  bool integers = elementOnWafer(value).isInteger();
  wse::YieldOp::create(body, user->getLoc(),
                       integers ? asInteger(body, result)
                                : asFloat(body, result));

  ArrayAttr nodes =
      selector.nodesOf(operators.empty() ? ArrayRef<Operation *>(user)
                                         : ArrayRef<Operation *>(operators));
  RankedTensorType type = selector.tensorType(tiling, features, value);
  // A float of 16 bits does not hold what integers become.
  const bool hasIntegers = !block->getOps<arith::SIToFPOp>().empty();
  if (!integers &&
      (hasIntegers || hasNumbersBeyond(*block, type.getElementType())))
    type = type.clone(body.getF32Type());
  auto kernel = selector.create<wse::ElementwiseOp>(
      user, nodes, Type(type), ValueRange(tensors), body.getArrayAttr(vectors));
  kernel.getBody().push_back(block.release());
  return kernel.getResult();
}
