// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a PE runs next: the routine of a launch, or a task.
#include "runtime/wavelet/Processor.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime::wavelet {

using program::TaskKind;

void Processor::expectCommands(size_t launches) {
  commandsLeft = launches;
  wakeAt(agenda.now() + 1);
}

void Processor::call(size_t called, const Body &routine, Cycle when) {
  launch = called;
  enter(routine, double(when), -1);
  wakeAt(when);
}

/// Begins a routine or task that could begin at `since`.
void Processor::enter(const Body &body, double since, int task) {
  time = std::max(time, since) + machine.task_overhead();
  ledger.launches.note(launch, time, time);
  if (Observer *observer = ledger.options.observer)
    observer->enter(observed(), launch, task, time);
  frames.push_back({&body, 0, 1, false});
}

void Processor::endWork() {
  const double end = remoteCalls ? std::max(time, results) : time;
  ledger.launches.note(launch, end, end);
  rest = std::max(rest, end);
  if (Observer *observer = ledger.options.observer)
    observer->leave(observed(), launch, time);
}

bool Processor::nextWork(Cycle now) {
  return remoteCalls ? nextTask(now) : nextCommand(now);
}

/// The next launch, if its command wavelet has come.
bool Processor::nextCommand(Cycle now) {
  if (commandsLeft == 0)
    return false;
  const Buffer *inbox = fabric.inbox(pe, program.command_color());
  if (!inbox || !inbox->frontReady(now))
    return false;
  const Wavelet command = fabric.receive(pe, program.command_color());
  --commandsLeft;
  const uint32_t routine = program.launches()->Get(command.payload)->routine();
  if (const Body *body = code.routine(routine)) {
    launch = command.payload;
    enter(*body, double(command.ready), -1);
  }
  return true;
}

// ---------------------------------------------------------------- tasks

void Processor::activate(int task, double when) {
  TaskState &state = tasks[size_t(task)];
  if (!std::exchange(state.pending, true))
    state.activated = when;
}

/// Whether an instruction takes the words of a color.
bool Processor::receivedByInstruction(int color) const {
  auto receives = [&](const VectorRun &run) {
    return run.receives(0) == color || run.receives(1) == color;
  };
  return std::any_of(threads.begin(), threads.end(), [&](const Thread &t) {
    return (t.run && receives(*t.run)) ||
           std::any_of(t.queue.begin(), t.queue.end(), [&](const auto &entry) {
             return receives(*entry.first);
           });
  });
}

/// The control task that a wavelet at the head of a queue names, if it does
/// not end an instruction.
int Processor::controlTask(const Wavelet &wavelet) const {
  for (size_t i = 0; i < code.tasks.size(); ++i)
    if (code.tasks[i].kind == TaskKind::Control &&
        code.tasks[i].id == wavelet.task)
      return int(i);
  throw Error(ErrorClass::MissingTask,
              "class '" + code.name + "', PE " +
                  toString(fabric.coordinate(pe)) + ": control task " +
                  std::to_string(wavelet.task) +
                  " is started, which it does not have");
}

/// Whether an instruction that ends at a control wavelet waits for the color.
bool Processor::endedByControl(int color) const {
  return std::any_of(threads.begin(), threads.end(), [&](const Thread &t) {
    return t.run && t.run->code().onControl == program::OnControl::End &&
           (t.run->receives(0) == color || t.run->receives(1) == color);
  });
}

/// Of the tasks that could start by `now` the first in order; -1: none.
int Processor::pendingTask(Cycle now, Start &start) const {
  int best = -1;
  auto offer = [&](int task, double since, int color) {
    const TaskCode &candidate = code.tasks[size_t(task)];
    auto rank = [](const TaskCode &t) { return std::pair(t.kind, t.id); };
    if (tasks[size_t(task)].blocked ||
        (best >= 0 && rank(candidate) >= rank(code.tasks[size_t(best)])))
      return;
    best = task;
    start = {since, color};
  };
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskCode &task = code.tasks[i];
    if (task.kind == TaskKind::Local && tasks[i].pending)
      offer(int(i), tasks[i].activated, -1);
    if (task.kind != TaskKind::Data || receivedByInstruction(task.id))
      continue;
    const Buffer *inbox = fabric.inbox(pe, task.id);
    if (inbox && inbox->frontReady(now) && !inbox->front().control)
      offer(int(i), double(inbox->front().ready), task.id);
  }
  for (int color = 0; color < machine.colors(); ++color) {
    const Buffer *inbox = fabric.inbox(pe, color);
    if (inbox && inbox->frontReady(now) && inbox->front().control &&
        !endedByControl(color))
      offer(controlTask(inbox->front()), double(inbox->front().ready), color);
  }
  return best;
}

bool Processor::nextTask(Cycle now) {
  Start start;
  const int index = pendingTask(now, start);
  if (index < 0)
    return false;
  const TaskCode &task = code.tasks[size_t(index)];
  launch = ledger.currentLaunch;
  if (task.kind == TaskKind::Local) {
    tasks[size_t(index)].pending = false;
  } else {
    const Wavelet wavelet = fabric.receive(pe, start.color);
    if (fabric.observer && !wavelet.control)
      fabric.observer->received(observed(), start.color, 1);
    storeWord(task.wordBuffer, wavelet.payload);
    storeWord(task.indexBuffer, wavelet.payload >> 16);
  }
  enter(task.body, start.since, index);
  return true;
}

/// To element 0: all of it, or the lower half.
void Processor::storeWord(int buffer, uint32_t bits) {
  if (buffer < 0)
    return;
  const BufferCode &into = code.buffers[size_t(buffer)];
  const uint32_t size = elementSize(into.type);
  std::memcpy(memory.at(into.address), &bits, size);
  memory.mark(into.address, size);
}

/// Whether something could start, but for the time.
bool Processor::hasWork() const {
  Start start;
  if (remoteCalls)
    return pendingTask(agenda.now(), start) >= 0;
  const Buffer *inbox =
      commandsLeft > 0 ? fabric.inbox(pe, program.command_color()) : nullptr;
  return inbox && inbox->frontReady(agenda.now());
}

/// Sees to it that the PE is due when a wavelet comes that starts something.
void Processor::awaitWork() {
  if (!remoteCalls) {
    if (commandsLeft > 0)
      wakeForWord(program.command_color());
    return;
  }
  // Without tasks, too: a control wavelet that starts one is an error.
  for (int color = 0; color < machine.colors(); ++color) {
    const Buffer *inbox = fabric.inbox(pe, color);
    if (!inbox || inbox->empty())
      fabric.listen(pe, color);
    else if (inbox->front().ready > agenda.now())
      wakeAt(inbox->front().ready);
  }
}

} // namespace wsec::runtime::wavelet
