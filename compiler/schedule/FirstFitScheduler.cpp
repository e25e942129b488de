// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/FirstFitScheduler.h"
#include "compiler/schedule/LaunchOrder.h"

#include <algorithm>
#include <tuple>

using namespace wsec;

namespace {

/// A block of SRAM that is taken until its `lastUse`.
struct Block {
  int64_t begin = 0, end = 0;
  size_t owner = 0; // a kernel, or behind these what persists
  BufferUse use = BufferUse::Result;
};

class Allocator {
public:
  explicit Allocator(const SchedulingProblem &problem) : problem(problem) {}

  /// For scratch of the kernel, beside what is taken.
  SramOverflow::Scratch roomFor(size_t kernel) const {
    int64_t begin = roundUp(problem.firstAddress);
    SramOverflow::Scratch room = {kernel, 0, 0};
    auto add = [&](int64_t end) {
      room.free += std::max<int64_t>(0, end - begin);
      room.gap = std::max(room.gap, end - begin);
    };
    for (const Block &block : blocks) {
      add(block.begin);
      begin = std::max(begin, roundUp(block.end));
    }
    add(problem.endAddress);
    return room;
  }
  /// The lowest free address for `bytes`, or -1.
  int64_t findGap(int64_t bytes) const {
    int64_t begin = roundUp(problem.firstAddress);
    for (const Block &block : blocks) { // by address
      if (begin + bytes <= block.begin)
        break;
      begin = std::max(begin, roundUp(block.end));
    }
    return begin + bytes <= problem.endAddress ? begin : -1;
  }
  void take(Block block) {
    auto it = std::find_if(blocks.begin(), blocks.end(), [&](const Block &b) {
      return std::tie(b.begin, b.end) > std::tie(block.begin, block.end);
    });
    blocks.insert(it, block);
  }
  void release(size_t kernel, BufferUse use) {
    blocks.erase(std::remove_if(blocks.begin(), blocks.end(),
                                [&](const Block &b) {
                                  return b.owner == kernel && b.use == use;
                                }),
                 blocks.end());
  }
  const std::vector<Block> &taken() const { return blocks; }

private:
  static int64_t roundUp(int64_t address) {
    int64_t a = SchedulingProblem::alignment;
    return (address + a - 1) / a * a;
  }
  const SchedulingProblem &problem;
  std::vector<Block> blocks;
};

} // namespace

static std::string describe(BufferUse use) {
  return use == BufferUse::Result    ? "the result of "
         : use == BufferUse::Scratch ? "the scratch of "
                                     : "what stays of ";
}

static std::string describe(const SchedulingProblem &problem,
                            const Allocator &allocator, const Block &asked) {
  int64_t bytes = asked.end - asked.begin;
  int64_t room = problem.endAddress - problem.firstAddress;
  std::vector<Block> blocks = allocator.taken();
  int64_t inUse = 0;
  for (const Block &block : blocks)
    inUse += block.end - block.begin;
  std::sort(blocks.begin(), blocks.end(), [](const Block &a, const Block &b) {
    int64_t sizeA = a.end - a.begin, sizeB = b.end - b.begin;
    return sizeA != sizeB ? sizeA > sizeB : a.begin < b.begin;
  });
  std::string message =
      (asked.use == BufferUse::Persistent ? "SramOverflow: '"
                                          : "SramOverflow: kernel '") +
      problem.ownerName(asked.owner) + "' needs " + std::to_string(bytes) +
      " bytes of SRAM per PE" +
      (asked.use == BufferUse::Result    ? " for its result"
       : asked.use == BufferUse::Scratch ? " for its scratch"
                                         : " that stay") +
      "; of " + std::to_string(room) + " bytes for buffers" +
      (problem.codeBytes
           ? " beside " + std::to_string(problem.codeBytes) + " of code"
           : std::string()) +
      ", " + std::to_string(inUse) + " are in use";
  if (inUse + bytes <= room)
    message += ", in pieces that leave no gap large enough";
  for (size_t i = 0; i < blocks.size() && i < 3; ++i)
    message += std::string(i ? ", " : "; largest: ") +
               std::to_string(blocks[i].end - blocks[i].begin) + " bytes for " +
               describe(blocks[i].use) + "'" +
               problem.ownerName(blocks[i].owner) + "'";
  return message + "; compile for a larger mesh or for fewer tokens";
}

