// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of launches that only say where operands lie, such as the state of
// a layer. Launches that differ in nothing else do the same elsewhere.
#ifndef RUNTIME_STRIPS_MOVEDOPERANDS_H
#define RUNTIME_STRIPS_MOVEDOPERANDS_H

#include "runtime/engine/PersistentState.h"
#include "runtime/strips/InstructionRun.h"
#include "runtime/threads/Mutex.h"

#include <map>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Which arguments of a program's routines say nothing but where operands of
/// four bytes lie in what persists, whose words are at home.
class AddressArguments {
public:
  AddressArguments(const std::vector<ClassCode> &classes,
                   const PersistentState &persistent);
  bool contains(uint32_t routine, size_t argument) const {
    const auto found = ofRoutine.find(routine);
    return found != ofRoutine.end() && argument < found->second.size() &&
           found->second[argument];
  }

private:
  std::map<uint32_t, std::vector<bool>> ofRoutine;
};

/// What the instructions of some launches read and write of the words that
/// last. Threads of a run note it at the same time, those of a strip in order.
class LastingAccesses {
public:
  void note(Strip &strip, int lane, const MemoryPattern &pattern,
            const OperandCode &operand, uint32_t move, bool reads, bool writes);

  /// Whether the same may be done with all of it `moved`, in floats, by move:
  /// within buffers, to words that are written, and whatever lies apart or
  /// together still does. What it writes is noted as written, then.
  bool holdMoved(const Recording &recording,
                 const std::vector<ptrdiff_t> &moved) const;

private:
  struct Access {
    Strip *strip;
    int lane;
    MemoryPattern pattern;
    int64_t bufferBegin, bufferEnd; ///< halves
    uint32_t move;
    bool reads, writes;
  };
  bool overlapsAlike(const std::vector<const Access *> &ofStrip,
                     const std::vector<int64_t> &halves) const;

  mutable Mutex lock;
  std::map<int, std::vector<Access>> byStrip ABSL_GUARDED_BY(lock);
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_MOVEDOPERANDS_H
