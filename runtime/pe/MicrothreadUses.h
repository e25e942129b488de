// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_MICROTHREADUSES_H
#define RUNTIME_PE_MICROTHREADUSES_H

#include <cstdint>
#include <string>
#include <vector>

namespace wsec::runtime {

/// Bytes of the SRAM that a memory operand may touch; empty if low == high.
struct MemorySpan {
  int64_t low = 0, high = 0;
  bool overlaps(const MemorySpan &other) const {
    return low < other.high && other.low < high;
  }
  bool operator==(const MemorySpan &) const = default;
};

/// What an instruction takes and gives; colors are -1 where it has none.
struct InstructionUse {
  int thread = -1; ///< microthread; -1: the main thread
  MemorySpan destination, sources[2];
  int receives[2] = {-1, -1};
  int sends = -1;
};

/// What the microthreads of a PE were given to do since it last awaited them,
/// in programs with a command color.
class MicrothreadUses {
public:
  struct Conflict {
    std::string what; ///< empty: there is none
    bool inMemory = false;
  };
  /// What an instruction shares with another microthread that may still be at
  /// work: that would depend on who is faster.
  Conflict conflict(const InstructionUse &use) const;
  void note(const InstructionUse &use);
  /// The microthreads of a bit set are done.
  void forget(unsigned threads);

private:
  struct Pending {
    int thread;
    MemorySpan span; ///< written
    int color;       ///< -1: memory
    bool sent;
    bool operator==(const Pending &) const = default;
  };
  void add(const Pending &use);

  std::vector<Pending> pending;
};

} // namespace wsec::runtime

#endif // RUNTIME_PE_MICROTHREADUSES_H
