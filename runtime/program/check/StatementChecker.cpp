// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/StatementChecker.h"
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Opcodes.h"
#include "runtime/program/Wire.h"
#include "runtime/program/check/Extents.h"
#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

namespace {

using program::ElementType;
using program::Instruction;
using program::Opcode;
using program::Operand;
using program::OperandKind;

/// Code that computes more locals than this was not written for a PE.
constexpr size_t largestLocal = 1 << 10;

constexpr Interval anyWord{INT32_MIN, INT32_MAX};

/// Checks the statements of one routine or task.
class StatementChecker {
public:
  StatementChecker(const CodeContext &context, bool runs,
                   const std::vector<Interval> &arguments)
      : context(context), reached(runs) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      locals[uint16_t(i)] = arguments[i];
      depths[uint16_t(i)] = depthOfArguments;
    }
  }

  void checkBody(const CodeBody *body, const Where &where);

private:
  void checkStatement(const program::Statement &statement, const Where &where);
  void checkLoop(const program::Loop &loop, const Where &where);
  void checkAwait(const program::Await &await, const Where &where);
  void checkCompute(const program::Compute &compute, const Where &where);
  void checkLoad(const program::Load &load, const Where &where);
  void checkStore(const program::Store &store, const Where &where);
  void checkIf(const program::If &branch, const Where &where);
  void checkBreak(const program::Break &leave, const Where &where);
  void checkSetTask(const program::SetTask &set, const Where &where);
  void checkControl(const program::SendControl &control, const Where &where);
  void checkClock(const program::ReadClock &clock, const Where &where);
  void checkRoute(const program::SetRoute &route, const Where &where);

  void checkInstruction(const Instruction &instruction, const Where &where);
  void checkCompletion(const Instruction &instruction, const Where &where);
  void checkThread(int thread, const Where &where) const;
  /// The tasks that hear of a statement's end.
  template <class Statement>
  void checkNotified(const Statement &statement, const Where &where);
  void checkIntegers(const Instruction &instruction, const Where &where);
  void checkOperand(const Operand *operand,
                    const std::vector<Interval> &extents, bool runs,
                    const Where &where);
  void checkMemory(const Operand &operand, const std::vector<Interval> &extents,
                   bool runs, const Where &where);
  void checkFabric(const Operand &operand, size_t rank, const Where &where);
  void checkWavelet(const Operand &operand, const Where &where);
  /// Whether a guarded statement runs in every PE.
  bool checkGuard(int16_t guard, const Where &where);
  const program::Buffer &checkBuffer(uint32_t buffer, const Where &where);
  /// One element of a buffer.
  const program::Buffer &checkElement(uint32_t buffer,
                                      const program::Affine *offset,
                                      const Where &where);
  const program::Task &checkTask(int64_t task, const Where &where);
  void addLocal(uint16_t local, Interval value, const Where &where);

  Interval affine(const program::Affine *affine, const Where &where) {
    return checkAffine(affine, context.scalars, loops, where, locals);
  }

  const CodeContext &context;
  std::vector<Interval> loops;
  /// Those set so far in this body and the ones around it, in which of these,
  /// and in what order.
  LocalIntervals locals;
  std::map<uint16_t, int> depths;
  std::vector<uint16_t> added;
  static constexpr int depthOfArguments = 0;
  int depth = depthOfArguments;
  /// Whether what is checked runs at least once in every PE.
  bool reached;
  bool inLoop = false; ///< stands in a loop's body, directly
};

// ------------------------------------------------------------ bodies, control

void StatementChecker::checkBody(const CodeBody *body, const Where &where) {
  if (!body)
    return;
  size_t outer = added.size();
  ++depth;
  int64_t index = 0;
  for (const program::Statement *statement : *body) {
    Where here{&where, "statement", index++};
    checkStatement(*statement, here);
  }
  --depth;
  for (; added.size() > outer; added.pop_back()) {
    locals.erase(added.back());
    depths.erase(added.back());
  }
}

