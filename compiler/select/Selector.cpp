// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bookkeeping of the selection: which values are where.

#include "compiler/select/Selector.h"

#include "compiler/select/ElementwiseGroup.h"
#include "compiler/select/HeldWeights.h"
#include "dialects/wse/StateBytes.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

Selector::Selector(func::FuncOp main, wse::ProgramOp program,
                   wse::RegionOp region, Type precision, ScratchLimits limits,
                   bool weightsStay, ProgramSymbols &symbols)
    : main(main), target(program),
      regionName(FlatSymbolRefAttr::get(region.getSymNameAttr())),
      regionMachine(region.machine()), hostValues(main.front()),
      wantedHeads(main.front(), regionMachine.width),
      kernels(OpBuilder::atBlockEnd(&program.bodyBlock())),
      precision(precision), limits(std::move(limits)), weightsStay(weightsStay),
      offers(regionMachine), symbols(symbols) {}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

// The store converts what leaves the wafer.
static bool onlyConvertsOutput(Operation *op) {
  return isFloatCast(op) && onlyLeavesWafer(op);
}

// An element-wise operator joins the group of its users if they all are in one
// and compute tensors of the same shape: then nobody else needs its result.
void Selector::findGroups() {
  for (Operation &op : llvm::reverse(main.front())) {
    if (!isElementwise(&op) || hostValues.contains(op.getResult(0)) ||
        onlyConvertsOutput(&op))
      continue;
    Operation *root = nullptr;
    for (Operation *user : op.getUsers()) {
      Operation *usersRoot = groupRoot.lookup(user);
      if (root && usersRoot != root)
        usersRoot = nullptr;
      root = usersRoot;
      if (!root)
        break;
    }
    auto shape = [](Operation *op) {
      return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    };
    bool joins = root && shape(root) == shape(&op);
    groupRoot[&op] = joins ? root : &op;
  }
}

void Selector::declareInputs() {
  OpBuilder builder(target.getContext());
  builder.setInsertionPointAfter(symbols.lastDeclared);
  for (BlockArgument input :
       llvm::make_filter_range(main.getArguments(), isHostInput)) {
    StringAttr name = builder.getStringAttr(inputName(input));
    symbols.elements[name] =
        cast<RankedTensorType>(input.getType()).getNumElements();
    symbols.lastDeclared = wse::InputOp::create(builder, input.getLoc(), name,
                                                TypeAttr::get(input.getType()));
  }
}

/// Programs are run by these names, which share one name space.
LogicalResult Selector::checkNames() {
  llvm::StringSet<> names;
  auto check = [&](StringRef what, StringRef name) -> LogicalResult {
    if (name.empty())
      return main.emitError() << "an " << what << " has no name; "
                              << onnx::nameAttrName << " gives it one";
    if (!names.insert(name).second)
      return main.emitError()
             << what << " '" << name
             << "' is called as another input or output; each needs a name of "
                "its own, and an Identity gives a value a second one";
    return success();
  };
  for (BlockArgument input : main.getArguments())
    if (isHostInput(input) && failed(check("input", inputName(input))))
      return failure();
  for (OpOperand &output : main.front().getTerminator()->getOpOperands())
    if (!isState(output) &&
        failed(check("output", outputName(output.getOperandNumber()))))
      return failure();
  auto module = main->getParentOfType<ModuleOp>();
  for (auto parameter : module.getOps<onnx::ParameterOp>())
    if (!names.insert(parameter.getSymName()).second)
      return parameter.emitError()
             << "parameter '" << parameter.getSymName()
             << "' is called as an input or output; rename one of them";
  return success();
}

