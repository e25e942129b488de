// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States that each call reads and writes as a whole: of convolutions and
// recurrences. What infer found no write at a position in is one.
#include "compiler/Refusals.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/Facts.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/OperatorBuilder.h"
#include "dialects/onnx/CachedCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

namespace wsec::canonicalize {
#define GEN_PASS_DEF_HOLDSTATES
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

static constexpr int64_t mostPosition = std::numeric_limits<int32_t>::max();

/// What `function` leaves of a state, or null.
static OpOperand *resultOf(func::FuncOp function, Attribute state) {
  for (OpOperand &result : function.front().getTerminator()->getOpOperands())
    if (function.getResultAttr(result.getOperandNumber(),
                               onnx::stateAttrName) == state)
      return &result;
  return nullptr;
}

namespace {
class StateHolder {
public:
  StateHolder(func::FuncOp function, Refusals &refusals)
      : function(function), refusals(refusals), builder(function) {}
  void run();

private:
  Attribute about(BlockArgument argument, StringRef name) {
    return function.getArgAttr(argument.getArgNumber(), name);
  }
  bool isWhole(BlockArgument argument);
  bool check(BlockArgument state);
  int64_t sequences();
  BlockArgument position();
  void hold(BlockArgument state);
  bool isReadElsewhere(Attribute state);

