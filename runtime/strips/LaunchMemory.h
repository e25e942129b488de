// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of launches: equal layers that find the wafer in equal states do the
// same, some cycles later, to other words of the host. One of them is written
// down while it runs, and those behind it are replayed where they would run. So
// are launches that an earlier call of the entry wrote down, whose arguments
// are what they were.
#ifndef RUNTIME_STRIPS_LAUNCHMEMORY_H
#define RUNTIME_STRIPS_LAUNCHMEMORY_H

#include "runtime/strips/Footprint.h"
#include "runtime/strips/HostChannels.h"
#include "runtime/strips/MainThread.h"
#include "runtime/strips/RecordedPart.h"
#include "runtime/strips/RepeatedLaunches.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace wsec::runtime {

/// What a run finds, and what tells how long it took.
struct RunState {
  std::vector<StripMemory::Layout> layouts;
  std::vector<double> mains, inputs; ///< clocks
  std::vector<double> commands;      ///< when they were taken
  World::Work work;
};

/// Launches that carry nothing of the arguments of their call, as they ran
/// once: from one state to another.
struct KeptLaunches {
  std::shared_ptr<RecordedPart> part;
  size_t begin = 0, end = 0;
  RunState before, after;
  /// By how much launch wavelets, and each channel, may be later relative to
  /// the rest; negative: not at all. Whether some were awaited that only the
  /// host sends no earlier.
  double lead = 0;
  bool awaits = false;
  std::vector<double> margins;
  std::vector<std::vector<double>> taken; ///< launch words, by strip
  std::vector<LaunchTime> launches;
  /// Streams that were complete, and when; those that came from the store.
  std::vector<std::pair<uint32_t, double>> arrivals, completes;
  std::vector<uint64_t> words; ///< of its streams
  std::unique_ptr<Footprint> footprint;
  /// When words of a queue were taken in the first launches of a layer;
  /// `before`: how many had been when it began.
  struct OfQueue {
    StripQueue *queue;
    size_t before;
    StripQueue::History after;
  };
  std::vector<OfQueue> queues;

  size_t bytes() const;
};
/// Launches that are kept of one entry, by their first.
using KeptByLaunch = std::multimap<size_t, std::shared_ptr<const KeptLaunches>>;

/// The memory of one run. States are equal if all words of the SRAM have the
/// same form, no words are under way, and all clocks go the same number of
/// cycles ahead, or stand. Then the control of the next layer, which depends on
/// no data, is that of the last one.
class LaunchMemory {
public:
  using MainThreads = std::vector<std::unique_ptr<MainThread>>;
  /// Runs the launches below `limit`; whether nothing is under way then.
  using RunUntil = std::function<bool(size_t limit)>;

  LaunchMemory(World &world, HostPort &host, WorkerPool &pool,
               HostChannels &channels, MainThreads &mains, RunUntil runUntil,
               std::atomic<uint64_t> *furthestLaunch, KeptByLaunch *kept,
               size_t keptRoom, MemoryRoom *room);

  /// From now on all that runs is written down, in parts that take at most
  /// about `limitBytes` together.
  void keep(size_t limitBytes);
  /// Runs up to the end of the call, as far as it can in parts.
  void run();
  /// What was written down, which is one run; nothing if some part cannot be
  /// replayed.
  PartUses takeParts();
  /// Launches that were replayed.
  size_t launches() const { return remembered; }

private:
  // ---- one call
  void begin(bool wanted = false);
  void close();
  bool advanceTo(size_t limit);
  size_t nextCut(size_t launch, size_t limit) const;

  // ---- layers
  void runSpan(size_t limit);
  void run(const RepeatedLaunches &layers);
  bool runOne(const RepeatedLaunches &layers, size_t layer, RunState &state);
  bool repeats(const PartUses &layer) const;
  RunState state() const;
  std::optional<double> cyclesBetween(const RepeatedLaunches &layers,
                                      size_t layer, const RunState &before,
                                      const RunState &after) const;
  bool awaitsStore(const RepeatedLaunches &layers, size_t layer,
                   double start) const;
  std::vector<Replay::Shift> othersBehind(const RepeatedLaunches &layers,
                                          size_t layer) const;
  std::vector<int64_t> wordsMoved(const RecordedPart &part,
                                  uint32_t launches) const;
  std::optional<PartUses> follower(const PartUses &layer,
                                   const Replay::Shift &later) const;
  Locations locations() const;
  void moveViews(const Locations &to);
  void skip(const RepeatedLaunches &layers, size_t layer,
            const std::vector<Replay::Shift> &others, const RunState &before,
            const RunState &after, double cycles);
  void runParts(size_t limit);
  std::shared_ptr<KeptLaunches> runHead(size_t from, size_t to,
                                        const RunState &before);
  void replayHead(const KeptLaunches &head, size_t to, double cycles);

  // ---- launches of earlier calls
  std::shared_ptr<KeptLaunches> beginKept(size_t from, size_t to);
  void endKept(const std::shared_ptr<KeptLaunches> &its);
  bool replayKept(size_t from, size_t to);
  std::optional<double> cyclesSince(const KeptLaunches &its) const;
  std::vector<std::pair<uint32_t, double>> completesOf(size_t from,
                                                       size_t to) const;
  std::vector<uint64_t> wordsOf(size_t from, size_t to) const;
  void replay(const KeptLaunches &its, const Replay::Shift *shift,
              double cycles);
  void goOnBehind(const KeptLaunches &its, const Replay::Shift *shift,
                  double cycles);

  World &world;
  HostPort &host;
  WorkerPool &pool;
  HostChannels &channels;
  MainThreads &mains;
  const RunUntil runUntil;
  std::atomic<uint64_t> *const furthestLaunch; ///< or null
  KeptByLaunch *const kept;                    ///< or null
  size_t keptRoom;                             ///< for more of them, in bytes
  MemoryRoom *const room;     ///< for words that replays make once, or null
  size_t arrivalsBefore = 0;  ///< those that are kept now
  bool awaitedBefore = false; ///< before these
  const AddressArguments addresses;
  const std::vector<bool> varies; ///< launches that carry what arguments decide
  const bool anyVaries;
  std::vector<uint32_t> numbers; ///< equal ones of launches that are alike
  size_t at = 0;                 ///< launches that have run
  bool resting = true;           ///< nothing is under way
  size_t remembered = 0;
  std::optional<size_t> keepsBytes;
  bool inLayer = false; ///< which is written down in any case
  size_t layerRoom = 0; ///< for the rest of it, in bytes
  PartUses uses;
  std::shared_ptr<RecordedPart> open;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_LAUNCHMEMORY_H