LogicalResult Selector::run() {
  if (failed(checkNames()))
    return failure();
  openEntry();
  findGroups();
  declareInputs();
  Operation *terminator = main.front().getTerminator();
  for (OpOperand &output : terminator->getOpOperands())
    for (Operation *op = output.get().getDefiningOp();
         isState(output) && !wholeStateOf(output) && isShapeOnly(op);
         op = op->getOperand(0).getDefiningOp())
      statesLeaving.insert(op);
  const bool trains = !main.front().getOps<onnx::GradientOp>().empty();
  for (Operation &op : main.front().without_terminator()) {
    for (Value operand : op.getOperands())
      if (HostValues::isWholeState(operand))
        recall(cast<BlockArgument>(operand), &op);
    forgetWhereKept(&op);
    select(&op);
    for (OpOperand &use : op.getUses())
      if (use.getOwner() == terminator && isState(use))
        leaveState(use);
    // The loss leaves before the backward pass: evaluations end there.
    for (OpOperand &use : op.getUses())
      if (trains && use.getOwner() == terminator) {
        storeOutput(use);
        storedOutputs.insert(&use);
      }
  }
  for (OpOperand &operand : terminator->getOpOperands())
    if (isState(operand))
      leaveState(operand);
    else
      storeOutput(operand);
  return refusals.report(main.getContext());
}

void Selector::refuse(Operation *op, const Twine &reason) {
  refusals.refuse(op, reason);
}

//===----------------------------------------------------------------------===//
// One operator
//===----------------------------------------------------------------------===//

/// Whether floats hold integers that 16 bits may not: what only becomes
/// integers, such as an exact product of them, and what they become.
static bool holdsIntegers(Operation *op) {
  auto isWide = [](Type type) {
    auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
    return integer && integer.getWidth() > 8;
  };
  auto cast = dyn_cast<onnx::CastOp>(op);
  return (cast && isWide(cast.getX().getType())) ||
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           return isa<onnx::CastOp>(user) && isWide(user->getResultTypes()[0]);
         });
}

/// Whether it transposes a matrix for products alone. These take it as it was,
/// or ask the store for it.
static bool isLeftOperand(Operation *op) {
  auto transpose = dyn_cast<onnx::TransposeOp>(op);
  return transpose && shapeOf(transpose.getX()).size() == 2 &&
         llvm::all_of(op->getUses(), [](OpOperand &use) {
           return isa<onnx::BatchMatMulOp>(use.getOwner()) &&
                  use.getOperandNumber() == 0;
         });
}

void Selector::select(Operation *op) {
  if (auto gradient = dyn_cast<onnx::GradientOp>(op))
    return storeGradient(gradient);
  if (op->use_empty() || isa<onnx::ConstantOp, onnx::NoneOp>(op) ||
      statesLeaving.contains(op) || hostValues.contains(op->getResult(0)) ||
      isLeftOperand(op))
    return;
  // What needs a refused value is not looked at.
  for (Value operand : op->getOperands())
    if (selected.count(operand) && !selected.lookup(operand)) {
      for (Value result : op->getResults())
        selected[result] = {};
      refusals.countConsequence(op);
      return;
    }
  if (isa<onnx::BitCastOp>(op) && !floats().isF32()) {
    refuse(op, "takes all 32 bits of a float, of which the wafer has 16; leave "
               "out --precision");
    for (Value result : op->getResults())
      selected[result] = {};
    return;
  }
  if (isElementwise(op) && !isInGroup(op, op))
    return;
  llvm::SaveAndRestore restore(exactly, exactly || holdsIntegers(op));
  Value result = build(op);
  // What only states or the store hold is no refusal.
  if (isa<onnx::UpdateOp>(op) && !refusals.isRefused(op->getResult(0)))
    return;
  // One of as many results stands for each of the operator's.
  auto its = dyn_cast_or_null<OpResult>(result);
  const bool several =
      its && its.getOwner()->getNumResults() == op->getNumResults();
  for (OpResult each : op->getResults())
    if (result || !hostValues.contains(each))
      selected[each] =
          several ? its.getOwner()->getResult(each.getResultNumber()) : result;
  // What it fuses may have been refused in its place.
  if (!result && !refusals.isRefused(op->getResult(0)))
    refusals.countConsequence(op);
  nameValues(op, result);
}

