// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far commands get while a region is busy. All PEs take all commands in
// turn, so those for others wait behind one that is at work, once its queue and
// the routers before it are full. They come along the first row of the mesh and
// down its columns, or down the first column and along its rows:
//
//    > . . . . . .     c is busy: two words wait in each router between the
//      .   .   .       first row and c, and more in the ramp and the queue of
//      a   b   c       its PEs; the next one holds up a and b, too. (Here down
//                      the columns.)
#ifndef RUNTIME_PROGRAM_FACTS_COMMANDROOM_H
#define RUNTIME_PROGRAM_FACTS_COMMANDROOM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wsec::runtime {

/// What decides how many words wait before a PE.
struct CommandQueues {
  std::vector<int> inputQueueWords; ///< by queue id
  int reservedInputQueues = 0;      ///< of the host's runtime
  int routerWords = 0;
  int rampCycles = 0, hopCycles = 0;

  /// On the ramp and in the queue of a PE of a program with several regions.
  int64_t ofPe() const;
  /// In each router on the way.
  int64_t ofRouter() const;
};

/// PEs [x0, x1) x [y0, y1) of the mesh.
struct CommandTarget {
  int64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// Down the columns from the first row, or along the rows from the first
/// column.
enum class CommandPaths { Columns, Rows };

/// As commands go to these regions: those paths on which fewer pairs of regions
/// have no router between what is busy and where the other one's path leaves.
/// Stages in several rows: along rows, where each is in the way of its own row
/// only.
CommandPaths commandPaths(const std::vector<CommandTarget> &regions);

/// How many commands behind the one that `busy` is at work on reach all PEs of
/// `other` before `busy` is done. Keep-outs make paths longer, on which more
/// wait.
size_t commandsAhead(const CommandQueues &queues, CommandPaths paths,
                     const CommandTarget &busy, const CommandTarget &other);

/// The commands ahead of all pairs, [busy][other]; of a region and itself any
/// number.
std::vector<std::vector<size_t>>
commandsAhead(const CommandQueues &queues,
              const std::vector<CommandTarget> &regions);

/// When regions are done with the commands so far: what the next one waits for.
class CommandLine {
public:
  explicit CommandLine(std::vector<std::vector<size_t>> ahead = {});

  /// When the next command has reached the region.
  double reaches(size_t region) const;
  /// One more has been given; regions are free at these times.
  void give(const std::vector<double> &free);
  /// The last one given does more: regions are free at these times.
  void extend(const std::vector<double> &free);
  void clear();

private:
  std::vector<std::vector<size_t>> ahead;
  std::vector<std::vector<double>> done; ///< [region][command]
  size_t count = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_COMMANDROOM_H
