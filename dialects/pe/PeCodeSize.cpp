// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/Pe.h"

#include <map>
#include <set>

using namespace mlir;
using namespace wsec::pe;

static bool isScalar(Operation *op) { return isa<ConstantOp, ScalarOp>(op); }

// From last to first, so that a scalar is met after all that use it.
static DenseSet<Operation *> findUsedScalars(Block &block) {
  DenseSet<Operation *> used;
  for (Operation &op : llvm::reverse(block)) {
    if (!isScalar(&op))
      continue;
    bool needed = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return !isScalar(user) || used.contains(user);
    });
    if (needed)
      used.insert(&op);
  }
  return used;
}

// Numbers are constants where none with their value stands before.
std::vector<ScalarNode> wsec::pe::scalarNodes(Block &block) {
  DenseSet<Operation *> used = findUsedScalars(block);
  std::vector<ScalarNode> nodes;
  DenseMap<Value, int64_t> numbers;
  std::map<int64_t, int64_t> constants;
  auto addConstant = [&](int64_t value, Value result) {
    constants.try_emplace(value, nodes.size());
    nodes.push_back({std::nullopt, {value, 0, 0}, result, false});
  };
  for (BlockArgument argument : block.getArguments())
    if (llvm::any_of(argument.getUsers(), [&](Operation *user) {
          return !isScalar(user) || used.contains(user);
        })) {
      numbers[argument] = nodes.size();
      nodes.push_back({std::nullopt,
                       {int64_t(argument.getArgNumber()), 0, 0},
                       argument,
                       true});
    }
  for (Operation &op : block) {
    if (!used.contains(&op))
      continue;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      numbers[constant] = nodes.size();
      addConstant(constant.getValue(), constant);
      continue;
    }
    auto scalar = cast<ScalarOp>(op);
    ScalarNode node{scalar.getKind(), {0, 0, 0}, scalar, false};
    for (auto [slot, input] :
         llvm::zip(node.operands, scalar.getMixedInputs())) {
      if (auto value = dyn_cast<Value>(input)) {
        slot = numbers.lookup(value);
        continue;
      }
      const int64_t number = cast<IntegerAttr>(cast<Attribute>(input)).getInt();
      if (!constants.count(number))
        addConstant(number, {});
      slot = constants.at(number);
    }
    numbers[scalar] = nodes.size();
    nodes.push_back(node);
  }
  return nodes;
}

static int64_t operandWords(Attribute operand) {
  if (!operand || isa<FloatAttr>(operand))
    return 0;
  auto fabric = dyn_cast<FabricAttr>(operand);
  return fabric && fabric.getWindowTotal() ? 3 : 2;
}

int64_t wsec::pe::codeWords(Operation *op) {
  if (auto vector = dyn_cast<VectorOp>(op))
    return 2 + operandWords(vector.getDst()) + operandWords(vector.getAAttr()) +
           operandWords(vector.getBAttr());
  if (isa<ForOp>(op))
    return 3;
  if (auto routine = dyn_cast<RoutineOp>(op))
    return 2 + routine.getBody().getNumArguments();
  if (isa<TaskOp, LoadOp, StoreOp, IfOp, BreakOp, ControlOp, ClockOp,
          SetRouteOp>(op))
    return 2;
  if (isa<AwaitOp, ComputeOp, ActivateOp, BlockOp, UnblockOp>(op))
    return 1;
  return 0;
}

// Of the software function that an instruction calls, for elements of 32 bits.
static int64_t functionWords(Opcode opcode) {
  switch (opcode) {
#define WSEC_INSTRUCTION(Name, name, sources, numbers, software, words)        \
  case Opcode::Name:                                                           \
    return words;
#include "runtime/program/Opcodes.def"
  }
  return 0;
}

int64_t wsec::pe::codeBytes(ClassOp op) {
  mlir::SymbolTable symbols(op);
  int64_t words = scalarNodes(op.getBody().front()).size();
  std::set<std::pair<Opcode, bool>> calls;
  op.walk([&](Operation *inner) {
    words += codeWords(inner);
    auto vector = dyn_cast<VectorOp>(inner);
    if (!vector || functionWords(vector.getOpcode()) == 0)
      return;
    Type type;
    if (auto fabric = dyn_cast<FabricAttr>(vector.getDst()))
      type = fabric.getType();
    else if (auto memory = dyn_cast<MemoryAttr>(vector.getDst()))
      if (auto buffer = symbols.lookup<BufferOp>(memory.getBuffer().getValue()))
        type = buffer.getType();
    // One copy for elements of 32 bits, and one for those of 16.
    const bool isHalf = type && type.getIntOrFloatBitWidth() == 16;
    if (calls.insert({vector.getOpcode(), isHalf}).second)
      words += functionWords(vector.getOpcode()) / (isHalf ? 2 : 1);
  });
  return 4 * words;
}
