// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/TokenCells.h"
#include "runtime/program/Call.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime::tokens {

Cells::Cells(const Code &code, Fabric &fabric, Agenda &agenda)
    : code(code), fabric(fabric), agenda(agenda) {
  for (const Place &place : fabric.places()) {
    if (place.peClass == none)
      break; // the others have none either
    Cell &cell = cells.emplace_back(place);
    const auto *tasks =
        code.program.classes()->Get(unsigned(place.peClass))->tasks();
    for (unsigned i = 0; tasks && i < tasks->size(); ++i) {
      TaskState &task = cell.tasks.emplace_back();
      task.blocked = tasks->Get(i)->blocked();
      if (tasks->Get(i)->kind() == program::TaskKind::Data)
        task.color = tasks->Get(i)->id();
    }
  }
}

/// What a PE runs that is called without having the routine.
static const FabricRoutine nothing;

void Cells::awaitCommands() {
  for (Cell &cell : cells) {
    cell.routine = &nothing;
    if (cell.place.dropsLaunches)
      cell.launches = fabric.commands();
  }
}

void Cells::call(const program::Launch &launch) {
  for (Cell &cell : cells) {
    // Tasks may run in PEs that are not called.
    const FabricRoutine *called =
        code.routine(cell.place.peClass, launch.routine());
    cell.routine = called ? called : &nothing;
    cell.next = 0;
    cell.users.clear();
    cell.issued = 0;
  }
}

void Cells::wakeAll() {
  for (const Cell &cell : cells)
    agenda.wakeCell(cell.place.index);
}

bool Cells::allLaunched() const {
  return std::none_of(cells.begin(), cells.end(), [&](const Cell &cell) {
    return cell.launches < fabric.commands();
  });
}

void Cells::work(size_t index) {
  if (index >= cells.size())
    return; // it has no code
  Cell &cell = cells[index];
  for (bool progress = true; progress;) {
    progress = false;
    while (runMain(cell))
      progress = true;
    for (size_t i = 0; i < cell.threads.size(); ++i) {
      Thread &thread = cell.threads[i];
      if (thread.now && thread.now->advance(fabric, agenda)) {
        complete(cell, i);
        progress = true;
      }
    }
  }
}

void Cells::useColor(Cell &cell, const FabricOp &op, bool out,
                     const program::Affine &its) {
  const int64_t color = scalarsOf(cell).value(its, cell.place.x, cell.place.y);
  auto at = cell.users.find({out, color});
  if (at != cell.users.end() && at->second != op.thread())
    throw NotUnderstood{"color " + std::to_string(color) +
                        ", which two threads of a PE use at a time"};
  if (!op.main())
    cell.users[{out, color}] = op.thread();
}

void Cells::useColors(Cell &cell, const FabricOp &op) {
  if (op.in)
    useColor(cell, op, false, *op.in->color());
  if (op.out)
    useColor(cell, op, true, *op.out->color());
  if (op.control)
    useColor(cell, op, true, *op.control->color());
}

/// The next statement of the main thread; false: it waits or has ended.
bool Cells::runMain(Cell &cell) {
  for (size_t thread = 0; thread < microthreads; ++thread)
    if ((cell.awaited >> thread & 1) && cell.threads[thread + 1].now)
      return false;
  done(cell, cell.awaited);
  cell.awaited = 0;
  if (cell.threads[0].now || !cell.routine)
    return false;
  if (cell.next == cell.routine->events.size())
    return startTask(cell);
  const FabricEvent &event = cell.routine->events[cell.next++];
  const AxisScalars &scalars = scalarsOf(cell);
  auto runs = [&](const auto &what) {
    return runsAt(what.guards, what.turns, scalars, cell.place.x, cell.place.y);
  };
  agenda.spend(1);
  if (event.awaits) {
    if (runs(event))
      cell.awaited = event.awaits;
    return true;
  }
  if (event.set) {
    if (runs(event))
      setTask(cell, *event.set);
    return true;
  }
  const FabricOp &op = cell.routine->ops[event.op];
  if (!runs(op))
    return true;
  Thread &thread = cell.threads[size_t(op.thread() + 1)];
  if (!op.main())
    busy |= cell.issued >> op.thread() & 1;
  // It takes no more work until it has done what it is at.
  if (thread.now) {
    --cell.next;
    return false;
  }
  if (!op.main())
    done(cell, 1u << op.thread());
  useColors(cell, op);
  if (!op.main())
    issue(cell, op);
  thread.now = begin(*cell.routine, op, cell.place, scalars, fabric);
  if (thread.now->in != none)
    fabric.setTaker(thread.now->in, &*thread.now);
  ++thread.issues;
  return true;
}

/// What microthreads were given has ended, and so they use no colors.
void Cells::done(Cell &cell, unsigned threads) {
  std::erase_if(cell.users,
                [&](const auto &user) { return threads >> user.second & 1; });
  cell.issued &= ~threads;
}

