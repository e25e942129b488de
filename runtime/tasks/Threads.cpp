// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions on the threads of a PE. An instruction takes as many steps at a
// time as its words have come for; what it sends leaves as one chunk. Words
// that find no room on their way are sent all the same: the instruction does
// not end before there is.
#include "runtime/tasks/Processor.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime::tasks {

using program::Packing;

Processor::Thread &Processor::thread(int index) {
  if (index == mainThread)
    return main;
  if (!micro)
    micro = std::make_unique<std::array<Thread, threadCount - 1>>();
  return (*micro)[size_t(index - 1)];
}

static std::string describeForm(uint8_t form) {
  std::string text = program::EnumNameElementType(
      program::ElementType((form & ~halfFilled) / 2));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (form & 1)
    text += form & halfFilled ? ", half a pair" : " in pairs";
  return text;
}

/// Of the third generation they queue what they are given.
static bool queuesMicrothreads(const program::Machine &machine) {
  return machine.name() && machine.name()->string_view() == "wse3";
}

// ---------------------------------------------------------------- issue

bool Processor::execute(Wafer &wafer, const InstructionCode &instruction) {
  const bool local = !instruction.asynchronous() && !instruction.usesFabric();
  if (!local && !present(wafer))
    return false;
  if (instruction.guard >= 0 && scalars[size_t(instruction.guard)] == 0)
    return true;
  try {
    VectorRun run(wafer.machine, *code, instruction, bindings());
    wafer.spend(run.elementCount());
    ++wafer.vectorInstructions;
    wafer.operations += run.elementCount();
    if (local) {
      run.run(memory, run.steps(), wafer.sent);
      const Time begun = time;
      time += run.cost().setup;
      if (run.steps() > 0)
        time += run.cost().step;
      if (Observer *observer = wafer.options.observer)
        observer->instruction(observed(),
                              {instruction, wafer.currentLaunch, begun, time,
                               time - begun, 0, 0, run.elementCount()});
      return true;
    }
    std::unique_ptr<VectorRun> held;
    if (wafer.spare.empty()) {
      held = std::make_unique<VectorRun>(std::move(run));
    } else {
      held = std::move(wafer.spare.back());
      wafer.spare.pop_back();
      *held = std::move(run);
    }
    issue(wafer, instruction, std::move(held));
  } catch (const VectorRun::Fault &fault) {
    fail(wafer, fault.errorClass, fault.what);
  }
  return true;
}

void Processor::issue(Wafer &wafer, const InstructionCode &instruction,
                      std::unique_ptr<VectorRun> run) {
  const int index = instruction.thread + 1;
  checkShared(wafer, *run, index);
  if (instruction.asynchronous())
    time += wafer.machine.async_issue() > 0 ? wafer.machine.async_issue() : 1;
  Thread &its = thread(index);
  if (!its.run)
    return begin(wafer, index, std::move(run), time);
  if (!queuesMicrothreads(wafer.machine))
    fail(wafer, ErrorClass::MicrothreadBusy,
         describe(instruction) + " is given to a microthread that is at work");
  its.queue.emplace_back(std::move(run), time);
}

/// Two instructions at a time that send, or receive, one color share its words
/// in a way that depends on cycles.
void Processor::checkShared(Wafer &wafer, const VectorRun &run,
                            int index) const {
  auto check = [&](const VectorRun &other, int at) {
    if (at == index)
      return;
    const std::string whom = at == mainThread
                                 ? "the main thread"
                                 : "microthread " + std::to_string(at - 1);
    if (run.sendColor >= 0 && run.sendColor == other.sendColor)
      undecided(wafer, describe(run.code()) + " sends on color " +
                           std::to_string(run.sendColor) + " as " + whom +
                           " does");
    for (const VectorRun::Source &source : run.sources)
      for (const VectorRun::Source &rival : other.sources)
        if (source.receives() && source.color == rival.color &&
            rival.wordsLeft() > 0)
          undecided(wafer, describe(run.code()) + " receives color " +
                               std::to_string(source.color) + " as " + whom +
                               " does");
  };
  if (main.run)
    check(*main.run, mainThread);
  for (int i = 1; micro && i < threadCount; ++i) {
    const Thread &other = (*micro)[size_t(i - 1)];
    if (other.run)
      check(*other.run, i);
    for (const auto &[queued, when] : other.queue)
      check(*queued, i);
  }
}

void Processor::begin(Wafer &wafer, int index, std::unique_ptr<VectorRun> run,
                      Time when) {
  Thread &its = thread(index);
  its.run = std::move(run);
  its.launch = wafer.currentLaunch;
  its.begun = std::max(when, its.free);
  its.waitsToSend = 0;
  its.nextStep = its.begun + its.run->cost().setup;
  its.draining = its.over = false;
  for (const VectorRun::Source &source : its.run->sources)
    if (source.receives())
      port(wafer, source.color);
  if (its.run->sendColor >= 0) {
    Port &out = port(wafer, its.run->sendColor);
    if (out.inlet < 0)
      out.inlet = wafer.network.rampInlet(pe, out.color);
  }
  progress(wafer, index);
}

