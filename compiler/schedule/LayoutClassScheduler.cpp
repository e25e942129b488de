// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/LayoutClassScheduler.h"
#include "compiler/schedule/LaunchOrder.h"

#include <algorithm>
#include <map>

using namespace wsec;

namespace {

constexpr size_t kNone = size_t(-1);

/// Slots from the first to the last.
struct Span {
  int64_t first = 0, last = 0;
};

/// Where one result lies at a time.
struct Place {
  size_t region = 0;
  int64_t bytes = 0;
  std::vector<Span> taken; // in order
  int64_t address = -1;
};

class Solver {
public:
  Solver(const SchedulingProblem &problem, std::vector<size_t> order)
      : problem(problem), order(std::move(order)) {}

  std::optional<Schedule> solve() {
    readOrder();
    shareResults();
    fillPlaces();
    if (!placePersistents() || !placeResults() || !placeScratch())
      return std::nullopt;
    return std::move(schedule);
  }

private:
  size_t count() const { return problem.kernels.size(); }
  int64_t begin() const { return roundUp(problem.firstAddress); }
  static int64_t roundUp(int64_t address) {
    int64_t a = SchedulingProblem::alignment;
    return (address + a - 1) / a * a;
  }

  void readOrder();
  void shareResults();
  void fillPlaces();
  bool placePersistents();
  bool placeResults();
  bool placeScratch();
  bool fits(size_t owner, int64_t end);

  const SchedulingProblem &problem;
  Schedule schedule;
  std::vector<size_t> order;
  std::vector<int64_t> lastSlot;  // of a kernel's readers
  std::vector<size_t> sharedWith; // the kernel whose result it writes over
  std::vector<size_t> placeOf;    // of a kernel whose result has its own
  std::vector<Place> places;
  std::vector<int64_t> ends; // of what lies in each region
};

} // namespace

void Solver::readOrder() {
  if (order.empty())
    order = orderLaunches(problem);
  schedule.resultAddresses.assign(count(), 0);
  schedule.scratchAddresses.assign(count(), 0);
  schedule.slots.assign(count(), 0);
  schedule.persistentAddresses.assign(problem.persistents.size(), 0);
  lastSlot.assign(count(), 0);
  for (size_t slot = 0; slot < count(); ++slot) {
    const size_t kernel = order[slot];
    schedule.slots[kernel] = lastSlot[kernel] = int64_t(slot);
    for (size_t operand : problem.kernels[kernel].operands)
      lastSlot[operand] = int64_t(slot);
  }
  size_t regions = 1;
  for (const KernelMemory &kernel : problem.kernels)
    regions = std::max(regions, kernel.region + 1);
  for (const PersistentMemory &held : problem.persistents)
    regions = std::max(regions, held.region + 1);
  ends.assign(regions, begin());
}

/// Which results are computed in the place of an operand, the oldest that dies
/// there and is large enough.
void Solver::shareResults() {
  sharedWith.assign(count(), kNone);
  for (size_t kernel : order) {
    const KernelMemory &memory = problem.kernels[kernel];
    size_t &oldest = sharedWith[kernel];
    if (memory.resultBytes)
      for (size_t operand : memory.overwrites)
        if (lastSlot[operand] == schedule.slots[kernel] &&
            problem.kernels[operand].region == memory.region &&
            problem.kernels[operand].resultBytes >= memory.resultBytes &&
            (oldest == kNone ||
             schedule.slots[operand] < schedule.slots[oldest]))
          oldest = operand;
  }
}

