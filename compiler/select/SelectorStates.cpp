// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries, with their arguments, and what goes from call to call: the states
// that they share.

#include "compiler/select/ElementwiseGroup.h"
#include "compiler/select/KernelChoice.h"
#include "compiler/select/Selector.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/wse/StateBytes.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

static StringRef textOf(Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  return text ? text.getValue() : StringRef();
}

bool select::isHostInput(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return !function.getArgAttr(argument.getArgNumber(), onnx::stateAttrName) &&
         !function.getArgAttr(argument.getArgNumber(), onnx::argumentAttrName);
}

ProgramSymbols::ProgramSymbols(ModuleOp module, wse::ProgramOp program) {
  taken.insert("main"); // entries
  taken.insert("load");
  for (Operation &op : program.bodyBlock())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      taken.insert(symbol.getName());
  for (auto parameter : module.getOps<onnx::ParameterOp>())
    taken.insert(parameter.getSymName());
  for (auto entry : module.getOps<func::FuncOp>()) {
    taken.insert(entry.getSymName());
    for (BlockArgument argument : entry.getArguments())
      if (isHostInput(argument))
        taken.insert(inputName(argument));
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      taken.insert(textOf(entry.getResultAttr(i, onnx::nameAttrName)));
  }
  lastDeclared = &program.bodyBlock().back();
}

bool Selector::isState(OpOperand &output) {
  return isa<func::ReturnOp>(output.getOwner()) &&
         main.getResultAttr(output.getOperandNumber(), onnx::stateAttrName);
}

/// Kernels of the only function without states and arguments stand in the
/// program.
void Selector::openEntry() {
  auto module = main->getParentOfType<ModuleOp>();
  if (llvm::hasSingleElement(module.getOps<func::FuncOp>()) &&
      llvm::all_of(main.getArguments(), isHostInput) &&
      !main->hasAttr(onnx::lengthAttrName))
    return;
  entry = wse::EntryOp::create(kernels, main.getLoc(), main.getSymName());
  Block &body = entry.getBody().emplaceBlock();
  SmallVector<Attribute> names;
  SmallVector<int64_t> from, to;
  for (BlockArgument argument : main.getArguments()) {
    auto range = main.getArgAttrOfType<DenseI64ArrayAttr>(
        argument.getArgNumber(), onnx::argumentAttrName);
    if (!range)
      range = main.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(),
                                                       onnx::lengthAttrName);
    if (!range)
      continue;
    StringRef name = inputName(argument);
    name.consume_front((main.getSymName() + ".").str());
    const int64_t count = values::numElements(shapeOf(argument));
    for (int64_t i = 0; i < count; ++i) {
      names.push_back(kernels.getStringAttr(
          count == 1 ? name.str() : name.str() + "_" + std::to_string(i)));
      from.push_back(range[0]);
      to.push_back(range[1]);
      arguments[argument].push_back(
          body.addArgument(kernels.getIndexType(), argument.getLoc()));
    }
  }
  describeLengths();
  entry.setNamesAttr(kernels.getArrayAttr(names));
  entry.setFrom(from);
  entry.setTo(to);
  kernels.setInsertionPointToEnd(&body);
}

/// Which axes of what the host gives and gets are as long as a call is; of the
/// input that has that number, to how many parts they are dealt.
void Selector::describeLengths() {
  NamedAttrList axes;
  auto note = [&](StringRef name, DictionaryAttr about) {
    Attribute its = about ? about.get(onnx::lengthAxesAttrName) : Attribute();
    if (about && about.contains(onnx::lengthAttrName))
      its = main->getAttr(onnx::lengthPartsAttrName);
    if (its)
      axes.set(name, its);
  };
  for (BlockArgument argument : main.getArguments())
    note(inputName(argument), main.getArgAttrDict(argument.getArgNumber()));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    note(outputName(i), main.getResultAttrDict(i));
  if (!axes.empty())
    target->setAttr(onnx::lengthAxesAttrName,
                    axes.getDictionary(target.getContext()));
}

/// What stands in the program itself.
OpBuilder Selector::declarations() const {
  return entry ? OpBuilder(entry) : kernels;
}

wse::StateOp Selector::createState(StringRef name, RankedTensorType type,
                                   Location loc) {
  OpBuilder builder(target.getContext());
  builder.setInsertionPointAfter(symbols.lastDeclared);
  auto state = wse::StateOp::create(builder, loc, freshName(name), regionName,
                                    TypeAttr::get(type), IntegerAttr());
  symbols.lastDeclared = state;
  return state;
}

wse::StateOp Selector::declareState(BlockArgument past, RankedTensorType type) {
  StringRef name =
      textOf(main.getArgAttr(past.getArgNumber(), onnx::stateAttrName));
  wse::StateOp &state = symbols.states[name];
  if (!state)
    state = createState(name, type, past.getLoc());
  return state;
}

