// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/MainThread.h"

#include "runtime/program/Errors.h"

#include <algorithm>

namespace wsec::runtime {

MainThread::MainThread(World &world, Strip &strip)
    : world(world), strip(strip), datapath(strip.lanes),
      loops(size_t(strip.code.loopDepth) + 1) {}

void MainThread::run() {
  while (!finished) {
    if (!finishPending())
      return;
    if (!frames.empty())
      step();
    else if (running)
      endLaunch();
    else if (!nextLaunch())
      finished = true;
  }
}

/// Starts the next launch that concerns this class; false after the last.
bool MainThread::nextLaunch() {
  const auto &launches = *world.image.program.launches();
  const size_t end =
      world.observer
          ? std::min<size_t>(launches.size(), world.observer->untilLaunch)
          : launches.size();
  for (; launch < end; ++launch) {
    const Body *body =
        strip.code.routine(launches[unsigned(launch)]->routine());
    if (!body)
      continue;
    // Command wavelets follow one another, a cycle apart.
    double command = double(launch) + world.image.commandLatency[strip.index];
    now = std::max(now, command) + world.image.machine.task_overhead();
    world.recordLaunch(launch, now, now);
    if (world.observer)
      world.observer->enter(world.observedPes(strip), launch, -1, now);
    frames.push_back({body});
    running = true;
    return true;
  }
  return false;
}

void MainThread::endLaunch() {
  world.recordLaunch(launch, now, now);
  if (world.observer)
    world.observer->leave(world.observedPes(strip), launch, now);
  running = false;
  ++launch;
}

/// Completes what the thread is held up by; false if it must wait.
bool MainThread::finishPending() {
  if (current) {
    if (!current->advance(*this))
      return false;
    now = current->time();
    current.reset();
    shareDatapath();
  }
  for (int i = 0; i <= laneThread; ++i) {
    if (!(awaited >> i & 1) || !microthreads[i])
      continue;
    if (!microthreads[i]->idle())
      return false;
    now = std::max(now, microthreads[i]->finished());
    datapath.settle(i);
    if (i == laneThread)
      shareDatapath();
    for (const PendingWrite &write : pendingWrites)
      if (write.thread == i)
        markInitialised(strip, write.pattern);
    std::erase_if(pendingWrites,
                  [&](const PendingWrite &w) { return w.thread == i; });
    std::erase_if(pendingColors,
                  [&](const PendingColor &c) { return c.thread == i; });
  }
  awaited = 0;
  return true;
}

void MainThread::step() {
  world.spend(1);
  Frame &frame = frames.back();
  if (frame.next == frame.body->size())
    return leaveBody();
  const StatementCode &statement = (*frame.body)[frame.next++];
  if (const auto *instruction = std::get_if<InstructionCode>(&statement))
    execute(*instruction);
  else if (const auto *loop = std::get_if<LoopCode>(&statement))
    enter(*loop);
  else if (const auto *branch = std::get_if<IfCode>(&statement))
    enter(*branch);
  else
    awaited |= std::get<AwaitCode>(statement).threads;
}

void MainThread::enter(const LoopCode &loop) {
  if (loop.guard >= 0 && strip.scalars[loop.guard] == 0)
    return;
  int64_t count = loop.count.value(bindings(strip.scalars));
  if (count <= 0)
    return;
  loops[loopDepth++] = 0;
  frames.push_back({&loop.body, 0, true, count});
}

void MainThread::enter(const IfCode &branch) {
  const program::Machine &machine = world.image.machine;
  const bool holds = branch.condition.value(bindings(strip.scalars)) != 0;
  now += holds ? machine.branch_not_taken() : machine.branch_taken();
  frames.push_back({holds ? &branch.then : &branch.otherwise});
}

void MainThread::leaveBody() {
  Frame &frame = frames.back();
  if (frame.loop) {
    now += world.image.machine.loop_overhead();
    if (++loops[loopDepth - 1] < frame.iterations) {
      frame.next = 0;
      return;
    }
    --loopDepth;
  }
  frames.pop_back();
}

/// Completes a synchronous instruction, which microthreads may have held up.
void MainThread::shareDatapath() {
  now += datapath.share(now - begun, ownWork);
}

Microthread &MainThread::microthread(int index) {
  std::unique_ptr<Microthread> &slot = microthreads[index];
  if (!slot)
    slot = std::make_unique<Microthread>(world, *this);
  return *slot;
}

void MainThread::execute(const InstructionCode &code) {
  bool uniform = strip.uniform(code);
  if (!uniform) {
    executeLanes(code, code.asynchronous() ? code.thread : laneThread);
    if (!code.asynchronous())
      awaited |= 1u << laneThread;
    return;
  }
  if (code.guard >= 0 && strip.scalars[code.guard] == 0)
    return;
  const RunSite site{world, strip, code, launch, -1};
  if (!code.asynchronous()) {
    current.emplace(site, bindings(strip.scalars));
    checkPending(*current, code.thread);
    begun = now;
    ownWork.assign(1, current->work());
    current->start(now);
    return;
  }
  auto run = std::make_unique<InstructionRun>(site, bindings(strip.scalars));
  checkPending(*run, code.thread);
  now += 1;
  notePending(*run, code.thread);
  datapath.owe(code.thread, -1, run->work());
  std::vector<std::unique_ptr<InstructionRun>> runs;
  runs.push_back(std::move(run));
  microthread(code.thread).issue(std::move(runs), now);
}

void MainThread::executeLanes(const InstructionCode &code, int thread) {
  std::vector<std::unique_ptr<InstructionRun>> runs;
  for (int lane : strip.activeLanes(code)) {
    world.spend(1);
    const std::vector<int64_t> &scalars = strip.laneScalars(lane);
    runs.push_back(std::make_unique<InstructionRun>(
        RunSite{world, strip, code, launch, lane}, bindings(scalars)));
    checkPending(*runs.back(), thread);
  }
  begun = now;
  ownWork.assign(size_t(strip.lanes), 0);
  for (const auto &run : runs)
    if (code.asynchronous()) {
      notePending(*run, thread);
      datapath.owe(thread, run->lane(), run->work());
    } else {
      ownWork[size_t(run->lane())] = run->work();
    }
  if (code.asynchronous())
    now += 1;
  microthread(thread).issue(std::move(runs), now);
}

void MainThread::refuse(const InstructionRun &run,
                        const std::string &what) const {
  throw Error(ErrorClass::BadProgram,
              world.describeLaunch(launch) + ", class '" + strip.code.name +
                  "', PE " + toString(strip.pe(std::max(0, run.lane()))) +
                  ": " + describe(run.code()) + " " + what +
                  ", without an await between");
}

/// What an instruction shares with a microthread that may still be at work
/// would depend on who is faster.
void MainThread::checkPending(const InstructionRun &run, int thread) const {
  for (const PendingWrite &write : pendingWrites)
    if (write.thread != thread && run.touches(write.pattern))
      refuse(run, "touches what microthread " + std::to_string(write.thread) +
                      " writes");
  for (int color : run.receives())
    checkPendingColor(run, thread, color, false);
  checkPendingColor(run, thread, run.sends(), true);
}

void MainThread::checkPendingColor(const InstructionRun &run, int thread,
                                   int color, bool sent) const {
  for (const PendingColor &pending : pendingColors)
    if (pending.thread != thread && pending.color == color &&
        pending.sent == sent &&
        (pending.lane < 0 || run.lane() < 0 || pending.lane == run.lane()))
      refuse(run, (sent ? "sends on color " : "receives color ") +
                      std::to_string(color) + " as microthread " +
                      std::to_string(pending.thread) + " does");
}

void MainThread::notePending(const InstructionRun &run, int thread) {
  for (int color : run.receives())
    notePendingColor(run, thread, color, false);
  notePendingColor(run, thread, run.sends(), true);
  const std::optional<MemoryPattern> &pattern = run.destination();
  if (!pattern)
    return;
  if (!pendingWrites.empty() && pendingWrites.back().thread == thread &&
      pendingWrites.back().pattern == *pattern)
    return;
  pendingWrites.push_back({thread, *pattern});
}

void MainThread::notePendingColor(const InstructionRun &run, int thread,
                                  int color, bool sent) {
  PendingColor use{thread, run.lane(), color, sent};
  if (color >= 0 && std::find(pendingColors.begin(), pendingColors.end(),
                              use) == pendingColors.end())
    pendingColors.push_back(use);
}

std::vector<const InstructionRun *> MainThread::waits() const {
  std::vector<const InstructionRun *> result;
  if (current)
    result.push_back(&*current);
  for (const auto &thread : microthreads)
    if (thread)
      for (const InstructionRun *run : thread->waiting())
        result.push_back(run);
  return result;
}

void MainThread::addTo(WaitGraph &graph) const {
  for (const InstructionRun *run : waits()) {
    const int thread = run->code().thread;
    const bool isAwaited = thread >= 0 && (awaited >> thread & 1);
    const int lane = run->lane();
    for (int l = std::max(0, lane); l < (lane < 0 ? strip.lanes : lane + 1);
         ++l)
      graph.add({strip.pe(l), &strip.code, &run->code(), run->launch(),
                 run->waitsOn(), run->lacksRoom(), isAwaited});
  }
}

} // namespace wsec::runtime
