// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/schedule/FirstFitScheduler.h"
#include "compiler/schedule/LayoutClassScheduler.h"
#include "compiler/schedule/SchedulingProblem.h"
#include "test/compiler/problems/Problems.h"

#include <algorithm>

using namespace wsec;
using namespace wsec::test;

namespace {

using Rules = std::set<std::string>;

const std::vector<Complaint> complaints = {
    {"T1", "expected slots and addresses"},
    {"T1", "has slot"},
    {"T1", "both have slot"},
    {"T1", "before its operand"},
    {"T1", "both use a tensor that one of them writes"},
    {"T1", "of a later entry"},
    {"T2", "expected addresses of"},
    {"T2", "is not aligned to"},
    {"T2", "leaves the SRAM for buffers"},
    {"T3", "overlaps"},
    {"T4", "the high-water mark is given as"},
    {"T4", "the high-water mark is not that of"},
};

/// Often a few words, so that buffers fit gaps exactly.
int64_t randomBytes(Random &random) {
  return random.oneIn(2) ? 4 * random.between(1, 4) : random.between(1, 48);
}

SchedulingProblem randomProblem(Random &random) {
  SchedulingProblem problem;
  problem.firstAddress = random.below(64);
  problem.endAddress = problem.firstAddress + random.between(1, 160);
  for (size_t k = 0, count = size_t(random.between(1, 12)); k < count; ++k) {
    KernelMemory kernel;
    kernel.name = "k" + std::to_string(k);
    kernel.region = random.oneIn(3);
    kernel.cycles = double(random.below(4));
    kernel.layoutClass = size_t(random.below(3));
    if (k > 0)
      kernel.entry = problem.kernels.back().entry + random.oneIn(5);
    for (size_t o = 0; o < k; ++o)
      if (problem.kernels[o].entry != kernel.entry)
        continue;
      else if (random.oneIn(8)) {
        kernel.after.push_back(o);
      } else if (problem.kernels[o].resultBytes && random.oneIn(3)) {
        kernel.operands.push_back(o);
        if (problem.kernels[o].region == kernel.region && random.oneIn(2))
          kernel.overwrites.push_back(o);
      }
    kernel.resultBytes = random.oneIn(5) ? 0 : randomBytes(random);
    kernel.scratchBytes = random.oneIn(2) ? 0 : randomBytes(random);
    problem.kernels.push_back(kernel);
  }
  for (size_t p = size_t(random.below(3)); p > 0; --p)
    problem.persistents.push_back({"p" + std::to_string(p),
                                   size_t(random.oneIn(3)),
                                   4 * random.between(1, 4)});
  return problem;
}

/// The slot of the last reader, or that of the kernel.
int64_t lastSlot(const SchedulingProblem &problem, const Schedule &schedule,
                 size_t kernel) {
  int64_t last = schedule.slots[kernel];
  for (size_t k = 0; k < problem.kernels.size(); ++k)
    for (size_t operand : problem.kernels[k].operands)
      if (operand == kernel)
        last = std::max(last, schedule.slots[k]);
  return last;
}

/// T1.
bool slotsAreSound(const SchedulingProblem &problem, const Schedule &schedule) {
  const size_t count = problem.kernels.size();
  if (schedule.slots.size() != count ||
      schedule.resultAddresses.size() != count ||
      schedule.scratchAddresses.size() != count)
    return false;
  std::vector<int64_t> sorted = schedule.slots;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < count; ++k) {
    if (sorted[k] != int64_t(k))
      return false;
    for (size_t operand : problem.kernels[k].operands)
      if (schedule.slots[operand] >= schedule.slots[k])
        return false;
    for (size_t other : problem.kernels[k].after)
      if (schedule.slots[other] >= schedule.slots[k])
        return false;
    for (size_t other = 0; other < count; ++other)
      if (problem.kernels[other].entry < problem.kernels[k].entry &&
          schedule.slots[other] >= schedule.slots[k])
        return false;
  }
  return true;
}

