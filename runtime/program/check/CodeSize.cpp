// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of code that statements take, and the functions they call; the compiler
// counts alike (dialects/pe/PeCodeSize.cpp).
#include "runtime/program/Checker.h"
#include "runtime/program/Opcodes.h"
#include "runtime/program/Wire.h"

#include <set>
#include <utility>

namespace wsec::runtime {

namespace {

using Body = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

/// Those that code of a class calls: one copy of each for elements of 32 bits,
/// and one, of half the size, for elements of 16.
using CalledOpcodes = std::set<std::pair<program::Opcode, bool>>;

uint64_t functionWords(const CalledOpcodes &calls) {
  uint64_t words = 0;
  for (auto [op, isHalf] : calls) {
    const auto whole = uint64_t(factsOf(op).words);
    words += isHalf ? whole / 2 : whole;
  }
  return words;
}

void collectCalls(const Body *body, const program::PEClass &peClass,
                  CalledOpcodes &calls) {
  if (!body)
    return;
  for (const program::Statement *statement : *body)
    if (const auto *instruction = statement->kind_as_Instruction()) {
      const program::Operand &dst = *instruction->dst();
      const auto *buffers = peClass.buffers();
      // The checker has yet to look at operands.
      const bool inMemory = dst.kind() == program::OperandKind::Memory &&
                            buffers && dst.buffer() < buffers->size();
      const program::ElementType type =
          inMemory ? buffers->Get(dst.buffer())->type() : dst.type();
      calls.insert({instruction->op(), wireType(type) && !fillsWord(type)});
    } else if (const auto *loop = statement->kind_as_Loop()) {
      collectCalls(loop->body(), peClass, calls);
    } else if (const auto *branch = statement->kind_as_If()) {
      collectCalls(branch->then(), peClass, calls);
      collectCalls(branch->otherwise(), peClass, calls);
    }
}

uint64_t operandWords(const program::Operand *operand) {
  if (!operand || (operand->kind() != program::OperandKind::Memory &&
                   operand->kind() != program::OperandKind::Fabric))
    return 0;
  return operand->window_total() ? 3 : 2;
}

uint64_t bodyWords(const Body *body);

uint64_t statementWords(const program::Statement &statement) {
  switch (statement.kind_type()) {
  case program::StatementKind::Instruction: {
    const program::Instruction &instruction = *statement.kind_as_Instruction();
    return 2 + operandWords(instruction.dst()) + operandWords(instruction.a()) +
           operandWords(instruction.b());
  }
  case program::StatementKind::Loop:
    return 3 + bodyWords(statement.kind_as_Loop()->body());
  case program::StatementKind::If:
    return 2 + bodyWords(statement.kind_as_If()->then()) +
           bodyWords(statement.kind_as_If()->otherwise());
  case program::StatementKind::Load:
  case program::StatementKind::Store:
  case program::StatementKind::SendControl:
  case program::StatementKind::ReadClock:
  case program::StatementKind::SetRoute:
  case program::StatementKind::Break:
    return 2;
  case program::StatementKind::Await:
  case program::StatementKind::Compute:
  case program::StatementKind::SetTask:
  case program::StatementKind::NONE:
    return 1;
  }
  return 1;
}

uint64_t bodyWords(const Body *body) {
  uint64_t words = 0;
  if (body)
    for (const program::Statement *statement : *body)
      words += statementWords(*statement);
  return words;
}

} // namespace

uint64_t codeBytes(const program::PEClass &peClass) {
  uint64_t words = peClass.scalars() ? peClass.scalars()->size() : 0;
  CalledOpcodes calls;
  auto add = [&](const Body *body) {
    words += 2 + bodyWords(body);
    collectCalls(body, peClass, calls);
  };
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines()) {
      words += routine->arguments();
      add(routine->body());
    }
  if (peClass.tasks())
    for (const program::Task *task : *peClass.tasks())
      add(task->body());
  return 4 * (words + functionWords(calls));
}

} // namespace wsec::runtime
