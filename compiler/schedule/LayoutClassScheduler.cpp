// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/LayoutClassScheduler.h"
#include "compiler/schedule/LaunchOrder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace wsec;

namespace {

constexpr size_t kNone = size_t(-1);

/// Slots from the first to the last.
struct Span {
  int64_t first = 0, last = 0;
};

/// Where one buffer lies at a time.
struct Place {
  size_t region = 0;
  int64_t bytes = 0;
  std::vector<Span> taken; // in order
  int64_t address = -1;
};

class Solver {
public:
  /// `byBreadth`: each buffer has a place of its own, scratch among them;
  /// `byLayers`: alike ones that live one after the other share it.
  Solver(const SchedulingProblem &problem, std::vector<size_t> order,
         bool byBreadth, bool byLayers = false)
      : problem(problem), byBreadth(byBreadth), byLayers(byLayers),
        order(std::move(order)) {}

  std::optional<Schedule> solve() {
    readOrder();
    shareResults();
    fillPlaces();
    if (!placePersistents())
      return std::nullopt;
    addressPlaces();
    if (!placeResults() || !placeScratch())
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
  using Class = std::vector<size_t>;
  Class classOf(size_t kernel, BufferUse use, int64_t slots) const;
  void fillPlaces();
  bool placePersistents();
  std::vector<size_t> inTheWayOf(const Place &place) const;
  std::vector<size_t> addressOrder() const;
  void addressPlaces();
  bool placeResults();
  bool placeScratch();
  bool fits(size_t owner, int64_t end);

  const SchedulingProblem &problem;
  const bool byBreadth, byLayers;
  Schedule schedule;
  std::vector<size_t> order;
  std::vector<int64_t> lastSlot;  // of a kernel's readers
  std::vector<size_t> sharedWith; // the kernel whose result it writes over
  std::vector<size_t> placeOf;    // of a kernel whose result has its own
  std::vector<size_t> scratchOf;  // the same of scratch, by breadth
  std::vector<Place> places;
  std::vector<size_t> placed;              // by address
  std::vector<std::vector<size_t>> living; // what is placed, in each slot
  std::vector<int64_t> ends;               // of what lies in each region
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
            // By breadth the rest of its place would stay taken.
            !(byBreadth &&
              problem.kernels[operand].resultBytes > memory.resultBytes) &&
            (oldest == kNone ||
             schedule.slots[operand] < schedule.slots[oldest]))
          oldest = operand;
  }
}

/// Each result goes to the first place of its class that is free, or to its
/// own.
void Solver::fillPlaces() {
  std::vector<size_t> first(count()); // of the chain that shares a place
  std::vector<int64_t> last = lastSlot;
  for (size_t kernel : order)
    first[kernel] =
        sharedWith[kernel] == kNone ? kernel : first[sharedWith[kernel]];
  for (size_t kernel : order)
    last[first[kernel]] = std::max(last[first[kernel]], lastSlot[kernel]);
  placeOf.assign(count(), kNone);
  scratchOf.assign(count(), kNone);
  std::map<Class, std::vector<size_t>> byClass;
  auto take = [&](const Class &its, const KernelMemory &memory, int64_t bytes,
                  Span life) {
    std::vector<size_t> &known = byClass[its];
    auto free = std::find_if(known.begin(), known.end(), [&](size_t place) {
      return places[place].taken.back().last < life.first;
    });
    if (free == known.end()) {
      known.push_back(places.size());
      places.push_back({memory.region, 0, {}, -1});
      free = known.end() - 1;
    }
    Place &place = places[*free];
    place.bytes = std::max(place.bytes, bytes);
    place.taken.push_back(life);
    return *free;
  };
  for (size_t kernel : order) {
    const KernelMemory &memory = problem.kernels[kernel];
    const int64_t slot = schedule.slots[kernel];
    if (byBreadth && memory.scratchBytes)
      scratchOf[kernel] = take(classOf(kernel, BufferUse::Scratch, 0), memory,
                               memory.scratchBytes, {slot, slot});
    if (!memory.resultBytes)
      continue;
    placeOf[kernel] =
        first[kernel] != kernel
            ? placeOf[first[kernel]]
            : take(classOf(kernel, BufferUse::Result, last[kernel] - slot),
                   memory, memory.resultBytes, {slot, last[kernel]});
  }
}

