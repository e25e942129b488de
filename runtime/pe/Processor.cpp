// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a PE does when. Statements are in Statements.cpp, instructions in
// Threads.cpp.
#include "runtime/pe/Processor.h"

#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace wsec::runtime::pe {

using program::TaskKind;

// ---------------------------------------------------------------- the wafer

Wafer::Wafer(const Call &call, Fabric &fabric, LaunchLog &launches,
             Observer *observer, uint64_t workLimit)
    : call(call), program(call.program()), machine(*program.machine()),
      fabric(fabric), launches(launches), observer(observer),
      limit(workLimit ? workLimit : UINT64_MAX) {}

void Wafer::failWorkLimit() const {
  throw Error(ErrorClass::WorkLimit,
              "the run takes more than the " + std::to_string(limit) +
                  " elements and statements that are allowed");
}

// ---------------------------------------------------------------- a PE

void Processor::create(Wafer &wafer, const ClassCode &its, int index) {
  code = &its;
  pe = index;
  memory.setRange(code->firstDataWord * 4, code->endDataWord * 4);
  for (const BufferCode &buffer : code->buffers)
    if (buffer.initial) {
      std::memcpy(memory.at(buffer.address), buffer.initial->data(),
                  buffer.initial->size());
      memory.markWritten(buffer.address, buffer.initial->size());
    }
  const Coordinate at = wafer.coordinate(pe);
  evaluateScalars(code->source->scalars(), at.x, at.y, scalars);
  for (const TaskCode &task : code->tasks) {
    tasks.push_back({false, task.blocked, 0});
    hearsWords |= task.kind != TaskKind::Local;
  }
}

Processor::Thread &Processor::thread(int index) {
  if (index == mainThread)
    return main;
  if (!micro)
    micro = std::make_unique<std::array<Thread, threadCount - 1>>();
  return (*micro)[size_t(index - 1)];
}

std::string Processor::where(const Wafer &wafer, size_t launch) const {
  return describeLaunch(wafer.call, launch) + ", class " + inQuotes(code->name);
}

void Processor::fail(const Wafer &wafer, ErrorClass errorClass,
                     const std::string &what) const {
  throw Error(errorClass, where(wafer, launch) + ", PE " +
                              toString(wafer.coordinate(pe)) + ": " + what);
}

// ---------------------------------------------------------------- one cycle

void Processor::step(Wafer &wafer) {
  const Cycle now = wafer.now;
  if (std::exchange(stepped, now) == now)
    return;
  if (wakes <= now)
    wakes = never;
  bool again;
  do {
    again = false;
    for (unsigned left = running; left != 0; left &= left - 1)
      again |= complete(wafer, std::countr_zero(left), now);
    again |= runMain(wafer, now);
    again |= stepThreads(wafer, now);
  } while (again);
  sleep(wafer, now);
}

void Processor::wakeAt(Wafer &wafer, Cycle when) {
  if (when >= wakes)
    return;
  wakes = when;
  wafer.fabric.wake(pe, when);
}

void Processor::wakeAt(Wafer &wafer, Time when) {
  wakeAt(wafer, Cycle(std::ceil(when)));
}

/// Sees to it that the PE is due when there is something to do again.
void Processor::sleep(Wafer &wafer, Cycle now) {
  for (unsigned left = running; left != 0; left &= left - 1)
    sleepOn(wafer, thread(std::countr_zero(left)), now);
  if (main.run || awaited)
    return;
  if (argumentsLeft > 0) {
    if (time > Time(now))
      wakeAt(wafer, time);
    else
      awaitWord(wafer, wafer.program.launch_color(), now);
  } else if (frames.empty() && !control) {
    if (time > Time(now) && nextWork(wafer, now))
      wakeAt(wafer, time);
    else
      awaitWork(wafer, now);
  } else if (time > Time(now)) {
    wakeAt(wafer, time);
  }
}

void Processor::sleepOn(Wafer &wafer, Thread &its, Cycle now) {
  const bool finished = its.finished();
  if (finished || its.ready > Time(now))
    wakeAt(wafer, its.ready);
  if (finished)
    return;
  switch (its.wait.kind) {
  case Wait::Nothing:
    break;
  case Wait::Until:
    wakeAt(wafer, its.wait.until);
    break;
  case Wait::Word:
    its.wait.inbox->listens = true;
    break;
  case Wait::Room:
    its.out->senderWaits = true;
    break;
  }
}

// ---------------------------------------------------------------- what is next

void Processor::call(Wafer &wafer, size_t called, Cycle when) {
  launch = called;
  const RoutineCode *its = routine(wafer, called);
  if (!its)
    return;
  enter(wafer, its->body, Time(when), -1);
  const std::vector<int64_t> carried =
      wafer.call.carried(wafer.call.launch(called));
  std::copy(carried.begin(), carried.end(), locals.begin());
  time += double(carried.size()) * wafer.machine.load_cycles();
  wakeAt(wafer, when);
}

void Processor::expectCommands(size_t launches) {
  launchesLeft = launches;
  nextLaunch = 0;
  hearsWords |= launches > 0;
}

