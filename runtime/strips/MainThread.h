// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main thread of the PEs of a strip: waits for launch wavelets and runs
// routines.
#ifndef RUNTIME_STRIPS_MAINTHREAD_H
#define RUNTIME_STRIPS_MAINTHREAD_H

#include "runtime/strips/Datapath.h"
#include "runtime/strips/Microthread.h"
#include "runtime/strips/PendingWork.h"

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace wsec::runtime {

class MainThread : public Actor {
public:
  MainThread(World &world, Strip &strip);

  void run() override;
  bool done() const { return finished; }
  /// Instructions that wait.
  std::vector<const InstructionRun *> waits() const;
  /// Adds them for all their PEs.
  void addTo(WaitGraph &graph) const;
  const Strip &where() const { return strip; }

  /// Whether it has done all that it may begin, as have its microthreads.
  bool rests() const;
  double clock() const { return now; }
  /// By how much the launch wavelets it heard since the last call came earlier
  /// than it was ready for them, at least; negative: it waited.
  double takeLead() { return std::exchange(lead, INFINITY); }
  /// Goes on behind further launches, `cycles` later. Only while it rests.
  void skip(size_t launches, double cycles);

private:
  /// A body in execution; the outermost is the routine's.
  struct Frame {
    const Body *body;
    size_t next = 0;
    bool loop = false;
    int64_t iterations = 1;
    bool diverges = false; ///< in lanes of the last of `divergences`
  };
  /// A branch or loop that some lanes take otherwise, one behind the other: on
  /// the wafer they do so at the same time. Nothing in it waits.
  struct Divergence {
    std::vector<int> lanes; ///< at work, in order
    /// What others do then, of a branch.
    const Body *otherwise = nullptr;
    std::vector<int> others = {};
    /// Turns of each lane, of a loop.
    std::vector<int64_t> turns = {};
  };
  bool nextLaunch();
  bool hears(size_t words, bool runs);
  void endLaunch();
  bool finishPending();
  void step();
  bool entersGuarded(int guard, bool runs);
  void execute(const InstructionCode &code);
  void executeLanes(const InstructionCode &code);
  void executeInMemory(const InstructionCode &code);
  std::vector<std::pair<int, int>> lanesThatAgree(const InstructionCode &code);
  /// The lanes at work take so long.
  void advance(double cycles);
  void settle();
  /// All lanes wait for the last.
  void join();
  void execute(const LoadCode &load);
  void execute(const ComputeCode &compute);
  /// Sets a local of all lanes at work to `find(lane)`; `alike`: to that of
  /// the first.
  template <class Find>
  void setLocal(uint16_t local, bool alike, const Find &find);
  int32_t load(const LoadCode &load, int64_t offset, int lane);
  bool differs(const AffineFunction &function) const;
  bool differs(const InstructionCode &code) const;
  bool passesOn(const InstructionCode &code) const;
  void enter(const LoopCode &loop);
  void enter(const IfCode &branch);
  /// Calls `visit(lane, value)` for all lanes at work.
  template <class Visit>
  void forEachValue(const AffineFunction &function, const Visit &visit);
  void leaveBody();
  bool awaitMicrothread(const InstructionCode &code,
                        const std::vector<int> &inLanes);
  void checkPending(InstructionRun &run) const;
  [[noreturn]] void refuse(ErrorClass errorClass, int lane,
                           const std::string &what) const;
  Microthread &microthread(int index);
  void shareDatapath();
  void takeWords(int thread, const InstructionRun &run);
  void giveWork(const InstructionRun &run);
  Bindings bindings(const std::vector<int64_t> &scalars, int lane) const {
    return {scalars.data(), loops.data(),
            locals.data() + size_t(lane) * localsOfLane};
  }
  /// Bindings of what does not differ among the lanes at work.
  Bindings bindings() const {
    return bindings(strip.scalars, lanesAtWork()[0]);
  }
  const std::vector<int> &lanesAtWork() const {
    return divergences.empty() ? allLanes : divergences.back().lanes;
  }

  /// Synchronous instructions whose colors differ among the lanes run as if
  /// on this microthread, which is awaited at once.
  static constexpr int laneThread = 8;

  ActorGroup group; ///< this thread and its microthreads
  World &world;
  Strip &strip;
  size_t launch = 0;
  size_t heard = 0;   ///< launch wavelets, and what they carry
  size_t hearing = 0; ///< of these, for `launch`
  bool running = false, finished = false;
  double now = 0; ///< of the last lane
  /// How far each lane is ahead of it, if any is, since they did different
  /// things; until words or the next launch bring them together.
  std::vector<double> ahead;
  Datapath datapath;
  double lead = INFINITY;
  double begun = 0;               ///< the synchronous instruction
  std::vector<double> ownWork;    ///< of it, in each lane or in all
  std::optional<double> ownShare; ///< of its work at the datapath
  std::vector<Frame> frames;
  std::vector<Divergence> divergences;
  std::vector<int64_t> loops;
  /// Arguments of the launch, and what was loaded or computed, lane by lane; of
  /// those that differ, or may, `loose` has the numbers.
  std::vector<int32_t> locals;
  const size_t localsOfLane;
  std::vector<int> allLanes;
  std::vector<bool> loose;
  size_t loopDepth = 0;
  std::optional<InstructionRun> current;
  unsigned awaited = 0; ///< microthreads, a bit set
  std::array<std::unique_ptr<Microthread>, laneThread + 1> microthreads;
  PendingWork pending;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_MAINTHREAD_H
