// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TASKS_HOSTLANES_H
#define RUNTIME_TASKS_HOSTLANES_H

#include "runtime/tasks/Processor.h"

#include <map>
#include <string>
#include <vector>

namespace wsec::runtime::tasks {

/// Streams of the host: words enter the west edge when the launch that lists
/// them begins, and are taken at the east edge in the order of the launches.
class HostLanes {
public:
  HostLanes(Wafer &wafer, HostPort &host);

  /// A launch begins.
  void feed(size_t launch, Time when);
  /// Something has left over the east edge.
  void leave(Outlet &edge);

  /// Lanes that lack words, in words.
  std::vector<std::string> waits() const;
  /// Lanes with words that nobody asked for.
  std::vector<std::string> surplus() const;

  uint64_t wordsIn = 0, wordsOut = 0;

private:
  struct Use {
    size_t launch;
    uint32_t stream, lane;
    uint64_t left;
  };
  struct OutLane {
    std::vector<Use> uses;
    size_t next = 0;
    uint64_t tooMany = 0;
  };

  Wafer &wafer;
  HostPort &host;
  std::map<std::pair<int, int>, OutLane> out; ///< by row and color
  std::map<std::pair<int, int>, Time> free;   ///< of lanes into the west edge
};

} // namespace wsec::runtime::tasks

#endif // RUNTIME_TASKS_HOSTLANES_H
