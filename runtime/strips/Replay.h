// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of a program whose first run was recorded: the same operations on new
// data, in tasks of which it is known what they wait for.
#ifndef RUNTIME_STRIPS_REPLAY_H
#define RUNTIME_STRIPS_REPLAY_H

#include "runtime/engine/MemoryRoom.h"
#include "runtime/strips/ConstantWords.h"
#include "runtime/strips/Recording.h"
#include "runtime/strips/WorkerPool.h"

#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Some operations of one actor that a worker executes without a pause, in the
/// order of the recording, but for what the actor may do later.
struct ReplayTask {
  std::vector<uint32_t> operations;
  std::vector<uint32_t> before; ///< tasks that must be complete
  double cost = 0;              ///< estimated, in nanoseconds
  uint32_t actor = 0;
  unsigned worker = 0;
  double start = 0, end = 0; ///< as planned
};

/// Cuts a recording into tasks for so many workers; each depends on earlier
/// ones only. In a task come those first that take words of the host, then
/// those that make what is `constant`.
std::vector<ReplayTask> makeTasks(const Recording &recording, unsigned workers,
                                  const ConstantWords *constant = nullptr);

/// Gives each task a worker and a time; returns the order in which they start.
std::vector<uint32_t> scheduleTasks(std::vector<ReplayTask> &tasks,
                                    unsigned workers);

/// Thrown by a replay that finds other places for operands than the recorded
/// run: it has to be run anew.
struct Diverged {};

class Replay {
public:
  /// Buffers that do not live in one replay alone.
  struct Lasting {
    /// Where those lie that were there before, if not where the recorded run
    /// found them.
    std::map<Recording::BufferId, const float *> before;
    /// Words of the host and words under way that `find` finds
    /// behind a replay.
    std::set<Recording::BufferId> after;
  };
  /// Takes place in the SRAM of the recorded run. Words that are the same in
  /// all runs are made once, as far as there is `room` for them; null: none.
  Replay(const Recording &recording, WorkerPool &pool, const Lasting &lasting,
         MemoryRoom *room = nullptr);
  ~Replay();

  /// The launches that a replay stands for: those of the recording `launches`
  /// later, whose streams are others.
  struct Shift {
    uint32_t launches = 0;
    std::vector<uint32_t> streams; ///< by that of the recording
    /// How far its moves take operands, in floats; none: nowhere.
    std::vector<ptrdiff_t> moved = {};
  };
  void run(HostPort &host, std::atomic<uint64_t> *furthestLaunch,
           const Shift *shift = nullptr);
  /// Where a buffer that lasts lies behind the last replay.
  struct Kept {
    const float *data = nullptr;
    std::shared_ptr<const void> owner;
    uint32_t view = 0; ///< one more than its index; 0: it is none
  };
  const Kept &find(Recording::BufferId buffer) const { return kept.at(buffer); }

  /// Memory it takes, about.
  size_t bytes() const;

private:
  class Builder;
  class Execution;

  /// A nest at its place or, without one, an event.
  struct Step {
    const PreparedNest *nest;
    uintptr_t dst, a, b;
    /// Views that sources are offsets into; 0: they are addresses.
    uint32_t aView, bView;
    uint32_t partBegin = 0, partEnd = 0; ///< of a nest that was joined
    uint32_t ahead = 0;    ///< the next that reads words of the host; 0: none
    uint32_t more : 8 = 0; ///< steps behind it that are run with it
    /// One more than what of `movings`, or behind these the constant words, the
    /// destination is an offset into; 0: it is an address.
    uint32_t dstMoving : 24 = 0;
  };
  /// A nest among those that were joined, where its sources lie `aOffset` and
  /// `bOffset` bytes behind those of all.
  struct Part {
    const PreparedNest *nest;
    uintptr_t a, b;
    uint32_t aView, bView;
    ptrdiff_t aOffset, bOffset;
  };
  struct Event {
    Recording::Operation::Kind kind;
    uint32_t index; ///< of the view, the launch and so on
    uintptr_t data;
    uint32_t dataView;
  };
  struct Interleaved {
    InterleaveProblem problem;
    uintptr_t dst;
    uint32_t dstMoving;                                  ///< as of a step
    std::vector<std::pair<uintptr_t, uint32_t>> sources; ///< as of a step
  };
  struct Task {
    unsigned worker; ///< that is planned to run it, and has its steps
    uint32_t stepBegin, stepEnd;
    uint32_t constantBegin, constantEnd; ///< steps that make constant words
    uint32_t beforeEnd, viewEnd;         ///< behind those of the task before it
  };
  struct Worker {
    std::vector<uint32_t> tasks; ///< in the order in which it is to start them
    std::vector<Step> steps;
    std::vector<Part> parts;
  };

  /// Words that are the same in all runs, in the order in which they are used.
  struct Constants {
    std::shared_ptr<float[]> words;
    bool made = false;
  };
  /// By the streams that they come from.
  using ConstantsByStreams = std::map<std::vector<uint32_t>, Constants>;
  Constants &constantsOf(const Shift *shift);
  bool isConstant(uint32_t view) const {
    return view > views.size() + movings.size();
  }
  /// Whether it is needed for constant words alone, once.
  bool makesConstant(const Step &step) const;

  WorkerPool &pool;
  MemoryRoom *const room;         ///< or null
  size_t constantFloats = 0;      ///< there is room for once at least
  std::vector<bool> forConstants; ///< views
  std::vector<ConstantPlaces::Known> known;
  ConstantsByStreams constantWords;
  ConstantsByStreams::iterator lastConstants; ///< that were used
  std::vector<PreparedNest> nests;
  /// Nests that stand for several: of which one, how many, how far apart.
  std::map<std::array<ptrdiff_t, 5>, PreparedNest> repeated;
  std::vector<Recording::View> views;
  /// Where the memory that moves lies, unmoved, and how it does. In steps they
  /// come behind the views, and constant words behind them.
  std::vector<std::pair<uintptr_t, uint32_t>> movings;
  std::vector<uint32_t> viewUses; ///< tasks that use a view
  std::vector<Event> events;
  std::vector<Interleaved> interleaved;
  /// What is to be found `offset` floats behind the data of an event.
  struct Expectation {
    ptrdiff_t offset;
    uint32_t bits, mask;
  };
  std::vector<std::vector<Expectation>> expectations;
  std::vector<Worker> workers;
  std::vector<Task> tasks;      ///< in the order in which they start as planned
  std::vector<uint32_t> before; ///< tasks that must be complete, by task
  std::vector<uint32_t> lastViews; ///< that tasks use, by task
  std::vector<std::shared_ptr<float[]>> memory;
  size_t floats = 0; ///< in `memory`
  std::vector<float> constants;
  std::map<Recording::BufferId, Kept> kept;
  std::vector<Kept *> keptViews; ///< those of them that are views
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_REPLAY_H
