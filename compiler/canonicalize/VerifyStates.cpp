// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a state is written by it is read by: in between no other value of it is
// alive, so the wafer holds it once.
#include "compiler/canonicalize/VerifyStates.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/ViewTracing.h"
#include "dialects/onnx/CachedCalls.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

static StringRef textOf(Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  return text ? text.getValue() : StringRef();
}

static StringRef stateOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "";
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return textOf(
      function.getArgAttr(argument.getArgNumber(), onnx::stateAttrName));
}

namespace {
class StateChecks {
public:
  StateChecks(func::FuncOp function, Refusals &refusals)
      : function(function), refusals(refusals) {}
  void run();

private:
  void checkUses(BlockArgument state, StringRef name);
  void checkPosition(BlockArgument argument);
  void checkReaders(onnx::UpdateOp update, StringRef name);
  /// How models have to hand a state on.
  StringRef howTo() const {
    return function->hasAttr(onnx::callAttrName)
               ? "; write what is new behind the past, and let the result be "
                 "the present and what attention reads, or leave "
                 "--kv-capacity out"
               : "; export the cache as TensorScatter(past, new, "
                 "write_indices), whose result is the present and what "
                 "Attention reads, or leave it out of --states";
  }
  void checkPresent(onnx::UpdateOp update, StringRef name);
  void checkResult(OpOperand &result, StringRef name);
  void refuse(Operation *user, const Twine &reason) {
    // What was refused for itself says more.
    SmallVector<Operation *> open{user};
    llvm::SmallPtrSet<Operation *, 16> seen{user};
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      if (isa<onnx::NodeOp>(op) && op->hasAttr(values::reasonAttrName))
        return;
      for (Operation *next : op->getUsers())
        if (!isa<onnx::MatMulOp>(next) && seen.insert(next).second)
          open.push_back(next);
    }
    refusals.refuse(user, reason);
  }

  func::FuncOp function;
  Refusals &refusals;
};
} // namespace

/// The update behind the layouts of `result`, if there is one, and whether that
/// is in the order of the state: as it was written, or, where a model has heads
/// before tokens, these in turn.
static std::pair<onnx::UpdateOp, bool> updateBehind(Value result) {
  TracedView traced = traceLayout(result);
  auto update = traced.root.getDefiningOp<onnx::UpdateOp>();
  if (!update || traced.root == result)
    return {update, true};
  const ArrayRef<int64_t> shape =
      cast<RankedTensorType>(result.getType()).getShape();
  if (shape.size() != 4)
    return {update, traced.view.isContiguous()};
  const int64_t heads = shape[1], tokens = shape[2], size = shape[3];
  StridedView byHeads = StridedView::strided(
      shape, 0, {tokens * heads * size, size, heads * size, 1});
  return {update, traced.view.atoms(0, 4) == byHeads.atoms(0, 4)};
}

void StateChecks::checkUses(BlockArgument state, StringRef name) {
  for (OpOperand &use : state.getUses()) {
    auto update = dyn_cast<onnx::UpdateOp>(use.getOwner());
    if (update && use.getOperandNumber() == 0)
      checkPresent(update, name);
    else
      refuse(use.getOwner(),
             "reads the state '" + name + "' before it is written" + howTo());
  }
  if (llvm::count_if(state.getUsers(), [](Operation *user) {
        return isa<onnx::UpdateOp>(user);
      }) > 1)
    refusals.add("a state is written twice; join what is written" + howTo(),
                 "state", "'" + name + "'");
}

/// A state lies by the heads of who reads it.
void StateChecks::checkReaders(onnx::UpdateOp update, StringRef name) {
  onnx::CachedAttentionOp first;
  for (Operation *user : update.getPresent().getUsers()) {
    auto reader = dyn_cast<onnx::CachedAttentionOp>(user);
    if (!reader)
      continue;
    if (!first)
      first = reader;
    else if (reader.getKvHeads() != first.getKvHeads())
      refuse(reader,
             "reads the state '" + name + "' as " + Twine(reader.getKvHeads()) +
                 " heads, and node '" + first.getNode() + "' as " +
                 Twine(first.getKvHeads()) +
                 "; let all that read a state have its heads, or leave it "
                 "out of --states and --kv-capacity");
  }
}

