// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main thread of a PE: statement after statement.
#include "runtime/wavelet/Processor.h"

#include "runtime/program/Scalars.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime::wavelet {

using program::ScalarOp;

/// Goes on as far as it can by `now`; whether it did anything.
bool Processor::runMain(Cycle now) {
  bool progress = false;
  for (;; progress = true) {
    if (threads[0].run || awaits() || time > double(now))
      return progress;
    if (control) {
      if (!sendPendingControl(now))
        return progress;
    } else if (!frames.empty()) {
      statement();
    } else if (!nextWork(now)) {
      return progress;
    }
  }
}

/// Whether an await holds it up.
bool Processor::awaits() {
  if (awaited == 0)
    return false;
  for (int i = 0; i < microthreads; ++i)
    if ((awaited >> i & 1) && threads[size_t(i) + 1].run)
      return true;
  for (int i = 0; i < microthreads; ++i)
    if (awaited >> i & 1)
      time = std::max(time, threads[size_t(i) + 1].free);
  uses.forget(awaited);
  awaited = 0;
  return false;
}

void Processor::statement() {
  ledger.spend(1);
  Frame &frame = frames.back();
  if (frame.next == frame.body->size())
    return leaveBody();
  const StatementCode &next = (*frame.body)[frame.next++];
  std::visit([&](const auto &what) { execute(what); }, next);
}

void Processor::leaveBody() {
  Frame &frame = frames.back();
  if (frame.loop) {
    time += machine.loop_overhead();
    if (++loops[size_t(loopDepth) - 1] < frame.iterations) {
      frame.next = 0;
      return;
    }
    --loopDepth;
  }
  frames.pop_back();
  if (frames.empty())
    endWork();
}

// ---------------------------------------------------------------- control flow

void Processor::execute(const LoopCode &loop) {
  if (loop.guard >= 0 && scalars[size_t(loop.guard)] == 0)
    return;
  const int64_t count = loop.count.value(bindings());
  if (count <= 0)
    return;
  loops[size_t(loopDepth++)] = 0;
  frames.push_back({&loop.body, 0, count, true});
}

void Processor::execute(const IfCode &branch) {
  const bool holds = branch.condition.value(bindings()) != 0;
  time += holds ? machine.branch_not_taken() : machine.branch_taken();
  const Body &body = holds ? branch.then : branch.otherwise;
  if (!body.empty())
    frames.push_back({&body, 0, 1, false});
}

void Processor::execute(const AwaitCode &await) { awaited |= await.threads; }

void Processor::execute(const SetTaskCode &set) {
  time += 1;
  if (set.action == program::TaskAction::Activate)
    activate(set.task, time);
  else
    tasks[set.task].blocked = set.action == program::TaskAction::Block;
}

// ---------------------------------------------------------------- scalar code

void Processor::execute(const ComputeCode &compute) {
  time += machine.scalar_cycles();
  const int64_t values[] = {compute.a.value(bindings()),
                            compute.b.value(bindings()),
                            compute.c.value(bindings())};
  if (compute.op == ScalarOp::Constant) {
    locals[compute.local] = int32_t(values[0]);
    return;
  }
  const bool divides =
      compute.op == ScalarOp::Div || compute.op == ScalarOp::Mod;
  const bool tiles = compute.op == ScalarOp::TileStart ||
                     compute.op == ScalarOp::TileSize ||
                     compute.op == ScalarOp::TileIndex;
  if ((divides && values[1] == 0) || (tiles && values[1] < 1))
    refuse("a scalar computation divides by " + std::to_string(values[1]));
  const Coordinate at = fabric.coordinate(pe);
  locals[compute.local] =
      int32_t(evaluateNode({compute.op, 0, 1, 2}, values, at.x, at.y));
}

int64_t Processor::elementAddress(int index, int64_t offset) const {
  const BufferCode &buffer = code.buffers[size_t(index)];
  if (offset < 0 || offset >= buffer.elements)
    throw Error(ErrorClass::OutOfBounds,
                where() + "element " + std::to_string(offset) + " of buffer '" +
                    buffer.name + "', which has " +
                    std::to_string(buffer.elements));
  return buffer.address + offset * elementSize(buffer.type);
}

