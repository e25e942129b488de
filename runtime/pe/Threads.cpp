// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions on the threads of a PE, step by step.
#include "runtime/pe/Processor.h"

#include "runtime/program/NearestNames.h"
#include "runtime/program/check/InFlight.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace wsec::runtime::pe {

using program::Packing;

std::string describeForm(uint8_t form) {
  std::string text = program::EnumNameElementType(
      program::ElementType((form & ~halfFilled) / 2));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (form & 1)
    text += form & halfFilled ? ", half a pair" : " in pairs";
  return text;
}

// ---------------------------------------------------------------- issue

void Processor::execute(Wafer &wafer, const InstructionCode &instruction) {
  const bool guarded = instruction.guard >= 0;
  const bool runs = !guarded || scalars[size_t(instruction.guard)] != 0;
  if (runs && instruction.asynchronous() && awaitsFree(wafer, instruction))
    return;
  if (guarded)
    time += guardCycles(wafer.machine, runs);
  if (!runs)
    return;
  issue(wafer, instruction);
  const uint64_t elements = thread(instruction.thread + 1).run->elementCount();
  ++wafer.vectorInstructions;
  wafer.operations += elements;
}

/// Resolves it and gives it to its thread, which is idle.
void Processor::issue(Wafer &wafer, const InstructionCode &instruction) {
  time += addressCycles(wafer.machine, instruction);
  if (wafer.spare.empty())
    wafer.spare.push_back(std::make_unique<VectorRun>());
  try {
    VectorRun &run = *wafer.spare.back();
    run.begin(wafer.machine, *code, instruction, bindings());
    wafer.spend(run.elementCount());
    requireNoRace(wafer, run);
    requireResources(wafer, &run, -1);
  } catch (const VectorRun::Fault &fault) {
    fail(wafer, fault.errorClass, fault.what);
  }
  std::unique_ptr<VectorRun> run = std::move(wafer.spare.back());
  wafer.spare.pop_back();
  if (instruction.asynchronous())
    time += issueCycles(wafer.machine);
  begin(wafer, instruction.thread + 1, std::move(run));
}

/// Whether an asynchronous instruction has to wait until its microthread has
/// done what it is at. Of some machines nobody waits: that is an error.
bool Processor::awaitsFree(const Wafer &wafer,
                           const InstructionCode &instruction) {
  if (!(running >> (instruction.thread + 1) & 1))
    return false;
  if (!wafer.machine.microthreads_queue())
    fail(wafer, ErrorClass::MicrothreadBusy,
         describe(instruction) +
             " is given to a microthread that may be at work: await it before");
  awaited |= uint16_t(1u << instruction.thread);
  --frames.back().next;
  return true;
}

// ---------------------------------------------------------------- races

static std::string nameOf(const VectorRun &live) {
  return "microthread " + std::to_string(live.code().thread);
}

static constexpr const char *remedy =
    ": await it before, or go on in a task that it activates";

/// What touches elements that a microthread still writes, or writes elements
/// that it still reads, would depend on who is faster. `who` does, or else
/// `instruction`.
void Processor::requireNoRace(const Wafer &wafer, const Elements &touched,
                              bool writes, int buffer,
                              const InstructionCode *instruction,
                              const char *who) const {
  for (unsigned left = running >> 1; left != 0; left &= left - 1) {
    const VectorRun &live = *(*micro)[size_t(std::countr_zero(left))].run;
    const bool written = touched.overlaps(live.writes());
    if (!written && !(writes && (touched.overlaps(live.reads(0)) ||
                                 touched.overlaps(live.reads(1)))))
      continue;
    fail(wafer, ErrorClass::DataRace,
         (instruction ? describe(*instruction) : who) +
             (written ? " touches what " + nameOf(live) + " writes"
                      : " writes what " + nameOf(live) + " reads") +
             ", without an await between, in buffer " +
             inQuotes(code->buffers[size_t(buffer)].name) + remedy);
  }
}

/// Words of a color that two threads receive, or send, come in an order that
/// depends on who is faster.
void Processor::requireNoRace(const Wafer &wafer, int color, bool sends,
                              const std::string &who) const {
  for (unsigned left = running >> 1; left != 0; left &= left - 1) {
    const VectorRun &live = *(*micro)[size_t(std::countr_zero(left))].run;
    if (sends
            ? live.sendColor == color
            : live.sources[0].color == color || live.sources[1].color == color)
      fail(wafer, ErrorClass::DataRace,
           who + (sends ? " sends on color " : " receives color ") +
               std::to_string(color) + " as " + nameOf(live) +
               " does, without an await between" + remedy);
  }
}