void StateChecks::checkPresent(onnx::UpdateOp update, StringRef name) {
  checkReaders(update, name);
  SmallVector<Value> values{update.getPresent()};
  for (size_t next = 0; next < values.size(); ++next)
    for (OpOperand &use : values[next].getUses()) {
      Operation *user = use.getOwner();
      if (auto attention = dyn_cast<onnx::CachedAttentionOp>(user)) {
        if (use.getOperandNumber() == 1 || use.getOperandNumber() == 2)
          continue;
      } else if (isa<func::ReturnOp>(user)) {
        if (textOf(function.getResultAttr(use.getOperandNumber(),
                                          onnx::stateAttrName)) == name)
          continue;
      } else if (isa<onnx::ReshapeOp, onnx::TransposeOp>(user)) {
        values.push_back(user->getResult(0));
        continue;
      }
      if (auto why = user->getAttrOfType<StringAttr>(values::reasonAttrName))
        refuse(user, why.getValue());
      else
        refuse(user, "computes with the state '" + name +
                         "', which attention only reads" + howTo());
    }
}

void StateChecks::checkPosition(BlockArgument argument) {
  for (OpOperand &use : argument.getUses()) {
    auto isPosition = [&](auto op) {
      return op && &op.getPositionMutable() == &use;
    };
    if (!isPosition(dyn_cast<onnx::UpdateOp>(use.getOwner())) &&
        !isPosition(dyn_cast<onnx::CachedAttentionOp>(use.getOwner())))
      refuse(use.getOwner(),
             "computes with the argument of the entry that says where states "
             "are written; make what it computes an input of the model, such "
             "as position_ids");
  }
}

/// What the call leaves has to be the state, as it was found.
void StateChecks::checkResult(OpOperand &result, StringRef name) {
  Type found = result.get().getType();
  // Of what was refused, nothing more is to be said.
  if (!isa<RankedTensorType>(found) ||
      traceLayout(result.get()).root.getDefiningOp<onnx::NodeOp>())
    return;
  for (BlockArgument argument : function.getArguments())
    if (stateOf(argument) == name &&
        function.getArgAttr(argument.getArgNumber(), onnx::wholeAttrName) &&
        argument.getType() == found)
      return;
  auto [update, isRight] = updateBehind(result.get());
  if (update && stateOf(update.getPast()) == name) {
    if (update.getPast().getType() != found) {
      refusals.add("past and present of a state differ in shape; both have the "
                   "capacity",
                   "state", "'" + name + "'");
      return;
    }
    if (isRight)
      return;
  }
  refusals.add("what is returned as the present of a state is not what was "
               "written to it" +
                   howTo(),
               "state", "'" + name + "'");
}

void StateChecks::run() {
  for (BlockArgument argument : function.getArguments()) {
    if (StringRef name = stateOf(argument);
        !name.empty() &&
        !function.getArgAttr(argument.getArgNumber(), onnx::wholeAttrName))
      checkUses(argument, name);
    if (function.getArgAttr(argument.getArgNumber(), onnx::argumentAttrName))
      checkPosition(argument);
  }
  for (OpOperand &result : function.front().getTerminator()->getOpOperands())
    if (StringRef name = textOf(function.getResultAttr(
            result.getOperandNumber(), onnx::stateAttrName));
        !name.empty())
      checkResult(result, name);
}

void canonicalize::verifyStates(func::FuncOp function, Refusals &refusals) {
  StateChecks(function, refusals).run();
}

void canonicalize::verifySharedStates(ModuleOp module, Refusals &refusals) {
  llvm::MapVector<StringRef, std::pair<Type, StringRef>> known;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      StringRef name = stateOf(argument);
      if (name.empty())
        continue;
      auto [first, isNew] =
          known.insert({name, {argument.getType(), function.getSymName()}});
      auto [type, entry] = first->second;
      if (isNew || type == argument.getType())
        continue;
      // What writes it was refused, and would have given it the capacity.
      if (function->hasAttr(onnx::callAttrName) && !refusals.empty())
        continue;
      std::string text;
      llvm::raw_string_ostream(text)
          << "state '" << name << "' is " << type << " in entry @" << entry
          << " and " << argument.getType() << " in @" << function.getSymName()
          << "; give it one capacity, which no entry's dimensions change";
      refusals.add(text);
    }
}
