// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars, routines and tasks of a class.

#include "compiler/emit/Translation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace wsec::emit {

// The schema's enumerations are the dialect's, number by number.
static_assert(int(pe::ScalarKind::TileIndex) ==
                  int(program::ScalarOp::TileIndex) &&
              int(pe::ScalarKind::Equal) == int(program::ScalarOp::Equal));
static_assert(int(pe::ScalarKind::BitAnd) == int(program::ScalarOp::BitAnd) &&
              int(pe::ScalarKind::ShiftRight) ==
                  int(program::ScalarOp::ShiftRight));
static_assert(int(pe::PopMode::OnAdvance) == int(program::PopMode::OnAdvance));
static_assert(int(pe::SwitchCommand::Teardown) ==
              int(program::SwitchCommand::Teardown));
static_assert(int(pe::TaskKind::Control) == int(program::TaskKind::Control));
static_assert(int(pe::FilterKind::Counter) ==
              int(program::FilterKind::Counter));
static_assert(int(pe::CopyOrder::Column) == int(program::CopyOrder::Column));
static_assert(int(pe::Port::Ramp) == int(program::Port::Ramp));
static_assert(int(pe::Role::Constant) == int(program::TensorRole::Constant));
static_assert(int(pe::Direction::Out) == int(program::Direction::Out));

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LogicalResult ScalarTable::build(Block &block,
                                 std::vector<program::ScalarNode> &nodes) {
  for (const pe::ScalarNode &node : pe::scalarNodes(block)) {
    if (node.result)
      numbers[node.result] = nodes.size();
    nodes.emplace_back(node.isArgument ? program::ScalarOp::Argument
                       : node.kind ? static_cast<program::ScalarOp>(*node.kind)
                                   : program::ScalarOp::Constant,
                       static_cast<int32_t>(node.operands[0]),
                       static_cast<int32_t>(node.operands[1]),
                       static_cast<int32_t>(node.operands[2]));
  }
  return success();
}

// Loops around a loop's body: 0 for the outermost of the routine.
static int64_t loopDepth(BlockArgument variable) {
  int64_t depth = 0;
  Operation *loop = variable.getOwner()->getParentOp();
  while ((loop = loop->getParentOfType<pe::ForOp>()))
    ++depth;
  return depth;
}

program::Term ScalarTable::term(Value value, int64_t scale,
                                Narrower &narrow) const {
  auto narrowScale = narrow.to<int32_t>(scale, "scale");
  if (auto local = locals.find(value); local != locals.end())
    return program::Term(program::TermKind::Local, local->second, narrowScale);
  auto variable = dyn_cast<BlockArgument>(value);
  if (variable && isa<pe::ForOp>(variable.getOwner()->getParentOp()))
    return program::Term(program::TermKind::Loop, loopDepth(variable),
                         narrowScale);
  return program::Term(
      program::TermKind::Scalar,
      narrow.to<uint16_t>(numbers.lookup(value), "number of a scalar"),
      narrowScale);
}

std::unique_ptr<program::AffineT> ScalarTable::affine(const pe::Affine &affine,
                                                      Narrower &narrow) const {
  auto result = std::make_unique<program::AffineT>();
  result->constant = affine.constant;
  for (auto [value, scale] : affine.terms)
    result->terms.push_back(term(value, scale, narrow));
  return result;
}

uint16_t ScalarTable::addLocal(Value value, Narrower &narrow) {
  int64_t number = locals.size();
  locals[value] = number;
  return narrow.to<uint16_t>(number, "number of a local");
}

