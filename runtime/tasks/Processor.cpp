// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements and tasks. Instructions are in Threads.cpp.
#include "runtime/tasks/Processor.h"

#include "runtime/program/Scalars.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime::tasks {

using program::ScalarOp;
using program::TaskKind;

// ---------------------------------------------------------------- the wafer

Wafer::Wafer(const program::Program &program,
             const std::vector<ClassCode> &classes,
             const std::vector<int> &classOf, const EmulatorOptions &options)
    : program(program), machine(*program.machine()), options(options),
      network(program, classes, classOf, agenda),
      launches(program.launches()->size(), LaunchTime{never, 0}),
      limit(options.workLimit ? options.workLimit : UINT64_MAX) {
  network.observer = options.observer;
}

void Wafer::failWorkLimit() const {
  throw Error(ErrorClass::WorkLimit,
              "the run takes more than the " + std::to_string(limit) +
                  " elements and statements that are allowed");
}

std::string Wafer::describeLaunch(size_t launch) const {
  std::string text = "launch " + std::to_string(launch);
  const auto *kernels = program.kernels();
  const uint32_t kernel = program.launches()->Get(unsigned(launch))->kernel();
  if (kernels && kernel < kernels->size())
    text = "kernel '" + kernels->Get(kernel)->name()->str() + "', " + text;
  return text;
}

// ---------------------------------------------------------------- a PE

void Processor::create(Wafer &wafer, const ClassCode &its, int index) {
  code = &its;
  pe = index;
  memory.setRange(code->firstDataWord * 4, code->endDataWord * 4);
  const Coordinate at = wafer.network.coordinate(pe);
  evaluateScalars(code->source->scalars(), at.x, at.y, scalars);
  for (const TaskCode &task : code->tasks)
    tasks.push_back({false, task.blocked, 0});
}

Processor::Port &Processor::port(Wafer &wafer, int color) {
  auto found = std::find_if(ports.begin(), ports.end(),
                            [&](const Port &p) { return p.color == color; });
  if (found == ports.end())
    found = ports.insert(ports.end(), Port{color, nullptr, -1});
  if (!found->outlet)
    found->outlet = wafer.network.ramp(pe, color);
  return *found;
}

std::string Processor::where(const Wafer &wafer, size_t launch) const {
  return wafer.describeLaunch(launch) + ", class '" + code->name + "'";
}

void Processor::fail(const Wafer &wafer, ErrorClass errorClass,
                     const std::string &what) const {
  throw Error(errorClass, where(wafer, wafer.currentLaunch) + ", PE " +
                              toString(wafer.network.coordinate(pe)) + ": " +
                              what);
}

/// The outcome depends on cycles that are not counted here.
void Processor::undecided(const Wafer &wafer, const std::string &what) const {
  fail(wafer, ErrorClass::BadProgram,
       what + "; who comes first depends on single cycles, which only "
              "--engine=wavelet counts");
}

void Processor::sleepUntil(Wafer &wafer, Time when) {
  if (when >= wakes)
    return;
  wakes = when;
  wafer.agenda.add(when, uint32_t(pe), Event::Resume, 0);
}

bool Processor::present(Wafer &wafer) {
  if (time <= wafer.agenda.now())
    return true;
  sleepUntil(wafer, time);
  return false;
}

// ---------------------------------------------------------------- main thread

void Processor::call(Wafer &wafer, const Body &routine, Time when) {
  enter(wafer, routine, when, -1);
  sleepUntil(wafer, time);
}

/// Begins a routine or task that could begin at `since`.
void Processor::enter(Wafer &wafer, const Body &body, Time since, int task) {
  time = std::max(time, since) + wafer.machine.task_overhead();
  wafer.noteActive(wafer.currentLaunch, time);
  if (Observer *observer = wafer.options.observer)
    observer->enter(observed(), wafer.currentLaunch, task, time);
  loops.resize(size_t(code->loopDepth) + 1);
  locals.resize(size_t(code->locals));
  frames.push_back({&body, 0, false, 1});
}

void Processor::resume(Wafer &wafer) {
  if (wakes <= wafer.agenda.now())
    wakes = never;
  runMain(wafer);
}