/// The one kernel that computes the operator; what only changes the shape is a
/// view where none does.
Value Selector::build(Operation *op) {
  if (isElementwise(op))
    return buildElementwise(op);
  for (const Kernel *kernel : allKernels()) {
    Match match = kernel->match(op, *this);
    if (match.answer == Match::Yes)
      return kernel->build(op, *this);
    if (match.answer == Match::Refused) {
      refuse(op, match.refusal);
      return {};
    }
  }
  if (isShapeOnly(op))
    return buildShape(op);
  if (auto keep = dyn_cast<onnx::KeepOp>(op)) // on the wafer, where it is
    return onWafer(keep.getX(), op);
  refuse(op, "no kernel of this library computes it");
  return {};
}

// Tokens may be regrouped, since kernels see batch, token and feature only.
Value Selector::buildShape(Operation *op) {
  Value input = alreadyOnWafer(op->getOperand(0));
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  int64_t features = shape.empty() ? 1 : shape.back();
  if (isa<onnx::ReshapeOp>(op) && input &&
      (onlyLeavesWafer(op) || features == wse::featuresOf(input)))
    return input;
  selectView(op);
  return {};
}

void Selector::nameValues(Operation *op, Value result) {
  auto names = op->getAttrOfType<ArrayAttr>(onnx::valuesAttrName);
  auto made = dyn_cast_or_null<OpResult>(result);
  if (!names || !made)
    return;
  Operation *kernel = made.getOwner();
  SmallVector<Attribute> each(kernel->getNumResults(),
                              ArrayAttr::get(op->getContext(), {}));
  if (auto known = kernel->getAttrOfType<ArrayAttr>(onnx::valuesAttrName))
    llvm::copy(known, each.begin());
  Attribute &its = each[made.getResultNumber()];
  llvm::SetVector<Attribute> all;
  all.insert_range(cast<ArrayAttr>(its));
  int64_t elements = cast<RankedTensorType>(result.getType()).getNumElements();
  for (Attribute name : cast<ArrayAttr>(names[0])) {
    auto pair = dyn_cast<ArrayAttr>(name);
    if (pair && ShapedType::getNumElements(
                    cast<DenseI64ArrayAttr>(pair[1]).asArrayRef()) == elements)
      all.insert(name);
  }
  if (all.empty())
    return;
  its = ArrayAttr::get(op->getContext(), all.getArrayRef());
  kernel->setAttr(onnx::valuesAttrName, ArrayAttr::get(op->getContext(), each));
}

Value Selector::buildElementwise(Operation *root) {
  ArrayRef<int64_t> shape = shapeOf(root->getResult(0));
  int64_t features = shape.empty() ? 1 : shape.back();
  int64_t leading =
      shape.empty() ? 1 : ShapedType::getNumElements(shape.drop_back());
  // The first operand on the wafer with all tokens decides the rows; columns
  // are balanced unless all operands hold heads or heads are wanted.
  wse::TokenTiling rows;
  bool allHeads = true;
  wse::TokenTiling heads;
  llvm::SetVector<Operation *> group;
  group.insert(root);
  for (size_t next = 0; next < group.size(); ++next)
    for (Value operand : group[next]->getOperands()) {
      if (hostValues.contains(operand))
        continue;
      if (isInGroup(operand.getDefiningOp(), root)) {
        group.insert(operand.getDefiningOp());
        continue;
      }
      Value tensor = alreadyOnWafer(operand);
      if (!tensor)
        return {};
      wse::TokenTiling tiling = tilingOf(tensor);
      if (tiling.splitsRows() &&
          tiling.getBatch() * tiling.getTokens() == leading && !rows)
        rows = tiling;
      if (wse::featuresOf(tensor) != features)
        continue;
      allHeads &= tiling.getColumns() == wse::ColumnPlacement::Heads &&
                  (!heads || heads.sameColumns(tiling));
      heads = tiling;
    }
  if (!rows)
    rows = defaultTiling(shape);
  wse::TokenTiling tiling = wantedHeads.columnsFor(root->getResult(0), rows);
  if (tiling.getColumns() == wse::ColumnPlacement::Balanced && heads &&
      allHeads)
    tiling = rows.withColumns(wse::ColumnPlacement::Heads, heads.getHeadSize());
  return ElementwiseGroup(*this, root->getResult(0), shape, tiling, root)
      .build();
}