void StatementChecker::checkStatement(const program::Statement &statement,
                                      const Where &where) {
  using program::StatementKind;
  switch (statement.kind_type()) {
  case StatementKind::Instruction:
    return checkInstruction(*statement.kind_as_Instruction(), where);
  case StatementKind::Loop:
    return checkLoop(*statement.kind_as_Loop(), where);
  case StatementKind::Await:
    return checkAwait(*statement.kind_as_Await(), where);
  case StatementKind::Compute:
    return checkCompute(*statement.kind_as_Compute(), where);
  case StatementKind::Load:
    return checkLoad(*statement.kind_as_Load(), where);
  case StatementKind::Store:
    return checkStore(*statement.kind_as_Store(), where);
  case StatementKind::If:
    return checkIf(*statement.kind_as_If(), where);
  case StatementKind::Break:
    return checkBreak(*statement.kind_as_Break(), where);
  case StatementKind::SetTask:
    return checkSetTask(*statement.kind_as_SetTask(), where);
  case StatementKind::SendControl:
    return checkControl(*statement.kind_as_SendControl(), where);
  case StatementKind::ReadClock:
    return checkClock(*statement.kind_as_ReadClock(), where);
  case StatementKind::SetRoute:
    return checkRoute(*statement.kind_as_SetRoute(), where);
  case StatementKind::NONE:
    break;
  }
  throw badProgram(where, "is of unknown kind");
}

bool StatementChecker::checkGuard(int16_t guard, const Where &where) {
  if (guard < 0)
    return true;
  if (size_t(guard) >= context.scalars.size())
    throw badProgram(where, "guard refers to scalar " + std::to_string(guard) +
                                ", which does not exist");
  Interval value = context.scalars[size_t(guard)];
  return value.low > 0 || value.high < 0;
}

void StatementChecker::checkLoop(const program::Loop &loop,
                                 const Where &where) {
  if (loops.size() >= largestLoopDepth)
    throw badProgram(where, "loops are nested deeper than " +
                                std::to_string(largestLoopDepth));
  bool runs = checkGuard(loop.guard(), where);
  Where count{&where, "count"};
  Interval times = affine(loop.count(), count);
  bool outer = reached;
  reached = reached && runs && times.low > 0;
  loops.push_back({0, std::max<int64_t>(0, times.high - 1)});
  const bool outerLoop = std::exchange(inLoop, true);
  checkBody(loop.body(), where);
  inLoop = outerLoop;
  loops.pop_back();
  reached = outer;
}

void StatementChecker::checkAwait(const program::Await &await,
                                  const Where &where) {
  int microthreads = context.machine.microthreads();
  if (await.threads() >> microthreads != 0)
    throw badProgram(where, "awaits a microthread beyond the " +
                                std::to_string(microthreads) + " of a PE");
}

void StatementChecker::checkIf(const program::If &branch, const Where &where) {
  affine(branch.condition(), {&where, "condition"});
  bool outer = reached;
  reached = false;
  const bool outerLoop = std::exchange(inLoop, false);
  checkBody(branch.then(), {&where, "then"});
  checkBody(branch.otherwise(), {&where, "otherwise"});
  inLoop = outerLoop;
  reached = outer;
}

/// What is behind it in the loop may not be reached.
void StatementChecker::checkBreak(const program::Break &leave,
                                  const Where &where) {
  if (!inLoop)
    throw badProgram(where, "ends a loop, but stands in none");
  affine(leave.condition(), {&where, "condition"});
  reached = false;
}

// ---------------------------------------------------------------- scalar code

void StatementChecker::addLocal(uint16_t local, Interval value,
                                const Where &where) {
  if (local >= largestLocal)
    throw badProgram(where, "sets local " + std::to_string(local) +
                                ", there are " + std::to_string(largestLocal));
  auto [known, isNew] = depths.emplace(local, depth);
  if (!isNew && known->second == depthOfArguments)
    throw badProgram(where, "sets local " + std::to_string(local) +
                                ", which holds an argument");
  if (!isNew && known->second != depth)
    throw badProgram(where, "sets local " + std::to_string(local) +
                                " of a body around it");
  if (isNew)
    added.push_back(local);
  locals[local] = value;
}

