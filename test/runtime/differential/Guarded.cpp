// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One class for PEs with different code: each PE's part is guarded by its
// coordinates.
#include "test/runtime/differential/Assembly.h"

namespace wsec::runtime::test {

using program::OperandKind;
using program::ScalarOp;

/// What a PE's code refers to moves on by so much.
static void moveBuffers(Statements &body, int by) {
  for (auto &statement : body) {
    program::StatementKindUnion &kind = statement->kind;
    if (auto *instruction = kind.AsInstruction())
      for (auto *operand :
           {instruction->dst.get(), instruction->a.get(), instruction->b.get()})
        if (operand && operand->kind == OperandKind::Memory)
          operand->buffer = uint16_t(operand->buffer + by);
    if (auto *load = kind.AsLoad())
      load->buffer = uint16_t(load->buffer + by);
    if (auto *store = kind.AsStore())
      store->buffer = uint16_t(store->buffer + by);
    if (auto *clock = kind.AsReadClock())
      clock->buffer = uint16_t(clock->buffer + by);
    if (auto *loop = kind.AsLoop())
      moveBuffers(loop->body, by);
    if (auto *branch = kind.AsIf()) {
      moveBuffers(branch->then, by);
      moveBuffers(branch->otherwise, by);
    }
  }
}

/// Scalar code is guarded by a branch; without it each instruction and loop
/// has a guard.
static void guard(Statements &body, uint16_t scalar, bool branches,
                  Statements &into) {
  if (branches) {
    program::IfT branch;
    branch.condition = Value(Scalar{scalar}).build();
    branch.then = std::move(body);
    auto statement = std::make_unique<program::StatementT>();
    statement->kind.Set(std::move(branch));
    into.push_back(std::move(statement));
    return;
  }
  for (auto &statement : body) {
    if (auto *instruction = statement->kind.AsInstruction())
      instruction->guard = int16_t(scalar);
    if (auto *loop = statement->kind.AsLoop())
      loop->guard = int16_t(scalar);
    into.push_back(std::move(statement));
  }
}

static bool mergeable(const program::PEClassT &code) {
  return code.tasks.empty() && code.filters.empty() && code.queues.empty() &&
         code.scalars.empty();
}

static uint32_t bytesOf(const program::PEClassT &code) {
  uint32_t bytes = 0;
  for (const auto &buffer : code.buffers)
    bytes += buffer->bytes + 4;
  return bytes;
}

/// PEs of a row, of a column, or all become one class, as far as there is
/// memory.
void Assembly::mergeGuarded() {
  constexpr uint32_t room = 32768;
  const uint32_t way = choices.draw(6); // mostly not
  std::map<int, size_t> heads;
  for (size_t i = 0; i < classes.size(); ++i) {
    const Coordinate pe{int(i) % width, int(i) / width};
    members.push_back({pe, i});
    program::PEClassT &code = *classes[i];
    if (way == 0 || way > 3 || !mergeable(code))
      continue;
    const int group = way == 1 ? pe.y : way == 2 ? pe.x : 0;
    ClassBuilder own(code, 0);
    auto [head, isNew] = heads.emplace(group, i);
    program::PEClassT &whole = *classes[head->second];
    if (!isNew && bytesOf(whole) + bytesOf(code) > room)
      continue;
    ClassBuilder builder(whole, 0);
    const Scalar here = builder.both(builder.equal(builder.px(), pe.x),
                                     builder.equal(builder.py(), pe.y));
    const int before = isNew ? 0 : int(whole.buffers.size());
    for (size_t r = 0; r < code.routines.size(); ++r) {
      Statements body = std::move(code.routines[r]->body);
      code.routines[r]->body.clear();
      moveBuffers(body, before);
      guard(body, here.index, !commanded(), whole.routines[r]->body);
    }
    if (isNew)
      continue;
    for (auto &buffer : code.buffers)
      whole.buffers.push_back(std::move(buffer));
    members.back().second = head->second;
    classes[i].reset();
  }
}

} // namespace wsec::runtime::test
