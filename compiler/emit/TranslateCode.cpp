// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars, buffers and routines of a class.

#include "compiler/emit/Translation.h"

using namespace mlir;

namespace wsec::emit {

// The schema's enumerations are the dialect's, number by number.
static_assert(int(pe::Opcode::Select) == int(program::Opcode::Select) &&
              int(pe::Opcode::Fmac) == int(program::Opcode::Fmac) &&
              int(pe::Opcode::Sigmoid) == int(program::Opcode::Sigmoid));
static_assert(int(pe::ScalarKind::TileIndex) ==
                  int(program::ScalarOp::TileIndex) &&
              int(pe::ScalarKind::Equal) == int(program::ScalarOp::Equal));
static_assert(int(pe::Port::Ramp) == int(program::Port::Ramp));
static_assert(int(pe::Role::Constant) == int(program::TensorRole::Constant));
static_assert(int(pe::Direction::Out) == int(program::Direction::Out));

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LogicalResult ScalarTable::build(Block &block,
                                 std::vector<program::ScalarNode> &nodes) {
  DenseSet<Operation *> used = pe::findUsedScalars(block);
  for (Operation &op : block) {
    if (!used.contains(&op))
      continue;
    numbers[op.getResult(0)] = nodes.size();
    if (auto constant = dyn_cast<pe::ConstantOp>(op)) {
      nodes.emplace_back(program::ScalarOp::Constant,
                         static_cast<int32_t>(constant.getValue()), 0, 0);
      continue;
    }
    auto scalar = cast<pe::ScalarOp>(op);
    int32_t inputs[3] = {0, 0, 0};
    for (auto [index, input] : llvm::enumerate(scalar.getInputs()))
      inputs[index] = numbers.lookup(input);
    nodes.emplace_back(static_cast<program::ScalarOp>(scalar.getKind()),
                       inputs[0], inputs[1], inputs[2]);
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
  if (auto variable = dyn_cast<BlockArgument>(value))
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

int16_t ScalarTable::guard(Value value, Narrower &narrow) const {
  if (!value)
    return -1;
  return narrow.to<int16_t>(numbers.lookup(value), "number of a guard");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {
class CodeTranslator {
public:
  CodeTranslator(const ScalarTable &scalars,
                 const llvm::StringMap<int64_t> &buffers)
      : scalars(scalars), buffers(buffers) {}

  using Body = std::vector<std::unique_ptr<program::StatementT>>;
  LogicalResult translate(Block &block, Body &body);

private:
  std::unique_ptr<program::OperandT> operand(const pe::Operand &operand,
                                             Narrower &narrow);
  LogicalResult translate(pe::VectorOp op, program::StatementT &statement);
  LogicalResult translate(pe::ForOp op, program::StatementT &statement);
  LogicalResult translate(pe::AwaitOp op, program::StatementT &statement);

  const ScalarTable &scalars;
  const llvm::StringMap<int64_t> &buffers;
};
} // namespace

std::unique_ptr<program::OperandT>
CodeTranslator::operand(const pe::Operand &operand, Narrower &narrow) {
  auto result = std::make_unique<program::OperandT>();
  switch (operand.kind) {
  case pe::Operand::Kind::Memory:
    result->kind = program::OperandKind::Memory;
    result->buffer = narrow.to<uint16_t>(buffers.lookup(operand.buffer),
                                         "number of a buffer");
    result->offset = scalars.affine(operand.offset, narrow);
    for (int64_t stride : operand.strides)
      result->strides.push_back(narrow.to<int32_t>(stride, "stride"));
    break;
  case pe::Operand::Kind::Fabric:
    result->kind = program::OperandKind::Fabric;
    result->color = scalars.affine(operand.color, narrow);
    result->depth = operand.depth;
    if (operand.window) {
      result->window_offset = scalars.affine(operand.window->first, narrow);
      result->window_total = scalars.affine(operand.window->second, narrow);
    }
    break;
  case pe::Operand::Kind::Immediate:
    result->kind = program::OperandKind::Immediate;
    result->immediate = operand.value;
    break;
  }
  return result;
}

LogicalResult CodeTranslator::translate(pe::VectorOp op,
                                        program::StatementT &statement) {
  Narrower narrow(op);
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
  if (op.getThread())
    instruction.thread = narrow.to<int8_t>(*op.getThread(), "microthread");
  instruction.line_buffer = op.getLineBuffer();
  statement.kind.Set(std::move(instruction));
  return failure(narrow.hasFailed());
}

LogicalResult CodeTranslator::translate(pe::ForOp op,
                                        program::StatementT &statement) {
  Narrower narrow(op);
  program::LoopT loop;
  loop.count = scalars.affine(op.getCountAffine(), narrow);
  loop.guard = scalars.guard(op.getGuard(), narrow);
  if (failed(translate(op.getBody().front(), loop.body)))
    return failure();
  statement.kind.Set(std::move(loop));
  return failure(narrow.hasFailed());
}

LogicalResult CodeTranslator::translate(pe::AwaitOp op,
                                        program::StatementT &statement) {
  program::AwaitT await;
  for (int64_t thread : op.getThreads())
    await.threads |= 1u << thread;
  statement.kind.Set(std::move(await));
  return success();
}

LogicalResult CodeTranslator::translate(Block &block, Body &body) {
  for (Operation &op : block) {
    auto &statement =
        *body.emplace_back(std::make_unique<program::StatementT>());
    LogicalResult result = success();
    if (auto vector = dyn_cast<pe::VectorOp>(op))
      result = translate(vector, statement);
    else if (auto loop = dyn_cast<pe::ForOp>(op))
      result = translate(loop, statement);
    else if (auto await = dyn_cast<pe::AwaitOp>(op))
      result = translate(await, statement);
    else
      result = op.emitOpError("is not code; scalars stand in the class");
    if (failed(result))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

static LogicalResult translateBuffer(pe::BufferOp op,
                                     program::BufferT &result) {
  Narrower narrow(op);
  result.name = op.getSymName().str();
  result.address = narrow.to<uint32_t>(op.getAddress(), "address");
  result.bytes = narrow.to<uint32_t>(op.getBytes(), "size");
  result.type = translateType(op.getType());
  result.onnx_node = op.getNode().value_or("").str();
  return failure(narrow.hasFailed());
}

LogicalResult translateClass(pe::ClassOp op, const SymbolNumbers &numbers,
                             program::PEClassT &result) {
  result.name = op.getSymName().str();
  for (auto rect : op.getRects().getAsRange<pe::RectAttr>())
    result.rects.push_back(translateRect(rect));
  ScalarTable scalars;
  if (failed(scalars.build(op.getBody().front(), result.scalars)))
    return failure();
  llvm::StringMap<int64_t> buffers;
  for (auto buffer : op.getOps<pe::BufferOp>()) {
    buffers.try_emplace(buffer.getSymName(), buffers.size());
    if (failed(
            translateBuffer(buffer, *result.buffers.emplace_back(
                                        std::make_unique<program::BufferT>()))))
      return failure();
  }
  CodeTranslator code(scalars, buffers);
  for (auto routine : op.getOps<pe::RoutineOp>()) {
    auto &table =
        *result.routines.emplace_back(std::make_unique<program::RoutineT>());
    table.id = numbers.routines.lookup(routine.getSymName());
    if (failed(code.translate(routine.getBody().front(), table.body)))
      return failure();
  }
  return success();
}

} // namespace wsec::emit
