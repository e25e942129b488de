// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripQueue.h"

#include "runtime/strips/GatheredWords.h"
#include "runtime/strips/Scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace wsec::runtime {

StripQueue::Lane &StripQueue::makeLane(int index) {
  perLane.resize(size_t(lanes));
  perLane[size_t(index)] = std::make_unique<Lane>();
  return *perLane[size_t(index)];
}

void StripQueue::hold(ptrdiff_t words) {
  // Of the sum for all queues, which is for the report, only what matters.
  constexpr ptrdiff_t few = 1 << 10;
  const ptrdiff_t now = held.load(std::memory_order_relaxed) + words;
  held.store(now, std::memory_order_relaxed);
  if (std::abs(now - counted) >= few)
    scheduler.countStripQueueBytes((now - std::exchange(counted, now)) *
                                   ptrdiff_t(sizeof(float)));
}

void StripQueue::pushLane(Chunk chunk, int index) {
  Lane &l = lane(index);
  busyLanes += l.fifo.empty();
  hold(ptrdiff_t(chunk.words()));
  l.fifo.push(std::move(chunk));
  if (l.reader) {
    --laneReaders;
    scheduler.wake(*std::exchange(l.reader, nullptr));
  }
}

/// Notes that lanes get words.
void StripQueue::give(size_t words, int from, int count) {
  if (from == 0 && count == lanes) {
    givenToAll += words;
    askedOfAll.words -= ptrdiff_t(words);
    return;
  }
  if (askedOfLane.empty())
    askedOfLane.resize(size_t(lanes));
  if (givenToLane.empty())
    givenToLane.resize(size_t(lanes));
  for (int i = from; i < from + count; ++i) {
    givenToLane[size_t(i)] += words;
    askedOfLane[size_t(i)].words -= ptrdiff_t(words);
  }
}

void Ticket::taken(double time) {
  double latest = when.load();
  while (latest < time && !when.compare_exchange_weak(latest, time)) {
  }
}

/// Notes that a sender waits for words that were given last. Lanes that were
/// given different numbers are watched one by one.
void StripQueue::watch(const Expected &expected, int from, int count) {
  const int step = givenToLane.empty() ? count : 1;
  for (int lane = from; lane < from + count; lane += step) {
    const size_t given =
        givenToAll + (givenToLane.empty() ? 0 : givenToLane[size_t(lane)]);
    watches.push_back({expected, lane, step, given - expected.room, step});
    ++expected.ticket->open;
  }
}

void StripQueue::await(int from, int count, const Expected &expected) {
  if (!expected.ticket || expected.room > mostRoom)
    return;
  std::lock_guard<SpinLock> guard(lock);
  const bool alike = takenByLane.empty() && givenToLane.empty();
  const int step = alike ? count : 1;
  for (int lane = from; lane < from + count; lane += step) {
    const size_t given = givenTo(lane);
    if (given <= expected.room)
      continue;
    const size_t word = given - expected.room;
    if (word > takenBy(lane)) {
      watches.push_back({expected, lane, step, word, step});
      ++expected.ticket->open;
      continue;
    }
    for (const Taken &its :
         lanesDiffer ? recentOfLane[size_t(lane)] : recentOfAll)
      if (its.end >= word) {
        expected.ticket->taken(its.when(word) + expected.back);
        break;
      }
  }
}

/// The words of a ticket were taken here. Its sender may forget it then.
void StripQueue::close(Ticket &ticket) {
  Actor &sender = *ticket.sender;
  if (--ticket.open == 0)
    scheduler.wake(sender);
}

void StripQueue::acknowledge(size_t words, double first, double last,
                             int lane) {
  std::lock_guard<SpinLock> guard(lock);
  if (lane >= 0 && takenByLane.empty())
    takenByLane.resize(size_t(lanes));
  bool done = false;
  for (Watch &its : watches) {
    if (lane >= 0 && (lane < its.from || lane >= its.from + its.count))
      continue;
    // Whether so many lanes take the word now, which have taken `before`.
    auto take = [&](size_t before, int count) {
      if (its.word <= before || its.word > before + words)
        return;
      const double share =
          words < 2 ? 1 : double(its.word - before - 1) / double(words - 1);
      its.expected.ticket->taken(first + (last - first) * share +
                                 its.expected.back);
      its.left -= count;
      done |= its.left == 0;
    };
    if (lane < 0 && takenByLane.empty())
      take(takenByAll, its.count);
    else
      for (int l = its.from; l < its.from + its.count; ++l)
        if (lane < 0 || lane == l)
          take(takenByAll + takenByLane[size_t(l)], 1);
  }
  (lane < 0 ? takenByAll : takenByLane[size_t(lane)]) += words;
  noteTaken(words, first, last, lane);
  if (done)
    std::erase_if(watches, [&](const Watch &its) {
      if (its.left == 0)
        close(*its.expected.ticket);
      return its.left == 0;
    });
}

