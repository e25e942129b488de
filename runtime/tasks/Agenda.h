// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TASKS_AGENDA_H
#define RUNTIME_TASKS_AGENDA_H

#include "runtime/tasks/Chunk.h"

#include <algorithm>
#include <array>
#include <queue>
#include <vector>

namespace wsec::runtime::tasks {

/// What happens at one time. Of events at the same time those of the PE with
/// the lowest index come first, of these the lowest kind, then the oldest.
struct Event {
  enum Kind : uint8_t { Deliver, Release, Complete, Resume };

  Time time = 0;
  uint32_t pe = 0;
  Kind kind = Deliver;
  uint32_t what = 0; ///< by kind: a parcel, a waiter, a microthread
  uint64_t order = 0;

  bool operator>(const Event &other) const {
    if (time != other.time)
      return time > other.time;
    if (pe != other.pe)
      return pe > other.pe;
    if (kind != other.kind)
      return kind > other.kind;
    return order > other.order;
  }
};

/// Events in the order of simulated time. The near future is a ring of lists,
/// a cycle each, of which only the current one is kept in order; the far
/// future is a heap.
class Agenda {
public:
  void add(Time time, uint32_t pe, Event::Kind kind, uint32_t what) {
    Event event{std::max(time, clock), pe, kind, what, nextOrder++};
    ++size;
    auto cycle = int64_t(event.time);
    if (cycle == current)
      present.push(event);
    else if (cycle - current < ringSize)
      ring[size_t(cycle % ringSize)].push_back(event);
    else
      far.push(event);
  }

  bool empty() const { return size == 0; }
  Time now() const { return clock; }
  /// Starts again at a later time, with nothing to do.
  void restart(Time time) {
    clock = time;
    current = int64_t(time);
  }

  Event next() {
    while (present.empty())
      advance();
    Event event = present.top();
    present.pop();
    --size;
    clock = event.time;
    return event;
  }

private:
  static constexpr int64_t ringSize = 4096;
  using Heap =
      std::priority_queue<Event, std::vector<Event>, std::greater<Event>>;

  void advance() {
    ++current;
    if (size == far.size())
      current = int64_t(far.top().time);
    std::vector<Event> &due = ring[size_t(current % ringSize)];
    for (const Event &event : due)
      present.push(event);
    due.clear();
    while (!far.empty() && int64_t(far.top().time) <= current) {
      present.push(far.top());
      far.pop();
    }
  }

  Time clock = 0;
  int64_t current = 0;
  size_t size = 0;
  uint64_t nextOrder = 0;
  Heap present, far;
  std::array<std::vector<Event>, ringSize> ring;
};

} // namespace wsec::runtime::tasks

#endif // RUNTIME_TASKS_AGENDA_H