/// What buffers have in common that may share a place.
Solver::Class Solver::classOf(size_t kernel, BufferUse use,
                              int64_t slots) const {
  const KernelMemory &memory = problem.kernels[kernel];
  if (!byBreadth)
    return {memory.region, memory.layoutClass};
  if (!byLayers)
    return {size_t(use), kernel};
  return {size_t(use),
          memory.region,
          memory.layoutClass,
          size_t(memory.resultBytes),
          size_t(memory.scratchBytes),
          size_t(slots)};
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

template <typename Visit>
static void forSlots(const Place &place, Visit visit) {
  for (const Span &span : place.taken)
    for (int64_t slot = span.first; slot <= span.last; ++slot)
      visit(slot);
}

/// What may lie where `place` could, by address.
std::vector<size_t> Solver::inTheWayOf(const Place &place) const {
  if (!byBreadth)
    return placed;
  std::vector<size_t> found;
  forSlots(place, [&](int64_t slot) {
    found.insert(found.end(), living[slot].begin(), living[slot].end());
  });
  std::sort(found.begin(), found.end(), [&](size_t a, size_t b) {
    return std::tie(places[a].address, a) < std::tie(places[b].address, b);
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// In which order places get addresses: the largest first; by breadth those of
/// the slots before others in which most is taken.
std::vector<size_t> Solver::addressOrder() const {
  std::vector<int64_t> breadth(count()), most(places.size());
  if (byBreadth) {
    for (const Place &place : places)
      forSlots(place, [&](int64_t slot) { breadth[slot] += place.bytes; });
    for (size_t i = 0; i < places.size(); ++i)
      forSlots(places[i], [&](int64_t slot) {
        most[i] = std::max(most[i], breadth[slot]);
      });
  }
  std::vector<size_t> found(places.size());
  std::iota(found.begin(), found.end(), size_t(0));
  std::sort(found.begin(), found.end(), [&](size_t a, size_t b) {
    return std::tie(most[b], places[b].bytes, a) <
           std::tie(most[a], places[a].bytes, b);
  });
  return found;
}

/// Each as low as those before it leave it.
void Solver::addressPlaces() {
  const std::vector<int64_t> lowest = ends;
  living.resize(byBreadth ? count() : 0);
  for (size_t i : addressOrder()) {
    Place &place = places[i];
    place.address = roundUp(lowest[place.region]);
    for (size_t other : inTheWayOf(place)) {
      const Place &taken = places[other];
      if (taken.region == place.region && meet(taken.taken, place.taken) &&
          taken.address < place.address + place.bytes &&
          place.address < taken.address + taken.bytes)
        place.address = roundUp(taken.address + taken.bytes);
    }
    int64_t &end = ends[place.region];
    end = std::max(end, place.address + place.bytes);
    if (byBreadth)
      forSlots(place, [&](int64_t slot) { living[slot].push_back(i); });
    else
      placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                     [&](size_t a, size_t b) {
                                       return places[a].address <
                                              places[b].address;
                                     }),
                    i);
  }
}

bool Solver::placeResults() {
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
    schedule.scratchAddresses[kernel] = byBreadth
                                            ? places[scratchOf[kernel]].address
                                            : roundUp(ends[memory.region]);
    if (!fits(kernel, schedule.scratchAddresses[kernel] + memory.scratchBytes))
      return false;
  }
  return true;
}

std::optional<Schedule>
wsec::scheduleByLayoutClass(const SchedulingProblem &problem,
                            std::vector<size_t> order) {
  return Solver(problem, std::move(order), /*byBreadth=*/false).solve();
}

std::optional<Schedule>
wsec::scheduleByBreadth(const SchedulingProblem &problem,
                        std::vector<size_t> order) {
  return Solver(problem, std::move(order), /*byBreadth=*/true).solve();
}

std::optional<Schedule> wsec::scheduleByLayers(const SchedulingProblem &problem,
                                               std::vector<size_t> order) {
  return Solver(problem, std::move(order), /*byBreadth=*/true,
                /*byLayers=*/true)
      .solve();
}