/// For those who will have sent these words.
void StripQueue::noteTaken(size_t words, double first, double last, int lane) {
  // Nobody waits any more for those that end so long ago: their ends ascend.
  auto note = [&](std::vector<Taken> &recent, size_t taken, size_t given) {
    constexpr size_t some = 4; // of them go at once
    const size_t least = std::max(taken, given);
    if (recent.size() > some && recent[some - 1].end + mostRoom < least)
      recent.erase(recent.begin(),
                   std::find_if(recent.begin() + some, recent.end(),
                                [&](const Taken &its) {
                                  return its.end + mostRoom >= least;
                                }));
    recent.push_back({taken, words, first, last});
  };
  if (lane >= 0) {
    if (!std::exchange(lanesDiffer, true))
      recentOfLane.assign(size_t(lanes), recentOfAll);
    together = 0;
    return note(recentOfLane[size_t(lane)], takenBy(lane), givenTo(lane));
  }
  if (!lanesDiffer)
    return note(recentOfAll, takenByAll, givenToAll);
  for (int l = 0; l < lanes; ++l)
    note(recentOfLane[size_t(l)], takenBy(l), givenTo(l));
  together += words;
  if (together > mostRoom)
    joinHistories();
}

/// What lanes took that took different words before is of no interest any more.
void StripQueue::joinHistories() {
  const bool alike =
      std::all_of(takenByLane.begin(), takenByLane.end(),
                  [&](size_t its) { return its == takenByLane[0]; });
  if (!alike)
    return;
  if (!takenByLane.empty())
    takenByAll += takenByLane[0];
  takenByLane.clear();
  recentOfAll = recentOfLane[0];
  lanesDiffer = false;
}

bool StripQueue::release() {
  std::lock_guard<SpinLock> guard(lock);
  for (const Watch &its : watches) {
    its.expected.ticket->released = true;
    close(*its.expected.ticket);
  }
  return !std::exchange(watches, {}).empty();
}

void StripQueue::ask(const Demand &demand, size_t words, int lane) {
  std::lock_guard<SpinLock> guard(lock);
  if (lane >= 0 && askedOfLane.empty())
    askedOfLane.resize(size_t(lanes));
  Asked &its = lane < 0 ? askedOfAll : askedOfLane[size_t(lane)];
  its.words += ptrdiff_t(words);
  its.demand = demand;
  if (awaitingAsk.empty())
    return;
  std::erase_if(awaitingAsk, [&](const std::pair<Actor *, int> &waiter) {
    const bool asked = lacking(waiter.second) > 0;
    if (asked)
      scheduler.wake(*waiter.first);
    return asked;
  });
}

void StripQueue::takeUnasked(size_t words, int lane) {
  std::lock_guard<SpinLock> guard(lock);
  if (lane >= 0)
    askedOfLane.resize(size_t(lanes));
  (lane < 0 ? askedOfAll : askedOfLane[size_t(lane)]).words += ptrdiff_t(words);
}

size_t StripQueue::asked(int from, int count, Actor &sender, Demand &slowest) {
  std::lock_guard<SpinLock> guard(lock);
  if (!isPaced.exchange(true))
    wakeReaders();
  slowest = askedOfAll.demand;
  ptrdiff_t words = PTRDIFF_MAX;
  // Lanes ask one after the other: the last is likely to be the last.
  for (int lane = from + count; lane-- > from;) {
    words = std::min(words, lacking(lane));
    if (words <= 0) {
      const std::pair<Actor *, int> waiter(&sender, lane);
      if (std::find(awaitingAsk.begin(), awaitingAsk.end(), waiter) ==
          awaitingAsk.end())
        awaitingAsk.push_back(waiter);
      return 0;
    }
    if (askedOfLane.empty())
      break;
    const Demand &its = askedOfLane[size_t(lane)].demand;
    if (its.start > slowest.start)
      slowest = its;
  }
  return size_t(words);
}

void StripQueue::push(Chunk chunk, int from, int count,
                      const Expected &expected) {
  std::lock_guard<SpinLock> guard(lock);
  // Those of a chunk that fits have not been taken yet, or have been long ago.
  const bool waits = expected.ticket && chunk.words() > expected.room;
  add(std::move(chunk), from, count);
  if (waits)
    watch(expected, from, count);
  wakeReader();
}