void Processor::arrived(Wafer &wafer, int color) {
  port(wafer, color);
  for (int i = 0; i < (micro ? threadCount : 1); ++i) {
    Thread &receiver = thread(i);
    if (receiver.run && (receiver.run->sources[0].color == color ||
                         receiver.run->sources[1].color == color))
      progress(wafer, i);
  }
  if (frames.empty() && !main.run)
    runMain(wafer);
}

/// Whether an await holds it up.
bool Processor::awaits(Wafer &wafer) {
  if (awaited == 0)
    return false;
  for (int i = 1; i < threadCount; ++i)
    if ((awaited >> (i - 1) & 1) && micro && thread(i).run)
      return true;
  for (int i = 1; i < threadCount; ++i)
    if ((awaited >> (i - 1) & 1) && micro)
      time = std::max(time, thread(i).free);
  wafer.noteActive(wafer.currentLaunch, time);
  awaited = 0;
  return false;
}

/// Goes on until it has to wait for others or for time to pass. Statements that
/// only its own memory and clock matter to are run ahead of time.
void Processor::runMain(Wafer &wafer) {
  for (;;) {
    if (main.run || controlWaits || awaits(wafer))
      return;
    if (frames.empty()) {
      if (code->tasks.empty() && ports.empty())
        return;
      if (!present(wafer))
        return;
      startWork(wafer);
      if (frames.empty())
        return;
      continue;
    }
    if (!statement(wafer))
      return;
  }
}

/// False: it cannot be run yet.
bool Processor::statement(Wafer &wafer) {
  Frame &frame = frames.back();
  if (frame.next == frame.body->size()) {
    leaveBody(wafer);
    return true;
  }
  const StatementCode &next = (*frame.body)[frame.next];
  const size_t depth = frames.size();
  const bool done =
      std::visit([&](const auto &what) { return execute(wafer, what); }, next);
  if (done) {
    wafer.spend(1);
    ++frames[depth - 1].next;
  }
  return done;
}

void Processor::leaveBody(Wafer &wafer) {
  Frame &frame = frames.back();
  if (frame.loop) {
    time += wafer.machine.loop_overhead();
    wafer.spend(1);
    if (++loops[loopDepth - 1] < frame.iterations) {
      frame.next = 0;
      return;
    }
    --loopDepth;
  }
  frames.pop_back();
  if (!frames.empty())
    return;
  wafer.noteActive(wafer.currentLaunch, time);
  rest = std::max(rest, time);
  if (Observer *observer = wafer.options.observer)
    observer->leave(observed(), wafer.currentLaunch, time);
}

// ---------------------------------------------------------------- tasks

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
  if (!micro)
    return false; // It is asked only when the main thread runs nothing.
  return std::any_of(micro->begin(), micro->end(), [&](const Thread &t) {
    return (t.run && receives(*t.run)) ||
           std::any_of(t.queue.begin(), t.queue.end(), [&](const auto &entry) {
             return receives(*entry.first);
           });
  });
}

/// Whether an instruction waits for the color that a control wavelet ends.
bool Processor::endedByControl(int color) const {
  if (!micro)
    return false;
  return std::any_of(micro->begin(), micro->end(), [&](const Thread &t) {
    return t.run && t.run->code().onControl == program::OnControl::End &&
           (t.run->sources[0].color == color ||
            t.run->sources[1].color == color);
  });
}

int Processor::controlTask(Wafer &wafer, int id) const {
  for (size_t i = 0; i < code->tasks.size(); ++i)
    if (code->tasks[i].kind == TaskKind::Control && code->tasks[i].id == id)
      return int(i);
  fail(wafer, ErrorClass::MissingTask,
       "control task " + std::to_string(id) +
           " is started, which it does not have");
}