void Processor::requireNoRace(const Wafer &wafer, const VectorRun &run) const {
  if (aloneOnDatapath())
    return;
  const InstructionCode &instruction = run.code();
  requireNoRace(wafer, run.reads(0), false, instruction.a.buffer, &instruction);
  requireNoRace(wafer, run.reads(1), false, instruction.b.buffer, &instruction);
  requireNoRace(wafer, run.writes(), true, instruction.dst.buffer,
                &instruction);
  for (const VectorRun::Source &source : run.sources)
    if (source.receives())
      requireNoRace(wafer, source.color, false, describe(instruction));
  if (run.sendColor >= 0)
    requireNoRace(wafer, run.sendColor, true, describe(instruction));
}

// ---------------------------------------------------------------- resources

static void hold(const VectorRun &run, InFlight &held) {
  for (const VectorRun::Source &source : run.sources)
    if (source.receives())
      held.inputs.set(size_t(source.color));
  if (run.sendColor >= 0)
    held.outputs.set(size_t(run.sendColor));
  for (const OperandCode *operand :
       {&run.code().dst, &run.code().a, &run.code().b})
    held.descriptors += operand->memory() || operand->fabric();
}

/// Queues and descriptors for what is in flight and an instruction, or a
/// control wavelet, that is next.
void Processor::requireResources(const Wafer &wafer, const VectorRun *next,
                                 int sent) const {
  if (!code->resources)
    return;
  InFlight held{code->resources->heldInputs, code->resources->heldOutputs, 0};
  for (unsigned left = running >> 1; left != 0; left &= left - 1)
    hold(*(*micro)[size_t(std::countr_zero(left))].run, held);
  if (next)
    hold(*next, held);
  if (sent >= 0)
    held.outputs.set(size_t(sent));
  if (const std::string excess = held.excess(*code->resources); !excess.empty())
    fail(wafer, ErrorClass::MachineLimit,
         (next ? describe(next->code()) : "send_control") + ": " + excess);
}

// ---------------------------------------------------------------- threads

void Processor::begin(Wafer &wafer, int index, std::unique_ptr<VectorRun> run) {
  Thread &its = thread(index);
  running |= uint16_t(1u << index);
  its.run = std::move(run);
  its.launch = launch;
  its.begun = std::max(time, its.free);
  its.waitsToSend = 0;
  its.ready = its.begun + its.run->cost().setup;
  its.held = false;
  its.wait = {};
  its.closed = its.run->steps() == 0;
  for (size_t i = 0; i < 2; ++i) {
    const VectorRun::Source &source = its.run->sources[i];
    its.closed &= !source.windowed;
    its.in[i] =
        source.receives() ? &wafer.fabric.expect(pe, source.color) : nullptr;
  }
  its.out = nullptr;
  for (int i = 0; i < 2; ++i)
    if (its.run->sources[size_t(i)].windowed)
      drop(wafer, its, i);
}

/// When an instruction that ended at `when` has its last result in memory.
Time Processor::settled(Wafer &wafer, const InstructionCode &code, Time when) {
  if (!code.dst.memory())
    return when;
  const Time last = when + wafer.machine.result_latency();
  results = std::max(results, last);
  return last;
}

/// Ends a thread's instruction if it is done.
bool Processor::complete(Wafer &wafer, int index, Cycle now) {
  Thread &its = thread(index);
  if (its.ready > Time(now) || !its.finished())
    return false;
  const InstructionCode &done = its.run->code();
  its.free = its.ready;
  if (done.advanceSwitch)
    wafer.fabric.advanceSwitch(pe, its.run->sendColor);
  if (wafer.observer)
    observe(wafer, its);
  wafer.spare.push_back(std::move(its.run));
  running &= uint16_t(~(1u << index));
  const Time last = settled(wafer, done, its.free);
  if (index == mainThread) {
    time = std::max(time, its.free);
  } else {
    wafer.noteActive(its.launch, last);
    acted = std::max(acted, its.free);
    rest = std::max(rest, last);
    if (done.activate >= 0)
      activate(done.activate, its.free);
    if (done.unblock >= 0)
      tasks[size_t(done.unblock)].blocked = false;
  }
  return true;
}

