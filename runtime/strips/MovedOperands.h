// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of launches that only say where operands lie, such as the state of
// a layer. Launches that differ in nothing else do the same elsewhere.
#ifndef RUNTIME_STRIPS_MOVEDOPERANDS_H
#define RUNTIME_STRIPS_MOVEDOPERANDS_H

#include "runtime/engine/PersistentState.h"
#include "runtime/strips/InstructionRun.h"
#include "runtime/threads/Mutex.h"

#include <algorithm>
#include <map>
#include <set>
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

  /// Whether there are some.
  bool any() const {
    return std::any_of(ofRoutine.begin(), ofRoutine.end(), [](const auto &its) {
      return std::find(its.second.begin(), its.second.end(), true) !=
             its.second.end();
    });
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

  /// Accesses of parts one behind the other, and by how many words their moves
  /// take them. Whether the same may be done there: within buffers, with words
  /// that are written, and whatever lies apart or together still does. What is
  /// written is noted as such, then.
  using Moved = std::pair<const LastingAccesses *, std::vector<int64_t>>;
  static bool hold(const std::vector<Moved> &parts);

  std::set<uint32_t> pinned; ///< moves that some operand cannot follow

private:
  struct Access {
    Strip *strip;
    int lane;
    MemoryPattern pattern;
    int64_t bufferBegin, bufferEnd; ///< halves
    uint32_t move;
    bool reads, writes;
  };
  /// An access, and where it is moved.
  struct There {
    const Access *access;
    int64_t halves;
    MemoryPattern pattern;
  };
  static std::map<int, std::vector<There>>
  allOf(const std::vector<Moved> &parts);
  static bool isThere(const std::vector<There> &ofStrip);
  static bool overlapsAlike(const std::vector<There> &ofStrip);

  mutable Mutex lock;
  std::map<int, std::vector<Access>> byStrip ABSL_GUARDED_BY(lock);
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_MOVEDOPERANDS_H
