// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words on their way to the PEs of a strip on one color.
#ifndef RUNTIME_STRIPS_STRIPQUEUE_H
#define RUNTIME_STRIPS_STRIPQUEUE_H

#include "runtime/strips/Chunk.h"
#include "runtime/strips/SpinLock.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace wsec::runtime {

class Actor;
class Recording;
class Scheduler;
class StripQueue;

/// How a reader takes the words that it asks for. The next one comes no earlier
/// than there is room for it behind those that it has not taken.
struct Demand {
  double start = 0;           ///< when it can take the first
  double perWord = 0;         ///< cycles between words that it uses
  double queued = 0;          ///< so many come before it takes any
  size_t used = 1, total = 1; ///< of each `total` words it uses `used`
  bool relays = false; ///< it sends them on, and drops the others meanwhile
  bool echo = false;   ///< it hears them again on its ramp
};

/// Cycles that `words` of a line for one column take of a channel: the ramp of
/// its head carries each again where the head hears what it relays, but for the
/// last, which falls into the words of the next column. What is more than the
/// queue holds comes as it is used, and the words of the next column behind it.
inline double feedCycles(double words, double queued, double perWord,
                         bool echo) {
  return std::max(echo ? std::max(1.5 * words, 2 * words - 1) : words,
                  perWord * (words - queued));
}

/// What a sender waits for before it goes on: words that it has sent, but for
/// those that fit the queues on their way, are to be taken.
struct Ticket {
  Actor *sender = nullptr;
  const StripQueue *own = nullptr; ///< words for it are waited for by nobody
  std::atomic<int> open{0};        ///< queues where they have not been taken
  std::atomic<double> when{0};     ///< the sender learns of the last one
  std::atomic<bool> released{false};

  void taken(double time);
};

/// Where a ticket waits: in front of these words there is room for `room`, and
/// the sender knows of a word that was taken `back` cycles later.
struct Expected {
  Ticket *ticket = nullptr; ///< or null
  size_t room = 0;
  double back = 0;
};

/// What waits for the lanes of one strip on one color. As long as all lanes
/// get the same number of words they share one queue; a lane that gets or
/// takes words of its own has a queue behind it. Which form is in use never
/// changes what a reader sees: words, their chunk boundaries and times.
class StripQueue {
public:
  StripQueue(Scheduler &scheduler, int lanes, size_t capacity,
             Recording *recording, int reader)
      : recording(recording), readerIndex(reader), scheduler(scheduler),
        lanes(lanes), capacity(ptrdiff_t(capacity)) {}

  bool isFromHost = false; ///< a channel brings words for some lanes
  double inbox = 0;        ///< words that a PE holds before it takes any
  Recording *recording;    ///< or null
  const int readerIndex;   ///< who reads, in a recording

  /// Adds words for lanes [from, from + count).
  void push(Chunk chunk, int from, int count, const Expected &expected = {});
  /// Adds chunks that come `latency` cycles later; takes them.
  void push(std::span<Chunk> chunks, double latency, int from, int count);

  /// The next words for all lanes, which may have to be gathered; false, and
  /// `reader` is woken later, if some lane has none.
  bool front(Chunk &chunk, Actor &reader);
  void pop(size_t words);

  /// The next words for one lane, as for all.
  bool front(Chunk &chunk, int lane, Actor &reader);
  void pop(size_t words, int lane);
  /// Takes chunks of a lane as they are, at most `most` words, until there are
  /// `enough`. One that no channel paces and that has more than `unpaced` comes
  /// alone. Returns their words; none, and `reader` is woken later, if the lane
  /// has none.
  std::optional<size_t> take(size_t enough, size_t most, int lane,
                             std::vector<Chunk> &into, size_t unpaced,
                             Actor &reader);

  /// A reader of a lane (-1: of all) asks for further words.
  void ask(const Demand &demand, size_t words, int lane);
  /// It got words that it had not asked for.
  void takeUnasked(size_t words, int lane);
  /// How many words all lanes in [from, from + count) have asked for beyond
  /// those they got, and how the slowest takes them; 0: some lane has not, and
  /// `sender` is woken when it does.
  size_t asked(int from, int count, Actor &sender, Demand &slowest);
  /// Whether anybody has called that: who relays words that nobody paces does
  /// not ask. Readers that wait then are woken.
  bool isAsked() const { return isPaced.load(std::memory_order_acquire); }

  /// A reader of a lane (-1: of all) has taken words, evenly from `first` to
  /// `last`.
  void acknowledge(size_t words, double first, double last, int lane);
  /// Who has sent words in chunks that each fit waits until those of lanes
  /// [from, from + count) are taken that do not fit together; for rooms of up
  /// to `mostRoom`.
  void await(int from, int count, const Expected &expected);
  static constexpr size_t mostRoom = 64;
  /// Lets those go on that wait for words to be taken; whether there are some.
  bool release();