void Processor::observe(Wafer &wafer, const Thread &its) const {
  const VectorRun &run = *its.run;
  const Time busy = run.cost().setup + Time(run.done()) * run.cost().perStep;
  const Time waits = its.free - its.begun - busy - its.waitsToSend;
  wafer.observer->instruction(
      observed(), {run.code(), its.launch, its.begun, its.free, busy,
                   std::max(0.0, waits), its.waitsToSend, run.elementCount()});
}

// ---------------------------------------------------------------- waiting

/// The ramp drops the words up to the next that is used, whatever the thread
/// is at.
void Processor::drop(Wafer &wafer, Thread &its, int source) {
  const int64_t words = its.run->sources[size_t(source)].skip();
  if (words > 0)
    wafer.fabric.drop(*its.in[size_t(source)], words);
}

/// Whether no word is left to drop.
bool Processor::dropped(Thread &its) {
  its.wait = {};
  for (size_t i = 0; i < 2; ++i) {
    const VectorRun::Source &source = its.run->sources[i];
    if (source.windowed && its.in[i]->toDrop > 0) {
      its.wait = {Wait::Word, source.color, 0, its.in[i]};
      return false;
    }
  }
  return true;
}

/// Whether the oldest word of a source is there at `now`; one that follows a
/// word of the same cycle is there in the next.
bool Processor::awaitWord(Thread &its, int source, Cycle now) {
  const Mailbox &inbox = *its.in[size_t(source)];
  const int color = its.run->sources[size_t(source)].color;
  if (inbox.queue.empty()) {
    its.wait = {Wait::Word, color, 0, its.in[size_t(source)]};
    return false;
  }
  const Cycle ready = inbox.takeable();
  if (ready > now)
    its.wait = {Wait::Until, color, ready};
  return ready <= now;
}

/// Whether the next step can be taken at `now`, or there is none.
bool Processor::prepare(Wafer &wafer, Thread &its, Cycle now) {
  VectorRun &run = *its.run;
  if (!dropped(its))
    return false;
  if (run.done() == run.steps()) {
    its.closed = true;
    return true;
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!run.sources[i].needsWord(run.done()))
      continue;
    if (!awaitWord(its, int(i), now))
      return false;
    if (!its.in[i]->queue.front().control)
      continue;
    if (run.code().onControl == program::OnControl::Task) {
      its.wait = {Wait::Word, run.sources[i].color, 0, its.in[i]};
      return false;
    }
    wafer.fabric.receive(*its.in[i]);
    run.end();
    its.closed = true;
    return true;
  }
  if (run.sendColor < 0)
    return true;
  if (!its.out)
    its.out = &wafer.fabric.outbox(pe, run.sendColor);
  const Cycle room = wafer.fabric.roomAt(*its.out);
  if (room == never)
    its.wait = {Wait::Room, run.sendColor, 0};
  else if (room > now)
    its.wait = {Wait::Until, run.sendColor, room};
  return room <= now;
}

// ---------------------------------------------------------------- steps

/// Threads take turns; but one whose step could have begun within the cycle
/// that ends now comes before those that were let on just now.
bool Processor::stepThreads(Wafer &wafer, Cycle now) {
  if (aloneOnDatapath()) {
    const bool stepped = main.run && stepThread(wafer, mainThread, now);
    datapath.last = stepped ? mainThread : datapath.last;
    return stepped;
  }
  for (bool earlier : {true, false})
    for (int i = 1; i <= threadCount; ++i) {
      const int index = (datapath.last + i) % threadCount;
      if (!(running >> index & 1))
        continue;
      const Thread &its = thread(index);
      const bool could =
          !its.held && std::max(its.ready, datapath.until) < Time(now);
      if (could != earlier || !stepThread(wafer, index, now))
        continue;
      datapath.last = int8_t(index);
      return true;
    }
  return false;
}

