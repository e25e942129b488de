// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all actors of a run share: strips, queues and where sent words go.
#ifndef RUNTIME_STRIPS_WORLD_H
#define RUNTIME_STRIPS_WORLD_H

#include "runtime/engine/Launches.h"
#include "runtime/engine/Router.h"
#include "runtime/engine/WaitGraph.h"
#include "runtime/observe/Observer.h"
#include "runtime/strips/CommandTree.h"
#include "runtime/strips/Scheduler.h"
#include "runtime/strips/Strip.h"
#include "runtime/strips/StripQueue.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace wsec::runtime {

class Footprint;
class LastingAccesses;

/// What never changes from run to run.
struct ProgramImage {
  /// Whether strips of PEs that do the same are `joined` where one might wait
  /// for itself (Strip.h).
  explicit ProgramImage(const program::Program &program, bool joins);

  const program::Program &program;
  const program::Machine &machine;
  RouterTables router;
  std::vector<ClassCode> classes;
  std::vector<std::unique_ptr<Strip>> strips;
  /// Strip of each PE, row by row; -1: no code.
  std::vector<int> stripOf;
  CommandTree commands; ///< empty if no entry launches anything
  /// Which buffers persist; itself it holds nothing.
  const PersistentState persistent;
  /// Words of persistent buffers that are at home, in order.
  std::vector<Recording::Words> lastingWords() const;
  /// Whether code loads where operands lie: then what runs depends on data.
  bool loads = false;
  /// Whether some strip may wait for itself.
  bool joined = false;

private:
  void mapStrips();
};

/// Where the words go that a strip, or a lane of the west edge, sends on one
/// color: lanes [from, from + count) of the sender to lanes [to, to + count)
/// of a queue, or lane `from` to all of these.
struct Link {
  StripQueue *queue;
  int from, to, count;
  bool broadcast;
  double latency;
  size_t room; ///< for words, before the sender waits
};

class Links {
public:
  /// Sends words of all lanes. `ticket`, if there is one, waits until they are
  /// taken.
  void push(const Chunk &chunk, Ticket *ticket) const;
  /// Sends words of one lane; the chunk holds only these.
  void push(Chunk chunk, int lane, Ticket *ticket) const;
  /// Makes a ticket for all that a lane has sent (-1: that all have).
  void await(int lane, Ticket &ticket) const;
  /// Sends several chunks of one lane, which it takes.
  void push(std::span<Chunk> chunks, int lane) const;
  /// How many words all receivers of a lane (-1: of all) have asked for beyond
  /// those they got, and how the slowest takes them, in time of the sender; 0:
  /// some has not, and the sender is woken when it does.
  size_t asked(Actor &sender, int lane, Demand &slowest) const;
  /// Whether what a lane (-1: any) sends comes back to it, whose queue this is.
  bool reach(const StripQueue &queue, int lane) const;
  /// Whether the sender should wait; it is then woken.
  bool full(Actor &writer) const;
  bool full(Actor &writer, int lane) const;

  std::vector<Link> links;
  size_t leastRoom = SIZE_MAX; ///< of them
  int exitRow = -1;            ///< where words leave the mesh; -1: none do
  /// Lanes whose PE has no valid route to send on.
  std::vector<int> mute;

  /// Makes ready for calls with one of `lanes` lanes, once all links are there.
  void sortByLane(int lanes);

private:
  /// Calls `visit(link)` for those that carry words of a lane, in order, until
  /// it says true; whether it did.
  template <class Visit>
  bool anyOf(int lane, const Visit &visit) const;

  /// Links of lane l are ofLane[firstOfLane[l]] up to that of l + 1.
  std::vector<uint32_t> firstOfLane, ofLane;
};

/// One run. StripQueues and links appear when first used.
class World {
public:
  World(ProgramImage &image, const Call &call, const EngineOptions &options,
        WorkerPool &pool);

  ProgramImage &image;
  const Call call;
  Recording *recording = nullptr;
  Observer *const observer; ///< or null
  Scheduler scheduler;
  Commands commands;

  /// Told what is done with words that last; or null.
  LastingAccesses *accesses = nullptr;
  bool movesOperands = false; ///< arguments may, so that it is worth knowing
  /// Words that leave, of launches with several streams, by launch and row of
  /// the mesh, and by color.
  std::map<std::pair<size_t, int>, std::map<int, uint64_t>> exitWords;
  Footprint *footprint = nullptr; ///< told what is read and written; or null

  /// What follows is written down, or no longer. Only while nothing runs.
  void record(Recording *into);
  /// Launches from this one on wait.
  size_t untilLaunch = SIZE_MAX;
  /// Whether some PE has waited for its launch wavelet, and that for nobody.
  std::atomic<bool> awaitsCommands{false};
  /// When each stream had brought all its words of a channel; noted
  /// while there is a recording.
  std::vector<std::pair<uint32_t, double>> arrivals;

