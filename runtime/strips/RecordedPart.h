// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of a run, from one moment in which nothing is under way to another,
// that was written down and can be replayed where it ran.
#ifndef RUNTIME_STRIPS_RECORDEDPART_H
#define RUNTIME_STRIPS_RECORDEDPART_H

#include "runtime/engine/StoreOrder.h"
#include "runtime/strips/Replay.h"
#include "runtime/strips/World.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace wsec::runtime {

/// Where words lie, and what keeps them there.
struct Location {
  const float *data = nullptr;
  std::shared_ptr<const void> owner = {};
};
/// Of the views of all strips, in order.
using Locations = std::vector<Location>;

class RecordedPart {
public:
  /// Takes at most about `limitBytes`, or is not usable.
  RecordedPart(size_t limitBytes, const ProgramImage &image)
      : recording(
            std::make_unique<Recording>(limitBytes, image.lastingWords())) {}

  /// Writes down what follows in a run. Only while nothing runs, as in `end`.
  void begin(World &world, const StoreOrder &order);
  void end(World &world);

  const Recording &recorded() const { return *recording; }
  /// The words of persistent buffers that change, also in further parts.
  std::vector<Recording::Words> lastingWrites() const;
  /// Whether it can be replayed.
  bool usable() const;
  /// Whether it can be replayed behind itself, too: it leaves each view, of as
  /// many as there were, where it was or in memory of its own.
  bool repeats() const;

  /// Makes ready for replays, which is all that can be done with it then.
  void prepare(WorkerPool &pool);
  bool prepared() const { return layer != nullptr; }
  /// Views lie at `locations`, which become those behind it.
  void replay(HostPort &host, std::atomic<uint64_t> *furthestLaunch,
              const Replay::Shift *shift, Locations &locations);
  /// Memory it takes, about.
  size_t bytes() const;

  /// Further parts that it stands for, one behind the other.
  std::vector<Replay::Shift> shifts;

private:
  using Views = std::vector<StripMemory::ViewPlace>;
  static Views viewsOf(const World &world);
  std::set<Recording::BufferId> usedFromBefore() const;

  std::unique_ptr<Recording> recording;
  std::vector<std::pair<Recording::Words, uint32_t>> writes;
  Views before, after;

  /// A view before it that it reads, which is brought here.
  struct Carried {
    size_t view, floats;
    std::unique_ptr<float[]> words;
  };
  std::vector<Carried> carried;
  /// A view behind it: where it was before, or in a buffer.
  struct Left {
    size_t view;
    const Replay::Kept *buffer; ///< or null
    ptrdiff_t offset;
  };
  std::vector<Left> left;
  std::unique_ptr<Replay> layer;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_RECORDEDPART_H