  func::FuncOp function;
  Refusals &refusals;
  OpBuilder builder;
  BlockArgument at;
};
} // namespace

/// Of others infer has said what is wrong with them, or verify-canonical will.
bool StateHolder::isWhole(BlockArgument argument) {
  if (!about(argument, onnx::stateAttrName))
    return false;
  if (about(argument, onnx::wholeAttrName))
    return true;
  return !function->hasAttr(onnx::callAttrName) &&
         llvm::none_of(argument.getUsers(), [](Operation *user) {
           // Batched products are nodes up to legalize-products.
           auto node = dyn_cast<onnx::NodeOp>(user);
           return isa<onnx::UpdateOp>(user) ||
                  (node &&
                   (node.getOpType() != "MatMul" || !node.getDomain().empty()));
         });
}

/// Of a call: as many as its first input of tokens has.
int64_t StateHolder::sequences() {
  for (BlockArgument argument : function.getArguments())
    if (!about(argument, onnx::stateAttrName) &&
        !about(argument, onnx::argumentAttrName))
      if (ArrayRef<int64_t> shape = shapeOf(argument); shape.size() > 1)
        return shape.front();
  return 1;
}

/// Where the tokens of the call stand.
BlockArgument StateHolder::position() {
  for (BlockArgument argument : function.getArguments())
    if (!at && about(argument, onnx::argumentAttrName))
      at = argument;
  if (at)
    return at;
  auto module = function->getParentOfType<ModuleOp>();
  const bool isOnly = llvm::hasSingleElement(module.getOps<func::FuncOp>());
  const std::string name =
      (isOnly ? "" : function.getSymName().str() + ".") + "position";
  const unsigned index = function.getNumArguments();
  (void)function.insertArgument(
      index, RankedTensorType::get({sequences()}, builder.getI64Type()),
      builder.getDictionaryAttr(
          {builder.getNamedAttr(onnx::nameAttrName,
                                builder.getStringAttr(name)),
           builder.getNamedAttr(
               onnx::argumentAttrName,
               builder.getDenseI64ArrayAttr({0, mostPosition}))}),
      function.getLoc());
  return at = function.getArgument(index);
}

/// Whether another entry reads what this one leaves.
bool StateHolder::isReadElsewhere(Attribute state) {
  auto module = function->getParentOfType<ModuleOp>();
  for (auto other : module.getOps<func::FuncOp>())
    for (BlockArgument its : other.getArguments())
      if (other != function && !its.use_empty() &&
          other.getArgAttr(its.getArgNumber(), onnx::stateAttrName) == state)
        return true;
  return false;
}

/// Whether a call can hold it. Of others verify-canonical says what is wrong.
bool StateHolder::check(BlockArgument state) {
  auto name = cast<StringAttr>(about(state, onnx::stateAttrName));
  auto refuse = [&](const Twine &why) {
    refusals.add(why, "state", "'" + name.getValue() + "'");
    return false;
  };
  auto type = cast<RankedTensorType>(state.getType());
  OpOperand *result = resultOf(function, name);
  if (!result)
    return false;
  if (auto left = cast<RankedTensorType>(result->get().getType());
      left != type) {
    if (!about(state, onnx::wholeAttrName))
      return false;
    return refuse("a call leaves another shape, " +
                  printShape(left.getShape()) + ", than it finds, " +
                  printShape(type.getShape()) +
                  "; export what does not grow as it was taken, or leave "
                  "--kv-capacity out");
  }
  if (!type.getElementType().isF32())
    return refuse(
        "a state that each call writes as a whole is of floats; leave "
        "it out of --states");
  const int64_t batch = sequences();
  if (batch > 1 && (type.getRank() < 2 || type.getDimSize(0) != batch))
    return refuse("a state that each call writes as a whole has its sequences "
                  "in front, of which there are " +
                  Twine(batch) + "; export it so, or take a batch of 1");
  return true;
}

/// It is read and written as a whole; a call that writes it without a look
/// forgets what calls before have left, as if it was the first.
void StateHolder::hold(BlockArgument state) {
  BlockArgument where = position();
  function.setArgAttr(state.getArgNumber(), onnx::wholeAttrName,
                      builder.getUnitAttr());
  if (state.use_empty() && isReadElsewhere(about(state, onnx::stateAttrName)))
    function.setArgAttr(where.getArgNumber(), onnx::argumentAttrName,
                        builder.getDenseI64ArrayAttr({0, 0}));
}

void StateHolder::run() {
  for (BlockArgument argument :
       SmallVector<BlockArgument>(function.getArguments()))
    if (isWhole(argument) && check(argument))
      hold(argument);
}

//===----------------------------------------------------------------------===//
// What a sequence begins with
//===----------------------------------------------------------------------===//

static constexpr StringLiteral beginName = "begin";

/// An entry that takes from the host what such states hold before the first
/// token: zeros of a call at position 0 are no choice then.
static void addBegin(ModuleOp module, Refusals &refusals) {
  llvm::MapVector<Attribute, Type> states;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      DictionaryAttr about = function.getArgAttrDict(argument.getArgNumber());
      auto state =
          about ? about.getAs<StringAttr>(onnx::stateAttrName) : StringAttr();
      if (state && about.contains(onnx::wholeAttrName))
        states.insert({state, argument.getType()});
      else if (state)
        return (void)refusals.add(
            "--initial-states: takes no keys and values, of which tokens "
            "before the first call are; make calls of these, and keep what "
            "they leave (--save-state, Session.state)",
            "state", "'" + state.getValue() + "'");
    }
  if (states.empty())
    return refusals.add("--initial-states: no state is written as a whole; "
                        "leave it out, or give --states");
  if (module.lookupSymbol(beginName))
    return refusals.add("--initial-states adds an entry '" + beginName +
                        "'; give the one of --entry another name");
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  const size_t count = states.size();
  const auto left = llvm::to_vector(llvm::make_second_range(states));
  SmallVector<Type> given(left);
  llvm::append_range(given, left);
  auto begin = func::FuncOp::create(builder, module.getLoc(), beginName,
                                    builder.getFunctionType(given, left));
  Block *body = begin.addEntryBlock();
  for (auto [index, entry] : llvm::enumerate(states)) {
    auto name = cast<StringAttr>(entry.first);
    begin.setArgAttr(index, onnx::nameAttrName,
                     builder.getStringAttr(beginName + "." + name.getValue()));
    begin.setArgAttr(count + index, onnx::stateAttrName, name);
    begin.setArgAttr(count + index, onnx::wholeAttrName, builder.getUnitAttr());
    begin.setResultAttr(index, onnx::stateAttrName, name);
  }
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(builder, module.getLoc(),
                         body->getArguments().take_front(count));
}

//===----------------------------------------------------------------------===//
// States in parts
//===----------------------------------------------------------------------===//

namespace {
/// What a convolution along tokens reads of the last ones, and layers of what
/// they share, are one thing after the other along the last axis: each becomes
/// a state of its own, which lies as activations of one token do.
///
///   [1, 64, 3], of which calls read [.., 0], [.., 1], [.., 2]:  3 of [1, 1,
///   64]
class StateParter {
public:
  explicit StateParter(ModuleOp module) : module(module) {}
  void run();

private:
  static bool isParted(BlockArgument state);
  static void part(func::FuncOp function, BlockArgument state);

  ModuleOp module;
};
} // namespace

