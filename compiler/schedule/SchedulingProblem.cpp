// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/SchedulingProblem.h"

#include <algorithm>
#include <set>

using namespace wsec;

static std::string quote(const std::string &name) { return "'" + name + "'"; }

std::string SchedulingProblem::check() const {
  if (firstAddress < 0 || firstAddress >= endAddress)
    return "no SRAM is left for buffers: they would begin at byte " +
           std::to_string(firstAddress) + " of " + std::to_string(endAddress);
  for (size_t k = 0; k < kernels.size(); ++k) {
    const KernelMemory &kernel = kernels[k];
    if (kernel.resultBytes < 0 || kernel.scratchBytes < 0)
      return "kernel " + quote(kernel.name) + " asks for negative bytes";
    if (k > 0 && kernel.entry < kernels[k - 1].entry)
      return "kernel " + quote(kernel.name) +
             " stands behind those of another entry";
    for (size_t operand : kernel.operands)
      if (operand >= k || kernels[operand].resultBytes == 0)
        return "kernel " + quote(kernel.name) +
               " reads a result that no earlier kernel makes";
    for (size_t other : kernel.after)
      if (other >= k)
        return "kernel " + quote(kernel.name) + " follows no earlier kernel";
    if (!(kernel.cycles >= 0))
      return "kernel " + quote(kernel.name) + " takes negative cycles";
    for (size_t operand : kernel.overwrites)
      if (std::find(kernel.operands.begin(), kernel.operands.end(), operand) ==
          kernel.operands.end())
        return "kernel " + quote(kernel.name) +
               " overwrites what it does not read";
    for (size_t operand : kernel.overwrites)
      if (kernels[operand].region != kernel.region)
        return "kernel " + quote(kernel.name) +
               " overwrites a result on another region";
  }
  for (const PersistentMemory &held : persistents)
    if (held.bytes <= 0)
      return quote(held.name) + " stays on the wafer and has no bytes";
  return "";
}

int64_t SchedulingProblem::bytesOfLaunch() const {
  int64_t most = 0;
  for (const KernelMemory &kernel : kernels) {
    int64_t bytes = kernel.scratchBytes;
    if (kernel.overwrites.empty())
      bytes += kernel.resultBytes;
    for (size_t operand :
         std::set(kernel.operands.begin(), kernel.operands.end()))
      bytes += kernels[operand].resultBytes;
    most = std::max(most, bytes);
  }
  return most;
}

//===----------------------------------------------------------------------===//
// Verification. Shares nothing with the solver: it replays the slots and looks
// at who is alive in each.
//===----------------------------------------------------------------------===//

namespace {

struct LiveBuffer {
  size_t owner; // a kernel, or behind these what persists
  BufferUse use;
  size_t region;
  int64_t begin, end;
  int64_t lastSlot;
};

std::string text(const SchedulingProblem &problem, const LiveBuffer &buffer) {
  std::string what = buffer.use == BufferUse::Result    ? "result of "
                     : buffer.use == BufferUse::Scratch ? "scratch of "
                                                        : "persistent ";
  return what + quote(problem.ownerName(buffer.owner)) + " at [" +
         std::to_string(buffer.begin) + "," + std::to_string(buffer.end) + ")";
}

} // namespace

/// T1; fills `order` with the kernels by slot.
static std::string checkSlots(const SchedulingProblem &problem,
                              const Schedule &schedule,
                              std::vector<size_t> &order,
                              std::vector<size_t> &about) {
  size_t count = problem.kernels.size();
  if (schedule.slots.size() != count ||
      schedule.resultAddresses.size() != count ||
      schedule.scratchAddresses.size() != count)
    return "expected slots and addresses of " + std::to_string(count) +
           " kernels";
  order.assign(count, count);
  for (size_t k = 0; k < count; ++k) {
    int64_t slot = schedule.slots[k];
    const std::string &name = problem.kernels[k].name;
    about = {k};
    if (slot < 0 || slot >= int64_t(count))
      return "kernel " + quote(name) + " has slot " + std::to_string(slot) +
             " of " + std::to_string(count);
    about = {k, order[slot]};
    if (order[slot] != count)
      return "kernels " + quote(problem.kernels[order[slot]].name) + " and " +
             quote(name) + " both have slot " + std::to_string(slot);
    order[slot] = k;
    for (size_t operand : problem.kernels[k].operands) {
      about = {k, operand};
      if (schedule.slots[operand] >= slot)
        return "kernel " + quote(name) + " runs in slot " +
               std::to_string(slot) + ", before its operand " +
               quote(problem.kernels[operand].name);
    }
    for (size_t other : problem.kernels[k].after) {
      about = {k, other};
      if (schedule.slots[other] >= slot)
        return "kernel " + quote(name) + " runs in slot " +
               std::to_string(slot) + ", before " +
               quote(problem.kernels[other].name) +
               "; both use a tensor that one of them writes";
    }
  }
  for (size_t slot = 1; slot < count; ++slot) {
    const KernelMemory &before = problem.kernels[order[slot - 1]];
    const KernelMemory &kernel = problem.kernels[order[slot]];
    about = {order[slot], order[slot - 1]};
    if (kernel.entry < before.entry)
      return "kernel " + quote(kernel.name) + " runs in slot " +
             std::to_string(slot) + ", behind " + quote(before.name) +
             " of a later entry";
  }
  return "";
}