//===----------------------------------------------------------------------===//
// Values on the wafer
//===----------------------------------------------------------------------===//

Value Selector::alreadyOnWafer(Value value) const {
  return selected.lookup(value);
}

Value Selector::onWafer(Value value, Operation *user) {
  Value tensor = alreadyOnWafer(value);
  if (tensor || !hostValues.contains(value))
    return tensor;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  wse::TokenTiling tiling = defaultTiling(shape);
  if (int64_t headSize = wantedHeads.sizeFor(value))
    tiling = tiling.withColumns(wse::ColumnPlacement::Heads, headSize);
  return bring(value, shape, tiling, user);
}

Value Selector::bring(Value value, ArrayRef<int64_t> shape,
                      wse::TokenTiling tiling, Operation *user, bool exact) {
  llvm::SaveAndRestore restore(exactly,
                               exactly || exact || !hostValues.trace(value));
  RankedTensorType type = tensorType(shape, tiling, value);
  auto [known, isNew] = onceBrought.try_emplace({value, type});
  if (!isNew)
    return known->second;
  Value result = ElementwiseGroup(*this, value, shape, tiling, user).build();
  return onceBrought[{value, type}] = result;
}

Value Selector::brought(Value value, wse::TokenTiling tiling) {
  if (Value known = onceBrought.lookup(
          {value, tensorType(shapeOf(value), tiling, value)}))
    return known;
  llvm::SaveAndRestore restore(exactly, true);
  return onceBrought.lookup({value, tensorType(shapeOf(value), tiling, value)});
}

// Loads with equal sources, views and types are one load.
Value Selector::load(wse::WeightAttr weight, wse::TokenTiling tiling,
                     Operation *user) {
  llvm::SaveAndRestore restore(exactly, exactly || isStoredExactly(weight));
  RankedTensorType type = tensorType(weight, tiling);
  if (type.getShape() != weight.getType().getShape())
    return loadReshaped(weight, type.getShape(), tiling, user);
  const StridedView view = stridedView(weight);
  const auto held = symbols.elements.find(weight.getName());
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (held != symbols.elements.end() &&
      !(view.isContiguous() &&
        weight.getType().getNumElements() == held->second)) {
    offset = weight.getViewOffset();
    strides = weight.viewStrides();
  }
  Value &result = loaded[{weight, type}];
  if (result)
    return result;
  constexpr size_t mostWalked = 4; // by a stream, the features among them
  if (view.atoms(0, view.rank() - 1).size() < mostWalked)
    return result = createLoad(type, source(weight), offset, strides, user);
  Value inParts = load(storedInParts(weight, user), tiling, user);
  return loaded[{weight, type}] = inParts;
}

Value Selector::loadAlone(wse::WeightAttr weight, wse::TokenTiling tiling,
                          Operation *user) {
  decltype(loaded) before = std::exchange(loaded, decltype(loaded)());
  Value result = load(weight, tiling, user);
  loaded = std::move(before);
  return result;
}

Attribute Selector::source(wse::WeightAttr weight) const {
  return symbols.elements.contains(weight.getName())
             ? Attribute(weight.getTensor())
             : weight;
}

