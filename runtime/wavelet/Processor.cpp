// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads and the datapath. What the code does is in Statements.cpp, which code
// runs next in Tasks.cpp.
#include "runtime/wavelet/Processor.h"

#include "runtime/program/Scalars.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace wsec::runtime::wavelet {

static constexpr Cycle never = std::numeric_limits<Cycle>::max();

// ---------------------------------------------------------------- ledger

Ledger::Ledger(const program::Program &program, const EngineOptions &options)
    : program(program), options(options),
      launches(program.launches()->size(), options.furthestLaunch) {}

void Ledger::spend(uint64_t work) {
  spent += work;
  if (options.workLimit != 0 && spent > options.workLimit)
    throw Error(ErrorClass::WorkLimit,
                "the run takes more than the " +
                    std::to_string(options.workLimit) +
                    " elements and statements that are allowed");
}

// ---------------------------------------------------------------- building

Processor::Processor(const program::Program &program, const ClassCode &code,
                     Fabric &fabric, Agenda &agenda, Ledger &ledger, int pe)
    : program(program), machine(*program.machine()), code(code), fabric(fabric),
      agenda(agenda), ledger(ledger), pe(pe),
      remoteCalls(launchedByRemoteCalls(program)), memory(code),
      loops(size_t(code.loopDepth) + 1), locals(size_t(code.locals)),
      nextWake(never) {
  const Coordinate at = fabric.coordinate(pe);
  evaluateScalars(code.source->scalars(), at.x, at.y, scalars);
  for (const TaskCode &task : code.tasks)
    tasks.push_back({false, task.blocked, 0});
  for (const FilterCode &filter : code.filters)
    fabric.setFilter(pe, filter.color,
                     {filter.kind, filter.min.value(bindings()),
                      filter.max.value(bindings()),
                      filter.limited ? filter.limit.value(bindings())
                                     : std::numeric_limits<int64_t>::max()});
}

std::unique_ptr<VectorRun> Processor::freshRun() {
  if (spare.empty())
    return std::make_unique<VectorRun>();
  std::unique_ptr<VectorRun> run = std::move(spare.back());
  spare.pop_back();
  return run;
}

// ---------------------------------------------------------------- one cycle

void Processor::step() {
  const Cycle now = agenda.now();
  if (std::exchange(stepped, now) == now)
    return;
  if (nextWake <= now)
    nextWake = never;
  bool again;
  do {
    again = false;
    for (int thread = 0; thread <= microthreads; ++thread)
      again |= complete(thread, now);
    again |= runMain(now);
    again |= stepThreads(now);
  } while (again);
  sleep(now);
}

/// Threads take turns; but one whose step could have begun within the cycle
/// that ends now comes before those that were let on just now.
bool Processor::stepThreads(Cycle now) {
  constexpr int count = microthreads + 1;
  for (bool earlier : {true, false})
    for (int i = 1; i <= count; ++i) {
      const int index = (datapath.last + i) % count;
      const Thread &thread = threads[size_t(index)];
      if (!thread.run)
        continue;
      const bool could =
          !thread.held && std::max(thread.ready, datapath.until) < double(now);
      if (could != earlier || !stepThread(index, now))
        continue;
      datapath.last = index;
      return true;
    }
  return false;
}

/// Takes a step of a thread's instruction if its words, its room and the
/// datapath are there.
bool Processor::stepThread(int index, Cycle now) {
  Thread &thread = threads[size_t(index)];
  VectorRun &run = *thread.run;
  if (run.finished())
    return false;
  if (thread.ready > double(now)) {
    thread.wait = run.drop(place(), now);
    return false;
  }
  thread.wait = run.prepare(place(), now);
  if (ledger.options.observer)
    noteWait(thread, now);
  if (thread.wait.kind != VectorRun::Wait::Nothing) {
    thread.held = true;
    return false;
  }
  if (run.finished()) { // A window was closed, or a control wavelet ended it.
    thread.ready = std::max(thread.ready, double(now));
    return true;
  }
  const double work = run.cost().work;
  double start = double(now);
  if (datapath.until <= start) {
    if (!thread.held)
      start = std::max(thread.ready, datapath.until);
    datapath.holder = index;
    datapath.until = start + work;
    datapath.nextSteal = start + 1;
  } else if (datapath.nextSteal <= start) {
    threads[size_t(datapath.holder)].ready += work;
    datapath.until += work;
    datapath.nextSteal = start + 2 * work;
  } else {
    // From now on only the datapath holds it up, to fractions of a cycle.
    if (std::exchange(thread.held, false))
      thread.ready = start;
    double next = std::min(datapath.until, datapath.nextSteal);
    thread.wait = {VectorRun::Wait::Time, Cycle(std::ceil(next)), 0};
    return false;
  }
  thread.held = false;
  thread.ready = start + work + run.cost().overhead;
  run.step(place(), now);
  return true;
}