int16_t ScalarTable::guard(Value value, Narrower &narrow) const {
  if (!value)
    return -1;
  return narrow.to<int16_t>(numbers.lookup(value), "number of a guard");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

using Body = std::vector<std::unique_ptr<program::StatementT>>;

namespace {
/// Translates routines and tasks; their locals are named as they are met.
class CodeTranslator {
public:
  CodeTranslator(ScalarTable &scalars, const llvm::StringMap<int64_t> &buffers,
                 const llvm::StringMap<int64_t> &tasks)
      : scalars(scalars), buffers(buffers), tasks(tasks) {}

  LogicalResult translateCode(Block &block, Body &body) {
    scalars.forgetLocals();
    Narrower narrow(block.getParentOp());
    for (BlockArgument argument : block.getArguments())
      scalars.addLocal(argument, narrow);
    translateBody(block, body);
    return failure(hasFailed);
  }

private:
  void translateBody(Block &block, Body &body);
  /// What `translate` makes of an op becomes the statement.
  template <typename OpTy>
  void state(OpTy op, program::StatementT &statement) {
    Narrower narrow(op);
    statement.kind.Set(translate(op, narrow));
    hasFailed |= narrow.hasFailed();
  }
  std::unique_ptr<program::OperandT> operand(const pe::Operand &operand,
                                             Narrower &narrow);
  void fabricOperand(const pe::Operand &operand, program::OperandT &result,
                     Narrower &narrow);
  uint16_t buffer(StringRef name, Narrower &narrow);
  std::unique_ptr<program::AffineT> affine(pe::AffineAttr affine,
                                           ValueRange values, Narrower &narrow);

  program::InstructionT translate(pe::VectorOp op, Narrower &narrow);
  program::LoopT translate(pe::ForOp op, Narrower &narrow);
  program::AwaitT translate(pe::AwaitOp op, Narrower &narrow);
  program::ComputeT translate(pe::ComputeOp op, Narrower &narrow);
  program::LoadT translate(pe::LoadOp op, Narrower &narrow);
  program::StoreT translate(pe::StoreOp op, Narrower &narrow);
  program::IfT translate(pe::IfOp op, Narrower &narrow);
  program::BreakT translate(pe::BreakOp op, Narrower &narrow);
  program::SendControlT translate(pe::ControlOp op, Narrower &narrow);
  program::ReadClockT translate(pe::ClockOp op, Narrower &narrow);
  program::SetRouteT translate(pe::SetRouteOp op, Narrower &narrow);
  /// Who runs it, and what happens when it has ended.
  template <typename OpTy, typename Statement>
  void complete(OpTy op, Statement &statement, Narrower &narrow) {
    if (op.getThread())
      statement.thread = narrow.to<int8_t>(*op.getThread(), "microthread");
    if (op.getActivate())
      statement.activate = tasks.lookup(*op.getActivate());
    if (op.getUnblock())
      statement.unblock = tasks.lookup(*op.getUnblock());
  }
  program::SetTaskT setTask(StringRef task, program::TaskAction action) const;
  program::SetTaskT translate(pe::ActivateOp op, Narrower &) {
    return setTask(op.getTask(), program::TaskAction::Activate);
  }
  program::SetTaskT translate(pe::BlockOp op, Narrower &) {
    return setTask(op.getTask(), program::TaskAction::Block);
  }
  program::SetTaskT translate(pe::UnblockOp op, Narrower &) {
    return setTask(op.getTask(), program::TaskAction::Unblock);
  }

  ScalarTable &scalars;
  const llvm::StringMap<int64_t> &buffers, &tasks;
  bool hasFailed = false;
};
} // namespace

uint16_t CodeTranslator::buffer(StringRef name, Narrower &narrow) {
  return narrow.to<uint16_t>(buffers.lookup(name), "number of a buffer");
}

std::unique_ptr<program::AffineT> CodeTranslator::affine(pe::AffineAttr affine,
                                                         ValueRange values,
                                                         Narrower &narrow) {
  return scalars.affine(pe::decode(affine, values), narrow);
}

void CodeTranslator::fabricOperand(const pe::Operand &operand,
                                   program::OperandT &result,
                                   Narrower &narrow) {
  result.kind = program::OperandKind::Fabric;
  result.color = scalars.affine(operand.color, narrow);
  result.depth = operand.depth;
  if (operand.window) {
    result.window_offset = scalars.affine(operand.window->first, narrow);
    result.window_total = scalars.affine(operand.window->second, narrow);
  }
  if (operand.type)
    result.type = translateType(operand.type);
  if (operand.pair)
    result.packing = program::Packing::Pair;
  if (operand.index)
    result.index = scalars.affine(*operand.index, narrow);
}

std::unique_ptr<program::OperandT>
CodeTranslator::operand(const pe::Operand &operand, Narrower &narrow) {
  auto result = std::make_unique<program::OperandT>();
  switch (operand.kind) {
  case pe::Operand::Kind::Memory:
    result->kind = program::OperandKind::Memory;
    result->buffer = buffer(operand.buffer, narrow);
    result->offset = scalars.affine(operand.offset, narrow);
    for (int64_t stride : operand.strides)
      result->strides.push_back(narrow.to<int32_t>(stride, "stride"));
    break;
  case pe::Operand::Kind::Fabric:
    fabricOperand(operand, *result, narrow);
    break;
  case pe::Operand::Kind::Immediate:
    result->kind = program::OperandKind::Immediate;
    result->immediate = operand.value;
    break;
  }
  return result;
}

program::InstructionT CodeTranslator::translate(pe::VectorOp op,
                                                Narrower &narrow) {
  program::InstructionT instruction;
  instruction.op = static_cast<program::Opcode>(op.getOpcode());
  for (const pe::Affine &extent : op.getExtentAffines())
    instruction.extents.push_back(scalars.affine(extent, narrow));
  instruction.dst = operand(op.getDstOperand(), narrow);
  auto sources = op.getSources();
  instruction.a = operand(sources[0], narrow);
  if (sources.size() > 1)
    instruction.b = operand(sources[1], narrow);
  instruction.guard = scalars.guard(op.getGuard(), narrow);
  complete(op, instruction, narrow);
  instruction.advance_switch = op.getAdvance();
  if (op.getEndOnControl())
    instruction.on_control = program::OnControl::End;
  instruction.no_wrap = op.getNoWrap();
  return instruction;
}

program::LoopT CodeTranslator::translate(pe::ForOp op, Narrower &narrow) {
  program::LoopT loop;
  loop.count = scalars.affine(op.getCountAffine(), narrow);
  loop.guard = scalars.guard(op.getGuard(), narrow);
  translateBody(op.getBody().front(), loop.body);
  return loop;
}

program::AwaitT CodeTranslator::translate(pe::AwaitOp op, Narrower &) {
  program::AwaitT await;
  for (int64_t thread : op.getThreads())
    await.threads |= 1u << thread;
  return await;
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

program::ComputeT CodeTranslator::translate(pe::ComputeOp op,
                                            Narrower &narrow) {
  program::ComputeT compute;
  compute.op = static_cast<program::ScalarOp>(op.getKind());
  std::unique_ptr<program::AffineT> *inputs[] = {&compute.a, &compute.b,
                                                 &compute.c};
  for (auto [slot, input] :
       llvm::zip(inputs, op.getInputs().getAsRange<pe::AffineAttr>()))
    *slot = affine(input, op.getValues(), narrow);
  compute.local = scalars.addLocal(op.getResult(), narrow);
  return compute;
}

program::LoadT CodeTranslator::translate(pe::LoadOp op, Narrower &narrow) {
  program::LoadT load;
  load.buffer = buffer(op.getBuffer(), narrow);
  load.offset = affine(op.getOffset(), op.getValues(), narrow);
  load.local = scalars.addLocal(op.getResult(), narrow);
  return load;
}

program::StoreT CodeTranslator::translate(pe::StoreOp op, Narrower &narrow) {
  program::StoreT store;
  store.buffer = buffer(op.getBuffer(), narrow);
  store.offset = affine(op.getOffset(), op.getValues(), narrow);
  store.value = affine(op.getValue(), op.getValues(), narrow);
  return store;
}

program::IfT CodeTranslator::translate(pe::IfOp op, Narrower &narrow) {
  program::IfT branch;
  branch.condition = affine(op.getCondition(), op.getValues(), narrow);
  translateBody(op.getThen().front(), branch.then);
  if (!op.getOtherwise().empty())
    translateBody(op.getOtherwise().front(), branch.otherwise);
  return branch;
}

program::BreakT CodeTranslator::translate(pe::BreakOp op, Narrower &narrow) {
  program::BreakT leave;
  leave.condition = affine(op.getCondition(), op.getValues(), narrow);
  return leave;
}

program::SetTaskT CodeTranslator::setTask(StringRef task,
                                          program::TaskAction action) const {
  program::SetTaskT set;
  set.action = action;
  set.task = tasks.lookup(task);
  return set;
}

program::SendControlT CodeTranslator::translate(pe::ControlOp op,
                                                Narrower &narrow) {
  program::SendControlT control;
  control.color = affine(op.getColor(), op.getValues(), narrow);
  for (int32_t command : op.getCommands())
    control.commands.push_back(static_cast<program::SwitchCommand>(command));
  if (op.getTask())
    control.task = narrow.to<int16_t>(*op.getTask(), "control task");
  if (op.getData())
    control.data = affine(*op.getData(), op.getValues(), narrow);
  complete(op, control, narrow);
  return control;
}

program::ReadClockT CodeTranslator::translate(pe::ClockOp op,
                                              Narrower &narrow) {
  program::ReadClockT clock;
  clock.buffer = buffer(op.getBuffer(), narrow);
  clock.offset = affine(op.getOffset(), op.getValues(), narrow);
  return clock;
}

program::SetRouteT CodeTranslator::translate(pe::SetRouteOp op,
                                             Narrower &narrow) {
  program::SetRouteT route;
  route.color = affine(op.getColor(), op.getValues(), narrow);
  route.receive = static_cast<program::Port>(op.getReceive());
  route.transmit = static_cast<uint8_t>(op.getTransmit());
  return route;
}

void CodeTranslator::translateBody(Block &block, Body &body) {
  for (Operation &op : block) {
    program::StatementT &statement = append(body);
    llvm::TypeSwitch<Operation *>(&op)
        .Case<pe::VectorOp, pe::ForOp, pe::AwaitOp, pe::ComputeOp, pe::LoadOp,
              pe::StoreOp, pe::IfOp, pe::BreakOp, pe::ControlOp, pe::ClockOp,
              pe::SetRouteOp, pe::ActivateOp, pe::BlockOp, pe::UnblockOp>(
            [&](auto known) { state(known, statement); })
        .Default([&](Operation *other) {
          other->emitOpError("is not code; scalars stand in the class");
          hasFailed = true;
        });
    if (hasFailed)
      return;
  }
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

static LogicalResult translateBuffer(pe::BufferOp op,
                                     program::BufferT &result) {
  Narrower narrow(op);
  result.name = op.getSymName().str();
  result.address = narrow.to<uint32_t>(op.getAddress().value_or(0), "address");
  result.bytes = narrow.to<uint32_t>(op.getBytes(), "size");
  result.type = translateType(op.getType());
  result.onnx_node = op.getNode().value_or("").str();
  result.persistent = op.getPersistent();
  if (auto values = dyn_cast_or_null<DenseElementsAttr>(op.getInitialAttr()))
    result.initial = bytesOf(values);
  return failure(narrow.hasFailed());
}

static LogicalResult translateQueue(pe::QueueOp op,
                                    program::QueueBindingT &result) {
  Narrower narrow(op);
  result.color = narrow.to<uint8_t>(op.getColor(), "color");
  result.queue = narrow.to<uint8_t>(op.getQueue(), "queue");
  result.output = op.getKind() == pe::QueueKind::Output;
  return failure(narrow.hasFailed());
}

static LogicalResult translateFilter(pe::FilterOp op,
                                     const ScalarTable &scalars,
                                     program::FilterT &result) {
  Narrower narrow(op);
  auto affine = [&](pe::AffineAttr attribute) {
    return scalars.affine(pe::decode(attribute, op.getValues()), narrow);
  };
  result.color = narrow.to<uint8_t>(op.getColor(), "color");
  result.kind = static_cast<program::FilterKind>(op.getKind());
  result.min = affine(op.getMin());
  result.max = affine(op.getMax());
  if (op.getLimit())
    result.limit = affine(*op.getLimit());
  return failure(narrow.hasFailed());
}

static LogicalResult translateTask(pe::TaskOp op,
                                   const llvm::StringMap<int64_t> &buffers,
                                   CodeTranslator &code,
                                   program::TaskT &result) {
  Narrower narrow(op);
  result.name = op.getSymName().str();
  result.kind = static_cast<program::TaskKind>(op.getKind());
  result.id = narrow.to<uint8_t>(op.getId(), "task id");
  result.blocked = op.getBlocked();
  if (op.getWord())
    result.word_buffer = buffers.lookup(*op.getWord());
  if (op.getIndex())
    result.index_buffer = buffers.lookup(*op.getIndex());
  return failure(
      failed(code.translateCode(op.getBody().front(), result.body)) ||
      narrow.hasFailed());
}

static LogicalResult translateMembers(pe::ClassOp op,
                                      const ScalarTable &scalars,
                                      program::PEClassT &result) {
  for (auto buffer : op.getOps<pe::BufferOp>())
    if (failed(translateBuffer(buffer, append(result.buffers))))
      return failure();
  for (auto queue : op.getOps<pe::QueueOp>())
    if (failed(translateQueue(queue, append(result.queues))))
      return failure();
  for (auto filter : op.getOps<pe::FilterOp>())
    if (failed(translateFilter(filter, scalars, append(result.filters))))
      return failure();
  return success();
}

LogicalResult translateClass(pe::ClassOp op, const SymbolNumbers &numbers,
                             program::PEClassT &result) {
  result.name = op.getSymName().str();
  result.code_bytes = pe::codeBytes(op);
  for (auto rect : op.getRects().getAsRange<pe::RectAttr>())
    result.rects.push_back(translateRect(rect));
  ScalarTable scalars;
  if (failed(scalars.build(op.getBody().front(), result.scalars)) ||
      failed(translateMembers(op, scalars, result)))
    return failure();
  llvm::StringMap<int64_t> buffers, tasks;
  for (auto buffer : op.getOps<pe::BufferOp>())
    buffers.try_emplace(buffer.getSymName(), buffers.size());
  for (auto task : op.getOps<pe::TaskOp>())
    tasks.try_emplace(task.getSymName(), tasks.size());
  CodeTranslator code(scalars, buffers, tasks);
  for (auto routine : op.getOps<pe::RoutineOp>()) {
    program::RoutineT &table = append(result.routines);
    table.id = numbers.routines.lookup(routine.getSymName());
    table.arguments = routine.getBody().getNumArguments();
    if (failed(code.translateCode(routine.getBody().front(), table.body)))
      return failure();
  }
  for (auto task : op.getOps<pe::TaskOp>())
    if (failed(translateTask(task, buffers, code, append(result.tasks))))
      return failure();
  return success();
}

} // namespace wsec::emit