/// The range of a result of 32 bits, for operands in the given ranges.
Interval computedInterval(program::ScalarOp op,
                          const std::vector<Interval> &operands) {
  // A constant's value is its operand.
  if (op == program::ScalarOp::Constant)
    return operands[0].inside(INT32_MIN, INT32_MAX) ? operands[0] : anyWord;
  bool tiles =
      op >= program::ScalarOp::TileStart && op <= program::ScalarOp::TileIndex;
  // Coordinates have no operands here that say how far they reach, and what a
  // tiling does with odd numbers is known only when it runs.
  if (operands.empty() || tiles)
    return anyWord;
  auto interval =
      nodeInterval(program::ScalarNode(op, 0, 1, 2), operands, {}, {});
  return interval && interval->inside(INT32_MIN, INT32_MAX) ? *interval
                                                            : anyWord;
}

void StatementChecker::checkCompute(const program::Compute &compute,
                                    const Where &where) {
  program::ScalarOp op = compute.op();
  if (op > program::ScalarOp::MAX)
    throw badProgram(where,
                     "has the unknown operation " + std::to_string(int(op)));
  if (op == program::ScalarOp::Argument)
    throw badProgram(where, "computes an argument: those of a routine are its "
                            "first locals");
  int count = op == program::ScalarOp::Constant ? 1 : operandCount(op);
  const program::Affine *sources[] = {compute.a(), compute.b(), compute.c()};
  std::vector<Interval> operands;
  for (int i = 0; i < count; ++i)
    operands.push_back(affine(sources[i], {&where, "operand", i}));
  bool divides = op == program::ScalarOp::Div || op == program::ScalarOp::Mod;
  if (divides && operands[1].low == 0 && operands[1].high == 0)
    throw badProgram(where, "divides by zero");
  addLocal(compute.local(), computedInterval(op, operands), where);
}

const program::Buffer &StatementChecker::checkBuffer(uint32_t buffer,
                                                     const Where &where) {
  const auto *buffers = context.peClass.buffers();
  if (!buffers || buffer >= buffers->size())
    throw badProgram(where, "refers to buffer " + std::to_string(buffer) +
                                ", which does not exist");
  return *buffers->Get(buffer);
}

const program::Buffer &
StatementChecker::checkElement(uint32_t index, const program::Affine *offset,
                               const Where &where) {
  const program::Buffer &buffer = checkBuffer(index, where);
  Interval element = affine(offset, {&where, "offset"});
  int64_t elements = buffer.bytes() / elementBytes(buffer.type());
  if (reached && element.exact() && !element.inside(0, elements - 1))
    throw errorAt(ErrorClass::OutOfBounds, where,
                  std::string("touches element ") +
                      std::to_string(element.low) + " of buffer " +
                      inQuotes(buffer.name()->str()) + ", which has " +
                      std::to_string(elements));
  return buffer;
}

void StatementChecker::checkLoad(const program::Load &load,
                                 const Where &where) {
  const program::Buffer &buffer =
      checkElement(load.buffer(), load.offset(), where);
  const Interval value =
      buffer.type() == ElementType::I16   ? Interval{INT16_MIN, INT16_MAX}
      : buffer.type() == ElementType::U16 ? Interval{0, UINT16_MAX}
                                          : anyWord;
  addLocal(load.local(), value, where);
}

void StatementChecker::checkStore(const program::Store &store,
                                  const Where &where) {
  checkElement(store.buffer(), store.offset(), where);
  affine(store.value(), {&where, "value"});
}

void StatementChecker::checkClock(const program::ReadClock &clock,
                                  const Where &where) {
  const program::Buffer &buffer =
      checkElement(clock.buffer(), clock.offset(), where);
  if (buffer.type() != ElementType::I32)
    throw badProgram(where, "stores the cycle counter in buffer " +
                                inQuotes(buffer.name()->str()) +
                                ", which does not hold i32");
}

// ---------------------------------------------------------- tasks and routers