/// More would be too many kernels.
static constexpr int64_t mostParts = 64;

/// Whether it is read along its last axis alone.
bool StateParter::isParted(BlockArgument state) {
  const ArrayRef<int64_t> shape = shapeOf(state);
  if (shape.size() < 3 || shape.back() > mostParts)
    return false;
  const int64_t last = int64_t(shape.size()) - 1;
  return llvm::all_of(state.getUsers(), [&](Operation *user) {
    if (auto concat = dyn_cast<onnx::ConcatOp>(user))
      return int64_t(concat.getAxis()) == last;
    auto slice = dyn_cast<onnx::SliceOp>(user);
    return slice && shapeOf(slice.getY()).drop_back() == shape.drop_back() &&
           llvm::all_of(slice.getSteps(), [](int64_t by) { return by == 1; });
  });
}

void StateParter::part(func::FuncOp function, BlockArgument state) {
  const Shape shape(shapeOf(state));
  Shape one = shape, held(shape);
  one.back() = 1;
  held.pop_back();
  if (held.size() == 2)
    held.insert(held.begin() + 1, 1);
  OpBuilder builder(function);
  auto name = function.getArgAttrOfType<StringAttr>(state.getArgNumber(),
                                                    onnx::stateAttrName);
  Operation *end = function.front().getTerminator();
  const unsigned result = resultOf(function, name)->getOperandNumber();
  const Value present = end->getOperand(result);
  SmallVector<Value> parts, left;
  SmallVector<DictionaryAttr> about;
  OperatorBuilder before(OpBuilder::atBlockBegin(&function.front()),
                         state.getLoc(), name);
  OperatorBuilder behind(OpBuilder(end), state.getLoc(), name);
  for (int64_t i = 0; i < shape.back(); ++i) {
    auto its = builder.getStringAttr(name.getValue() + "/" + Twine(i));
    NamedAttrList words;
    words.set(onnx::stateAttrName, its);
    about.push_back(words.getDictionary(builder.getContext()));
    words.set(onnx::wholeAttrName, builder.getUnitAttr());
    const unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, withShape(state, held),
                                  words.getDictionary(builder.getContext()),
                                  state.getLoc());
    if (!state.use_empty())
      parts.push_back(before.reshape(function.getArgument(index), one));
    Box box = wholeBox(present);
    box.starts.back() = i;
    box.extents.back() = 1;
    left.push_back(behind.reshape(behind.slice(present, box), held));
  }
  if (!state.use_empty())
    state.replaceAllUsesWith(before.concat(parts, int64_t(shape.size()) - 1));
  SmallVector<DictionaryAttr> results;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (i != result)
      results.push_back(function.getResultAttrDict(i));
  end->eraseOperand(result);
  end->insertOperands(end->getNumOperands(), left);
  llvm::append_range(results, about);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      end->getOperandTypes()));
  function.setAllResultAttrs(results);
  (void)function.eraseArgument(state.getArgNumber());
}

void StateParter::run() {
  llvm::MapVector<Attribute, SmallVector<BlockArgument>> states;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), onnx::wholeAttrName))
        states[function.getArgAttr(argument.getArgNumber(),
                                   onnx::stateAttrName)]
            .push_back(argument);
  for (const auto &entry : states) {
    ArrayRef<BlockArgument> all = entry.second;
    auto isAlike = [&](BlockArgument its) {
      OpOperand *left = resultOf(
          cast<func::FuncOp>(its.getOwner()->getParentOp()), entry.first);
      return its.getType() == all.front().getType() && left &&
             left->get().getType() == its.getType() && isParted(its);
    };
    if (llvm::all_of(all, isAlike) &&
        llvm::any_of(all, [](Value its) { return !its.use_empty(); }))
      for (BlockArgument state : all)
        part(cast<func::FuncOp>(state.getOwner()->getParentOp()), state);
  }
}

namespace {
struct HoldStatesPass
    : wsec::canonicalize::impl::HoldStatesBase<HoldStatesPass> {
  using HoldStatesBase::HoldStatesBase;

  void runOnOperation() override {
    Refusals refusals;
    for (auto function : getOperation().getOps<func::FuncOp>())
      StateHolder(function, refusals).run();
    if (initial && refusals.empty())
      addBegin(getOperation(), refusals);
    if (failed(refusals.report(&getContext())))
      return signalPassFailure();
    StateParter(getOperation()).run();
  }
};
} // namespace
