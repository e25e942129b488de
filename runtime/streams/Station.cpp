// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/streams/Station.h"

#include <bit>

namespace wsec::runtime::streams {

// ---------------------------------------------------------------- takes

void TakeLog::keep(int64_t words) {
  if (words <= kept)
    return;
  kept = words;
  const std::vector<Cycle> known = std::move(ring);
  ring.clear();
  const int64_t total = count;
  if (kept <= mostOneByOne && runs.empty())
    ring.resize(std::bit_ceil(size_t(kept)));
  // Again, what is known of the last words.
  count = std::max<int64_t>(0, total - int64_t(known.size()));
  if (known.empty())
    count = total;
  for (int64_t i = count; i < total; ++i)
    add(known[size_t(i) & (known.size() - 1)]);
}

void TakeLog::addToRuns(Cycle when) {
  const int64_t index = count++;
  if (kept == 0)
    return;
  if (runs.size() > head) {
    Run &last = runs.back();
    const int64_t length = index - last.index;
    if (length == 1 && when > last.time)
      last.step = when - last.time;
    if (when == last.time + last.step * length)
      return;
  }
  while (head + 1 < runs.size() && runs[head + 1].index <= index - kept)
    ++head;
  if (head > 16 && 2 * head > runs.size()) {
    runs.erase(runs.begin(), runs.begin() + ptrdiff_t(head));
    head = 0;
  }
  runs.push_back({index, when, 0});
}

Cycle TakeLog::inRuns(int64_t index) const {
  if (head == runs.size() || index < runs[head].index)
    return 0;
  if (const Run &last = runs.back(); index >= last.index)
    return last.time + last.step * (index - last.index);
  auto after = std::upper_bound(
      runs.begin() + ptrdiff_t(head), runs.end(), index,
      [](int64_t wanted, const Run &run) { return wanted < run.index; });
  const Run &run = *--after;
  return run.time + run.step * (index - run.index);
}

// ---------------------------------------------------------------- slots

Cycle Slots::next(Cycle from) const {
  if (runs.empty() || from > runs.back().last)
    return from;
  auto run = std::lower_bound(
      runs.begin(), runs.end(), from,
      [](const Run &one, Cycle wanted) { return one.last < wanted; });
  return run == runs.end() || from < run->first ? from : run->last + 1;
}

void Slots::take(Cycle cycle, Cycle now) {
  if (runs.size() > 16 && runs[runs.size() / 2].last < now)
    runs.erase(runs.begin(), runs.begin() + ptrdiff_t(runs.size() / 2));
  if (runs.empty() || cycle > runs.back().last + 1) {
    runs.push_back({cycle, cycle});
    return;
  }
  auto after = std::upper_bound(
      runs.begin(), runs.end(), cycle,
      [](Cycle wanted, const Run &one) { return wanted < one.first; });
  const bool joinsAfter = after != runs.end() && after->first == cycle + 1;
  if (after != runs.begin() && std::prev(after)->last == cycle - 1) {
    auto before = std::prev(after);
    before->last = joinsAfter ? after->last : cycle;
    if (joinsAfter)
      runs.erase(after);
    return;
  }
  if (joinsAfter)
    after->first = cycle;
  else
    runs.insert(after, {cycle, cycle});
}

} // namespace wsec::runtime::streams