/// Takes a step of a thread's instruction if its words, its room and the
/// datapath are there.
bool Processor::stepThread(Wafer &wafer, int index, Cycle now) {
  Thread &its = thread(index);
  if (its.finished())
    return false;
  if (its.ready > Time(now)) {
    its.wait = {};
    return false;
  }
  const bool lacksRoom = its.wait.kind == Wait::Room;
  if (!prepare(wafer, its, now)) {
    its.held = true;
    return false;
  }
  if (lacksRoom)
    its.waitsToSend += Time(now) - its.ready;
  if (its.finished()) {
    its.ready = std::max(its.ready, Time(now));
    return true;
  }
  if (!grant(index, now))
    return false;
  takeStep(wafer, its, now);
  return true;
}

/// Gives a thread the datapath for a step that it takes at `now`.
bool Processor::grant(int index, Cycle now) {
  Thread &its = thread(index);
  const double work = its.run->cost().compute;
  auto start = Time(now);
  if (datapath.until <= start) {
    if (!its.held)
      start = std::max(its.ready, datapath.until);
    datapath.holder = int8_t(index);
    datapath.until = start + work;
    datapath.nextSteal = start + 1;
  } else if (datapath.nextSteal <= start) {
    thread(datapath.holder).ready += work;
    datapath.until += work;
    datapath.nextSteal = start + 2 * work;
  } else {
    // From now on only the datapath holds it up, to fractions of a cycle.
    if (std::exchange(its.held, false))
      its.ready = start;
    const Time next = std::min(datapath.until, datapath.nextSteal);
    its.wait = {Wait::Until, 0, Cycle(std::ceil(next))};
    return false;
  }
  its.held = false;
  its.ready = start + its.run->cost().perStep;
  return true;
}

/// Takes the step that was granted for `now`.
void Processor::takeStep(Wafer &wafer, Thread &its, Cycle now) {
  takeWords(wafer, its);
  VectorRun &run = *its.run;
  wafer.sent.clear();
  try {
    run.step(memory, wafer.sent);
  } catch (const VectorRun::Fault &fault) {
    fail(wafer, fault.errorClass, fault.what);
  }
  its.closed = run.done() == run.steps() && !run.sources[0].windowed &&
               !run.sources[1].windowed;
  // A pair leaves with its second element.
  for (uint32_t payload : wafer.sent)
    send(wafer, its, payload, now);
}

/// Receives the words of the next step.
void Processor::takeWords(Wafer &wafer, Thread &its) {
  VectorRun &run = *its.run;
  const int64_t step = run.done();
  for (size_t i = 0; i < 2; ++i) {
    VectorRun::Source &source = run.sources[i];
    if (!source.needsWord(step))
      continue;
    const Word word = wafer.fabric.receive(*its.in[i]);
    if (wafer.observer)
      wafer.observer->received(observed(), source.color, 1);
    const OperandCode &operand = i == 0 ? run.code().a : run.code().b;
    const bool half = source.paired && step + 1 == run.steps();
    const auto expected = uint8_t(wireForm(operand.type, operand.packing) |
                                  (half ? halfFilled : 0));
    if (word.form != expected)
      fail(wafer, ErrorClass::PackingMismatch,
           describe(run.code()) + " receives " + describeForm(word.form) +
               " on color " + std::to_string(source.color) +
               " where it expects " + describeForm(expected));
    source.accept(word.payload, half);
    if (source.windowed)
      drop(wafer, its, int(i));
  }
}

/// Sends a word that the last step, taken at `now`, gave.
void Processor::send(Wafer &wafer, const Thread &its, uint32_t payload,
                     Cycle now) {
  const VectorRun &run = *its.run;
  const OperandCode &dst = run.code().dst;
  // What comes from memory is at hand when its step begins; a word of the
  // fabric takes the step to come in.
  const Cycle delay = wafer.machine.ramp_cycles() +
                      Cycle(std::ceil(run.cost().compute)) -
                      (run.relays() ? 0 : 1);
  const bool half = dst.packing == Packing::Pair && run.steps() % 2 == 1 &&
                    run.done() == run.steps();
  Word word;
  word.form =
      uint8_t(wireForm(dst.type, dst.packing) | (half ? halfFilled : 0));
  word.payload = payload;
  if (run.code().sendsControl)
    word = its.control;
  word.ready = now + delay;
  if (Observer *observer = wafer.observer; observer && !word.control)
    observer->sent(observed(), its.launch, run.sendColor, 1, Time(now),
                   Time(now));
  wafer.fabric.send(*its.out, word);
}

} // namespace wsec::runtime::pe
