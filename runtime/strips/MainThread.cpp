// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/MainThread.h"

#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <numeric>

namespace wsec::runtime {

MainThread::MainThread(World &world, Strip &strip)
    : Actor(group), world(world), strip(strip), datapath(strip.lanes),
      loops(size_t(strip.code.loopDepth) + 1),
      locals(size_t(strip.lanes * strip.code.locals)),
      localsOfLane(size_t(strip.code.locals)), allLanes(size_t(strip.lanes)),
      pending(strip.lanes) {
  std::iota(allLanes.begin(), allLanes.end(), 0);
}

void MainThread::run() {
  while (!finished) {
    if (!finishPending())
      return;
    if (!frames.empty())
      step();
    else if (running)
      endLaunch();
    else if (!nextLaunch())
      return;
  }
}

/// Starts the next launch that concerns this class; false if there is none that
/// may begin.
bool MainThread::nextLaunch() {
  const size_t count = world.call.launches();
  const size_t last = world.observer
                          ? std::min<size_t>(count, world.observer->untilLaunch)
                          : count;
  const size_t end = std::min(last, world.untilLaunch);
  for (; launch < end; ++launch) {
    const std::vector<int64_t> carried =
        world.call.carried(world.call.launch(launch));
    const RoutineCode *routine =
        strip.code.routine(world.call.launch(launch).routine());
    if (!hears(world.call.commandWords(launch), routine))
      return false;
    if (!routine)
      continue;
    for (int lane = 0; lane < strip.lanes; ++lane)
      std::copy(carried.begin(), carried.end(),
                locals.begin() + ptrdiff_t(size_t(lane) * localsOfLane));
    loose.assign(localsOfLane, false);
    now += world.image.machine.task_overhead();
    world.recordLaunch(launch, now);
    if (world.observer)
      world.observer->enter(world.observedPes(strip), launch, -1, now);
    frames.push_back({&routine->body});
    running = true;
    return true;
  }
  finished = end == last;
  return false;
}

/// Takes the launch wavelet of `launch` and what it carries, so many words a
/// cycle apart; false if not all have come.
bool MainThread::hears(size_t words, bool runs) {
  for (; hearing < words; ++hearing, ++heard) {
    const std::optional<Commands::Time> comes =
        world.commands.arrival(strip.index, heard, *this);
    if (!comes)
      return false;
    const double taken = std::max(now, comes->when);
    if (runs || words > 1) {
      if (comes->first && comes->when > now)
        world.awaitsCommands.store(true, std::memory_order_relaxed);
      lead = std::min(lead, now - comes->when);
      now = taken + (hearing + 1 < words ? 1 : 0);
    }
    world.commands.take(strip.index, taken);
  }
  hearing = 0;
  return true;
}

bool MainThread::rests() const {
  return !running && !current && awaited == 0 && pending.empty() &&
         datapath.idle();
}

void MainThread::skip(size_t launches, double cycles) {
  for (const size_t end = launch + launches; launch < end; ++launch)
    heard += world.call.commandWords(launch);
  now += cycles;
}

void MainThread::endLaunch() {
  join();
  world.recordLaunch(launch, now);
  if (world.observer)
    world.observer->leave(world.observedPes(strip), launch, now);
  running = false;
  ++launch;
}

/// Completes what the thread is held up by; false if it must wait.
bool MainThread::finishPending() {
  static const std::vector<double> noWork{0};
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
    const double asked = now;
    now = std::max({now, microthreads[i]->finished(), datapath.received(i),
                    datapath.competed(i)});
    if (i == laneThread) {
      datapath.settle(i);
      shareDatapath();
    } else {
      datapath.share(now - asked, noWork); // The others go on meanwhile.
      datapath.taken(i);
      datapath.settle(i);
    }
    pending.settle(i, strip);
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
  else if (const auto *load = std::get_if<LoadCode>(&statement))
    execute(*load);
  else if (const auto *compute = std::get_if<ComputeCode>(&statement))
    execute(*compute);
  else
    join(), awaited |= std::get<AwaitCode>(statement).threads;
}

void MainThread::join() { ahead.clear(); }

/// Completes a synchronous instruction, which microthreads may have held up.
void MainThread::shareDatapath() {
  datapath.taken(laneThread);
  now += datapath.share(now - begun, ownWork, ownShare);
}

/// Notes the words that an instruction takes from the fabric.
void MainThread::takeWords(int thread, const InstructionRun &run) {
  for (int source : {0, 1})
    if (run.receives()[size_t(source)] >= 0)
      datapath.take(thread, run.lane(), run.receives()[size_t(source)],
                    run.wordsReceived(source), thread != laneThread);
}

/// Notes what a microthread has to do.
void MainThread::giveWork(const InstructionRun &run) {
  const int thread = run.code().thread;
  datapath.owe(thread, run.lane(), run.work(), run.echo(), run.apart(true),
               run.apart(false));
  datapath.receive(thread, run.lane(), now, run.wordsReceived(), run.slowed());
  using Use = Datapath::Use;
  const bool receives = run.wordsReceived() > 0;
  if (run.isAhead())
    datapath.compete(thread, run.lane(), now, run.work(),
                     receives ? Use::Receives : Use::Sends);
  if (run.isOfRow())
    datapath.compete(thread, run.lane(), now, run.wordsReceived(), Use::Row);
  else if (receives && !run.isAhead())
    datapath.compete(thread, run.lane(), now, run.work(), Use::Passes);
  for (int source : {0, 1})
    if (const int color = run.receives()[size_t(source)]; color >= 0)
      datapath.receiveEcho(thread, now, color, run.wordsReceived(source));
  takeWords(thread, run);
}

Microthread &MainThread::microthread(int index) {
  std::unique_ptr<Microthread> &slot = microthreads[index];
  if (!slot)
    slot = std::make_unique<Microthread>(world, *this, group);
  return *slot;
}

/// What a guard, if there is one, costs. Returns whether it lets through.
bool MainThread::entersGuarded(int guard, bool runs) {
  if (guard >= 0)
    advance(guardCycles(world.image.machine, runs));
  return runs;
}

/// Whether the lanes may find different values.
bool MainThread::differs(const AffineFunction &function) const {
  return std::any_of(function.terms.begin(), function.terms.end(),
                     [&](const AffineTerm &term) {
                       return term.local
                                  ? loose[term.index]
                                  : !term.loop && strip.varying[term.index];
                     });
}

/// Whether what was loaded or computed differs, and with it where the operands
/// lie or how many elements they have.
bool MainThread::differs(const InstructionCode &code) const {
  const std::array operands{&code.dst, &code.a, &code.b};
  auto isLoose = [&](const AffineFunction &function) {
    return std::any_of(function.terms.begin(), function.terms.end(),
                       [&](const AffineTerm &term) {
                         return term.local && loose[term.index];
                       });
  };
  return std::any_of(loose.begin(), loose.end(), [](bool it) { return it; }) &&
         (std::any_of(code.extents.begin(), code.extents.end(), isLoose) ||
          std::any_of(operands.begin(), operands.end(),
                      [&](const OperandCode *operand) {
                        return isLoose(operand->offset);
                      }));
}

/// Whether PEs of the strip may wait for words that others of it pass on.
bool MainThread::passesOn(const InstructionCode &code) const {
  auto color = [&](const OperandCode &operand) {
    return int(operand.color.value(bindings()));
  };
  return code.dst.fabric() &&
         ((code.a.fabric() && strip.passesOn(color(code.a), color(code.dst))) ||
          (code.b.fabric() && strip.passesOn(color(code.b), color(code.dst))));
}

void MainThread::execute(const InstructionCode &code) {
  const bool inMemory = code.inMemory();
  if (!inMemory)
    join();
  if (!divergences.empty() || !strip.uniform(code) || differs(code) ||
      passesOn(code))
    return inMemory ? executeInMemory(code) : executeLanes(code);
  const bool runs = code.guard < 0 || strip.scalars[code.guard] != 0;
  static const std::vector<int> all{-1};
  if (runs && code.asynchronous() && !awaitMicrothread(code, all))
    return;
  if (!entersGuarded(code.guard, runs))
    return;
  now += addressCycles(world.image.machine, code);
  const RunSite site{world, strip, code, launch, -1};
  if (!code.asynchronous()) {
    current.emplace(site, bindings());
    checkPending(*current);
    begun = now;
    ownWork.assign(1, current->work());
    ownShare = current->share();
    takeWords(laneThread, *current);
    current->start(now);
    return;
  }
  auto run = std::make_unique<InstructionRun>(site, bindings());
  checkPending(*run);
  now += issueCycles(world.image.machine);
  pending.note(*run);
  giveWork(*run);
  microthread(code.thread).issue(std::move(run), now);
}

/// The lanes at work, as the first and the number of those that follow one
/// another and do the same; one by one where somebody looks or work is pending.
std::vector<std::pair<int, int>>
MainThread::lanesThatAgree(const InstructionCode &code) {
  std::vector<std::pair<int, int>> groups;
  std::vector<int64_t> values, last;
  for (int lane : lanesAtWork()) {
    const Bindings its = bindings(strip.laneScalars(lane, code), lane);
    values.clear();
    for (const AffineFunction &extent : code.extents)
      values.push_back(extent.value(its));
    for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
      values.push_back(operand->offset.value(its));
    const bool joins = !groups.empty() && values == last && pending.empty() &&
                       !world.observer &&
                       lane == groups.back().first + groups.back().second;
    if (joins)
      ++groups.back().second;
    else
      groups.emplace_back(lane, 1);
    std::swap(values, last);
  }
  return groups;
}

/// A synchronous instruction that waits for nobody, and differs among the lanes
/// at work.
void MainThread::executeInMemory(const InstructionCode &code) {
  if (!entersGuarded(code.guard,
                     code.guard < 0 || strip.scalars[code.guard] != 0))
    return;
  advance(addressCycles(world.image.machine, code));
  begun = now;
  ownWork.assign(size_t(strip.lanes), 0);
  ownShare.reset();
  ahead.resize(size_t(strip.lanes));
  for (const auto &[lane, count] : lanesThatAgree(code)) {
    world.spend(uint64_t(count));
    InstructionRun run({world, strip, code, launch, lane, count},
                       bindings(strip.laneScalars(lane, code), lane));
    checkPending(run);
    ownShare = run.share();
    run.start(begun);
    run.advance(*this);
    for (int its = lane; its < lane + count; ++its) {
      ownWork[size_t(its)] = run.work();
      ahead[size_t(its)] -= run.time() - begun;
    }
  }
  settle();
  datapath.settle(laneThread);
  shareDatapath();
}

/// Instructions that differ among the lanes, or run in some of them only.
/// Synchronous ones are awaited at once.
void MainThread::executeLanes(const InstructionCode &code) {
  const std::vector<int> &active = strip.activeLanes(code);
  if (code.asynchronous() && !awaitMicrothread(code, active))
    return;
  if (entersGuarded(code.guard, !active.empty()))
    now += addressCycles(world.image.machine, code);
  const int thread = code.asynchronous() ? code.thread : laneThread;
  std::vector<std::unique_ptr<InstructionRun>> runs;
  runs.reserve(active.size());
  begun = now;
  ownWork.assign(size_t(strip.lanes), 0);
  ownShare.reset();
  for (int lane : active) {
    world.spend(1);
    runs.push_back(std::make_unique<InstructionRun>(
        RunSite{world, strip, code, launch, lane},
        bindings(strip.laneScalars(lane, code), lane)));
    InstructionRun &run = *runs.back();
    checkPending(run);
    if (code.asynchronous()) {
      pending.note(run);
      giveWork(run);
    } else {
      takeWords(thread, run);
      ownWork[size_t(lane)] = run.work();
      ownShare = run.share();
    }
  }
  if (code.asynchronous())
    now += issueCycles(world.image.machine);
  else
    awaited |= 1u << laneThread;
  Microthread &its = microthread(thread);
  for (std::unique_ptr<InstructionRun> &run : runs)
    its.issue(std::move(run), now);
}

// ---------------------------------------------------------------- microthreads

void MainThread::refuse(ErrorClass errorClass, int lane,
                        const std::string &what) const {
  throw Error(errorClass, world.describeLaunch(launch) + ", class " +
                              inQuotes(strip.code.name) + ", PE " +
                              toString(strip.pe(std::max(0, lane))) + ": " +
                              what);
}

/// Whether the microthread of an instruction can take it: it was awaited since
/// it was given work. If not, and the machine makes the issuing thread wait, it
/// will be awaited, and the statement executed again.
bool MainThread::awaitMicrothread(const InstructionCode &code,
                                  const std::vector<int> &inLanes) {
  for (int lane : inLanes) {
    const std::optional<int> where = pending.busy(code.thread, lane);
    if (!where)
      continue;
    if (!world.image.machine.microthreads_queue())
      refuse(ErrorClass::MicrothreadBusy, std::max(*where, lane),
             describe(code) + " is given to a microthread that may be at work: "
                              "await it before");
    awaited |= 1u << code.thread;
    --frames.back().next;
    return false;
  }
  return true;
}

/// What an instruction shares with a microthread that may still be at work
/// would depend on who is faster.
void MainThread::checkPending(InstructionRun &run) const {
  const std::string what = pending.conflict(run);
  if (!what.empty())
    refuse(ErrorClass::DataRace, run.lane(),
           describe(run.code()) + " " + what + ", without an await between");
  run.touch();
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