/// The first of the tasks that can start now; `later`: when to ask again.
Processor::Candidate Processor::nextTask(Wafer &wafer, Time &later) {
  Candidate best;
  auto offer = [&](int task, Time since, Outlet *outlet) {
    const TaskCode &one = code->tasks[size_t(task)];
    if (tasks[size_t(task)].blocked)
      return;
    if (best.task >= 0) {
      const TaskCode &other = code->tasks[size_t(best.task)];
      if (std::pair(one.kind, one.id) >= std::pair(other.kind, other.id))
        return;
    }
    best = {task, since, outlet};
  };
  const Time now = wafer.agenda.now();
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskCode &task = code->tasks[i];
    if (task.kind == TaskKind::Local && tasks[i].pending)
      offer(int(i), tasks[i].activated, nullptr);
  }
  std::sort(ports.begin(), ports.end(),
            [](const Port &a, const Port &b) { return a.color < b.color; });
  for (Port &port : ports) {
    if (!port.outlet || port.outlet->queue.empty())
      continue;
    const Chunk &front = port.outlet->queue.front();
    if (front.first > now) {
      later = std::min(later, front.first);
      continue;
    }
    if (front.control) {
      if (!endedByControl(port.color))
        offer(controlTask(wafer, front.task), front.first, port.outlet);
      continue;
    }
    for (size_t i = 0; i < tasks.size(); ++i)
      if (code->tasks[i].kind == TaskKind::Data &&
          code->tasks[i].id == port.color && !receivedByInstruction(port.color))
        offer(int(i), front.first, port.outlet);
  }
  return best;
}

/// Starts the next task, if there is one.
void Processor::startWork(Wafer &wafer) {
  Time later = never;
  const Candidate next = nextTask(wafer, later);
  if (next.task < 0) {
    if (later != never)
      sleepUntil(wafer, later);
    return;
  }
  const TaskCode &task = code->tasks[size_t(next.task)];
  if (task.kind == TaskKind::Local)
    tasks[size_t(next.task)].pending = false;
  if (next.outlet) {
    Chunk &front = next.outlet->queue.front();
    const uint32_t word = front.at(0);
    if (wafer.options.observer && !front.control)
      wafer.options.observer->received(observed(), next.outlet->color, 1);
    if (front.count > 1)
      front.drop(1);
    else
      next.outlet->queue.pop_front();
    const Time now = wafer.agenda.now();
    wafer.network.take(*next.outlet, 1, now, now);
    storeWord(task.wordBuffer, word);
    storeWord(task.indexBuffer, word >> 16);
  }
  wafer.spend(1);
  enter(wafer, task.body, next.since, next.task);
}

void Processor::storeWord(int buffer, uint32_t bits) {
  if (buffer < 0)
    return;
  const BufferCode &into = code->buffers[size_t(buffer)];
  if (into.elements < 1)
    return;
  std::memcpy(memory.at(into.address), &bits, elementSize(into.type));
  memory.markWritten(into.address, elementSize(into.type));
}

// ---------------------------------------------------------------- statements

bool Processor::execute(Wafer &, const LoopCode &loop) {
  if (loop.guard >= 0 && scalars[size_t(loop.guard)] == 0)
    return true;
  const int64_t count = loop.count.value(bindings());
  if (count <= 0)
    return true;
  loops[loopDepth++] = 0;
  frames.push_back({&loop.body, 0, true, count});
  return true;
}

bool Processor::execute(Wafer &wafer, const IfCode &branch) {
  const bool holds = branch.condition.value(bindings()) != 0;
  time +=
      holds ? wafer.machine.branch_not_taken() : wafer.machine.branch_taken();
  const Body &body = holds ? branch.then : branch.otherwise;
  if (!body.empty())
    frames.push_back({&body, 0, false, 1});
  return true;
}

bool Processor::execute(Wafer &wafer, const AwaitCode &await) {
  if (!present(wafer))
    return false;
  awaited |= await.threads;
  return true;
}

bool Processor::execute(Wafer &wafer, const SetTaskCode &set) {
  if (!present(wafer))
    return false;
  time += 1;
  if (set.action == program::TaskAction::Activate)
    activate(set.task, time);
  else
    tasks[set.task].blocked = set.action == program::TaskAction::Block;
  return true;
}