/// The operand whose place the result of `kernel` takes, or npos: one that
/// dies here, may be overwritten, and is large enough.
static size_t findOverwritten(const SchedulingProblem &problem, size_t kernel,
                              const std::vector<size_t> &lastUse) {
  const KernelMemory &memory = problem.kernels[kernel];
  for (size_t operand : memory.overwrites)
    if (lastUse[operand] == kernel &&
        problem.kernels[operand].resultBytes >= memory.resultBytes)
      return operand;
  return size_t(-1);
}

bool wsec::scheduleByFirstFit(const SchedulingProblem &problem,
                              Schedule &schedule, SramOverflow &overflow,
                              std::vector<size_t> order) {
  size_t count = problem.kernels.size();
  schedule = {};
  overflow = {};
  schedule.resultAddresses.assign(count, 0);
  schedule.scratchAddresses.assign(count, 0);
  schedule.slots.assign(count, 0);
  schedule.persistentAddresses.assign(problem.persistents.size(), 0);
  if (order.empty())
    order = orderLaunches(problem);
  std::vector<size_t> lastUse(count);
  for (size_t slot = 0; slot < count; ++slot) {
    schedule.slots[order[slot]] = int64_t(slot);
    lastUse[order[slot]] = order[slot];
    for (size_t operand : problem.kernels[order[slot]].operands)
      lastUse[operand] = order[slot];
  }

  size_t regions = 1;
  for (const KernelMemory &kernel : problem.kernels)
    regions = std::max(regions, kernel.region + 1);
  for (const PersistentMemory &held : problem.persistents)
    regions = std::max(regions, held.region + 1);
  std::vector<Allocator> allocators(regions, Allocator(problem));
  auto allocatorOf = [&](size_t k) -> Allocator & {
    return allocators[problem.kernels[k].region];
  };
  auto place = [&](Allocator &allocator, size_t owner, BufferUse use,
                   int64_t bytes, int64_t address, int64_t &placed) {
    if (address < 0) {
      if (overflow.message.empty())
        overflow = {describe(problem, allocator, {0, bytes, owner, use}),
                    owner};
      return false;
    }
    allocator.take({address, address + bytes, owner, use});
    placed = address;
    if (address + bytes > schedule.highWater) {
      schedule.highWater = address + bytes;
      schedule.highWaterKernel = owner;
    }
    return true;
  };

  // What persists lies lowest, where no entry has anything else.
  for (size_t p = 0; p < problem.persistents.size(); ++p) {
    const PersistentMemory &held = problem.persistents[p];
    Allocator &allocator = allocators[held.region];
    if (!place(allocator, count + p, BufferUse::Persistent, held.bytes,
               allocator.findGap(held.bytes), schedule.persistentAddresses[p]))
      return false;
  }

  for (size_t k : order) {
    const KernelMemory &memory = problem.kernels[k];
    if (memory.resultBytes) {
      size_t overwritten = findOverwritten(problem, k, lastUse);
      int64_t address = overwritten != size_t(-1)
                            ? schedule.resultAddresses[overwritten]
                            : allocatorOf(k).findGap(memory.resultBytes);
      if (!place(allocatorOf(k), k, BufferUse::Result, memory.resultBytes,
                 address, schedule.resultAddresses[k]))
        return false;
    }
    if (memory.scratchBytes &&
        !place(allocatorOf(k), k, BufferUse::Scratch, memory.scratchBytes,
               allocatorOf(k).findGap(memory.scratchBytes),
               schedule.scratchAddresses[k]))
      overflow.scratch.push_back(allocatorOf(k).roomFor(k));
    allocatorOf(k).release(k, BufferUse::Scratch);
    for (size_t operand : memory.operands)
      if (lastUse[operand] == k)
        allocatorOf(operand).release(operand, BufferUse::Result);
    if (lastUse[k] == k)
      allocatorOf(k).release(k, BufferUse::Result);
  }
  return overflow.scratch.empty();
}
