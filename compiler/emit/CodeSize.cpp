// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/CodeSize.h"

namespace wsec::emit {

static uint32_t operandWords(const program::OperandT *operand) {
  if (!operand || (operand->kind != program::OperandKind::Memory &&
                   operand->kind != program::OperandKind::Fabric))
    return 0;
  return operand->window_total ? 3 : 2;
}

static uint32_t
bodyWords(const std::vector<std::unique_ptr<program::StatementT>> &body) {
  uint32_t words = 0;
  for (const auto &statement : body) {
    const auto &kind = statement->kind;
    if (const auto *instruction = kind.AsInstruction())
      words += 2 + operandWords(instruction->dst.get()) +
               operandWords(instruction->a.get()) +
               operandWords(instruction->b.get());
    else if (const auto *loop = kind.AsLoop())
      words += 3 + bodyWords(loop->body);
    else
      words += 1;
  }
  return words;
}

uint32_t codeBytes(const program::PEClassT &peClass) {
  uint32_t words = peClass.scalars.size();
  for (const auto &routine : peClass.routines)
    words += 2 + bodyWords(routine->body);
  return 4 * words;
}

} // namespace wsec::emit