bool Processor::execute(Wafer &wafer, const ComputeCode &compute) {
  time += wafer.machine.scalar_cycles();
  const int64_t values[] = {compute.a.value(bindings()),
                            compute.b.value(bindings()),
                            compute.c.value(bindings())};
  if (compute.op == ScalarOp::Constant) {
    locals[compute.local] = int32_t(values[0]);
    return true;
  }
  const bool divides =
      compute.op == ScalarOp::Div || compute.op == ScalarOp::Mod;
  const bool tiles = compute.op == ScalarOp::TileStart ||
                     compute.op == ScalarOp::TileSize ||
                     compute.op == ScalarOp::TileIndex;
  if ((divides && values[1] == 0) || (tiles && values[1] < 1))
    fail(wafer, ErrorClass::BadProgram,
         "a scalar computation divides by " + std::to_string(values[1]));
  const Coordinate at = wafer.network.coordinate(pe);
  locals[compute.local] =
      int32_t(evaluateNode({compute.op, 0, 1, 2}, values, at.x, at.y));
  return true;
}

int64_t Processor::elementAddress(Wafer &wafer, int index,
                                  int64_t offset) const {
  const BufferCode &buffer = code->buffers[size_t(index)];
  if (offset < 0 || offset >= buffer.elements)
    fail(wafer, ErrorClass::OutOfBounds,
         "element " + std::to_string(offset) + " of buffer '" + buffer.name +
             "', which has " + std::to_string(buffer.elements));
  return buffer.address + offset * elementSize(buffer.type);
}

/// Locals are read and written as I32, floating-point elements rounded towards
/// zero.
static NumberKind localKind(const BufferCode &buffer) {
  return isInteger(buffer.type) ? NumberKind::Integer : NumberKind::Single;
}

bool Processor::execute(Wafer &wafer, const LoadCode &load) {
  time += wafer.machine.load_cycles();
  const BufferCode &buffer = code->buffers[load.buffer];
  const int64_t offset = load.offset.value(bindings());
  const int64_t address = elementAddress(wafer, load.buffer, offset);
  const uint32_t size = elementSize(buffer.type);
  if (!memory.written(address, size))
    fail(wafer, ErrorClass::UninitializedRead,
         "load reads element " + std::to_string(offset) + " of buffer '" +
             buffer.name + "', which nothing has written");
  uint32_t bits = 0;
  std::memcpy(&bits, memory.at(address), size);
  const NumberKind kind = localKind(buffer);
  locals[load.local] = int32_t(encodeElement(
      program::ElementType::I32, kind, decodeElement(buffer.type, kind, bits)));
  return true;
}

bool Processor::execute(Wafer &wafer, const StoreCode &store) {
  time += wafer.machine.store_cycles();
  const BufferCode &buffer = code->buffers[store.buffer];
  const int64_t address =
      elementAddress(wafer, store.buffer, store.offset.value(bindings()));
  const NumberKind kind = localKind(buffer);
  const Number number =
      decodeElement(program::ElementType::I32, kind,
                    uint32_t(int32_t(store.value.value(bindings()))));
  const uint32_t bits = encodeElement(buffer.type, kind, number);
  std::memcpy(memory.at(address), &bits, elementSize(buffer.type));
  memory.markWritten(address, elementSize(buffer.type));
  return true;
}

bool Processor::execute(Wafer &wafer, const ReadClockCode &clock) {
  const int64_t address =
      elementAddress(wafer, clock.buffer, clock.offset.value(bindings()));
  const auto now = uint32_t(int64_t(time));
  std::memcpy(memory.at(address), &now, sizeof now);
  memory.markWritten(address, sizeof now);
  time += 1;
  return true;
}

bool Processor::execute(Wafer &wafer, const SetRouteCode &route) {
  if (!present(wafer))
    return false;
  wafer.network.setRoute(pe, int(route.color.value(bindings())), route.receive,
                         route.transmit);
  time += 1;
  return true;
}

