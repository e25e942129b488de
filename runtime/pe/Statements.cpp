// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main thread of a PE: statement after statement.
#include "runtime/pe/Processor.h"
#include "runtime/pe/Switch.h"

#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime::pe {

/// Goes on as far as it can by `now`; whether it did anything.
bool Processor::runMain(Wafer &wafer, Cycle now) {
  for (bool progress = false;; progress = true) {
    if (main.run || awaits() || time > Time(now))
      return progress;
    if (control) {
      if (!sendPendingControl(wafer, now))
        return progress;
    } else if (argumentsLeft > 0) {
      if (!takeArgument(wafer, now))
        return progress;
    } else if (frames.empty()) {
      if (!startWork(wafer, now))
        return progress;
    } else {
      statement(wafer);
    }
  }
}

void Processor::statement(Wafer &wafer) {
  wafer.spend(1);
  Frame &frame = frames.back();
  if (frame.next == frame.body->size())
    return leaveBody(wafer);
  const StatementCode &next = (*frame.body)[frame.next++];
  std::visit([&](const auto &what) { execute(wafer, what); }, next);
}

void Processor::leaveBody(Wafer &wafer) {
  Frame &frame = frames.back();
  if (frame.loop) {
    time += wafer.machine.loop_overhead();
    if (++loops[loopDepth - 1] < frame.iterations) {
      frame.next = 0;
      return;
    }
    --loopDepth;
  }
  frames.pop_back();
  if (!frames.empty())
    return;
  const Time end = std::max(time, results);
  wafer.noteActive(launch, end);
  acted = std::max(acted, time);
  rest = std::max(rest, end);
  if (Observer *observer = wafer.observer)
    observer->leave(observed(), launch, time);
}

/// Whether an await holds it up.
bool Processor::awaits() {
  if (awaited == 0)
    return false;
  if (running >> 1 & awaited)
    return true;
  for (size_t i = 0; micro && i < micro->size(); ++i)
    if (awaited >> i & 1)
      time = std::max(time, (*micro)[i].free);
  awaited = 0;
  return false;
}

// ---------------------------------------------------------------- statements

void Processor::execute(Wafer &wafer, const LoopCode &loop) {
  if (loop.guard >= 0) {
    const bool runs = scalars[size_t(loop.guard)] != 0;
    time += guardCycles(wafer.machine, runs);
    if (!runs)
      return;
  }
  time += valueCycles(wafer.machine, loop.count);
  const int64_t count = loop.count.value(bindings());
  if (count <= 0)
    return;
  loops[loopDepth++] = 0;
  frames.push_back({&loop.body, 0, true, count});
}

void Processor::execute(Wafer &wafer, const IfCode &branch) {
  const bool holds = branch.condition.value(bindings()) != 0;
  time += valueCycles(wafer.machine, branch.condition) +
          branchCycles(wafer.machine, holds);
  const Body &body = holds ? branch.then : branch.otherwise;
  if (!body.empty())
    frames.push_back({&body, 0, false, 1});
}

/// The body of the loop ends as after its last turn.
void Processor::execute(Wafer &wafer, const BreakCode &leave) {
  const bool holds = leave.condition.value(bindings()) != 0;
  time += valueCycles(wafer.machine, leave.condition) +
          branchCycles(wafer.machine, holds);
  if (!holds)
    return;
  Frame &loop = frames.back();
  loop.next = loop.body->size();
  loop.iterations = 0;
}

void Processor::execute(Wafer &, const AwaitCode &await) {
  awaited |= await.threads;
}

void Processor::execute(Wafer &, const SetTaskCode &set) {
  time += 1;
  if (set.action == program::TaskAction::Activate)
    activate(set.task, time);
  else
    tasks[set.task].blocked = set.action == program::TaskAction::Block;
}

void Processor::execute(Wafer &wafer, const ComputeCode &compute) {
  time += computeCycles(wafer.machine, compute);
  const Coordinate at = wafer.coordinate(pe);
  const std::optional<int32_t> value = valueOf(compute, bindings(), at.x, at.y);
  if (!value)
    fail(wafer, ErrorClass::BadProgram,
         "a scalar computation divides by " +
             std::to_string(compute.b.value(bindings())));
  locals[compute.local] = *value;
}

/// Of an element that `who` reads or writes.
int64_t Processor::elementAddress(Wafer &wafer, int index, int64_t offset,
                                  bool writes, const char *who) const {
  const BufferCode &buffer = code->buffers[size_t(index)];
  if (offset < 0 || offset >= buffer.elements)
    fail(wafer, ErrorClass::OutOfBounds,
         "element " + std::to_string(offset) + " of buffer " +
             inQuotes(buffer.name) + ", which has " +
             std::to_string(buffer.elements));
  const int64_t size = elementSize(buffer.type);
  const int64_t address = buffer.address + offset * size;
  requireNoRace(wafer, {address, size}, writes, index, nullptr, who);
  return address;
}