void StripQueue::push(std::span<Chunk> chunks, double latency, int from,
                      int count) {
  std::lock_guard<SpinLock> guard(lock);
  for (Chunk &chunk : chunks) {
    chunk.first += latency;
    chunk.last += latency;
    add(std::move(chunk), from, count);
  }
  wakeReader();
}

void StripQueue::add(Chunk chunk, int from, int count) {
  give(chunk.words(), from, count);
  if (from == 0 && count == lanes && busyLanes == 0 && laneReaders == 0) {
    hold(sharedWords(chunk, chunk.words()));
    shared.push(std::move(chunk));
  } else if (count == 1) {
    chunk.laneStride = 0;
    pushLane(std::move(chunk), from);
  } else {
    for (int i = 0; i < count; ++i)
      pushLane(chunk.shifted(i, true), from + i);
  }
}

void StripQueue::wakeReader() {
  if (reader && (!shared.empty() || busyLanes == lanes))
    scheduler.wake(*std::exchange(reader, nullptr));
}

/// Wakes all that wait, for words or not.
void StripQueue::wakeReaders() {
  if (reader)
    scheduler.wake(*std::exchange(reader, nullptr));
  for (const std::unique_ptr<Lane> &its : perLane)
    if (its && its->reader) {
      --laneReaders;
      scheduler.wake(*std::exchange(its->reader, nullptr));
    }
}

/// Moves the shared words in front of the lanes' own.
void StripQueue::splitShared() {
  if (shared.empty())
    return;
  std::vector<Chunk> chunks;
  while (!shared.empty()) {
    chunks.push_back(shared.front());
    if (GatheredWords *gathered = chunks.back().gathered)
      chunks.back() = gathered->bring(chunks.back());
    size_t words = chunks.back().words();
    hold(ptrdiff_t(words) * lanes - sharedWords(chunks.back(), words));
    shared.pop(words);
  }
  for (int i = 0; i < lanes; ++i) {
    Lane &l = lane(i);
    busyLanes += l.fifo.empty();
    Fifo merged;
    for (const Chunk &chunk : chunks)
      merged.push(chunk.shifted(i, true));
    while (!l.fifo.empty()) {
      Chunk own = l.fifo.front();
      l.fifo.pop(own.words());
      merged.push(std::move(own));
    }
    l.fifo = std::move(merged);
  }
}

/// As many words of every lane as all have next as a rectangle, of rows of any
/// length.
std::vector<Chunk> StripQueue::takeFronts() {
  std::vector<Chunk> fronts;
  fronts.reserve(size_t(lanes));
  const Chunk *first = perLane[0]->fifo.untouched();
  const bool alike =
      first && std::all_of(perLane.begin(), perLane.end(),
                           [&](const std::unique_ptr<Lane> &its) {
                             const Chunk *other = its->fifo.untouched();
                             return other && other->rows == first->rows &&
                                    other->length == first->length &&
                                    other->linear() == first->linear();
                           });
  for (const std::unique_ptr<Lane> &its : perLane)
    fronts.push_back(alike ? its->fifo.take() : its->fifo.front());
  size_t words = SIZE_MAX;
  for (const Chunk &chunk : fronts)
    words = std::min(words, chunk.words());
  for (size_t before = alike ? words : 0; before != words;) {
    before = words;
    for (const Chunk &chunk : fronts)
      words = std::min(words, chunk.part(0, words).words());
  }
  for (Chunk &chunk : fronts)
    chunk.cut(0, words);
  for (const std::unique_ptr<Lane> &its : perLane) {
    if (!alike)
      its->fifo.pop(words);
    busyLanes -= its->fifo.empty();
  }
  return fronts;
}

/// Makes one shared chunk of what every lane has next.
void StripQueue::gather() {
  std::vector<Chunk> fronts = takeFronts();
  const size_t words = fronts[0].words();
  bool same = true;
  for (const Chunk &chunk : fronts)
    same &= chunk.data == fronts[0].data && chunk.rows == fronts[0].rows &&
            chunk.length == fronts[0].length &&
            chunk.rowStride == fronts[0].rowStride &&
            chunk.wordStride == fronts[0].wordStride;
  Chunk result;
  if (same) {
    result = fronts[0];
    result.laneStride = 0;
    for (const Chunk &chunk : fronts) {
      result.first = std::max(result.first, chunk.first);
      result.last = std::max(result.last, chunk.last);
    }
  } else {
    auto gathered =
        std::make_shared<GatheredWords>(std::move(fronts), words, *this);
    result = gathered->chunk();
    result.gathered = gathered.get();
    result.owner = std::move(gathered);
  }
  hold(sharedWords(result, words) - ptrdiff_t(words) * lanes);
  shared.push(std::move(result));
}

