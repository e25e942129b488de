// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of a run, from one moment in which nothing is under way to another,
// that was written down and can be replayed where it ran.
#ifndef RUNTIME_STRIPS_RECORDEDPART_H
#define RUNTIME_STRIPS_RECORDEDPART_H

#include "runtime/engine/StoreOrder.h"
#include "runtime/strips/MovedOperands.h"
#include "runtime/strips/Replay.h"
#include "runtime/strips/World.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace wsec::runtime {

/// Where words lie, and what keeps them there.
struct Location {
  const float *data = nullptr;
  std::shared_ptr<const void> owner = {};
};
/// Where the views of all strips lie, in order.
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

  /// The words of persistent buffers that change.
  std::vector<Recording::Words> lastingWrites(const Replay::Shift *shift) const;
  /// Whether anything was written down, and what it takes until `prepare`.
  bool isEmpty() const { return recording && recording->operations.empty(); }
  size_t recordedBytes() const { return recording->bytes(); }
  /// Whether it can be replayed.
  bool usable() const { return isUsable; }
  /// Whether numbers decide what it does: a replay may be Diverged.
  bool mayDiverge() const { return diverges; }
  /// For each view behind it which of those before it it is; -1: it lies in
  /// memory of the part.
  const std::vector<ptrdiff_t> &origins() const { return from; }

  /// What is done with words that last, in the order of each strip, and how
  /// arguments move operands.
  LastingAccesses accesses;
  const std::vector<Recording::Move> &moves() const { return itsMoves; }

  /// Makes ready for replays, which is all that can be done with it then.
  /// `room` is for words that are made once for all of them, or null.
  void prepare(WorkerPool &pool, MemoryRoom *room);
  bool prepared() const { return layer != nullptr; }
  /// Views lie at `locations`, which become those behind it.
  void replay(HostPort &host, std::atomic<uint64_t> *furthestLaunch,
              const Replay::Shift *shift, Locations &locations);
  /// Memory it takes, about.
  size_t bytes() const;

private:
  using Views = std::vector<StripMemory::ViewPlace>;
  static Views viewsOf(const World &world);
  std::set<Recording::BufferId> usedFromBefore() const;
  bool findUsable() const;

  std::unique_ptr<Recording> recording;
  std::vector<std::pair<Recording::Words, uint32_t>> writes;
  Views before, after;
  bool isUsable = false, diverges = false;
  std::vector<ptrdiff_t> from;
  std::vector<Recording::Move> itsMoves;

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

/// A part where it was written down, or where another one stands for it.
struct PartUse {
  std::shared_ptr<RecordedPart> part;
  std::optional<Replay::Shift> shift = {};

  const Replay::Shift *its() const { return shift ? &*shift : nullptr; }
};
using PartUses = std::vector<PartUse>;

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_RECORDEDPART_H