// The elements of a view in order, in the store: one load and one store for
// each index of the shortest dimension.
wse::WeightAttr Selector::storedInParts(wse::WeightAttr weight,
                                        Operation *user) {
  const ArrayRef<int64_t> shape = weight.getType().getShape();
  const values::Shape dense = values::rowMajorStrides(shape);
  size_t cut = shape.size();
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d] > 1 && (cut == shape.size() || shape[d] < shape[cut]))
      cut = d;
  int64_t batch = values::numElements(shape.take_front(cut));
  int64_t features = shape.back();
  int64_t tokens = dense[cut] / features;
  wse::IntermediateOp into =
      declare(shape, elementOnWafer(weight.getType().getElementType()), user);
  for (int64_t part = 0; part < shape[cut]; ++part) {
    Value tensor =
        load(withView(weight, *stridedView(weight).sliced(cut, part, 1, 1)),
             defaultTiling({batch, tokens, features}), user);
    store(tensor, into, part * dense[cut],
          {shape[cut] * dense[cut], features, 1}, user);
  }
  return wholeOf(into);
}

Type Selector::redistributed(Value value, wse::ColumnPlacement columns,
                             int64_t headSize, int64_t repeat) {
  return tensorType(tilingOf(value).withColumns(columns, headSize),
                    repeat * wse::featuresOf(value), value);
}

Value Selector::redistribute(Value value, wse::ColumnPlacement columns,
                             int64_t headSize, Operation *user,
                             int64_t repeat) {
  if (tilingOf(value).getColumns() == wse::ColumnPlacement::Replicated) {
    refuse(user, "needs features in one column each that every column holds");
    return {};
  }
  Type type = redistributed(value, columns, headSize, repeat);
  Value &result = moved[{value, type}];
  if (!result)
    result = createFor<wse::RedistributeOp>(user, type, value,
                                            kernels.getI64IntegerAttr(repeat));
  return result;
}

Value Selector::toState(Value value, wse::StateOp state, int64_t repeat,
                        Operation *user) {
  Value tensor = onWaferByFeatures(value, user);
  if (!tensor)
    return {};
  const auto held = wse::TokenTiling::of(state.getType());
  const int64_t size = wse::featuresOf(tensor) * held.getHeadSize() /
                       (wse::featuresOf(state.getType()) * repeat);
  const auto tiling = wse::withHeadSize(held, size)
                          .forState(tilingOf(tensor).getTokens(), repeat);
  Type type = tensorType(tiling, wse::featuresOf(tensor), tensor);
  if (tensor.getType() == type)
    return tensor;
  Value &result = moved[{tensor, type}];
  if (!result)
    result = createFor<wse::RedistributeOp>(user, type, tensor,
                                            kernels.getI64IntegerAttr(1));
  return result;
}

/// Of bringing `value` into that distribution, where nothing has yet.
double Selector::redistributeCycles(Value value, wse::TokenTiling tiling) {
  Type type = redistributed(value, tiling.getColumns(), tiling.getHeadSize());
  if (moved.lookup({value, type}))
    return 0;
  return redistributeCost(cast<RankedTensorType>(value.getType()),
                          cast<RankedTensorType>(type), 1, regionMachine)
      .total();
}

void Selector::takeCheapestOffer(Operation *kernel, Operation *user) {
  const Kernel *library = findKernel(kernel);
  const ArrayRef<Offer> offers = this->offers.of(cast<wse::KernelOp>(kernel));
  Choice best = cheapestOffer(kernel, offers, regionMachine, {}, limits);
  Type other;
  for (const Offer &offer : offers) {
    if (!offer.input || offer.input == other)
      continue;
    other = offer.input;
    Choice choice = cheapestOffer(kernel, offers, regionMachine, other, limits);
    choice.cycles +=
        redistributeCycles(kernel->getOperand(0), wse::TokenTiling::of(other));
    if (choice < best)
      best = choice;
  }
  library->take(kernel, best.offer->variant);
  if (Type input = best.offer->input) {
    wse::TokenTiling tiling = wse::TokenTiling::of(input);
    Value value = redistribute(kernel->getOperand(0), tiling.getColumns(),
                               tiling.getHeadSize(), user);
    kernel->setOperand(0, value);
    if (kernel->isBeforeInBlock(value.getDefiningOp()))
      kernel->moveAfter(value.getDefiningOp());
  }
}

