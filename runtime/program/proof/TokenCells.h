// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PEs that take words and send words, as their code says, without computing.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENCELLS_H
#define RUNTIME_PROGRAM_PROOF_TOKENCELLS_H

#include "runtime/program/proof/TokenCode.h"
#include "runtime/program/proof/TokenProgress.h"

#include <optional>

namespace wsec::runtime::tokens {

struct Thread {
  std::optional<Progress> now;
  int64_t issues = 0;
};

/// A task of a PE. It starts when it is pending and not blocked.
struct TaskState {
  int64_t color = -1; ///< of a data task, which starts for each word
  bool pending = false, blocked = false;
  int activating = 0, unblocking = 0; ///< instructions that are going to
  /// Microthreads whose instructions have acted on it, with their number.
  std::vector<std::pair<int, int64_t>> causes;

  /// How often it is going to start.
  int starts() const { return pending + activating; }
};

constexpr size_t microthreads = 8;

/// A kind of PE that has code.
struct Cell {
  explicit Cell(const Place &place) : place(place) {}

  const Place &place;
  const FabricRoutine *routine = nullptr; ///< or task, that runs
  size_t launches = 0;                    ///< that it has begun or passed over
  size_t next = 0;                        ///< event
  std::vector<TaskState> tasks;
  unsigned awaited = 0, issued = 0; ///< microthreads; since their await
  std::array<Thread, microthreads + 1> threads; ///< 0: the main one
  /// Microthreads that may still use a color: by direction and color.
  std::map<std::pair<bool, int64_t>, int> users;
};

/// All cells. Each does what it can until it waits for a word or for room.
class Cells {
public:
  Cells(const Code &code, Fabric &fabric, Agenda &agenda);

  const std::vector<Cell> &all() const { return cells; }

  /// Launches start as their wavelets come.
  void awaitCommands();
  /// The host calls a launch in all PEs.
  void call(const program::Launch &launch);
  void wakeAll();
  void work(size_t cell);

  /// Whether all wavelets of launches have come to all that they start.
  bool allLaunched() const;
  /// Whether a run may give work to a microthread that has some, which ends it
  /// on machines whose microthreads do not queue.
  bool mayBeBusy() const {
    return busy && !code.program.machine()->microthreads_queue();
  }

private:
  const AxisScalars &scalarsOf(const Cell &cell) const {
    return code.scalars[cell.place.peClass];
  }
  bool runMain(Cell &cell);
  void done(Cell &cell, unsigned threads);
  void useColors(Cell &cell, const FabricOp &op);
  void useColor(Cell &cell, const FabricOp &op, bool out,
                const program::Affine &color);
  void issue(Cell &cell, const FabricOp &op);
  void complete(Cell &cell, size_t thread);

  bool startTask(Cell &cell);
  bool startLaunch(Cell &cell);
  bool mayStart(const Cell &cell, const TaskState &task) const;
  std::string nameOf(const Cell &cell, size_t task) const {
    return code.nameOfTask(cell.place.peClass, task);
  }
  void requireOnce(const Cell &cell, size_t task) const;
  void requireNoUnblock(const Cell &cell, size_t task) const;
  void setTask(Cell &cell, const program::SetTask &set);

  const Code &code;
  Fabric &fabric;
  Agenda &agenda;
  bool busy = false;
  std::vector<Cell> cells;
};

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_PROOF_TOKENCELLS_H