/// T2.
static std::string checkRange(const SchedulingProblem &problem,
                              const LiveBuffer &buffer) {
  if (buffer.begin % SchedulingProblem::alignment)
    return text(problem, buffer) + " is not aligned to " +
           std::to_string(SchedulingProblem::alignment) + " bytes";
  if (buffer.begin < problem.firstAddress || buffer.end > problem.endAddress)
    return text(problem, buffer) + " leaves the SRAM for buffers, [" +
           std::to_string(problem.firstAddress) + "," +
           std::to_string(problem.endAddress) + ")";
  return "";
}

/// The exception of T3: `result` takes over the place of `operand`.
static bool mayOverwrite(const SchedulingProblem &problem, int64_t slot,
                         const LiveBuffer &result, const LiveBuffer &operand) {
  if (result.use != BufferUse::Result || operand.use != BufferUse::Result ||
      operand.lastSlot != slot || result.begin != operand.begin ||
      result.end > operand.end)
    return false;
  const std::vector<size_t> &allowed = problem.kernels[result.owner].overwrites;
  return std::find(allowed.begin(), allowed.end(), operand.owner) !=
         allowed.end();
}

/// T2 and T3 for what is new in a slot, against all that is alive.
static std::string enter(const SchedulingProblem &problem, int64_t slot,
                         std::vector<LiveBuffer> &live,
                         const LiveBuffer &buffer, std::vector<size_t> &about) {
  about = {buffer.owner};
  std::string error = checkRange(problem, buffer);
  if (!error.empty())
    return error;
  for (const LiveBuffer &other : live) {
    about = {buffer.owner, other.owner};
    if (buffer.region == other.region && buffer.begin < other.end &&
        other.begin < buffer.end && !mayOverwrite(problem, slot, buffer, other))
      return text(problem, buffer) + " overlaps " + text(problem, other) +
             " in slot " + std::to_string(slot);
  }
  live.push_back(buffer);
  return "";
}

/// T4.
static std::string checkHighWater(const SchedulingProblem &problem,
                                  const Schedule &schedule) {
  int64_t highest = 0, ofNamed = 0;
  auto count = [&](size_t owner, int64_t end) {
    highest = std::max(highest, end);
    if (owner == schedule.highWaterKernel)
      ofNamed = end;
  };
  for (size_t p = 0; p < problem.persistents.size(); ++p)
    count(problem.kernels.size() + p,
          schedule.persistentAddresses[p] + problem.persistents[p].bytes);
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    const KernelMemory &kernel = problem.kernels[k];
    int64_t end = 0;
    if (kernel.resultBytes)
      end = std::max(end, schedule.resultAddresses[k] + kernel.resultBytes);
    if (kernel.scratchBytes)
      end = std::max(end, schedule.scratchAddresses[k] + kernel.scratchBytes);
    count(k, end);
  }
  if (schedule.highWater != highest)
    return "buffers end at byte " + std::to_string(highest) +
           ", the high-water mark is given as " +
           std::to_string(schedule.highWater);
  if (ofNamed != highest)
    return "the high-water mark is not that of the kernel it is given to";
  return "";
}

std::string SchedulingProblem::verify(const Schedule &schedule,
                                      std::vector<size_t> *concerned) const {
  std::vector<size_t> none, &about = concerned ? *concerned : none;
  std::vector<size_t> order;
  std::string error = checkSlots(*this, schedule, order, about);
  if (!error.empty())
    return error;
  if (schedule.persistentAddresses.size() != persistents.size())
    return "expected addresses of " + std::to_string(persistents.size()) +
           " that persist"; // T2
  std::vector<int64_t> lastSlot = schedule.slots;
  for (size_t k = 0; k < kernels.size(); ++k)
    for (size_t operand : kernels[k].operands)
      lastSlot[operand] = std::max(lastSlot[operand], schedule.slots[k]);

  std::vector<LiveBuffer> live;
  for (size_t p = 0; p < persistents.size() && error.empty(); ++p) {
    int64_t begin = schedule.persistentAddresses[p];
    error =
        enter(*this, 0, live,
              {kernels.size() + p, BufferUse::Persistent, persistents[p].region,
               begin, begin + persistents[p].bytes, int64_t(order.size())},
              about);
  }
  if (!error.empty())
    return error;
  for (int64_t slot = 0; slot < int64_t(order.size()); ++slot) {
    size_t k = order[slot];
    live.erase(std::remove_if(live.begin(), live.end(),
                              [&](const LiveBuffer &buffer) {
                                return buffer.lastSlot < slot;
                              }),
               live.end());
    int64_t result = schedule.resultAddresses[k];
    int64_t scratch = schedule.scratchAddresses[k];
    if (kernels[k].resultBytes)
      error = enter(*this, slot, live,
                    {k, BufferUse::Result, kernels[k].region, result,
                     result + kernels[k].resultBytes, lastSlot[k]},
                    about);
    if (error.empty() && kernels[k].scratchBytes)
      error = enter(*this, slot, live,
                    {k, BufferUse::Scratch, kernels[k].region, scratch,
                     scratch + kernels[k].scratchBytes, slot},
                    about);
    if (!error.empty())
      return error;
  }
  about = {schedule.highWaterKernel};
  return checkHighWater(*this, schedule);
}