// ---------------------------------------------------------------- steps

/// Takes the words of the next chunk of a source, as many as are needed. False
/// if there is none.
bool Processor::pull(Wafer &wafer, VectorRun &run, int index, Time &first,
                     Time &last) {
  VectorRun::Source &source = run.sources[size_t(index)];
  Outlet *outlet = port(wafer, source.color).outlet;
  if (!outlet || outlet->queue.empty() || outlet->queue.front().control ||
      source.wordsLeft() == 0)
    return false;
  Chunk &front = outlet->queue.front();
  if (front.first > wafer.agenda.now()) {
    // It is on its way up the ramp behind others.
    wafer.agenda.add(front.first, uint32_t(pe), Event::Complete,
                     threadCount + uint32_t(source.color));
    return false;
  }
  const OperandCode &operand = index == 0 ? run.code().a : run.code().b;
  const auto count =
      uint32_t(std::min<int64_t>(front.count, source.wordsLeft()));
  uint8_t expected = wireForm(operand.type, operand.packing);
  if (source.paired && source.needed == 1)
    expected |= halfFilled;
  if (front.form != expected)
    fail(wafer, ErrorClass::PackingMismatch,
         describe(run.code()) + " receives " + describeForm(front.form) +
             " on color " + std::to_string(source.color) +
             " where it expects " + describeForm(expected));
  // The last word of an odd number of pairs must be half filled.
  const bool tail = source.paired && source.needed % 2 == 1 &&
                    int64_t(count) * 2 > source.needed && source.needed > 1;
  if (tail)
    fail(wafer, ErrorClass::PackingMismatch,
         describe(run.code()) + " receives " + describeForm(front.form) +
             " on color " + std::to_string(source.color) +
             " where it expects " +
             describeForm(uint8_t(expected | halfFilled)));
  first = std::max(first, front.first);
  last = std::max(last, front.time(count - 1));
  if (wafer.options.observer)
    wafer.options.observer->received(observed(), source.color, count);
  for (uint32_t i = 0; i < count; ++i)
    source.accept(front.at(i));
  if (count < front.count)
    front.drop(count);
  else
    outlet->queue.pop_front();
  const Time from = std::max(first, thread(run.code().thread + 1).nextStep);
  const double perWord =
      run.cost().step * double(source.group) * (source.paired ? 2 : 1);
  wafer.network.take(*outlet, count, from,
                     std::max(last, from + (count - 1) * perWord));
  return true;
}

void Processor::progress(Wafer &wafer, int index) {
  Thread &its = thread(index);
  VectorRun &run = *its.run;
  if (its.draining || its.over)
    return;
  try {
    for (;;) {
      Time first = its.nextStep, last = its.nextStep;
      for (int i = 0; i < 2; ++i)
        if (run.sources[size_t(i)].receives() &&
            run.sources[size_t(i)].elements.empty())
          pull(wafer, run, i, first, last);
      const int64_t count = run.ready();
      if (count == 0) {
        its.nextStep = std::max(its.nextStep, first);
        break;
      }
      wafer.sent.clear();
      run.run(memory, count, wafer.sent);
      last = std::max(last, first + double(count - 1) * run.cost().step);
      if (run.sendColor >= 0)
        sendWords(wafer, run, first, last);
      its.nextStep = last + run.cost().step;
    }
    // Words that are left of windows.
    if (run.done() == run.steps())
      for (int i = 0; i < 2; ++i)
        while (run.sources[size_t(i)].windowed &&
               pull(wafer, run, i, its.nextStep, its.nextStep))
          ;
  } catch (const VectorRun::Fault &fault) {
    fail(wafer, fault.errorClass, fault.what);
  }
  auto closed = [](const VectorRun::Source &source) {
    return !source.windowed || source.wordsLeft() == 0;
  };
  const bool complete = run.done() == run.steps() && closed(run.sources[0]) &&
                        closed(run.sources[1]);
  if (complete || endedBy(wafer, its))
    finish(wafer, index);
}

/// Whether a control wavelet that is next ends the instruction; takes it.
bool Processor::endedBy(Wafer &wafer, Thread &its) {
  if (its.run->code().onControl != program::OnControl::End)
    return false;
  for (const VectorRun::Source &source : its.run->sources) {
    if (!source.receives() || !source.elements.empty())
      continue;
    Outlet *outlet = port(wafer, source.color).outlet;
    if (!outlet || outlet->queue.empty() || !outlet->queue.front().control ||
        outlet->queue.front().first > wafer.agenda.now())
      continue;
    const Time at = std::max(its.nextStep, outlet->queue.front().first);
    outlet->queue.pop_front();
    wafer.network.take(*outlet, 1, at, at);
    its.nextStep = at;
    its.run->end();
    return true;
  }
  return false;
}