/// T3 for what is alive in a slot: region by region and byte by byte who has
/// it, where a result may take over the bytes of an operand.
bool slotOverlaps(const SchedulingProblem &problem, const Schedule &schedule,
                  int64_t slot) {
  std::map<std::pair<size_t, int64_t>, std::vector<std::pair<size_t, bool>>>
      owners;
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    const KernelMemory &kernel = problem.kernels[k];
    const bool alive =
        schedule.slots[k] <= slot && slot <= lastSlot(problem, schedule, k);
    for (int64_t b = 0; alive && b < kernel.resultBytes; ++b)
      owners[{kernel.region, schedule.resultAddresses[k] + b}].emplace_back(
          k, false);
    for (int64_t b = 0; schedule.slots[k] == slot && b < kernel.scratchBytes;
         ++b)
      owners[{kernel.region, schedule.scratchAddresses[k] + b}].emplace_back(
          k, true);
  }
  for (size_t p = 0; p < problem.persistents.size(); ++p)
    for (int64_t b = 0; b < problem.persistents[p].bytes; ++b)
      owners[{problem.persistents[p].region,
              schedule.persistentAddresses[p] + b}]
          .emplace_back(problem.kernels.size() + p, true);
  auto takesOver = [&](size_t k, size_t operand) {
    const std::vector<size_t> &may = problem.kernels[k].overwrites;
    return schedule.slots[k] == slot &&
           lastSlot(problem, schedule, operand) == slot &&
           schedule.resultAddresses[k] == schedule.resultAddresses[operand] &&
           problem.kernels[k].resultBytes <=
               problem.kernels[operand].resultBytes &&
           std::count(may.begin(), may.end(), operand);
  };
  for (const auto &[byte, who] : owners)
    for (auto [a, scratchA] : who)
      for (auto [b, scratchB] : who)
        if ((a != b || scratchA != scratchB) &&
            (scratchA || scratchB || (!takesOver(a, b) && !takesOver(b, a))))
          return true;
  return false;
}

Rules brokenRules(const SchedulingProblem &problem, const Schedule &schedule) {
  if (!slotsAreSound(problem, schedule))
    return {"T1"};
  if (schedule.persistentAddresses.size() != problem.persistents.size())
    return {"T2"};
  Rules broken;
  std::map<int64_t, std::set<size_t>> ends; // of buffers, and whose they are
  auto enter = [&](size_t k, int64_t address, int64_t bytes) {
    if (bytes == 0)
      return;
    if (address % 4 != 0 || address < problem.firstAddress ||
        address + bytes > problem.endAddress)
      broken.insert("T2");
    ends[address + bytes].insert(k);
  };
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    enter(k, schedule.resultAddresses[k], problem.kernels[k].resultBytes);
    enter(k, schedule.scratchAddresses[k], problem.kernels[k].scratchBytes);
    if (slotOverlaps(problem, schedule, int64_t(k)))
      broken.insert("T3");
  }
  for (size_t p = 0; p < problem.persistents.size(); ++p)
    enter(problem.kernels.size() + p, schedule.persistentAddresses[p],
          problem.persistents[p].bytes);
  const auto last = ends.rbegin();
  if (ends.empty() ? schedule.highWater != 0
                   : schedule.highWater != last->first ||
                         !last->second.count(schedule.highWaterKernel))
    broken.insert("T4");
  return broken;
}

/// The solver gave up at a kernel, or at what persists: then no aligned place
/// for the buffer is free of what is alive.
void checkOverflow(const SchedulingProblem &problem, const Schedule &schedule,
                   const SramOverflow &overflow, Tally &tally) {
  const size_t k = overflow.owner, count = problem.kernels.size();
  const bool persists = k >= count;
  const bool isScratch =
      overflow.message.find("for its scratch") != std::string::npos;
  const int64_t bytes = persists    ? problem.persistents[k - count].bytes
                        : isScratch ? problem.kernels[k].scratchBytes
                                    : problem.kernels[k].resultBytes;
  const size_t region = persists ? problem.persistents[k - count].region
                                 : problem.kernels[k].region;
  std::set<int64_t> taken;
  for (size_t p = 0; p < problem.persistents.size(); ++p)
    for (int64_t b = 0; b < problem.persistents[p].bytes; ++b)
      if (problem.persistents[p].region == region &&
          (!persists || p + count < k))
        taken.insert(schedule.persistentAddresses[p] + b);
  const int64_t slot = persists ? 0 : schedule.slots[k];
  for (size_t other = 0; other < problem.kernels.size(); ++other) {
    const bool alive =
        !persists && problem.kernels[other].region == region &&
        (other == k ? isScratch
                    : schedule.slots[other] < slot &&
                          lastSlot(problem, schedule, other) >= slot);
    for (int64_t b = 0; alive && b < problem.kernels[other].resultBytes; ++b)
      taken.insert(schedule.resultAddresses[other] + b);
  }
  for (int64_t begin = problem.firstAddress;
       begin + bytes <= problem.endAddress; ++begin) {
    bool free = begin % 4 == 0;
    for (int64_t b = 0; b < bytes; ++b)
      free &= !taken.count(begin + b);
    tally.expect(!free,
                 std::to_string(begin) + " is free: " + overflow.message);
  }
}