const program::Task &StatementChecker::checkTask(int64_t task,
                                                 const Where &where) {
  const auto *tasks = context.peClass.tasks();
  if (task < 0 || !tasks || size_t(task) >= tasks->size())
    throw badProgram(where, "refers to task " + std::to_string(task) +
                                ", which does not exist");
  return *tasks->Get(flatbuffers::uoffset_t(task));
}

void checkActivated(const program::Task &task, const Where &where) {
  if (task.kind() != program::TaskKind::Local)
    throw badProgram(where, "activates task " + inQuotes(task.name()->str()) +
                                ", which is not local");
}

void StatementChecker::checkSetTask(const program::SetTask &set,
                                    const Where &where) {
  if (set.action() > program::TaskAction::MAX)
    throw badProgram(where, "does something unknown to a task");
  const program::Task &task = checkTask(set.task(), where);
  if (set.action() == program::TaskAction::Activate)
    checkActivated(task, where);
}

void StatementChecker::checkControl(const program::SendControl &control,
                                    const Where &where) {
  checkColor(control.color(), context, {&where, "color"});
  const auto *commands = control.commands();
  size_t count = commands ? commands->size() : 0;
  if (int64_t(count) > context.machine.control_commands())
    throw badProgram(where,
                     "has " + std::to_string(count) +
                         " commands, a control wavelet holds at most " +
                         std::to_string(context.machine.control_commands()));
  for (size_t i = 0; i < count; ++i)
    if (commands->Get(flatbuffers::uoffset_t(i)) > program::SwitchCommand::MAX)
      throw badProgram(where, "has an unknown command");
  if (control.task() < -1 || control.task() >= context.machine.control_tasks())
    throw badProgram(
        where, "starts control task " + std::to_string(control.task()) +
                   " of " + std::to_string(context.machine.control_tasks()));
  if (control.data())
    affine(control.data(), {&where, "data"});
  checkThread(control.thread(), where);
  checkNotified(control, where);
}

void StatementChecker::checkRoute(const program::SetRoute &route,
                                  const Where &where) {
  checkColor(route.color(), context, {&where, "color"});
  checkPorts(route.receive(), route.transmit(), where);
}

// --------------------------------------------------------- vector instructions

void StatementChecker::checkInstruction(const Instruction &instruction,
                                        const Where &where) {
  if (instruction.op() > Opcode::MAX)
    throw badProgram(where, "has the unknown operation " +
                                std::to_string(int(instruction.op())));
  checkThread(instruction.thread(), where);
  size_t rank = instruction.extents()->size();
  if (rank < 1 || rank > largestOperandRank)
    throw badProgram(where, "has " + std::to_string(rank) +
                                " extents, expected 1 to " +
                                std::to_string(largestOperandRank));
  bool runs = checkGuard(instruction.guard(), where) && reached;
  std::vector<Interval> extents;
  for (const program::Affine *extent : *instruction.extents()) {
    Where here{&where, "extent", int64_t(extents.size())};
    extents.push_back(affine(extent, here));
    runs &= extents.back().low > 0;
  }
  // What no PE could run; others find out when they get there.
  int64_t least[largestOperandRank] = {};
  for (size_t i = 0; i < rank; ++i)
    least[i] = std::max<int64_t>(0, extents[i].low);
  if (!usableExtents(least, int(rank)))
    throw badProgram(where, extentsProblem(least, int(rank)));
  OperandKind dst = instruction.dst()->kind();
  if (dst != OperandKind::Memory && dst != OperandKind::Fabric)
    throw badProgram(where, "writes neither memory nor the fabric");
  if (dst == OperandKind::Fabric && instruction.op() == Opcode::Select)
    throw badProgram(where, "selects into the fabric, which keeps no value");
  int sources = factsOf(instruction.op()).sources;
  checkOperand(instruction.dst(), extents, runs, {&where, "destination"});
  checkOperand(instruction.a(), extents, runs, {&where, "first source"});
  if (sources > 1)
    checkOperand(instruction.b(), extents, runs, {&where, "second source"});
  else if (instruction.b() && instruction.b()->kind() != OperandKind::None)
    throw badProgram(where, "has a second source its operation does not take");
  checkIntegers(instruction, where);
  checkCompletion(instruction, where);
}