  /// Whether a sender should wait; it is then woken when there is room.
  bool full(Actor &writer);
  /// More room; returns whether anybody waited for it.
  bool grow();
  /// Bytes of the words that wait, while nobody adds or takes some.
  size_t waitingBytes() const { return size_t(held) * sizeof(float); }

  /// When words were taken, as far as senders of further ones may wait for
  /// that. While the queue rests.
  struct History;
  History history() const;
  /// By all lanes.
  size_t wordsTaken() const {
    return std::accumulate(takenByLane.begin(), takenByLane.end(),
                           takenByAll * size_t(lanes));
  }
  void goOn(History from, double cycles);
  /// Whether no words wait, and none are lacking. While nobody adds, takes or
  /// asks.
  bool rests() const;
  /// Words left, for the check at the end: lanes with data.
  std::vector<int> lanesWithWords();

private:
  struct Lane {
    Fifo fifo;
    Actor *reader = nullptr;
  };
  Lane &lane(int index) {
    const bool has = !perLane.empty() && perLane[size_t(index)];
    return has ? *perLane[size_t(index)] : makeLane(index);
  }
  Lane &makeLane(int index);
  void add(Chunk chunk, int from, int count);
  void wakeReader();
  void wakeReaders();
  void pushLane(Chunk chunk, int index);
  void splitShared();
  void gather();
  std::vector<Chunk> takeFronts();
  void awaitWords(Lane &lane, Actor &actor);
  void hold(ptrdiff_t words);
  void give(size_t words, int from, int count);
  ptrdiff_t lacking(int lane) const {
    return askedOfAll.words +
           (askedOfLane.empty() ? 0 : askedOfLane[size_t(lane)].words);
  }
  ptrdiff_t sharedWords(const Chunk &chunk, size_t words) const {
    return ptrdiff_t(words) * (chunk.laneStride ? lanes : 1);
  }
  void wakeWriters();

  Scheduler &scheduler;
  SpinLock lock;
  const int lanes;
  Fifo shared;
  std::vector<std::unique_ptr<Lane>> perLane; ///< behind `shared`
  int busyLanes = 0;                          ///< with a non-empty queue
  int laneReaders = 0;                        ///< waiting
  Actor *reader = nullptr;
  std::vector<Actor *> writers;
  std::atomic<ptrdiff_t> held{
      0};                ///< words waiting, per lane where lanes differ
  ptrdiff_t counted = 0; ///< of `held`, by the scheduler
  ptrdiff_t capacity;

  /// Words that were asked for and not sent, and the last demand.
  struct Asked {
    ptrdiff_t words = 0;
    Demand demand;
  };
  /// A ticket for word number `word` of lanes [from, from + count), the first
  /// being 1.
  struct Watch {
    Expected expected;
    int from, count;
    size_t word;
    int left; ///< of the lanes
  };
  void watch(const Expected &expected, int from, int count);
  /// Words that were taken, evenly from `first` to `last`, the last of them
  /// word number `end`.
  struct Taken {
    size_t end, words;
    double first, last;
    double when(size_t word) const {
      const double share =
          words < 2 ? 1 : double(word + words - 1 - end) / double(words - 1);
      return first + (last - first) * share;
    }
  };
  void close(Ticket &ticket);
  void noteTaken(size_t words, double first, double last, int lane);
  void joinHistories();
  // Words since the beginning; of lanes, in addition to those of all.
  size_t givenToAll = 0, takenByAll = 0;
  std::vector<size_t> givenToLane, takenByLane;
  std::vector<Watch> watches;
  /// The last words that were taken, by all lanes alike or, once one has taken
  /// words of its own, by each, until all have taken enough together.
  std::vector<Taken> recentOfAll;
  std::vector<std::vector<Taken>> recentOfLane;
  bool lanesDiffer = false;
  size_t together = 0; ///< words that all have taken since they differ
  size_t givenTo(int lane) const {
    return givenToAll + (givenToLane.empty() ? 0 : givenToLane[size_t(lane)]);
  }
  size_t takenBy(int lane) const {
    return takenByAll + (takenByLane.empty() ? 0 : takenByLane[size_t(lane)]);
  }

  Asked askedOfAll;
  std::vector<Asked> askedOfLane; ///< in addition, once a lane was asked of
  std::atomic<bool> isPaced{false};
  /// Senders that wait for a lane to ask.
  std::vector<std::pair<Actor *, int>> awaitingAsk;
};

struct StripQueue::History {
  size_t givenToAll = 0, takenByAll = 0;
  std::vector<size_t> givenToLane, takenByLane;
  std::vector<Taken> recentOfAll;
  std::vector<std::vector<Taken>> recentOfLane;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_STRIPQUEUE_H
