// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripQueue.h"

#include "runtime/strips/GatheredWords.h"
#include "runtime/strips/Scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace wsec::runtime {

Chunk Chunk::part(size_t from, size_t count) const {
  Chunk result = *this;
  size_t row = from / length, column = from % length;
  if (linear()) {
    result.data += ptrdiff_t(from) * wordStride;
    result.rows = 1;
    result.length = count;
  } else if (column == 0 && count >= length) {
    result.data += ptrdiff_t(row) * rowStride;
    result.rows = count / length;
  } else {
    result.data += ptrdiff_t(row) * rowStride + ptrdiff_t(column) * wordStride;
    result.rows = 1;
    result.length = std::min(count, length - column);
  }
  if (result.rows == 1)
    result.rowStride = 0;
  result.first = arrival(from);
  result.last = arrival(from + result.words() - 1);
  return result;
}

std::optional<WordRows> rowsOf(const size_t *extent, const ptrdiff_t *stride,
                               int dimensions) {
  WordRows result;
  for (int d = dimensions; d-- > 0;) {
    if (extent[d] == 1)
      continue;
    if (result.length == 1)
      result.wordStride = stride[d];
    const bool oneRow = result.rows == 1;
    if (oneRow && stride[d] == ptrdiff_t(result.length) * result.wordStride) {
      result.length *= extent[d];
    } else if (oneRow) {
      result.rows = extent[d];
      result.rowStride = stride[d];
    } else if (stride[d] == ptrdiff_t(result.rows) * result.rowStride) {
      result.rows *= extent[d];
    } else {
      return {};
    }
  }
  return result;
}

Chunk Chunk::shifted(ptrdiff_t lane, bool broadcast) const {
  Chunk result = *this;
  result.data += lane * laneStride;
  if (broadcast)
    result.laneStride = 0;
  return result;
}

StripQueue::Lane &StripQueue::lane(int index) {
  if (perLane.empty())
    perLane.resize(lanes);
  if (!perLane[index])
    perLane[index] = std::make_unique<Lane>();
  return *perLane[index];
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
  askedOfLane.resize(size_t(lanes));
  givenToLane.resize(size_t(lanes));
  for (int i = from; i < from + count; ++i) {
    givenToLane[size_t(i)] += words;
    askedOfLane[size_t(i)].words -= ptrdiff_t(words);
  }
}

void StripQueue::Taken::add(size_t count, double first, double last) {
  if (parts.size() == mostParts)
    parts.erase(parts.begin());
  parts.push_back({words, words + count, first, last});
  words += count;
}

/// When the word before number `word` was taken; of long ago none is known.
double StripQueue::Taken::when(size_t word) const {
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    if (part->begin < word) {
      const size_t count = part->end - part->begin,
                   at = std::min(word, part->end) - part->begin - 1;
      return count < 2 ? part->last
                       : part->first + (part->last - part->first) * double(at) /
                                           double(count - 1);
    }
  return 0;
}

void StripQueue::acknowledge(size_t words, double first, double last,
                             int lane) {
  std::lock_guard<SpinLock> guard(lock);
  if (lane >= 0)
    takenOfLane.resize(size_t(lanes));
  (lane < 0 ? takenOfAll : takenOfLane[size_t(lane)]).add(words, first, last);
  for (const auto &[sender, ticket] : awaitingTaken)
    scheduler.wake(*sender);
  awaitingTaken.clear();
}

Ticket StripQueue::ticket(int from, int count, size_t room) {
  std::lock_guard<SpinLock> guard(lock);
  Ticket its{this, from, {}, 0, false};
  for (int lane = from; lane < from + count; ++lane) {
    const size_t given =
        givenToAll + (givenToLane.empty() ? 0 : givenToLane[size_t(lane)]);
    its.words.push_back(given > room ? given - room : 0);
  }
  return its;
}