/// What a launch starts here; null: nothing.
const RoutineCode *Processor::routine(const Wafer &wafer, size_t called) const {
  return code->routine(wafer.call.launch(called).routine());
}

/// Begins a routine or task that could begin at `since`.
void Processor::enter(Wafer &wafer, const Body &body, Time since, int task) {
  time = std::max(time, since) + wafer.machine.task_overhead();
  wafer.noteActive(launch, time);
  if (Observer *observer = wafer.observer)
    observer->enter(observed(), launch, task, time);
  loops.resize(size_t(code->loopDepth) + 1);
  locals.resize(size_t(code->locals));
  frames.push_back({&body, 0, false, 1});
}

void Processor::activate(int task, Time when) {
  TaskState &state = tasks[size_t(task)];
  if (!state.pending)
    state.activated = when;
  state.pending = true;
}

bool Processor::receivedByInstruction(int color) const {
  auto receives = [&](const VectorRun &run) {
    return run.sources[0].color == color || run.sources[1].color == color;
  };
  auto takes = [&](const Thread &its) { return its.run && receives(*its.run); };
  return takes(main) ||
         (micro && std::any_of(micro->begin(), micro->end(), takes));
}

/// Whether an instruction waits for the color that a control wavelet ends.
bool Processor::endedByControl(int color) const {
  auto ends = [&](const Thread &its) {
    return its.run && its.run->code().onControl == program::OnControl::End &&
           (its.run->sources[0].color == color ||
            its.run->sources[1].color == color);
  };
  return ends(main) ||
         (micro && std::any_of(micro->begin(), micro->end(), ends));
}

int Processor::controlTask(const Wafer &wafer, int id) const {
  for (size_t i = 0; i < code->tasks.size(); ++i)
    if (code->tasks[i].kind == TaskKind::Control && code->tasks[i].id == id)
      return int(i);
  fail(wafer, ErrorClass::MissingTask,
       "control task " + std::to_string(id) +
           " is started, which it does not have");
}

/// The first in order of what can start by `now`: tasks, then the next launch.
Processor::Candidate Processor::nextWork(Wafer &wafer, Cycle now) const {
  Candidate best;
  auto offer = [&](int task, Time since, Mailbox *inbox) {
    auto rank = [&](int one) {
      const TaskCode &its = code->tasks[size_t(one)];
      return std::pair(its.kind, its.id);
    };
    if (!tasks[size_t(task)].blocked &&
        (best.task < 0 || rank(task) < rank(best.task)))
      best = {task, since, inbox};
  };
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskCode &task = code->tasks[i];
    if (task.kind == TaskKind::Local && tasks[i].pending)
      offer(int(i), tasks[i].activated, nullptr);
    if (task.kind != TaskKind::Data || receivedByInstruction(task.id))
      continue;
    Mailbox *inbox = wafer.fabric.inbox(pe, task.id);
    if (inbox && !inbox->queue.empty() && !inbox->queue.front().control &&
        inbox->queue.front().ready <= now)
      offer(int(i), Time(inbox->queue.front().ready), inbox);
  }
  for (int color = 0; color < wafer.machine.colors(); ++color) {
    Mailbox *inbox = wafer.fabric.inbox(pe, color);
    if (!inbox || inbox->queue.empty() || !inbox->queue.front().control ||
        inbox->queue.front().ready > now || endedByControl(color))
      continue;
    const Word &front = inbox->queue.front();
    offer(controlTask(wafer, front.task), Time(front.ready), inbox);
  }
  if (best.task >= 0 || launchesLeft == 0)
    return best;
  if (wafer.call.follows(nextLaunch))
    return {-1, 0, nullptr, true};
  Mailbox *inbox = wafer.fabric.inbox(pe, wafer.program.launch_color());
  if (inbox && !inbox->queue.empty() && inbox->queue.front().ready <= now)
    return {-1, Time(inbox->queue.front().ready), inbox};
  return best;
}

/// Starts what is next, if there is anything.
bool Processor::startWork(Wafer &wafer, Cycle now) {
  const Candidate next = nextWork(wafer, now);
  if (!next)
    return false;
  if (next.task < 0) {
    startCommand(wafer, next);
    return true;
  }
  const TaskCode &task = code->tasks[size_t(next.task)];
  if (task.kind == TaskKind::Local) {
    tasks[size_t(next.task)].pending = false;
  } else {
    const Word word = wafer.fabric.receive(*next.inbox);
    if (wafer.observer && !word.control)
      wafer.observer->received(observed(), next.inbox->color, 1);
    storeWord(wafer, task.wordBuffer, word.payload);
    storeWord(wafer, task.indexBuffer, word.payload >> 16);
  }
  wafer.spend(1);
  enter(wafer, task.body, next.since, next.task);
  return true;
}

