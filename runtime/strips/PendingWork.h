// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the microthreads of a strip were given and have not been awaited since.
#ifndef RUNTIME_STRIPS_PENDINGWORK_H
#define RUNTIME_STRIPS_PENDINGWORK_H

#include "runtime/strips/InstructionRun.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wsec::runtime {

/// Strips do not know which thread of a PE is faster, so they count a
/// microthread as at work until it is awaited. What another instruction shares
/// with it is a data race.
class PendingWork {
public:
  explicit PendingWork(int lanes) : ofLane(size_t(lanes)) {}

  /// Whether no microthread may be at work.
  bool empty() const { return atWork == 0; }
  void note(const InstructionRun &run);
  /// A lane in which a microthread is at work; -1 is all lanes, for the
  /// argument too.
  std::optional<int> busy(int thread, int lane) const;
  /// What is wrong about running `run` now; empty: nothing.
  std::string conflict(const InstructionRun &run) const;
  /// The conflict of the main thread that reads something in a lane (-1: in
  /// all).
  std::string conflict(const MemoryPattern &read, int lane) const;
  /// A microthread was awaited: what it wrote is there.
  void settle(int thread, Strip &strip);

private:
  struct Use {
    int thread;
    std::optional<MemoryPattern> written, read[2];
    std::array<int, 2> receives;
    int sends;
  };
  static std::string conflict(const Use &use, const InstructionRun &run);
  static bool mayConflict(const Use &use, const InstructionRun &run);
  bool mayConflict(const InstructionRun &run) const;
  /// Calls `visit(lane, use)` for uses that concern a lane until it says true.
  template <class Visit>
  bool anyIn(int lane, const Visit &visit) const;

  using Uses = std::vector<Use>;
  Uses ofAll;
  std::vector<Uses> ofLane;
  std::vector<int> lanesInUse; ///< in order of their first use
  unsigned atWork = 0;         ///< threads, a bit set
  /// What of all lanes may be at work, and more: halves from the first that is
  /// touched to the last, colors modulo 64 as a bit set.
  struct Reach {
    int64_t low = INT64_MAX, high = INT64_MIN;
    void add(const std::optional<MemoryPattern> &pattern);
    bool meets(const std::optional<MemoryPattern> &pattern) const {
      return pattern && low <= pattern->high() && pattern->low() <= high;
    }
  };
  Reach written, read;
  uint64_t received = 0, sent = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_PENDINGWORK_H