/// Each result goes to the first place of its class that is free.
void Solver::fillPlaces() {
  std::vector<size_t> first(count()); // of the chain that shares a place
  std::vector<int64_t> last = lastSlot;
  for (size_t kernel : order)
    first[kernel] =
        sharedWith[kernel] == kNone ? kernel : first[sharedWith[kernel]];
  for (size_t kernel : order)
    last[first[kernel]] = std::max(last[first[kernel]], lastSlot[kernel]);
  placeOf.assign(count(), kNone);
  std::map<std::pair<size_t, size_t>, std::vector<size_t>> byClass;
  for (size_t kernel : order) {
    const KernelMemory &memory = problem.kernels[kernel];
    if (!memory.resultBytes)
      continue;
    if (first[kernel] != kernel) {
      placeOf[kernel] = placeOf[first[kernel]];
      continue;
    }
    std::vector<size_t> &known = byClass[{memory.region, memory.layoutClass}];
    const int64_t slot = schedule.slots[kernel];
    auto free = std::find_if(known.begin(), known.end(), [&](size_t place) {
      return places[place].taken.back().last < slot;
    });
    if (free == known.end()) {
      known.push_back(places.size());
      places.push_back({memory.region, 0, {}, -1});
      free = known.end() - 1;
    }
    Place &place = places[placeOf[kernel] = *free];
    place.bytes = std::max(place.bytes, memory.resultBytes);
    place.taken.push_back({slot, last[kernel]});
  }
}

/// Whether `end` is inside of the SRAM; notes it.
bool Solver::fits(size_t owner, int64_t end) {
  if (end > schedule.highWater) {
    schedule.highWater = end;
    schedule.highWaterKernel = owner;
  }
  return end <= problem.endAddress;
}

bool Solver::placePersistents() {
  for (size_t p = 0; p < problem.persistents.size(); ++p) {
    const PersistentMemory &held = problem.persistents[p];
    int64_t &end = ends[held.region];
    schedule.persistentAddresses[p] = roundUp(end);
    end = roundUp(end) + held.bytes;
    if (!fits(count() + p, end))
      return false;
  }
  return true;
}

static bool meet(const std::vector<Span> &a, const std::vector<Span> &b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].last < b[j].first)
      ++i;
    else if (b[j].last < a[i].first)
      ++j;
    else
      return true;
  }
  return false;
}

/// The largest places first, each as low as those before it leave it.
bool Solver::placeResults() {
  std::vector<size_t> bySize(places.size());
  for (size_t i = 0; i < bySize.size(); ++i)
    bySize[i] = i;
  std::sort(bySize.begin(), bySize.end(), [&](size_t a, size_t b) {
    return places[a].bytes != places[b].bytes
               ? places[a].bytes > places[b].bytes
               : a < b;
  });
  const std::vector<int64_t> lowest = ends;
  std::vector<size_t> placed; // by address
  for (size_t i : bySize) {
    Place &place = places[i];
    place.address = roundUp(lowest[place.region]);
    for (size_t other : placed) {
      const Place &taken = places[other];
      if (taken.region == place.region && meet(taken.taken, place.taken) &&
          taken.address < place.address + place.bytes &&
          place.address < taken.address + taken.bytes)
        place.address = roundUp(taken.address + taken.bytes);
    }
    int64_t &end = ends[place.region];
    end = std::max(end, place.address + place.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) {
                                     return places[a].address <
                                            places[b].address;
                                   }),
                  i);
  }
  for (size_t kernel : order)
    if (int64_t bytes = problem.kernels[kernel].resultBytes) {
      schedule.resultAddresses[kernel] = places[placeOf[kernel]].address;
      if (!fits(kernel, schedule.resultAddresses[kernel] + bytes))
        return false;
    }
  return true;
}

bool Solver::placeScratch() {
  for (size_t kernel : order) {
    const KernelMemory &memory = problem.kernels[kernel];
    if (!memory.scratchBytes)
      continue;
    schedule.scratchAddresses[kernel] = roundUp(ends[memory.region]);
    if (!fits(kernel, schedule.scratchAddresses[kernel] + memory.scratchBytes))
      return false;
  }
  return true;
}

std::optional<Schedule>
wsec::scheduleByLayoutClass(const SchedulingProblem &problem,
                            std::vector<size_t> order) {
  return Solver(problem, std::move(order)).solve();
}