std::pair<int64_t, double> Selector::cheapest(Operation *kernel) {
  const auto its = cast<wse::KernelOp>(kernel);
  if (weightsStay && kernel->hasAttr("entry")) // which may not do otherwise
    if (double held = heldCycles(target, its, regionMachine); !std::isinf(held))
      return {0, held};
  const Choice best =
      cheapestOffer(kernel, offers.of(its), besideStates(), {}, limits);
  return {best.missing, best.cycles};
}

bool Selector::isInGroup(Operation *op, Operation *root) const {
  return root && groupRoot.lookup(op) == root;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

StringRef Selector::outputName(unsigned index) {
  auto name = main.getResultAttrOfType<StringAttr>(index, onnx::nameAttrName);
  return name ? name.getValue() : StringRef();
}

StringAttr Selector::outputName(OpOperand &output) {
  auto gradient = dyn_cast<onnx::GradientOp>(output.getOwner());
  if (!gradient)
    return kernels.getStringAttr(outputName(output.getOperandNumber()));
  StringAttr &name = gradientNames[gradient];
  if (!name)
    name = freshName((gradient.getParameter() + ".gradient").str());
  return name;
}

int64_t Selector::roomForOutput(Value input) const {
  return select::roomForOutput(input, besideStates(), limits.code);
}

void Selector::storePiece(Value tensor, OpOperand &output, int64_t offset,
                          Operation *user) {
  storeAs(takeOutput(output), tensor, output.get().getType(), offset, {}, user);
}

StringAttr Selector::takeOutput(OpOperand &output) {
  storedOutputs.insert(&output);
  return outputName(output);
}

/// As soon as it is there, so that its memory is free again.
void Selector::storeGradient(onnx::GradientOp op) {
  Attribute rows;
  if (Value ids = op.getRows()) {
    const bool isHeld =
        toStore(ids, op) &&
        (hostValues.isWhole(*hostValues.trace(ids)) || toStoreInOrder(ids, op));
    if (!isHeld)
      return;
    rows = source(asWeight(ids, op));
  }
  declareParameter(cast<onnx::ParameterOp>(
      main->getParentOfType<ModuleOp>().lookupSymbol(op.getParameterAttr())));
  OpOperand &output = op.getValueMutable();
  OpBuilder builder = declarations();
  wse::GradientOp::create(
      builder, op.getLoc(), outputName(output), op.getParameterAttr(),
      kernels.getI64IntegerAttr(op.getViewOffset()), op.getStridesAttr(), rows,
      TypeAttr::get(op.getValue().getType()));
  storeOutput(output);
}

void Selector::storeOutput(OpOperand &output) {
  if (storedOutputs.contains(&output))
    return;
  Value value = beforeFloatCasts(output.get());
  Operation *producer = value.getDefiningOp();
  Operation *user = producer ? producer : output.getOwner();
  auto type = cast<RankedTensorType>(output.get().getType());
  std::optional<values::TracedView> host;
  if (hostValues.contains(value))
    host = hostValues.trace(value);
  // The host has all its elements, in order: nothing has to move.
  if (host && hostValues.isWhole(*host) &&
      hostValues.storedType(host->root) == type.getElementType()) {
    host->view = StridedView::whole(shapeOf(value));
    OpBuilder builder = declarations();
    wse::AliasOp::create(builder, user->getLoc(), outputName(output),
                         source(weight(*host)), TypeAttr::get(type));
    return;
  }
  Value tensor = onWafer(value, user);
  if (!tensor)
    return;
  storeAs(outputName(output), tensor, type, 0, {}, user);
}