/// Bits are those of integers, and these have a sign in all sources or in none.
void StatementChecker::checkIntegers(const Instruction &instruction,
                                     const Where &where) {
  const bool ofBits =
      factsOf(instruction.op()).numbers == OpcodeFacts::Integers;
  bool hasSigned = false, hasWords = false, intoFloats = false;
  for (const Operand *operand :
       {instruction.dst(), instruction.a(), instruction.b()}) {
    if (!operand || (operand->kind() != OperandKind::Memory &&
                     operand->kind() != OperandKind::Fabric))
      continue;
    ElementType type = operand->kind() == OperandKind::Memory
                           ? checkBuffer(operand->buffer(), where).type()
                           : operand->type();
    if (ofBits && !isInteger(type))
      throw badProgram(where, "combines the bits of elements that are no "
                              "integers");
    if (operand == instruction.dst()) {
      intoFloats = !isInteger(type);
      continue;
    }
    hasSigned |= isSigned(type);
    hasWords |= type == ElementType::U32;
  }
  if (hasSigned && hasWords && !intoFloats)
    throw badProgram(where, "computes with elements of u32 and of signed "
                            "integers: mov one of them to a buffer of the "
                            "other's type before");
}

void StatementChecker::checkThread(int thread, const Where &where) const {
  const int microthreads = context.machine.microthreads();
  constexpr int none = -1;
  if (thread >= microthreads || thread < none)
    throw badProgram(where, "runs on microthread " + std::to_string(thread) +
                                ", a PE has " + std::to_string(microthreads));
}

template <class Statement>
void StatementChecker::checkNotified(const Statement &statement,
                                     const Where &where) {
  const bool notifies = statement.activate() != -1 || statement.unblock() != -1;
  if (notifies && statement.thread() < 0)
    throw badProgram(where, "activates or unblocks a task, but is not "
                            "asynchronous");
  if (statement.activate() != -1)
    checkActivated(checkTask(statement.activate(), where), where);
  if (statement.unblock() != -1)
    checkTask(statement.unblock(), where);
}

void StatementChecker::checkCompletion(const Instruction &instruction,
                                       const Where &where) {
  if (instruction.on_control() > program::OnControl::MAX)
    throw badProgram(where, "does something unknown at a control wavelet");
  checkNotified(instruction, where);
  if (instruction.advance_switch() &&
      instruction.dst()->kind() != OperandKind::Fabric)
    throw badProgram(where, "advances a switch, but sends nothing");
  bool receives =
      instruction.a()->kind() == OperandKind::Fabric ||
      (instruction.b() && instruction.b()->kind() == OperandKind::Fabric);
  if (instruction.on_control() == program::OnControl::End && !receives)
    throw badProgram(where, "ends at a control wavelet, but receives nothing");
}

void StatementChecker::checkOperand(const Operand *operand,
                                    const std::vector<Interval> &extents,
                                    bool runs, const Where &where) {
  if (!operand)
    throw badProgram(where, "is missing");
  switch (operand->kind()) {
  case OperandKind::Memory:
    return checkMemory(*operand, extents, runs, where);
  case OperandKind::Fabric:
    return checkFabric(*operand, extents.size(), where);
  case OperandKind::Immediate:
    return;
  case OperandKind::None:
    throw badProgram(where, "is missing");
  }
  throw badProgram(where, "is of unknown kind");
}