wse::StateOp Selector::stateOf(onnx::UpdateOp update) {
  ArrayRef<int64_t> shape = shapeOf(update.getPresent());
  const auto past = cast<BlockArgument>(update.getPast());
  const int64_t heads = headsOf(update);
  const auto tiling = wse::TokenTiling::ofState(
      shape[0], shape[1], heads, shape[2] / heads, regionMachine.width);
  const RankedTensorType type =
      tensorType(tiling, shape[2], update.getPresent());
  if (!symbols.keysAndValues)
    return declareState(past, type);
  if (!symbols.keysAndValues.isInteger(8))
    return declareState(past, tiling.type(shape[2], symbols.keysAndValues));
  auto typeOf = [&](wse::TokenTiling its, Type element) {
    return its.type(heads * its.getHeadSize(), element);
  };
  wse::StateOp state =
      declareState(past, typeOf(wse::inBytes(tiling), kernels.getI16Type()));
  if (!wse::scalesOf(state)) {
    const Type element = type.getElementType().isF32()
                             ? Type(kernels.getF16Type())
                             : type.getElementType();
    wse::StateOp scales =
        createState((state.getSymName() + ".scales").str(),
                    typeOf(wse::ofScales(tiling), element), past.getLoc());
    state->setAttr(wse::scalesAttrName, FlatSymbolRefAttr::get(scales));
  }
  return state;
}

/// The region, with the SRAM that states leave.
Machine Selector::besideStates() const {
  Machine left = regionMachine;
  left.sramBytes -= bytesOfStates(target, regionMachine);
  return left;
}

//===----------------------------------------------------------------------===//
// States that each call reads and writes as a whole
//===----------------------------------------------------------------------===//

/// The argument of the state that an output is, if that is such a one.
BlockArgument Selector::wholeStateOf(OpOperand &output) {
  Attribute name =
      main.getResultAttr(output.getOperandNumber(), onnx::stateAttrName);
  for (BlockArgument argument : main.getArguments())
    if (name && HostValues::isWholeState(argument) &&
        main.getArgAttr(argument.getArgNumber(), onnx::stateAttrName) == name)
      return argument;
  return {};
}

/// It lies as activations of its shape do that are read as it is.
wse::StateOp Selector::stateOf(BlockArgument whole) {
  ArrayRef<int64_t> shape = shapeOf(whole);
  const int64_t batch = shape.size() > 1 ? shape.front() : 1;
  const int64_t features = shape.empty() ? 1 : shape.back();
  const wse::TokenTiling rows(batch,
                              values::numElements(shape) / batch / features);
  return declareState(
      whole, tensorType(wantedHeads.columnsFor(whole, rows), features, whole));
}

/// Has `state` on the wafer, as calls before have left it, from here on.
void Selector::recall(BlockArgument state, Operation *user) {
  if (selected.contains(state))
    return;
  const int64_t batch = shapeOf(state).empty() ? 1 : shapeOf(state).front();
  auto argument = llvm::find_if(main.getArguments(), [&](Value each) {
    return arguments.contains(each);
  });
  const ValueRange positions = argumentsOf(*argument);
  if (positions.size() > 1 && batch > regionMachine.height) {
    selected[state] = {};
    refuse(user, "reads a state of " + Twine(batch) +
                     " batch elements, each of which takes a row of PEs, of "
                     "which there are " +
                     Twine(regionMachine.height) +
                     "; take a mesh of more rows");
    return;
  }
  selected[state] = createRecall(*this, user, stateOf(state), positions);
}

/// Whether any entry reads it.
bool Selector::isRead(BlockArgument state) {
  Attribute name = main.getArgAttr(state.getArgNumber(), onnx::stateAttrName);
  for (auto entry : main->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (BlockArgument its : entry.getArguments())
      if (!its.use_empty() &&
          entry.getArgAttr(its.getArgNumber(), onnx::stateAttrName) == name)
        return true;
  return false;
}

/// Writes the state that an output is, behind what reads it.
void Selector::leaveState(OpOperand &output) {
  BlockArgument state = wholeStateOf(output);
  if (!state || !storedOutputs.insert(&output).second)
    return;
  if (!isRead(state))
    return;
  Value value = output.get();
  Operation *producer = value.getDefiningOp();
  Operation *user = producer ? producer : output.getOwner();
  if (!state.use_empty())
    recall(state, user);
  if (HostValues::isWholeState(value))
    recall(cast<BlockArgument>(value), user);
  Value tensor = onWafer(value, user);
  if (!tensor || (selected.count(state) && !selected.lookup(state)))
    return;
  wse::StateOp held = stateOf(state);
  const wse::TokenTiling tiling = wse::TokenTiling::of(held.getType());
  if (tensor.getType() != held.getType())
    tensor =
        ElementwiseGroup(*this, value, shapeOf(value), tiling, user).build();
  if (tensor)
    createUpdate(*this, user, held, tensor);
}