bool StripQueue::front(Chunk &chunk, Actor &actor) {
  std::lock_guard<SpinLock> guard(lock);
  if (shared.empty() && busyLanes == lanes)
    gather();
  if (shared.empty()) {
    reader = &actor;
    return false;
  }
  chunk = shared.front();
  return true;
}

void StripQueue::pop(size_t words) {
  std::lock_guard<SpinLock> guard(lock);
  hold(-sharedWords(shared.front(), words));
  shared.pop(words);
  wakeWriters();
}

bool StripQueue::front(Chunk &chunk, int index, Actor &actor) {
  std::lock_guard<SpinLock> guard(lock);
  splitShared();
  Lane &l = lane(index);
  if (l.fifo.empty()) {
    awaitWords(l, actor);
    return false;
  }
  chunk = l.fifo.front();
  return true;
}

void StripQueue::awaitWords(Lane &l, Actor &actor) {
  laneReaders += l.reader == nullptr;
  l.reader = &actor;
}

void StripQueue::pop(size_t words, int index) {
  std::lock_guard<SpinLock> guard(lock);
  Lane &l = lane(index);
  hold(-ptrdiff_t(words));
  l.fifo.pop(words);
  busyLanes -= l.fifo.empty();
  wakeWriters();
}

std::optional<size_t> StripQueue::take(size_t enough, size_t most, int index,
                                       std::vector<Chunk> &into, size_t unpaced,
                                       Actor &actor) {
  std::lock_guard<SpinLock> guard(lock);
  splitShared();
  Lane &l = lane(index);
  if (l.fifo.empty()) {
    awaitWords(l, actor);
    return {};
  }
  size_t words = 0;
  for (bool alone = false; words < enough && !alone && !l.fifo.empty();) {
    const size_t next = l.fifo.frontWords();
    alone = !l.fifo.frontPaced() && next > unpaced;
    if (next > most - words || (alone && words > 0))
      break;
    into.push_back(l.fifo.take());
    words += next;
  }
  if (words == 0)
    return 0;
  hold(-ptrdiff_t(words));
  busyLanes -= l.fifo.empty();
  wakeWriters();
  return words;
}

void StripQueue::wakeWriters() {
  if (held > capacity / 2 || writers.empty())
    return;
  for (Actor *writer : writers)
    scheduler.wake(*writer);
  writers.clear();
}

bool StripQueue::full(Actor &writer) {
  // Looked at without the lock: it bounds memory, more or less.
  if (held.load(std::memory_order_relaxed) < capacity)
    return false;
  std::lock_guard<SpinLock> guard(lock);
  if (held < capacity)
    return false;
  if (std::find(writers.begin(), writers.end(), &writer) == writers.end())
    writers.push_back(&writer);
  return true;
}

bool StripQueue::grow() {
  std::lock_guard<SpinLock> guard(lock);
  if (writers.empty())
    return false;
  capacity = std::max<ptrdiff_t>(capacity, held) * 2;
  wakeWriters();
  return true;
}

StripQueue::History StripQueue::history() const {
  History its{givenToAll,  takenByAll,  givenToLane,
              takenByLane, recentOfAll, {}};
  if (lanesDiffer)
    its.recentOfLane = recentOfLane;
  return its;
}

void StripQueue::goOn(History from, double cycles) {
  auto later = [&](std::vector<Taken> &all) {
    for (Taken &its : all) {
      its.first += cycles;
      its.last += cycles;
    }
  };
  later(from.recentOfAll);
  for (std::vector<Taken> &all : from.recentOfLane)
    later(all);
  givenToAll = from.givenToAll;
  takenByAll = from.takenByAll;
  givenToLane = std::move(from.givenToLane);
  takenByLane = std::move(from.takenByLane);
  recentOfAll = std::move(from.recentOfAll);
  lanesDiffer = !from.recentOfLane.empty();
  recentOfLane = std::move(from.recentOfLane);
  together = 0;
}

bool StripQueue::rests() const {
  bool rests = held == 0 && lacking(0) == 0;
  for (size_t lane = 1; lane < askedOfLane.size(); ++lane)
    rests = rests && lacking(int(lane)) == 0;
  return rests;
}

std::vector<int> StripQueue::lanesWithWords() {
  std::lock_guard<SpinLock> guard(lock);
  std::vector<int> result;
  for (int i = 0; i < lanes; ++i)
    if (!shared.empty() ||
        (!perLane.empty() && perLane[i] && !perLane[i]->fifo.empty()))
      result.push_back(i);
  return result;
}

} // namespace wsec::runtime