void StatementChecker::checkMemory(const Operand &operand,
                                   const std::vector<Interval> &extents,
                                   bool runs, const Where &where) {
  const program::Buffer &buffer = checkBuffer(operand.buffer(), where);
  size_t strides = operand.strides() ? operand.strides()->size() : 0;
  if (strides != extents.size())
    throw badProgram(where, "has " + std::to_string(strides) + " strides for " +
                                std::to_string(extents.size()) + " extents");
  Interval offset = affine(operand.offset(), where);
  Interval touched = offset;
  for (size_t i = 0; i < extents.size(); ++i) {
    // The range of the first and of the last index, whichever way it runs.
    int64_t stride = operand.strides()->Get(flatbuffers::uoffset_t(i));
    auto reach = multiplyIntervals(
        {0, std::max<int64_t>(0, extents[i].high - 1)}, {stride, stride});
    auto sum = reach ? addIntervals(touched, *reach) : std::nullopt;
    if (!sum)
      throw badProgram(where, "may overflow");
    runs &= extents[i].exact();
    touched = *sum;
  }
  int64_t elements = buffer.bytes() / elementBytes(buffer.type());
  // Wrong in every PE if the offset is the same everywhere and the statement
  // runs everywhere; otherwise each PE checks when it gets there.
  if (touched.inside(0, elements - 1) || !runs || !offset.exact())
    return;
  throw errorAt(ErrorClass::OutOfBounds, where,
                std::string("touches elements ") + std::to_string(touched.low) +
                    ".." + std::to_string(touched.high) + " of buffer " +
                    inQuotes(buffer.name()->str()) + ", which has " +
                    std::to_string(elements));
}

void StatementChecker::checkFabric(const Operand &operand, size_t rank,
                                   const Where &where) {
  checkColor(operand.color(), context, {&where, "color"});
  if (operand.depth() < 1 || operand.depth() > rank)
    throw badProgram(where, "advances over " + std::to_string(operand.depth()) +
                                " of " + std::to_string(rank) + " extents");
  if (operand.window_total())
    affine(operand.window_total(), {&where, "window size"});
  if (operand.window_offset()) {
    Where here{&where, "window offset"};
    affine(operand.window_offset(), here);
    if (!operand.window_total())
      throw badProgram(here, "is given without a window size");
  }
  checkWavelet(operand, where);
}

void StatementChecker::checkWavelet(const Operand &operand,
                                    const Where &where) {
  if (!wireType(operand.type()))
    throw badProgram(where, "is of an element type that does not travel");
  if (operand.packing() > program::Packing::MAX)
    throw badProgram(where, "packs elements in an unknown way");
  bool pair = operand.packing() == program::Packing::Pair;
  if ((pair || operand.index()) && fillsWord(operand.type()))
    throw badProgram(where, "has a pair or an index in a wavelet whose "
                            "elements are not of 16 bits");
  if (pair && operand.index())
    throw badProgram(where, "has an index beside a pair");
  if (operand.index())
    affine(operand.index(), {&where, "index"});
}

} // namespace

void checkBody(const CodeBody &body, const CodeContext &context, bool runs,
               const Where &where, const std::vector<Interval> &arguments) {
  StatementChecker(context, runs, arguments).checkBody(&body, where);
}

void checkColor(const program::Affine *color, const CodeContext &context,
                const Where &where) {
  Interval range = checkAffine(color, context.scalars, {}, where);
  int usable = context.machine.colors() - context.machine.reserved_colors();
  if (!range.inside(0, usable - 1))
    throw badProgram(
        where, (range.exact() ? std::to_string(range.low)
                              : "may be " + std::to_string(range.low) + ".." +
                                    std::to_string(range.high)) +
                   ", usable colors are 0.." + std::to_string(usable - 1));
  if (range.exact() && range.low == context.launchColor)
    throw badProgram(where, "is " + std::to_string(range.low) +
                                ", whose words are launches");
}

void checkPorts(program::Port receive, unsigned transmit, const Where &where) {
  if (receive > program::Port::MAX)
    throw badProgram(where, "receives on the unknown port " +
                                std::to_string(int(receive)));
  if (transmit == 0 || transmit >= 1 << 5)
    throw badProgram(where, "transmits on the set of ports " +
                                std::to_string(transmit) +
                                ", expected a sum of 1 (north), 2 (south), 4 "
                                "(east), 8 (west), 16 (ramp)");
  // What came from a neighbour is never sent back to it; the ramp may loop.
  if (receive != program::Port::Ramp && transmit >> unsigned(receive) & 1)
    throw badProgram(where, "sends back where it receives from");
}

} // namespace wsec::runtime