void Processor::execute(const LoadCode &load) {
  time += machine.load_cycles();
  const int64_t offset = load.offset.value(bindings());
  const int64_t address = elementAddress(load.buffer, offset);
  const BufferCode &buffer = code.buffers[load.buffer];
  const uint32_t size = elementSize(buffer.type);
  if (!memory.initialised(address, size))
    throw Error(ErrorClass::UninitializedRead,
                where() + "load reads element " + std::to_string(offset) +
                    " of buffer '" + buffer.name +
                    "', which nothing has written");
  uint32_t bits = 0;
  std::memcpy(&bits, memory.at(address), size);
  const NumberKind kind =
      isInteger(buffer.type) ? NumberKind::Integer : NumberKind::Single;
  locals[load.local] = int32_t(encodeElement(
      program::ElementType::I32, kind, decodeElement(buffer.type, kind, bits)));
}

void Processor::execute(const StoreCode &store) {
  time += machine.store_cycles();
  const BufferCode &buffer = code.buffers[store.buffer];
  const int64_t address =
      elementAddress(store.buffer, store.offset.value(bindings()));
  const auto value = int32_t(store.value.value(bindings()));
  const NumberKind kind =
      isInteger(buffer.type) ? NumberKind::Integer : NumberKind::Single;
  Number number;
  if (kind == NumberKind::Integer)
    number.integer = value;
  else
    number.real = float(value);
  const uint32_t bits = encodeElement(buffer.type, kind, number);
  std::memcpy(memory.at(address), &bits, elementSize(buffer.type));
  memory.mark(address, elementSize(buffer.type));
}

void Processor::execute(const ReadClockCode &clock) {
  const int64_t address =
      elementAddress(clock.buffer, clock.offset.value(bindings()));
  const auto now = uint32_t(int64_t(time));
  std::memcpy(memory.at(address), &now, sizeof now);
  memory.mark(address, sizeof now);
  time += machine.clock_cycles();
}

// ---------------------------------------------------------------- the fabric

void Processor::execute(const SetRouteCode &route) {
  fabric.setRoute(pe, int(route.color.value(bindings())), route.receive,
                  route.transmit);
  time += 1;
}

void Processor::execute(const SendControlCode &send) {
  control = std::make_unique<Wavelet>();
  control->control = true;
  control->task = int16_t(send.task);
  control->payload = uint16_t(send.data.value(bindings()));
  for (size_t i = 0; i < send.commands.size(); ++i)
    control->commands |= packCommand(send.commands[i], int(i));
  controlColor = int(send.color.value(bindings()));
}

/// False if there is no room yet.
bool Processor::sendPendingControl(Cycle now) {
  if (!fabric.roomToSend(pe, controlColor))
    return false;
  control->ready = now + machine.ramp_cycles();
  fabric.send(pe, controlColor, *control);
  control.reset();
  time = std::max(time, double(now)) + 1;
  return true;
}

// ---------------------------------------------------------------- vectors

std::string Processor::where() const {
  return describeLaunch(program, launch) + ", class '" + code.name + "', PE " +
         toString(fabric.coordinate(pe)) + ": ";
}

void Processor::refuse(const std::string &what) const {
  throw Error(ErrorClass::BadProgram, where() + what);
}

void Processor::execute(const InstructionCode &instruction) {
  if (instruction.guard >= 0 && scalars[size_t(instruction.guard)] == 0)
    return;
  std::unique_ptr<VectorRun> run = freshRun();
  run->begin(place(), instruction, bindings(), launch);
  ledger.spend(run->elements());
  // With a command color asynchronous instructions read memory when they are
  // issued; else as they go, like the machine.
  run->resolve(place(), bindings(), instruction.asynchronous() && !remoteCalls);
  ++ledger.vectorInstructions;
  ledger.operations += run->elements();
  if (!remoteCalls)
    checkPending(*run);
  issue(instruction, std::move(run));
}

void Processor::issue(const InstructionCode &instruction,
                      std::unique_ptr<VectorRun> run) {
  if (instruction.asynchronous()) {
    time += issueCycles(machine);
    if (!remoteCalls)
      uses.note(run->use());
  }
  Thread &thread = threads[size_t(instruction.thread + 1)];
  if (thread.run && remoteCalls && !queuesMicrothreads())
    throw Error(ErrorClass::MicrothreadBusy,
                where() + describe(instruction) +
                    " is given to a microthread that is at work");
  thread.queue.push_back({std::move(run), time});
  if (!thread.run)
    startNext(thread);
}

/// Of the third generation they queue what they are given.
bool Processor::queuesMicrothreads() const {
  return machine.microthreads_queue();
}

/// What an instruction shares with a microthread that may still be at work
/// would depend on who is faster.
void Processor::checkPending(const VectorRun &run) {
  const auto [what, inMemory] = uses.conflict(run.use());
  if (inMemory)
    run.checkSources(place());
  if (!what.empty())
    refuse(describe(run.code()) + " " + what);
}

} // namespace wsec::runtime::wavelet