/// A microthread is given work.
void Cells::issue(Cell &cell, const FabricOp &op) {
  cell.issued |= 1u << op.thread();
  if (const int task = op.instruction->activate(); task >= 0) {
    requireOnce(cell, size_t(task));
    ++cell.tasks[size_t(task)].activating;
  }
  if (const int task = op.instruction->unblock(); task >= 0) {
    requireNoUnblock(cell, size_t(task));
    ++cell.tasks[size_t(task)].unblocking;
  }
}

/// The instruction of a thread has ended.
void Cells::complete(Cell &cell, size_t thread) {
  const Progress &progress = *cell.threads[thread].now;
  if (const program::Instruction *instruction = progress.op->instruction) {
    if (instruction->advance_switch() && progress.out != none) {
      // Behind words of its own the switch still stands as they found it.
      if (progress.steps == 0)
        throw NotUnderstood{"a switch that an instruction without words "
                            "advances"};
      fabric.advanceSwitch(progress.out);
    }
    const std::pair<int, int64_t> cause{int(thread) - 1,
                                        cell.threads[thread].issues};
    if (const int index = instruction->activate(); index >= 0) {
      TaskState &task = cell.tasks[size_t(index)];
      --task.activating;
      task.pending = true;
      task.causes.push_back(cause);
    }
    if (const int index = instruction->unblock(); index >= 0) {
      TaskState &task = cell.tasks[size_t(index)];
      --task.unblocking;
      // If it was not blocked it may start before this.
      if (std::exchange(task.blocked, false))
        task.causes.push_back(cause);
    }
  }
  if (progress.in != none)
    fabric.setTaker(progress.in, nullptr);
  cell.threads[thread].now.reset();
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Words may come at any time for a data task, unless it stays blocked.
bool Cells::mayStart(const Cell &cell, const TaskState &task) const {
  if (task.color < 0)
    return task.starts() > 0;
  return fabric.hasRoute(cell.place, task.color) &&
         (!task.blocked || task.unblocking > 0);
}

/// The main thread has ended. If only one task is or is going to be pending,
/// that is the next, whatever goes first.
bool Cells::startTask(Cell &cell) {
  size_t only = none;
  const bool awaitsLaunch = cell.launches < fabric.commands();
  for (size_t i = 0; i < cell.tasks.size(); ++i) {
    if (!mayStart(cell, cell.tasks[i]))
      continue;
    if (awaitsLaunch)
      throw NotUnderstood{nameOf(cell, i) +
                          " and a launch that a wavelet starts, whose order "
                          "may depend on time"};
    if (only != none)
      throw NotUnderstood{nameOf(cell, only) + " and " + nameOf(cell, i) +
                          ", whose order may depend on time"};
    only = i;
  }
  if (awaitsLaunch)
    return startLaunch(cell);
  if (only == none || cell.tasks[only].blocked)
    return false;
  TaskState &task = cell.tasks[only];
  if (task.color >= 0) {
    const size_t route = fabric.routeOf(cell.place, task.color);
    if (cell.users.count({false, task.color}))
      throw NotUnderstood{nameOf(cell, only) +
                          ", whose words a microthread may take"};
    if (!fabric.hasWord(route))
      return false;
    fabric.takeWord(route);
  } else if (!std::exchange(task.pending, false)) {
    return false;
  }
  // What has acted on it is done, and so are the colors it used.
  for (auto [thread, issue] : task.causes)
    if (cell.threads[size_t(thread) + 1].issues == issue)
      done(cell, 1u << thread);
  task.causes.clear();
  cell.routine = &code.task(cell.place.peClass, only);
  cell.next = 0;
  agenda.spend(1);
  return true;
}

/// Takes the next launch wavelet, if it has come.
bool Cells::startLaunch(Cell &cell) {
  const int64_t color = code.program.launch_color();
  if (!fabric.hasRoute(cell.place, color))
    return false;
  const size_t route = fabric.routeOf(cell.place, color);
  if (!fabric.hasWord(route))
    return false;
  fabric.takeWord(route);
  const auto &launch =
      *onlyEntry(code.program).launches()->Get(unsigned(cell.launches++));
  if (const FabricRoutine *its =
          code.routine(cell.place.peClass, launch.routine())) {
    cell.routine = its;
    cell.next = 0;
  }
  agenda.spend(1);
  return true;
}

void Cells::requireOnce(const Cell &cell, size_t task) const {
  if (cell.tasks[task].starts() > 0)
    throw NotUnderstood{nameOf(cell, task) + ", activated twice"};
}

void Cells::requireNoUnblock(const Cell &cell, size_t task) const {
  if (cell.tasks[task].unblocking > 0)
    throw NotUnderstood{nameOf(cell, task) +
                        ", which is blocked or unblocked while an "
                        "instruction may unblock it"};
}

void Cells::setTask(Cell &cell, const program::SetTask &set) {
  TaskState &task = cell.tasks[set.task()];
  switch (set.action()) {
  case program::TaskAction::Activate:
    requireOnce(cell, set.task());
    task.pending = true;
    return;
  case program::TaskAction::Block:
    requireNoUnblock(cell, set.task());
    task.blocked = true;
    return;
  case program::TaskAction::Unblock:
    requireNoUnblock(cell, set.task());
    task.blocked = false;
    return;
  }
}

} // namespace wsec::runtime::tokens