/// The high-water mark of the addresses as they are.
void measure(const SchedulingProblem &problem, Schedule &schedule) {
  schedule.highWater = 0;
  auto raise = [&](size_t k, int64_t address, int64_t bytes) {
    if (bytes == 0 || address + bytes <= schedule.highWater)
      return;
    schedule.highWater = address + bytes;
    schedule.highWaterKernel = k;
  };
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    raise(k, schedule.resultAddresses[k], problem.kernels[k].resultBytes);
    raise(k, schedule.scratchAddresses[k], problem.kernels[k].scratchBytes);
  }
  for (size_t p = 0; p < problem.persistents.size(); ++p)
    raise(problem.kernels.size() + p, schedule.persistentAddresses[p],
          problem.persistents[p].bytes);
}

/// Changes the schedule so that the rule is probably broken.
void breakRule(int rule, const SchedulingProblem &problem, Schedule &schedule,
               Random &random) {
  int64_t &slot = random.of(schedule.slots);
  const bool persists =
      !schedule.persistentAddresses.empty() && random.oneIn(3);
  int64_t &address = persists          ? random.of(schedule.persistentAddresses)
                     : random.oneIn(2) ? random.of(schedule.resultAddresses)
                                       : random.of(schedule.scratchAddresses);
  switch (rule) {
  case 1:
    if (random.oneIn(8))
      (random.oneIn(2) ? schedule.slots : schedule.resultAddresses).pop_back();
    else if (random.oneIn(4))
      slot += random.between(-12, 12);
    else
      std::swap(slot, random.of(schedule.slots));
    return;
  case 2:
    if (persists && random.oneIn(8))
      return schedule.persistentAddresses.pop_back();
    address +=
        random.oneIn(2) ? random.between(-3, 3) : 4 * random.between(-80, 80);
    return measure(problem, schedule);
  case 3:
    address = (problem.firstAddress + 3) / 4 * 4 + 4 * random.below(64);
    return measure(problem, schedule);
  case 4:
    if (random.oneIn(2))
      schedule.highWater += random.between(-4, 4);
    else
      schedule.highWaterKernel = size_t(random.below(14));
    return;
  }
}

void run(Random &random, Tally &tally) {
  const SchedulingProblem problem = randomProblem(random);
  tally.expect(problem.check().empty(), problem.check());
  Schedule schedule;
  SramOverflow overflow;
  const bool solved = scheduleByFirstFit(problem, schedule, overflow);
  tally.met("problems without a schedule", !solved);
  using Solver = std::optional<Schedule> (*)(const SchedulingProblem &,
                                             std::vector<size_t>);
  for (const auto &[name, solver] :
       {std::pair<const char *, Solver>{"by layout classes",
                                        scheduleByLayoutClass},
        {"by layers", scheduleByLayers},
        {"by breadth", scheduleByBreadth}})
    if (std::optional<Schedule> found = solver(problem, {})) {
      const std::string error = problem.verify(*found);
      tally.expect(error.empty() && brokenRules(problem, *found).empty(),
                   std::string("the solver ") + name +
                       " breaks a rule: " + error);
      tally.met(std::string("schedules ") + name);
    }
  if (!solved)
    return checkOverflow(problem, schedule, overflow, tally);
  tally.met("schedules");
  const std::string error = problem.verify(schedule);
  tally.expect(error.empty() && brokenRules(problem, schedule).empty(),
               "the solver breaks a rule: " + error);
  for (int rule : {1, 2, 3, 4}) {
    Schedule changed = schedule;
    breakRule(rule, problem, changed, random);
    tally.judge(problem.verify(changed), brokenRules(problem, changed));
  }
}

} // namespace

Phase wsec::test::schedules() { return {"schedule", complaints, run}; }
