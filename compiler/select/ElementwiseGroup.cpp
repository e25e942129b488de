// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/ElementwiseGroup.h"

#include "compiler/select/ScalarBody.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

// Something besides constants that the value is computed from.
static bool dependsOnInput(Value value) {
  SmallVector<Value> worklist = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op)
      return true;
    if (seen.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

ElementwiseGroup::ElementwiseGroup(Selector &selector, Value value,
                                   ArrayRef<int64_t> shape,
                                   wse::TiledAttr tiling, Operation *user)
    : selector(selector), value(value), shape(llvm::to_vector(shape)),
      tiling(tiling), features(shape.empty() ? 1 : shape.back()), user(user),
      body(value.getContext()), block(std::make_unique<Block>()),
      vectorsAllowed(dependsOnInput(value)) {
  body.setInsertionPointToStart(block.get());
}

Value ElementwiseGroup::build() {
  Steps steps;
  if (shapeOf(value) != ArrayRef<int64_t>(shape))
    steps.push_back({nullptr, shape});
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

Value ElementwiseGroup::emit(Value current, const Steps &steps) {
  for (auto &[seen, seenSteps, scalar] : emitted)
    if (seen == current && seenSteps == steps)
      return scalar;
  Operation *op = current.getDefiningOp();
  bool host = isHostValue(current);
  Value scalar;
  if (isElementwise(op) &&
      (host || selector.isInGroup(op, value.getDefiningOp()))) {
    scalar = emitOperator(op, steps);
  } else if (!host) {
    Value tensor = selector.alreadyOnWafer(current);
    scalar = tensor ? emitWafer(current, tensor, steps) : Value();
  } else if (isShapeOnly(op)) {
    Steps inner = {{op, {}}};
    inner.append(steps);
    scalar = emit(op->getOperand(0), inner);
  } else {
    scalar = emitHost(current, steps);
  }
  if (scalar)
    emitted.push_back({current, steps, scalar});
  return scalar;
}

Value ElementwiseGroup::emitOperator(Operation *op, const Steps &steps) {
  if (std::optional<std::string> problem = scalarProblem(op)) {
    selector.refuse(op, *problem);
    return {};
  }
  ArrayRef<int64_t> resultShape = shapeOf(op->getResult(0));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Steps inner;
    if (shapeOf(operand) != resultShape)
      inner.push_back({nullptr, llvm::to_vector(resultShape)});
    inner.append(steps);
    operands.push_back(emit(operand, inner));
    if (!operands.back())
      return {};
  }
  operators.push_back(op);
  return buildScalar(body, op, operands);
}

std::optional<View> ElementwiseGroup::applySteps(View view, const Steps &steps,
                                                 Operation *op) {
  for (const Step &step : steps) {
    if (!step.op) {
      view = view.broadcast(step.broadcast);
      continue;
    }
    std::optional<View> next = applyShapeOp(step.op, view);
    if (!next) {
      selector.refuse(step.op, "changes the shape of a broadcast tensor in a "
                               "way that no strides describe");
      return std::nullopt;
    }
    view = *next;
  }
  return view;
}

// A view with the group's shape as batch x tokens x features.
std::optional<View> ElementwiseGroup::asTokens(const View &view) {
  return view.reshape({tiling.getBatch(), tiling.getTokens(), features});
}

Value ElementwiseGroup::leaf(Value tensor, wse::WeightAttr vector) {
  for (Leaf &known : leaves)
    if (known.tensor == tensor && known.vector == vector)
      return known.scalar;
  Location location = user->getLoc();
  leaves.push_back(
      {tensor, vector, block->addArgument(body.getF32Type(), location)});
  return leaves.back().scalar;
}

//===----------------------------------------------------------------------===//
// Leaves that the host provides
//===----------------------------------------------------------------------===//

wse::TiledAttr ElementwiseGroup::operandTiling(bool perBatchElement,
                                               bool perToken) {
  wse::TiledAttr result = tiling;
  if (perBatchElement)
    result = result.perBatchElement();
  if (perToken)
    result = result.withColumns(wse::ColumnPlacement::Replicated);
  return result;
}

// Loads what differs only: one token per batch element or one feature where
// the others repeat it.
Value ElementwiseGroup::load(const HostView &host) {
  std::optional<View> tokens = asTokens(host.view);
  if (!tokens)
    return selector.load(host, tiling, user);
  bool perBatchElement = tokens->shape[1] > 1 && tokens->strides[1] == 0;
  bool perToken = tokens->shape[2] > 1 && tokens->strides[2] == 0;
  if (perBatchElement)
    tokens->shape[1] = 1;
  if (perToken)
    tokens->shape[2] = 1;
  return selector.load({host.base, *tokens},
                       operandTiling(perBatchElement, perToken), user);
}

Value ElementwiseGroup::emitHost(Value base, const Steps &steps) {
  std::optional<HostView> host = asHostView(base);
  std::optional<View> view =
      applySteps(host->view, steps, base.getDefiningOp());
  if (!view)
    return {};
  host->view = *view;
  std::optional<double> number = scalarOf(*host);
  if (number && vectorsAllowed)
    return buildConstant(body, user->getLoc(), *number);
  std::optional<View> tokens = asTokens(host->view);
  bool perFeature = tokens &&
                    (tokens->shape[0] == 1 || tokens->strides[0] == 0) &&
                    (tokens->shape[1] == 1 || tokens->strides[1] == 0);
  if (perFeature && vectorsAllowed && host->constant()) {
    View vector{{features}, tokens->offset, {tokens->strides[2]}};
    return leaf({}, weightOf(host->constant(), vector));
  }
  return leaf(load(*host), {});
}

//===----------------------------------------------------------------------===//
// Leaves on the wafer
//===----------------------------------------------------------------------===//

Value ElementwiseGroup::emitWafer(Value onnxValue, Value tensor,
                                  const Steps &steps) {
  std::optional<View> view =
      applySteps(View::dense(shapeOf(onnxValue)), steps, user);
  if (!view)
    return {};
  std::optional<View> tokens = asTokens(*view);
  wse::TiledAttr own = wse::TiledAttr::of(tensor.getType());
  int64_t ownFeatures = wse::featuresOf(tensor);
  if (!tokens || tokens->offset != 0 || own.getBatch() != tiling.getBatch())
    return refuse("combines tensors whose tokens are grouped differently");

  bool repeatsToken = tokens->shape[1] > 1 && tokens->strides[1] == 0;
  bool repeatsFeature = features > 1 && tokens->strides[2] == 0;
  bool inOrder = ownFeatures == (repeatsFeature ? 1 : features) &&
                 own.getTokens() == (repeatsToken ? 1 : tiling.getTokens()) &&
                 (repeatsFeature || features == 1 || tokens->strides[2] == 1) &&
                 (repeatsToken || tokens->shape[1] == 1 ||
                  tokens->strides[1] == ownFeatures) &&
                 (tokens->shape[0] == 1 ||
                  tokens->strides[0] == own.getTokens() * ownFeatures);
  if (!inOrder)
    return refuse("combines tensors whose tokens or features lie in "
                  "different orders");
  if (repeatsToken && !own.sameRows(tiling.perBatchElement()))
    return refuse("repeats a tensor of one token over the tokens of another; "
                  "nothing sends it to their rows yet");
  if (!repeatsToken && !own.sameRows(tiling))
    return refuse("combines tensors whose tokens lie in different rows");
  wse::TiledAttr wanted = operandTiling(false, repeatsFeature);
  if (!own.sameColumns(wanted))
    tensor = selector.redistribute(tensor, wanted.getColumns(),
                                   wanted.getHeadSize(), user);
  return tensor ? leaf(tensor, {}) : Value();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

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
    Value argument = block->addArgument(body.getF32Type(), user->getLoc());
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
  wse::YieldOp::create(body, user->getLoc(), asFloat(body, result));

  ArrayAttr nodes =
      selector.nodesOf(operators.empty() ? ArrayRef<Operation *>(user)
                                         : ArrayRef<Operation *>(operators));
  auto kernel = selector.create<wse::ElementwiseOp>(
      user, nodes, Type(selector.tensorType(tiling, features)),
      ValueRange(tensors), body.getArrayAttr(vectors));
  kernel.getBody().push_back(block.release());
  return kernel.getResult();
}
