// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of code that statements take; the compiler counts alike.
#include "runtime/program/Checker.h"

namespace wsec::runtime {

namespace {

using Body = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

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
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines())
      words += 2 + bodyWords(routine->body());
  if (peClass.tasks())
    for (const program::Task *task : *peClass.tasks())
      words += 2 + bodyWords(task->body());
  return 4 * words;
}

} // namespace wsec::runtime