bool Processor::execute(Wafer &wafer, const SendControlCode &send) {
  if (!present(wafer))
    return false;
  controlColor = int(send.color.value(bindings()));
  if (controlColor < 0 || controlColor >= wafer.machine.colors())
    fail(wafer, ErrorClass::BadProgram,
         "sends a control wavelet on color " + std::to_string(controlColor));
  for (int i = 1; micro && i < threadCount; ++i)
    if (thread(i).run && thread(i).run->sendColor == controlColor)
      undecided(wafer, "a control wavelet is sent on color " +
                           std::to_string(controlColor) + " as microthread " +
                           std::to_string(i - 1) + " sends on it");
  Chunk chunk;
  chunk.control = true;
  chunk.task = int16_t(send.task);
  chunk.word = uint16_t(send.data.value(bindings()));
  for (size_t i = 0; i < send.commands.size() && i < 8; ++i)
    chunk.commands |= uint32_t(send.commands[i]) << int(i) * commandBits;
  chunk.first = chunk.last = time;
  Port &out = port(wafer, controlColor);
  if (out.inlet < 0)
    out.inlet = wafer.network.rampInlet(pe, controlColor);
  wafer.network.send(uint32_t(out.inlet), std::move(chunk));
  const Time room = wafer.network.roomAt(uint32_t(out.inlet),
                                         {false, uint32_t(pe), mainThread});
  controlWaits = room == never;
  if (!controlWaits)
    time = std::max(time, room);
  time += 1;
  return true;
}

// ---------------------------------------------------------------- reports

std::vector<std::string> Processor::describeThreads(const Wafer &wafer) const {
  std::vector<std::string> lines;
  auto add = [&](const Thread &thread, const std::string &name) {
    if (!thread.run)
      return;
    const VectorRun &run = *thread.run;
    std::string text = name + ", launch " + std::to_string(thread.launch) +
                       ": " + describe(run.code()) + ", step " +
                       std::to_string(run.done()) + " of " +
                       std::to_string(run.steps());
    // Steps that are taken may still lie ahead.
    if (thread.draining)
      text += ", waits to send on color " + std::to_string(run.sendColor);
    else if (!thread.over && thread.nextStep <= wafer.agenda.now())
      for (const VectorRun::Source &source : run.sources)
        if (source.receives() && source.elements.empty())
          text += ", waits for a word of color " + std::to_string(source.color);
    if (!thread.queue.empty())
      text += ", " + std::to_string(thread.queue.size()) + " queued";
    lines.push_back(text);
  };
  add(main, "main thread");
  for (size_t i = 0; micro && i < micro->size(); ++i)
    add((*micro)[i], "microthread " + std::to_string(i));
  if (controlWaits)
    lines.push_back("main thread: a control wavelet for color " +
                    std::to_string(controlColor) + " waits for room");
  else if (!frames.empty() && !main.run)
    lines.push_back(
        "main thread, launch " + std::to_string(wafer.currentLaunch) +
        (awaited ? ": awaits microthreads" : ": between instructions"));
  return lines;
}

std::vector<std::string> Processor::describeTasks() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].pending || tasks[i].blocked)
      lines.push_back("task '" + code->tasks[i].name + "'" +
                      (tasks[i].pending ? " pending" : "") +
                      (tasks[i].blocked ? " blocked" : ""));
  return lines;
}

std::vector<std::string> Processor::waits(const Wafer &wafer) const {
  std::vector<std::string> result;
  auto add = [&](const Thread &thread) {
    if (!thread.run)
      return;
    const VectorRun &run = *thread.run;
    std::string text =
        where(wafer, thread.launch) + ": " + describe(run.code());
    int color = -1;
    for (const VectorRun::Source &source : run.sources)
      if (source.receives() && color < 0 &&
          (source.elements.empty() || source.windowed) &&
          source.wordsLeft() > 0)
        color = source.color;
    result.push_back(
        text + (thread.draining
                    ? " waits to send on color " + std::to_string(run.sendColor)
                    : " waits for a word of color " + std::to_string(color)));
  };
  add(main);
  if (controlWaits)
    result.push_back(where(wafer, wafer.currentLaunch) +
                     ": control waits to send on color " +
                     std::to_string(controlColor));
  if (micro)
    for (const Thread &thread : *micro)
      add(thread);
  return result;
}

} // namespace wsec::runtime::tasks
