// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripQueue.h"

#include "runtime/pe/UnalignedFloat.h"
#include "runtime/strips/Recording.h"
#include "runtime/strips/Scheduler.h"

#include <algorithm>
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
  held += words;
  scheduler.countStripQueueBytes(words * ptrdiff_t(sizeof(float)));
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
    askedOfAll.words -= ptrdiff_t(words);
    return;
  }
  askedOfLane.resize(size_t(lanes));
  for (int i = from; i < from + count; ++i)
    askedOfLane[size_t(i)].words -= ptrdiff_t(words);
}

void StripQueue::ask(const Demand &demand, size_t words, int lane) {
  std::lock_guard<std::mutex> guard(lock);
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

size_t StripQueue::asked(int from, int count, Actor &sender, Demand &slowest) {
  std::lock_guard<std::mutex> guard(lock);
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
  std::lock_guard<std::mutex> guard(lock);
  give(chunk.words(), from, count);
  if (from == 0 && count == lanes && busyLanes == 0 && laneReaders == 0) {
    hold(sharedWords(chunk, chunk.words()));
    shared.push(std::move(chunk));
  } else {
    for (int i = 0; i < count; ++i)
      pushLane(chunk.shifted(i, true), from + i);
  }
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
  for (Chunk &chunk : fronts)
    words = std::min(words, chunk.part(0, words).words());
  bool same = true;
  double first = 0, last = 0;
  for (Chunk &chunk : fronts) {
    chunk = chunk.part(0, words);
    first = std::max(first, chunk.first);
    last = std::max(last, chunk.last);
    same &= chunk.data == fronts[0].data && chunk.rows == fronts[0].rows &&
            chunk.length == fronts[0].length &&
            chunk.rowStride == fronts[0].rowStride &&
            chunk.wordStride == fronts[0].wordStride;
  }
  Chunk result = fronts[0];
  result.laneStride = 0;
  if (!same) {
    std::shared_ptr<float[]> copy(new float[words * lanes]);
    for (int i = 0; i < lanes; ++i) {
      const Chunk &c = fronts[i];
      float *to = copy.get() + i;
      for (size_t row = 0; row < c.rows; ++row) {
        const UnalignedFloat *from = c.data + ptrdiff_t(row) * c.rowStride;
        for (size_t w = 0; w < c.length; ++w, to += lanes)
          *to = from[ptrdiff_t(w) * c.wordStride];
      }
    }
    result.data = copy.get();
    result.owner = copy;
    result.rows = 1;
    result.length = words;
    result.rowStride = 0;
    result.wordStride = lanes;
    result.laneStride = 1;
    if (recording)
      recordGather(fronts, result);
  }
  result.first = first;
  result.last = last;
  for (int i = 0; i < lanes; ++i) {
    perLane[i]->fifo.pop(words);
    busyLanes -= perLane[i]->fifo.empty();
  }
  hold(sharedWords(result, words) - ptrdiff_t(words) * lanes);
  shared.push(std::move(result));
}

void StripQueue::recordGather(const std::vector<Chunk> &fronts, Chunk &result) {
  float *to = const_cast<float *>(result.data);
  result.buffer = recording->addScratch(to, result.length * size_t(lanes));
  for (const Chunk &c : fronts)
    recording->copy(uint32_t(readerIndex), c.rows, c.length,
                    {to++, {ptrdiff_t(c.length) * lanes, lanes}}, result.buffer,
                    {c.data, {c.rowStride, c.wordStride}}, c.buffer);
}

bool StripQueue::front(Chunk &chunk, Actor &actor) {
  std::lock_guard<std::mutex> guard(lock);
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
  std::lock_guard<std::mutex> guard(lock);
  hold(-sharedWords(shared.front(), words));
  shared.pop(words);
  wakeWriters();
}

bool StripQueue::front(Chunk &chunk, int index, Actor &actor) {
  std::lock_guard<std::mutex> guard(lock);
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
  std::lock_guard<std::mutex> guard(lock);
  Lane &l = lane(index);
  hold(-ptrdiff_t(words));
  l.fifo.pop(words);
  busyLanes -= l.fifo.empty();
  wakeWriters();
}

void StripQueue::wakeWriters() {
  if (held > capacity / 2 || writers.empty())
    return;
  for (Actor *writer : writers)
    scheduler.wake(*writer);
  writers.clear();
}

bool StripQueue::full(Actor &writer) {
  std::lock_guard<std::mutex> guard(lock);
  if (held < capacity)
    return false;
  if (std::find(writers.begin(), writers.end(), &writer) == writers.end())
    writers.push_back(&writer);
  return true;
}

bool StripQueue::grow() {
  std::lock_guard<std::mutex> guard(lock);
  if (writers.empty())
    return false;
  capacity = std::max(capacity, held) * 2;
  wakeWriters();
  return true;
}

std::vector<int> StripQueue::lanesWithWords() {
  std::lock_guard<std::mutex> guard(lock);
  std::vector<int> result;
  for (int i = 0; i < lanes; ++i)
    if (!shared.empty() ||
        (!perLane.empty() && perLane[i] && !perLane[i]->fifo.empty()))
      result.push_back(i);
  return result;
}

} // namespace wsec::runtime
