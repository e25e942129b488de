// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Footprint.h"

#include <algorithm>

namespace wsec::runtime {

Footprint::Footprint(const ProgramImage &image) : strips(image.strips.size()) {
  for (const auto &strip : image.strips)
    for (WrittenWords *words : {&strips[size_t(strip->index)].written,
                                &strips[size_t(strip->index)].needed})
      words->reset(2 * (strip->code.endDataWord - strip->code.firstDataWord),
                   strip->lanes);
}

/// Marks a pattern; whether some of it was not.
bool Footprint::add(const Strip &strip, WrittenWords &known, int lane,
                    const MemoryPattern &pattern) {
  const int64_t first = 2 * strip.code.firstDataWord;
  bool any = false;
  forEachRun(pattern, [&](int64_t half, int64_t count) {
    const int64_t at = half - first;
    if (known.firstMissing(at, count, lane) == at + count)
      return;
    any = true;
    known.mark(at, count, lane);
  });
  return any;
}

void Footprint::read(const Strip &strip, int lane,
                     const MemoryPattern &pattern) {
  OfStrip &its = strips[size_t(strip.index)];
  const int64_t first = 2 * strip.code.firstDataWord;
  bool own = true;
  forEachRun(pattern, [&](int64_t half, int64_t count) {
    own = own && its.written.firstMissing(half - first, count, lane) ==
                     half - first + count;
  });
  if (!own && add(strip, its.needed, lane, pattern))
    its.reads.push_back({lane, pattern});
}

void Footprint::write(const Strip &strip, int lane,
                      const MemoryPattern &pattern) {
  OfStrip &its = strips[size_t(strip.index)];
  if (add(strip, its.written, lane, pattern))
    its.writes.push_back({lane, pattern});
}

void Footprint::close() {
  for (OfStrip &its : strips) {
    its.written = {};
    its.needed = {};
  }
}

bool Footprint::holds(const ProgramImage &image) const {
  for (size_t i = 0; i < strips.size(); ++i)
    for (const Access &its : strips[i].reads)
      if (!isWritten(*image.strips[i], its.pattern, its.lane,
                     [](int64_t) { return false; }))
        return false;
  return true;
}

void Footprint::apply(const ProgramImage &image) const {
  for (size_t i = 0; i < strips.size(); ++i)
    for (const Access &its : strips[i].writes)
      markInitialised(*image.strips[i], its.pattern, its.lane);
}

size_t Footprint::bytes() const {
  size_t sum = 0;
  for (const OfStrip &its : strips)
    sum += (its.reads.size() + its.writes.size()) * sizeof(Access);
  return sum;
}

} // namespace wsec::runtime
