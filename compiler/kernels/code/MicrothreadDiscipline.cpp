// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/MicrothreadDiscipline.h"

#include "compiler/kernels/code/ScalarBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace wsec {

static bool overlap(ArrayRef<InstructionUse::Range> some,
                    ArrayRef<InstructionUse::Range> others) {
  return llvm::any_of(some, [&](InstructionUse::Range a) {
    return llvm::any_of(others, [&](InstructionUse::Range b) {
      return a.first < b.second && b.first < a.second;
    });
  });
}

/// Colors that depend on the PE are told apart by how they do.
static bool shareColor(ArrayRef<pe::Affine> some, ArrayRef<pe::Affine> others) {
  return llvm::any_of(some, [&](const pe::Affine &a) {
    return llvm::any_of(others, [&](const pe::Affine &b) {
      return a.constant == b.constant && a.terms == b.terms;
    });
  });
}

bool InstructionUse::mustWaitFor(const InstructionUse &other) const {
  for (Value mine : guards)
    for (Value its : other.guards)
      if (ScalarBuilder::excludes(mine, its))
        return false;
  return thread == other.thread || overlap(writes, other.writes) ||
         overlap(writes, other.reads) || overlap(reads, other.writes) ||
         shareColor(receives, other.receives) || shareColor(sends, other.sends);
}

unsigned
MicrothreadDiscipline::threadsToAwait(const InstructionUse &use) const {
  unsigned threads = 0;
  for (const InstructionUse &other : pending)
    if (use.mustWaitFor(other))
      threads |= 1u << other.thread;
  return threads;
}

void MicrothreadDiscipline::issue(const InstructionUse &use) {
  for (Loop &loop : loops)
    loop.uses.emplace_back(use, loop.awaited);
  if (use.thread >= 0)
    pending.push_back(use);
}

void MicrothreadDiscipline::await(unsigned threads) {
  llvm::erase_if(pending, [&](const InstructionUse &use) {
    return threads >> use.thread & 1;
  });
  for (Loop &loop : loops)
    loop.awaited |= threads;
}

unsigned MicrothreadDiscipline::threadsInUse() const {
  unsigned threads = 0;
  for (const InstructionUse &use : pending)
    threads |= 1u << use.thread;
  return threads;
}

void MicrothreadDiscipline::enterLoop() {
  Loop entered;
  entered.pendingBefore = pending;
  for (const Loop &loop : loops)
    entered.awaitedAround.push_back(loop.awaited);
  loops.push_back(std::move(entered));
}

unsigned MicrothreadDiscipline::leaveLoop(bool runs) {
  Loop left = loops.pop_back_val();
  unsigned threads = 0;
  for (const InstructionUse &atEnd : pending)
    for (const auto &[use, awaited] : left.uses)
      if (!(awaited >> atEnd.thread & 1) && use.mustWaitFor(atEnd))
        threads |= 1u << atEnd.thread;
  if (runs)
    return threads;
  // Nothing that the body awaited is known to be done.
  for (auto [loop, awaited] : llvm::zip_equal(loops, left.awaitedAround))
    loop.awaited = awaited;
  pending.append(left.pendingBefore);
  return threads;
}

} // namespace wsec
