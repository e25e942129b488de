// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/FabricSource.h"

#include "runtime/pe/VectorKernels.h"
#include "runtime/strips/GatheredWords.h"
#include "runtime/strips/Recording.h"

#include <algorithm>

namespace wsec::runtime {

bool FabricSource::front(Chunk &words, Actor &reader) {
  return lane < 0 ? queue->front(words, reader)
                  : queue->front(words, lane, reader);
}

/// Words that are to be read.
static void bring(Chunk &words) {
  if (words.gathered)
    words = words.gathered->bring(words);
}

void FabricSource::take(size_t words) {
  received += words;
  if (lane < 0)
    queue->pop(words);
  else
    queue->pop(words, lane);
}

size_t FabricSource::wordsUntil(size_t uses) const {
  if (!windowed)
    return uses;
  if (uses >= window.periods * window.used)
    return window.periods * window.total;
  const size_t rest = uses % window.used;
  return uses / window.used * window.total + (rest ? window.offset + rest : 0);
}

void FabricSource::ask(Demand demand, size_t uses) {
  if (windowed) {
    demand.used = window.used;
    demand.total = std::max<size_t>(1, window.total);
  }
  usesAsked += uses;
  const size_t words = wordsUntil(usesAsked);
  queue->ask(demand, words - wordsAsked, lane);
  wordsAsked = words;
}

void FabricSource::drop(const Chunk &words, size_t count) {
  // A rectangle of several rows may be longer than what is dropped.
  Chunk gone = words.part(0, std::min(count, words.words()));
  droppedAt = std::max(droppedAt, gone.last);
  take(gone.words());
  acknowledge(gone.first, gone.last, gone.words());
}

/// `words` starts a period: all whole periods of it as rows, windows cut out.
/// False if it holds none in a form that can be viewed so.
static bool viewPeriods(Chunk &words, const Window &window, size_t left) {
  size_t periods;
  ptrdiff_t stride;
  if (words.linear()) {
    periods = words.words() / window.total;
    stride = ptrdiff_t(window.total) * words.wordStride;
  } else {
    periods = words.length == window.total ? words.rows : 0;
    stride = words.rowStride;
  }
  periods = std::min(periods, left);
  if (periods == 0)
    return false;
  double first = words.arrival(window.offset);
  double last = words.arrival((periods - 1) * window.total + window.offset +
                              window.used - 1);
  words.data += ptrdiff_t(window.offset) * words.wordStride;
  words.rows = periods;
  words.length = window.used;
  words.rowStride = periods > 1 ? stride : 0;
  words.first = first;
  words.last = last;
  return true;
}

bool FabricSource::peek(Chunk &words, Actor &reader) {
  const bool there = !windowed ? front(words, reader)
                     : window.laneOffsets.empty()
                         ? peekWindow(words, reader)
                         : peekLaneWindows(words, reader);
  if (there)
    bring(words);
  return there;
}

bool FabricSource::peekWindow(Chunk &words, Actor &reader) {
  for (;;) {
    if (!front(words, reader))
      return false;
    size_t at = phase(), end = window.offset + window.used;
    size_t left = window.periods - received / window.total;
    wholePeriods = at == 0 && viewPeriods(words, window, left);
    if (wholePeriods)
      return true;
    if (at >= window.offset && at < end) {
      words = words.part(0, std::min(words.words(), end - at));
      return true;
    }
    drop(words, at < window.offset ? window.offset - at : window.total - at);
  }
}

/// Cuts a different window for every lane out of words that are received by
/// all of them, a whole period or several at a time.
bool FabricSource::peekLaneWindows(Chunk &words, Actor &reader) {
  while (cut.empty()) {
    Chunk in;
    if (!front(in, reader))
      return false;
    size_t at = phase();
    size_t left = window.periods - received / window.total;
    size_t periods = 1, have = std::min(in.words(), window.total - at);
    if (at == 0 && in.words() >= window.total && in.linear()) {
      periods = std::min(left, in.words() / window.total);
      have = periods * window.total;
    }
    in = in.part(0, have);
    bring(in);
    have = in.words();
    if (at == 0) {
      std::shared_ptr<float[]> memory(
          new float[std::max<size_t>(1, periods * window.used) * lanes]);
      partial = Chunk{};
      partial.data = memory.get();
      partial.owner = memory;
      partial.rows = 1;
      partial.length = periods * window.used;
      partial.wordStride = lanes;
      partial.laneStride = 1;
      partial.first = in.first;
      target = memory.get();
      if (queue->recording)
        partial.buffer = queue->recording->addScratch(
            target, partial.length * size_t(lanes));
    }
    for (int l = 0; l < lanes; ++l) {
      const size_t from = std::max(at, window.laneOffsets[size_t(l)]);
      size_t to = window.laneOffsets[size_t(l)] + window.used;
      if (periods == 1)
        to = std::min(at + have, to);
      cutLane(in, l, at, from, to, periods);
    }
    partial.last = in.last;
    take(have);
    acknowledge(in.first, in.last, have);
    if (phase() == 0 && window.used)
      cut.push(std::move(partial));
  }
  words = cut.front();
  return true;
}

/// Copies one lane's words [from, to) of each period, where `in` begins with
/// word `at`: whole rows of it together, where these do not follow one another.
void FabricSource::cutLane(const Chunk &in, int l, size_t at, size_t from,
                           size_t to, size_t periods) const {
  for (size_t i = from; i < to;) {
    const size_t word = i - at;
    size_t rows = periods, length = to - i, row = window.used;
    ptrdiff_t inRow = ptrdiff_t(window.total) * in.wordStride;
    if (!in.linear()) { // of one period
      length = std::min(length, in.length - word % in.length);
      rows = length == in.length ? (to - i) / length : 1;
      row = length;
      inRow = in.rowStride;
    }
    float *dst =
        target + (i - window.laneOffsets[size_t(l)]) * size_t(lanes) + l;
    const ptrdiff_t dstRow = ptrdiff_t(row) * lanes;
    const float *data = in.at(word) + l * in.laneStride;
    copyStrided({rows, length, dst, dstRow, lanes, data, inRow, in.wordStride});
    if (queue->recording)
      queue->recording->copy(uint32_t(queue->readerIndex), rows, length,
                             {dst, {dstRow, lanes}}, partial.buffer,
                             {data, {inRow, in.wordStride}}, in.buffer);
    i += in.linear() ? length : rows * length;
  }
}

void FabricSource::pop(size_t words) {
  if (!windowed)
    return take(words);
  if (!window.laneOffsets.empty())
    return cut.pop(words);
  if (!wholePeriods)
    return take(words);
  size_t rest = words % window.used;
  take(words / window.used * window.total + (rest ? window.offset + rest : 0));
}

bool FabricSource::finish(Actor &reader) {
  while (windowed && received < window.periods * window.total) {
    Chunk words;
    if (!front(words, reader))
      return false;
    drop(words, window.periods * window.total - received);
  }
  if (received > wordsAsked)
    queue->takeUnasked(received - std::exchange(wordsAsked, received), lane);
  return true;
}

} // namespace wsec::runtime