/// Ends a thread's instruction if it is done.
bool Processor::complete(int index, Cycle now) {
  Thread &thread = threads[size_t(index)];
  if (!thread.run || !thread.run->finished() || thread.ready > double(now))
    return false;
  const VectorRun &run = *thread.run;
  const InstructionCode &done = run.code();
  thread.free = thread.ready;
  if (done.advanceSwitch)
    fabric.advanceSwitch(pe, run.sends());
  if (ledger.options.observer)
    report(thread);
  double last = thread.free;
  if (remoteCalls && done.dst.memory())
    last += machine.result_latency();
  results = std::max(results, last);
  if (index == 0) {
    time = std::max(time, thread.free);
  } else {
    ledger.launches.note(run.launch(), last, last);
    rest = std::max(rest, last);
    if (done.activate >= 0)
      activate(done.activate, thread.free);
    if (done.unblock >= 0)
      tasks[size_t(done.unblock)].blocked = false;
  }
  spare.push_back(std::move(thread.run));
  if (!thread.queue.empty())
    startNext(thread);
  return true;
}

/// Takes the next instruction off a thread's queue.
void Processor::startNext(Thread &thread) {
  auto [run, issued] = std::move(thread.queue.front());
  thread.queue.pop_front();
  thread.run = std::move(run);
  thread.begun = std::max(issued, thread.free);
  thread.waitsToReceive = thread.waitsToSend = 0;
  thread.waitsSince = -1;
  thread.ready = thread.begun + thread.run->cost().setup;
  thread.held = false;
  thread.wait = {};
}

// ---------------------------------------------------------------- observing

/// A step was asked for: adds up for how long the fabric keeps it.
void Processor::noteWait(Thread &thread, Cycle now) {
  using Wait = VectorRun::Wait;
  if (thread.waitsSince >= 0)
    (thread.waitsForRoom ? thread.waitsToSend : thread.waitsToReceive) +=
        double(now - thread.waitsSince);
  thread.waitsSince = thread.wait.kind == Wait::Nothing ? -1 : now;
  thread.waitsForRoom = thread.wait.kind == Wait::Room;
}

void Processor::report(const Thread &thread) {
  const VectorRun &run = *thread.run;
  const double busy =
      run.cost().setup +
      double(run.stepsTaken()) * (run.cost().work + run.cost().overhead);
  Observer &observer = *ledger.options.observer;
  observer.instruction(observed(), {run.code(), run.launch(), thread.begun,
                                    thread.free, busy, thread.waitsToReceive,
                                    thread.waitsToSend, run.elements()});
}

std::vector<std::string> Processor::describeThreads() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < threads.size(); ++i)
    if (const VectorRun *run = threads[i].run.get())
      lines.push_back(
          // The description of an instruction names its microthread.
          std::string(i ? "" : "main thread, ") + "launch " +
          std::to_string(run->launch()) + ": " + run->describeState() +
          (threads[i].queue.empty()
               ? ""
               : ", " + std::to_string(threads[i].queue.size()) + " queued"));
  if (control)
    lines.push_back("main thread: a control wavelet for color " +
                    std::to_string(controlColor) + " waits for room");
  else if (!frames.empty() && !threads[0].run)
    lines.push_back(
        "main thread, launch " + std::to_string(launch) +
        (awaited ? ": awaits microthreads" : ": between instructions"));
  return lines;
}

std::vector<std::string> Processor::describeTasks() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].pending || tasks[i].blocked)
      lines.push_back("task '" + code.tasks[i].name + "'" +
                      (tasks[i].pending ? " pending" : "") +
                      (tasks[i].blocked ? " blocked" : ""));
  return lines;
}

// ---------------------------------------------------------------- sleeping

void Processor::wakeAt(Cycle when) {
  if (when >= nextWake)
    return;
  nextWake = when;
  agenda.enter(when, agendaEntry(Party::Processor, uint32_t(pe)));
}

void Processor::wakeAt(double when) { wakeAt(Cycle(std::ceil(when))); }

/// Wakes when there is a word of the color.
void Processor::wakeForWord(int color) {
  const Buffer *inbox = fabric.inbox(pe, color);
  if (inbox && !inbox->empty())
    wakeAt(std::max(inbox->front().ready, agenda.now() + 1));
  else
    fabric.listen(pe, color);
}

/// Sees to it that the PE is due when there is something to do again.
void Processor::sleep(Cycle now) {
  for (const Thread &thread : threads) {
    if (!thread.run)
      continue;
    const bool finished = thread.run->finished();
    if (finished || thread.ready > double(now))
      wakeAt(thread.ready);
    if (finished)
      continue;
    if (thread.wait.kind == VectorRun::Wait::Time)
      wakeAt(thread.wait.until);
    else if (thread.wait.kind == VectorRun::Wait::Word)
      fabric.listen(pe, thread.wait.color);
  }
  if (threads[0].run || awaited)
    return;
  if (time > double(now) && (!frames.empty() || control || hasWork()))
    wakeAt(time);
  else if (frames.empty() && !control)
    awaitWork();
}

void Processor::addTo(WaitGraph &graph) const {
  const Coordinate at = fabric.coordinate(pe);
  for (size_t i = 0; i < threads.size(); ++i)
    if (const VectorRun *run = threads[i].run.get())
      graph.add({at, &code, &run->code(), run->launch(), run->waitsOn().color,
                 run->waitsOn().kind == VectorRun::Wait::Room,
                 i > 0 && (awaited >> (i - 1) & 1)});
  if (control)
    graph.add({at, &code, nullptr, launch, controlColor, true, false});
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].blocked)
      graph.addBlocked(at, code.tasks[i], tasks[i].pending);
}

} // namespace wsec::runtime::wavelet
