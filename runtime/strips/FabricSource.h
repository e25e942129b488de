// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The receiving end of an instruction: words of a queue, with the window of
// the instruction cut out.
#ifndef RUNTIME_STRIPS_FABRICSOURCE_H
#define RUNTIME_STRIPS_FABRICSOURCE_H

#include "runtime/strips/StripQueue.h"

#include <algorithm>
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

  /// Asks for the words of the next `uses`, and all that is dropped behind the
  /// last one; `demand` says how it takes those that it uses.
  void ask(Demand demand, size_t uses);
  /// Words of each period that are used while others are not; else 0.
  size_t windowWords() const {
    return windowed && window.used < window.total ? window.used : 0;
  }
  /// Tells when words were taken, of those that nobody was told of: at most
  /// `most`.
  void acknowledge(double first, double last, size_t most = SIZE_MAX) {
    const size_t words = std::min(most, received - acknowledged);
    if (words > 0)
      queue->acknowledge(words, std::min(first, last), last, lane);
    acknowledged += words;
  }
  size_t periods() const { return windowed ? window.periods : 0; }
  size_t periodWords() const { return window.total; }
  /// Whether all words have come that were asked for.
  bool hasAll() const { return received >= wordsAsked; }

  /// The next words that the instruction uses; false if it must wait.
  bool peek(Chunk &words, Actor &reader);
  /// Whether a channel of the host brings words here.
  bool isFromHost() const { return queue->isFromHost; }
  /// Words that its PE holds before it takes any.
  double inbox() const { return queue->inbox; }
  /// Whether somebody wants to know what is asked for.
  bool isAsked() const { return queue->isAsked(); }
  /// Takes chunks of one lane as they are, of words that it has asked for or,
  /// if it has those, of others; at most `most` words. One that no channel
  /// paces and that has more than `unpaced` comes alone. None of a window.
  /// False if it must wait.
  bool take(size_t most, std::vector<Chunk> &into, size_t unpaced,
            Actor &reader) {
    const std::optional<size_t> words =
        queue->take(hasAll() ? most : wordsAsked - received, most, lane, into,
                    unpaced, reader);
    received += words.value_or(0);
    return words.has_value();
  }
  bool takesChunks() const { return lane >= 0 && !windowed; }
  /// Words that came unasked, `uses` of them used, count as asked for.
  void catchUp(size_t uses) {
    if (received <= wordsAsked)
      return;
    queue->takeUnasked(received - wordsAsked, lane);
    wordsAsked = received;
    usesAsked = std::max(usesAsked, uses);
  }
  /// Takes words of the last peek.
  void pop(size_t words);
  /// Drops what follows the last used word; false if it must wait.
  bool finish(Actor &reader);

  /// Arrival of the last word that was dropped.
  double dropped() const { return droppedAt; }
  size_t wordsReceived() const { return received; }
  /// Words received up to that of the last of `uses`, and all that is dropped
  /// behind the last one.
  size_t wordsUntil(size_t uses) const;

private:
  bool front(Chunk &words, Actor &reader);
  void take(size_t words);
  void drop(const Chunk &words, size_t count);
  bool peekWindow(Chunk &words, Actor &reader);
  bool peekLaneWindows(Chunk &words, Actor &reader);
  void cutLane(const Chunk &in, int lane, size_t at, size_t from, size_t to,
               size_t periods) const;
  /// What is left of the current period.
  size_t phase() const { return received % window.total; }

  StripQueue *queue;
  int lanes, lane;
  bool windowed = false;
  Window window;
  size_t received = 0; ///< words taken from the queue
  size_t acknowledged = 0;
  size_t wordsAsked = 0, usesAsked = 0;
  bool wholePeriods = false; ///< the last peek shows these
  double droppedAt = 0;
  // For windows that differ among lanes: periods cut, and the one in work.
  Fifo cut;
  Chunk partial;
  float *target = nullptr;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_FABRICSOURCE_H