/// Locals are read and written as I32, floating-point elements rounded towards
/// zero.
static NumberKind localKind(const BufferCode &buffer) {
  return isInteger(buffer.type) ? NumberKind::Integer : NumberKind::Single;
}

void Processor::execute(Wafer &wafer, const LoadCode &load) {
  time +=
      wafer.machine.load_cycles() + addressCycles(wafer.machine, load.offset);
  const BufferCode &buffer = code->buffers[load.buffer];
  const int64_t offset = load.offset.value(bindings());
  const int64_t address =
      elementAddress(wafer, load.buffer, offset, false, "load");
  const uint32_t size = elementSize(buffer.type);
  if (!memory.written(address, size))
    fail(wafer, ErrorClass::UninitializedRead,
         "load reads element " + std::to_string(offset) + " of buffer " +
             inQuotes(buffer.name) + ", which nothing has written");
  uint32_t bits = 0;
  std::memcpy(&bits, memory.at(address), size);
  const NumberKind kind = localKind(buffer);
  locals[load.local] = int32_t(encodeElement(
      program::ElementType::I32, kind, decodeElement(buffer.type, kind, bits)));
}

void Processor::execute(Wafer &wafer, const StoreCode &store) {
  time += wafer.machine.store_cycles() +
          addressCycles(wafer.machine, store.offset) +
          valueCycles(wafer.machine, store.value);
  const BufferCode &buffer = code->buffers[store.buffer];
  const int64_t address = elementAddress(
      wafer, store.buffer, store.offset.value(bindings()), true, "store");
  const NumberKind kind = localKind(buffer);
  const Number number =
      decodeElement(program::ElementType::I32, kind,
                    uint32_t(int32_t(store.value.value(bindings()))));
  const uint32_t bits = encodeElement(buffer.type, kind, number);
  std::memcpy(memory.at(address), &bits, elementSize(buffer.type));
  memory.markWritten(address, elementSize(buffer.type));
}

void Processor::execute(Wafer &wafer, const ReadClockCode &clock) {
  time += addressCycles(wafer.machine, clock.offset);
  const int64_t address = elementAddress(
      wafer, clock.buffer, clock.offset.value(bindings()), true, "read_clock");
  const auto now = uint32_t(int64_t(time));
  std::memcpy(memory.at(address), &now, sizeof now);
  memory.markWritten(address, sizeof now);
  time += wafer.machine.clock_cycles();
}

void Processor::execute(Wafer &wafer, const SetRouteCode &route) {
  wafer.fabric.setRoute(pe, int(route.color.value(bindings())), route.receive,
                        route.transmit);
  time += 1 + addressCycles(wafer.machine, route.color);
}

Word Processor::controlWord(const SendControlCode &send) const {
  Word word;
  word.control = true;
  word.task = int16_t(send.task);
  word.payload = uint16_t(send.data.value(bindings()));
  for (size_t i = 0; i < send.commands.size() && i < 8; ++i)
    word.commands |= packCommand(send.commands[i], int(i));
  return word;
}

void Processor::execute(Wafer &wafer, const SendControlCode &send) {
  const InstructionCode &instruction = send.instruction;
  if (instruction.asynchronous()) {
    if (awaitsFree(wafer, instruction))
      return;
    time += valueCycles(wafer.machine, send.data);
    issue(wafer, instruction);
    thread(instruction.thread + 1).control = controlWord(send);
    return;
  }
  controlColor = int(instruction.dst.color.value(bindings()));
  if (controlColor < 0 || controlColor >= wafer.machine.colors())
    fail(wafer, ErrorClass::BadProgram,
         "sends a control wavelet on color " + std::to_string(controlColor));
  requireNoRace(wafer, controlColor, true, "send_control");
  requireResources(wafer, nullptr, controlColor);
  time += addressCycles(wafer.machine, instruction) +
          valueCycles(wafer.machine, send.data);
  control = std::make_unique<Word>(controlWord(send));
}

/// False if there is no room yet.
bool Processor::sendPendingControl(Wafer &wafer, Cycle now) {
  Mailbox &outbox = wafer.fabric.outbox(pe, controlColor);
  const Cycle room = wafer.fabric.roomAt(outbox);
  if (room > now) {
    if (room == never)
      outbox.senderWaits = true;
    else
      wakeAt(wafer, room);
    return false;
  }
  control->ready = now + wafer.machine.ramp_cycles();
  const Word word = *control;
  control.reset();
  time = std::max(time, Time(now)) + 1;
  wafer.fabric.send(outbox, word);
  return true;
}

} // namespace wsec::runtime::pe
