// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of launches: equal layers that find the wafer in equal states do the
// same, some cycles later, to other words of the host. One of them is written
// down while it runs, and those behind it are replayed where they would run.
#ifndef RUNTIME_STRIPS_LAUNCHMEMORY_H
#define RUNTIME_STRIPS_LAUNCHMEMORY_H

#include "runtime/strips/HostChannels.h"
#include "runtime/strips/MainThread.h"
#include "runtime/strips/RecordedPart.h"
#include "runtime/strips/RepeatedLaunches.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace wsec::runtime {

/// That of one run. States are equal if all words of the SRAM have the same
/// form, no words are under way, and all clocks go the same number of cycles
/// ahead, or stand. Then the control of the next layer, which depends on no
/// data, is that of the last one.
class LaunchMemory {
public:
  using MainThreads = std::vector<std::unique_ptr<MainThread>>;
  /// Runs the launches below `limit`; whether nothing is under way then.
  using RunUntil = std::function<bool(size_t limit)>;

  LaunchMemory(World &world, HostPort &host, WorkerPool &pool,
               HostChannels &channels, MainThreads &mains, RunUntil runUntil,
               std::atomic<uint64_t> *furthestLaunch)
      : world(world), host(host), pool(pool), channels(channels), mains(mains),
        runUntil(std::move(runUntil)), furthestLaunch(furthestLaunch) {}

  /// From now on all that runs is written down, in parts that take at most
  /// about `limitBytes` together.
  void keep(size_t limitBytes);
  /// Runs up to the end of layers, as far as it can.
  void run();
  /// What was written down, which is one run; nothing if some part cannot be
  /// replayed.
  std::vector<std::unique_ptr<RecordedPart>> takeParts();
  /// Launches that were replayed.
  size_t launches() const { return remembered; }

private:
  /// What the next layer follows from, and what tells how long it took.
  struct State {
    std::vector<StripMemory::Layout> layouts;
    std::vector<double> mains, inputs; ///< clocks
    std::vector<double> commands;      ///< when they were taken
    World::Work work;
  };
  void takeFromKept(size_t bytes);
  void run(const RepeatedLaunches &layers);
  bool runOne(const RepeatedLaunches &layers, size_t layer, State &state);
  State state() const;
  std::optional<double> cyclesBetween(const RepeatedLaunches &layers,
                                      size_t layer, const State &before,
                                      const State &after) const;
  bool awaitsStore(const RepeatedLaunches &layers, size_t layer,
                   double start) const;
  std::vector<Replay::Shift> othersBehind(const RepeatedLaunches &layers,
                                          size_t layer) const;
  void move(const Recording &recording,
            std::vector<Replay::Shift> &others) const;
  void skip(const RepeatedLaunches &layers, size_t layer,
            const std::vector<Replay::Shift> &others, const State &before,
            const State &after, double cycles);

  World &world;
  HostPort &host;
  WorkerPool &pool;
  HostChannels &channels;
  MainThreads &mains;
  const RunUntil runUntil;
  std::atomic<uint64_t> *const furthestLaunch; ///< or null
  size_t remembered = 0;
  std::optional<size_t> keepsBytes;
  std::vector<std::unique_ptr<RecordedPart>> parts;
  std::unique_ptr<RecordedPart> open;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_LAUNCHMEMORY_H
