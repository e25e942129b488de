// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TASKS_HOSTLANES_H
#define RUNTIME_TASKS_HOSTLANES_H

#include "runtime/tasks/Processor.h"

#include <map>
#include <string>
#include <vector>

namespace wsec::runtime::tasks {

/// Streams of the host: words enter at the west edge and are taken at the east
/// edge, lane by lane in the order of the launches that list them.
class HostLanes {
public:
  HostLanes(Wafer &wafer, HostPort &host);

  /// Lets the first words in.
  void start();

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
  struct InLane {
    std::vector<Use> uses;
    size_t next = 0;
    WordView view;
    size_t at = 0; ///< of the view
  };
  struct OutLane {
    std::vector<Use> uses;
    size_t next = 0;
    uint64_t tooMany = 0;
  };
  struct Row {
    int lanes = 0;
    Slots entry; ///< of the link into the mesh, if there are several
  };

  bool fill(Station &edge);
  bool fetch(InLane &lane);
  void leave(int row, int color, const Word &word);

  Wafer &wafer;
  HostPort &host;
  std::map<std::pair<int, int>, InLane> in; ///< by row and color
  std::map<std::pair<int, int>, OutLane> out;
  std::map<int, Row> rows;
};

} // namespace wsec::runtime::tasks

#endif // RUNTIME_TASKS_HOSTLANES_H
