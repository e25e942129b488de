// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The receiving end of an instruction: words of a queue, with the window of
// the instruction cut out.
#ifndef RUNTIME_STRIPS_FABRICSOURCE_H
#define RUNTIME_STRIPS_FABRICSOURCE_H

#include "runtime/strips/StripQueue.h"

#include <vector>

namespace wsec::runtime {

/// Each period of `total` words has `used` words from `offset` on; the others
/// are dropped.
struct Window {
  size_t periods = 0, total = 0, offset = 0, used = 0;
  /// One offset per lane where they differ; then `offset` does not count.
  std::vector<size_t> laneOffsets;
};

class FabricSource {
public:
  /// lane -1: for all lanes together.
  FabricSource(StripQueue &queue, int lanes, int lane)
      : queue(&queue), lanes(lanes), lane(lane) {}
  FabricSource(StripQueue &queue, int lanes, int lane, Window cut)
      : queue(&queue), lanes(lanes), lane(lane), windowed(true),
        window(std::move(cut)) {}

  /// The next words that the instruction uses; false if it must wait.
  bool peek(Chunk &words, Actor &reader);
  /// Takes words of the last peek.
  void pop(size_t words);
  /// Drops what follows the last used word; false if it must wait.
  bool finish(Actor &reader);

  /// Arrival of the last word that was dropped.
  double dropped() const { return droppedAt; }
  size_t wordsReceived() const { return received; }
  /// Words received for each word used.
  double wordsPerUse() const {
    return windowed && window.used ? double(window.total) / double(window.used)
                                   : 1;
  }

private:
  bool front(Chunk &words, Actor &reader);
  void take(size_t words);
  void drop(const Chunk &words, size_t count);
  bool peekWindow(Chunk &words, Actor &reader);
  bool peekLaneWindows(Chunk &words, Actor &reader);
  void recordCut(const Chunk &in, int lane, size_t at, size_t from, size_t to,
                 size_t periods) const;
  /// What is left of the current period.
  size_t phase() const { return received % window.total; }

  StripQueue *queue;
  int lanes, lane;
  bool windowed = false;
  Window window;
  size_t received = 0;       ///< words taken from the queue
  bool wholePeriods = false; ///< the last peek shows these
  double droppedAt = 0;
  // For windows that differ among lanes: periods cut, and the one in work.
  Fifo cut;
  Chunk partial;
  float *target = nullptr;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_FABRICSOURCE_H