/// The words in `wafer.sent`, computed between two times.
void Processor::sendWords(Wafer &wafer, VectorRun &run, Time first, Time last) {
  if (wafer.sent.empty())
    return;
  // What comes from memory is at hand when its step begins; a word of the
  // fabric takes the step to come in.
  const double delay = std::ceil(run.cost().compute) - (run.relays() ? 0 : 1);
  const OperandCode &dst = run.code().dst;
  const bool pairs = dst.packing == Packing::Pair;
  Chunk chunk;
  chunk.form = wireForm(dst.type, dst.packing);
  chunk.first = first + delay;
  chunk.last = last + delay;
  chunk.count = uint32_t(wafer.sent.size());
  if (chunk.count == 1)
    chunk.word = wafer.sent[0];
  else
    chunk.words = std::make_shared<const std::vector<uint32_t>>(wafer.sent);
  const auto inlet = uint32_t(port(wafer, run.sendColor).inlet);
  if (Observer *observer = wafer.options.observer)
    observer->sent(observed(), wafer.currentLaunch, run.sendColor, chunk.count,
                   chunk.first, chunk.last);
  if (pairs && run.done() == run.steps() && run.steps() % 2 == 1) {
    Chunk tail = chunk;
    if (chunk.count > 1) {
      tail.drop(chunk.count - 1);
      wafer.network.send(inlet, chunk.head(chunk.count - 1));
    }
    tail.form |= halfFilled;
    wafer.network.send(inlet, std::move(tail));
    return;
  }
  wafer.network.send(inlet, std::move(chunk));
}

// ---------------------------------------------------------------- the end

/// All steps are taken; it ends when all words are on their way.
void Processor::finish(Wafer &wafer, int index) {
  Thread &its = thread(index);
  if (its.run->sendColor >= 0) {
    const Time room =
        wafer.network.roomAt(uint32_t(port(wafer, its.run->sendColor).inlet),
                             {false, uint32_t(pe), uint32_t(index)});
    its.draining = room == never;
    if (its.draining)
      return;
    its.waitsToSend += std::max(0.0, room - its.nextStep);
    its.nextStep = std::max(its.nextStep, room);
  }
  its.over = true;
  wafer.agenda.add(its.nextStep, uint32_t(pe), Event::Complete,
                   uint32_t(index));
}

void Processor::released(Wafer &wafer, int index) {
  if (index == mainThread && controlWaits) {
    const Time room =
        wafer.network.roomAt(uint32_t(port(wafer, controlColor).inlet),
                             {false, uint32_t(pe), mainThread});
    if (room == never)
      return;
    controlWaits = false;
    time = std::max(time, room);
    return runMain(wafer);
  }
  Thread &its = thread(index);
  if (its.run && its.draining)
    finish(wafer, index);
}

void Processor::completed(Wafer &wafer, int index) {
  if (index >= threadCount)
    return arrived(wafer, index - threadCount);
  Thread &its = thread(index);
  const InstructionCode &done = its.run->code();
  its.free = its.nextStep;
  if (done.advanceSwitch) {
    Chunk mark;
    mark.count = 0;
    mark.advances = true;
    mark.first = mark.last = its.free - wafer.machine.ramp_cycles();
    wafer.network.send(uint32_t(port(wafer, its.run->sendColor).inlet),
                       std::move(mark));
  }
  if (Observer *observer = wafer.options.observer) {
    const VectorRun &run = *its.run;
    const double busy = run.cost().setup + double(run.done()) * run.cost().step;
    const double waits = its.free - its.begun - busy - its.waitsToSend;
    observer->instruction(observed(), {done, its.launch, its.begun, its.free,
                                       busy, std::max(0.0, waits),
                                       its.waitsToSend, run.elementCount()});
  }
  wafer.noteActive(its.launch, its.free);
  rest = std::max(rest, its.free);
  wafer.spare.push_back(std::move(its.run));
  if (index == mainThread) {
    time = std::max(time, its.free);
  } else {
    if (done.activate >= 0)
      activate(done.activate, its.free);
    if (done.unblock >= 0)
      tasks[size_t(done.unblock)].blocked = false;
    if (!its.queue.empty()) {
      auto [run, when] = std::move(its.queue.front());
      its.queue.erase(its.queue.begin());
      begin(wafer, index, std::move(run), when);
    }
  }
  if (index == mainThread || awaited || (frames.empty() && !main.run))
    runMain(wafer);
}

} // namespace wsec::runtime::tasks