/// Takes a launch wavelet, if the launch has one, and starts its routine, if
/// the PE has it, once it has all arguments.
void Processor::startCommand(Wafer &wafer, const Candidate &next) {
  if (next.inbox)
    nextLaunch = wafer.fabric.receive(*next.inbox).payload;
  const size_t called = nextLaunch++;
  --launchesLeft;
  const auto *carried = wafer.call.launch(called).arguments();
  argumentsLeft = carried ? carried->size() : 0;
  arguments.clear();
  started = routine(wafer, called);
  if (started)
    launch = called;
  if (argumentsLeft > 0)
    time = std::max(time, next.since) + (next.inbox ? 1 : 0);
  else if (started)
    enter(wafer, started->body, next.since, -1);
}

/// The next word behind a launch wavelet, a cycle after the one before; false
/// if it has not come.
bool Processor::takeArgument(Wafer &wafer, Cycle now) {
  Mailbox *inbox = wafer.fabric.inbox(pe, wafer.program.launch_color());
  if (!inbox || inbox->queue.empty() || inbox->queue.front().ready > now)
    return false;
  const Word word = wafer.fabric.receive(*inbox);
  arguments.push_back(int32_t(word.payload));
  const Time taken = std::max(time, Time(word.ready));
  if (--argumentsLeft > 0) {
    time = taken + 1;
    return true;
  }
  time = taken;
  if (!started)
    return true;
  enter(wafer, started->body, taken, -1);
  std::copy(arguments.begin(), arguments.end(), locals.begin());
  return true;
}

/// Sees to it that the PE is due when a wavelet comes that starts something,
/// or must not: a control wavelet whose task it does not have.
void Processor::awaitWork(Wafer &wafer, Cycle now) {
  for (int color = 0; color < wafer.machine.colors(); ++color)
    awaitWord(wafer, color, now);
}

/// Inboxes listen when they come to be.
void Processor::awaitWord(Wafer &wafer, int color, Cycle now) {
  Mailbox *inbox = wafer.fabric.inbox(pe, color);
  if (!inbox)
    return;
  if (inbox->queue.empty())
    inbox->listens = true;
  else if (inbox->queue.front().ready > now)
    wakeAt(wafer, inbox->queue.front().ready);
}

void Processor::storeWord(const Wafer &wafer, int buffer, uint32_t bits) {
  if (buffer < 0)
    return;
  const BufferCode &into = code->buffers[size_t(buffer)];
  if (into.elements < 1)
    return;
  requireNoRace(wafer, {into.address, elementSize(into.type)}, true, buffer,
                nullptr, "a task");
  std::memcpy(memory.at(into.address), &bits, elementSize(into.type));
  memory.markWritten(into.address, elementSize(into.type));
}

// ---------------------------------------------------------------- reports

std::vector<std::string> Processor::describeThreads(const Wafer &wafer) const {
  std::vector<std::string> lines;
  // Descriptions of instructions name their microthread.
  auto add = [&](const Thread &thread, const std::string &prefix) {
    if (!thread.run)
      return;
    const VectorRun &run = *thread.run;
    std::string text = prefix + "launch " + std::to_string(thread.launch) +
                       ": " + describe(run.code()) + ", step " +
                       std::to_string(run.done()) + " of " +
                       std::to_string(run.steps());
    // Steps that are taken may still lie ahead.
    if (thread.ready <= Time(wafer.now)) {
      if (thread.wait.kind == Wait::Room)
        text += ", waits to send on color " + std::to_string(run.sendColor);
      else if (thread.wait.kind == Wait::Word)
        text +=
            ", waits for a word of color " + std::to_string(thread.wait.color);
    }
    lines.push_back(text);
  };
  add(main, "main thread, ");
  for (size_t i = 0; micro && i < micro->size(); ++i)
    add((*micro)[i], "");
  if (control)
    lines.push_back("main thread: a control wavelet for color " +
                    std::to_string(controlColor) + " waits for room");
  else if (!frames.empty() && !main.run)
    lines.push_back(
        "main thread, launch " + std::to_string(launch) +
        (awaited ? ": awaits microthreads" : ": between instructions"));
  return lines;
}

std::vector<std::string> Processor::describeTasks() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].pending || tasks[i].blocked)
      lines.push_back("task " + inQuotes(code->tasks[i].name) +
                      (tasks[i].pending ? " pending" : "") +
                      (tasks[i].blocked ? " blocked" : ""));
  return lines;
}

std::vector<PeWait> Processor::waits(const Wafer &wafer) const {
  std::vector<PeWait> result;
  const Coordinate at = wafer.coordinate(pe);
  auto add = [&](const Thread &its, bool isAwaited) {
    if (its.run)
      result.push_back({at, code, &its.run->code(), its.launch, its.wait.color,
                        its.wait.kind == Wait::Room, isAwaited});
  };
  add(main, false);
  if (control)
    result.push_back({at, code, nullptr, launch, controlColor, true, false});
  for (size_t i = 0; micro && i < micro->size(); ++i)
    add((*micro)[i], awaited >> i & 1);
  return result;
}

std::vector<Processor::BlockedTask> Processor::blockedTasks() const {
  std::vector<BlockedTask> result;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].blocked)
      result.push_back({code->tasks[i], tasks[i].pending});
  return result;
}

} // namespace wsec::runtime::pe