  /// The PEs of a strip, or that of one lane, for the observer.
  ObservedPes observedPes(const Strip &strip, int lane = -1) const {
    const ObservedPes all(pesOfStrip[size_t(strip.index)]);
    return lane < 0 ? all : all.subspan(size_t(lane), 1);
  }

  /// Who reads exit queues at `row`, in the recording.
  int exitReader(int row) const { return int(image.strips.size()) + row; }

  StripQueue &queue(const Strip &strip, int color);
  /// The queue behind the east edge at `row`.
  StripQueue &exitStripQueue(int color, int row);
  const Links &links(const Strip &strip, int color);
  /// Cycles for a word of a launch that leaves at a row of the mesh on a color:
  /// those of all colors, in turns as long as any has words, share its link.
  double exitPerWord(size_t launch, int row, int color) const;
  Links hostLinks(int color, int row);

  /// Makes room in full queues, unless they hold too much; whether any
  /// sender waited.
  bool growStripQueues();
  /// Calls `visit(queue)` for those of PEs, in order.
  template <class Visit>
  void forEachQueue(const Visit &visit) const {
    for (const auto &w : wiring)
      for (const auto &[color, queue] : w->queues)
        visit(*queue);
  }
  /// Lets senders go on that wait for others to take their words. A strip is
  /// as late as the last of its PEs, so these may wait for what one of them
  /// would have brought about. Whether there are some.
  bool releaseSenders();
  /// Throws UnreadTraffic if a queue holds words.
  void checkAllRead();

  /// Adds the words that wait for PEs.
  void addTo(WaitGraph &graph) const;

  /// "color 5: words wait", for each color on which some do.
  std::vector<std::string> describeQueues(const Strip &strip, int lane) const;

  std::string describeLaunch(size_t launch) const;
  /// A launch starts, or something of it happens at a time.
  void recordLaunch(size_t launch, double time);
  /// What a microthread of a strip did for a launch ends; `launches` is told
  /// when the strip goes on to another, or by `noteEnds`.
  void recordEnd(const Strip &strip, size_t launch, double end);
  /// Only while nothing runs.
  void noteEnds();
  void noteArrival(uint32_t stream, double when);
  /// Counts what a strip does.
  void count(const Strip &strip, uint64_t instructions, uint64_t elements) {
    spend(elements);
    Done &its = done[size_t(strip.index)];
    its.work.instructions += instructions;
    its.work.operations += elements;
  }

  /// Takes work off what the host allows.
  void spend(uint64_t work) {
    if (workLimit != 0 && (work > workLimit || (spent += work) > workLimit))
      refuseWork();
  }

  /// What was done: vector instructions of PEs, their elements, and what counts
  /// for the limit.
  struct Work {
    uint64_t instructions = 0, operations = 0, spent = 0;
  };
  /// Only while nothing runs.
  Work work() const;
  /// Does that work again, `times`.
  void repeat(uint64_t times, const Work &work) {
    spend(times * work.spent);
    repeated.instructions += times * work.instructions;
    repeated.operations += times * work.operations;
  }

  LaunchLog launches;

private:
  /// StripQueues and links of one strip by color.
  struct Wiring {
    std::mutex lock;
    std::map<int, std::unique_ptr<StripQueue>> queues;
    std::map<int, std::unique_ptr<Links>> links;
  };
  /// Queue and links of a color, looked up without the lock.
  struct Known {
    std::atomic<StripQueue *> queue{nullptr};
    std::atomic<const Links *> links{nullptr};
  };
  Known &known(const Strip &strip, int color);
  [[noreturn]] void refuseColor(int color, const Strip &strip) const;
  void connect(Links &links, int color, const Flow &flow, int fromLane,
               const Strip *sender);

  [[noreturn]] void refuseWork() const;

  const size_t queueWords, queueBytes;
  std::vector<std::vector<int>> pesOfStrip; ///< if there is an observer
  const uint64_t workLimit;
  std::atomic<uint64_t> spent{0};
  /// By one strip, whose actors take turns.
  struct alignas(64) Done {
    Work work;
    size_t launch = SIZE_MAX; ///< that a microthread did something for ...
    double end = 0;           ///< ... until then
  };
  std::vector<Done> done; ///< by strip
  Work repeated;
  std::vector<std::unique_ptr<Wiring>> wiring;
  std::vector<Known> knownWiring; ///< by strip and color
  std::mutex exitLock;
  SpinLock launchLock;
  std::map<std::pair<int, int>, std::unique_ptr<StripQueue>> exits;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_WORLD_H
