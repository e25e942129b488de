// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops, branches and scalar code of a main thread, in which the PEs of a strip
// may go different ways.
#include "runtime/strips/MainThread.h"

#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>

namespace wsec::runtime {

void MainThread::advance(double cycles) {
  if (divergences.empty()) {
    now += cycles;
    return;
  }
  ahead.resize(size_t(strip.lanes));
  for (int lane : lanesAtWork())
    ahead[size_t(lane)] -= cycles;
  settle();
}

/// `now` is that of the last lane again.
void MainThread::settle() {
  const double behind = *std::min_element(ahead.begin(), ahead.end());
  now -= behind;
  for (double &its : ahead)
    its -= behind;
}

void MainThread::enter(const LoopCode &loop) {
  if (!entersGuarded(loop.guard,
                     loop.guard < 0 || strip.scalars[loop.guard] != 0))
    return;
  advance(valueCycles(world.image.machine, loop.count));
  const bool diverges = differs(loop.count);
  int64_t count = 0;
  Divergence its;
  if (diverges) {
    its.turns.resize(size_t(strip.lanes));
    forEachValue(loop.count, [&](int lane, int64_t turns) {
      count = std::max(count, turns);
      its.turns[size_t(lane)] = turns;
      if (turns > 0)
        its.lanes.push_back(lane);
    });
  } else {
    count = loop.count.value(bindings());
  }
  if (count <= 0)
    return;
  if (diverges)
    divergences.push_back(std::move(its));
  loops[loopDepth++] = 0;
  frames.push_back({&loop.body, 0, true, count, diverges});
}

void MainThread::enter(const IfCode &branch) {
  const program::Machine &machine = world.image.machine;
  advance(valueCycles(machine, branch.condition));
  Divergence its;
  if (differs(branch.condition))
    forEachValue(branch.condition, [&](int lane, int64_t value) {
      (value != 0 ? its.lanes : its.others).push_back(lane);
    });
  const bool diverges = !its.lanes.empty() && !its.others.empty();
  const bool holds =
      !its.lanes.empty() ||
      (its.others.empty() && branch.condition.value(bindings()) != 0);
  if (diverges) {
    its.otherwise = &branch.otherwise;
    divergences.push_back(std::move(its));
  }
  advance(branchCycles(machine, holds));
  frames.push_back(
      {holds ? &branch.then : &branch.otherwise, 0, false, 1, diverges});
}

template <class Visit>
void MainThread::forEachValue(const AffineFunction &function,
                              const Visit &visit) {
  for (int lane : lanesAtWork())
    visit(lane, function.value(bindings(strip.laneScalars(lane), lane)));
}

void MainThread::leaveBody() {
  Frame &frame = frames.back();
  if (frame.loop) {
    advance(world.image.machine.loop_overhead());
    if (++loops[loopDepth - 1] < frame.iterations) {
      frame.next = 0;
      if (frame.diverges)
        std::erase_if(divergences.back().lanes, [&](int lane) {
          return divergences.back().turns[size_t(lane)] <= loops[loopDepth - 1];
        });
      return;
    }
    --loopDepth;
  }
  if (frame.diverges) {
    Divergence &its = divergences.back();
    if (its.otherwise) {
      frame.body = std::exchange(its.otherwise, nullptr);
      frame.next = 0;
      its.lanes = std::move(its.others);
      advance(branchCycles(world.image.machine, false));
      return;
    }
    divergences.pop_back();
  }
  frames.pop_back();
}

/// The element that lane `lane` (-1: each) finds at `offset`.
int32_t MainThread::load(const LoadCode &load, int64_t offset, int lane) {
  const BufferCode &buffer = strip.code.buffers[load.buffer];
  auto element = [&] {
    return "element " + std::to_string(offset) + " of buffer " +
           inQuotes(buffer.name);
  };
  if (offset < 0 || offset >= buffer.elements)
    refuse(ErrorClass::OutOfBounds, lane,
           element() + ", which has " + std::to_string(buffer.elements));
  const int64_t halves = elementSize(buffer.type) / 2;
  MemoryPattern read;
  read.first = buffer.address / 2 + offset * halves;
  read.dimensions = 1;
  read.extent[0] = halves;
  read.stride[0] = 1;
  read.close();
  if (const std::string what = pending.conflict(read, lane); !what.empty())
    refuse(ErrorClass::DataRace, lane,
           "load " + what + ", without an await between");
  if (strip.firstUninitialised(read.first, halves, lane) != read.first + halves)
    refuse(ErrorClass::UninitializedRead, lane,
           "load reads " + element() + ", which nothing has written");
  const uint32_t bits =
      strip.memory.read(buffer.type, read.first / halves, std::max(0, lane),
                        strip.programWords.hold(read.first, halves, lane));
  const NumberKind kind =
      isInteger(buffer.type) ? NumberKind::Integer : NumberKind::Single;
  return int32_t(encodeElement(program::ElementType::I32, kind,
                               decodeElement(buffer.type, kind, bits)));
}

void MainThread::execute(const LoadCode &code) {
  advance(world.image.machine.load_cycles() +
          addressCycles(world.image.machine, code.offset));
  const BufferCode &buffer = strip.code.buffers[code.buffer];
  const int64_t base = buffer.address / elementSize(buffer.type);
  const int64_t offset = code.offset.value(bindings());
  const bool alike = divergences.empty() && !differs(code.offset) &&
                     offset >= 0 && offset < buffer.elements &&
                     strip.memory.isAlike(buffer.type, base + offset);
  setLocal(code.local, alike, [&](int lane) {
    return alike ? load(code, offset, -1)
                 : load(code,
                        code.offset.value(
                            bindings(strip.laneScalars(lane), lane)),
                        lane);
  });
}

void MainThread::execute(const ComputeCode &code) {
  advance(computeCycles(world.image.machine, code));
  const bool alike = code.op != program::ScalarOp::Py && !differs(code.a) &&
                     !differs(code.b) && !differs(code.c);
  setLocal(code.local, alike, [&](int lane) {
    const Bindings its = bindings(strip.laneScalars(lane), lane);
    const Coordinate pe = strip.pe(lane);
    const std::optional<int32_t> value = valueOf(code, its, pe.x, pe.y);
    if (!value)
      refuse(ErrorClass::BadProgram, lane,
             "a scalar computation divides by " +
                 std::to_string(code.b.value(its)));
    return *value;
  });
}

template <class Find>
void MainThread::setLocal(uint16_t local, bool alike, const Find &find) {
  int32_t all = 0;
  bool differ = false, isFirst = true;
  for (int lane : lanesAtWork()) {
    int32_t &its = locals[size_t(lane) * localsOfLane + local];
    its = isFirst || !alike ? find(lane) : all;
    if (std::exchange(isFirst, false))
      all = its;
    differ |= its != all;
  }
  loose[local] = differ;
}

} // namespace wsec::runtime