std::optional<double> StripQueue::tookAll(Ticket &ticket, Actor &sender) {
  std::lock_guard<SpinLock> guard(lock);
  double when = 0;
  if (ticket.released)
    return when;
  static const Taken none;
  for (size_t i = ticket.words.size(); i-- > 0;) {
    const Taken &own =
        takenOfLane.empty() ? none : takenOfLane[size_t(ticket.from) + i];
    const size_t need = ticket.words[i];
    if (takenOfAll.words + own.words < need) {
      awaitingTaken.emplace_back(&sender, &ticket);
      return {};
    }
    // Words that one lane took by itself came before or behind the others.
    if (own.words == 0)
      when = std::max(when, takenOfAll.when(need));
    else if (need > takenOfAll.words)
      when = std::max(when, own.when(need - takenOfAll.words));
    else if (!takenOfAll.parts.empty())
      when = std::max(when, takenOfAll.parts.back().last);
  }
  return when;
}

bool StripQueue::release() {
  std::lock_guard<SpinLock> guard(lock);
  for (const auto &[sender, ticket] : awaitingTaken) {
    ticket->released = true;
    scheduler.wake(*sender);
  }
  const bool any = !awaitingTaken.empty();
  awaitingTaken.clear();
  return any;
}

void StripQueue::ask(const Demand &demand, size_t words, int lane) {
  std::lock_guard<SpinLock> guard(lock);
  if (lane >= 0)
    askedOfLane.resize(size_t(lanes));
  Asked &its = lane < 0 ? askedOfAll : askedOfLane[size_t(lane)];
  its.words += ptrdiff_t(words);
  its.demand = demand;
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

void StripQueue::push(Chunk chunk, int from, int count) {
  std::lock_guard<SpinLock> guard(lock);
  add(std::move(chunk), from, count);
  wakeReader();
}

void StripQueue::push(std::vector<Chunk> chunks, double latency, int from,
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

/// Makes one shared chunk of what every lane has next.
void StripQueue::gather() {
  std::vector<Chunk> fronts(lanes);
  size_t words = SIZE_MAX;
  for (int i = 0; i < lanes; ++i) {
    fronts[i] = perLane[i]->fifo.front();
    words = std::min(words, fronts[i].words());
  }
  // So many that all fronts have them as rectangles, of rows of any length.
  for (size_t before = 0; before != words;) {
    before = words;
    for (const Chunk &chunk : fronts)
      words = std::min(words, chunk.part(0, words).words());
  }
  bool same = true;
  for (Chunk &chunk : fronts) {
    chunk = chunk.part(0, words);
    same &= chunk.data == fronts[0].data && chunk.rows == fronts[0].rows &&
            chunk.length == fronts[0].length &&
            chunk.rowStride == fronts[0].rowStride &&
            chunk.wordStride == fronts[0].wordStride;
  }
  for (int i = 0; i < lanes; ++i) {
    perLane[i]->fifo.pop(words);
    busyLanes -= perLane[i]->fifo.empty();
  }
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
    laneReaders += l.reader == nullptr;
    l.reader = &actor;
    return false;
  }
  chunk = l.fifo.front();
  return true;
}

void StripQueue::pop(size_t words, int index) {
  std::lock_guard<SpinLock> guard(lock);
  Lane &l = lane(index);
  hold(-ptrdiff_t(words));
  l.fifo.pop(words);
  busyLanes -= l.fifo.empty();
  wakeWriters();
}

size_t StripQueue::take(size_t enough, size_t most, int index,
                        std::vector<Chunk> &into) {
  std::lock_guard<SpinLock> guard(lock);
  splitShared();
  Fifo &fifo = lane(index).fifo;
  if (fifo.empty())
    return 0;
  size_t words = 0;
  while (words < enough && !fifo.empty() && fifo.frontWords() <= most - words) {
    into.push_back(fifo.take());
    words += into.back().words();
  }
  hold(-ptrdiff_t(words));
  busyLanes -= fifo.empty();
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
