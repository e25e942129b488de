// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Cluster.h"

#include "absl/strings/str_cat.h"
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/swarmx/PassLink.h"
#include "runtime/swarmx/WireWords.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace wsec::runtime {

double ClusterRun::oneSystemCycles() const {
  double sum = 0;
  for (const SystemRun &system : systems)
    sum += system.cycles;
  return sum;
}

double ClusterRun::cycles() const {
  double sum = 0;
  for (const double slowest : passCycles)
    sum += slowest;
  return sum;
}

void ClusterRun::join(const ClusterRun &others) {
  for (size_t system = 0; system < systems.size(); ++system) {
    systems[system].calls += others.systems[system].calls;
    systems[system].cycles += others.systems[system].cycles;
    systems[system].ownBytesIn += others.systems[system].ownBytesIn;
    systems[system].bytesOut += others.systems[system].bytesOut;
  }
  for (size_t pass = 0; pass < passCycles.size(); ++pass)
    passCycles[pass] = std::max(passCycles[pass], others.passCycles[pass]);
  for (size_t edge = 0; edge < edgeBytes.size(); ++edge)
    edgeBytes[edge] += others.edgeBytes[edge];
  if (calls.empty())
    calls = others.calls;
}

Cluster::Cluster(std::unique_ptr<Session> first, unsigned systems)
    : Cluster(std::move(first), systems, SampleRange{0, systems}) {}

Cluster::Cluster(std::unique_ptr<Session> first, unsigned systems,
                 std::shared_ptr<Link> link)
    : Cluster(std::move(first), systems, std::move(link), {0, systems}) {}

Cluster::Cluster(std::unique_ptr<Session> first, unsigned systems,
                 SampleRange here)
    : Cluster(std::move(first), systems, std::make_shared<OneProcess>(), here) {
}

Cluster::Cluster(std::unique_ptr<Session> first, unsigned systems,
                 std::shared_ptr<Link> link, SampleRange here)
    : joined(systems), link(std::move(link)), here(here), batch(*first) {
  sessions.push_back(std::move(first));
  while (sessions.size() < here.size())
    sessions.push_back(sessions.front()->sibling());
}

Cluster::~Cluster() = default;

std::vector<std::string> Cluster::inputs() const {
  return sessions.front()->inputs();
}

std::vector<std::string> Cluster::outputs() const {
  return sessions.front()->outputs();
}

std::vector<std::string> Cluster::weightFiles() const {
  return sessions.front()->weightFiles();
}

absl::Status Cluster::accepts(const std::string &name, DataType type,
                              const std::vector<int64_t> &shape) const {
  return asStatus([&] { batch.callsIn(name, type, shape); });
}

absl::Status Cluster::bind(const std::string &name, HostTensor tensor) {
  return asStatus([&] { batch.bind(name, std::move(tensor)); });
}

void Cluster::bindCall(Session &session, uint64_t call) const {
  batch.forEachInput(call, [&](const std::string &name, HostTensor part) {
    requireOk(session.bind(name, std::move(part)));
  });
}

// ---------------------------------------------------------------- a run

/// One call on each of the first `systems` systems.
struct Cluster::Pass {
  Pass(const Cluster &cluster, const Call &call, const EngineOptions &options,
       Engine engine, const SharedChannels &shared,
       std::counting_semaphore<> &slots, uint64_t number, uint64_t ofBatch,
       unsigned systems, unsigned lane, Broadcast::Source source)
      : call(call), options(options), engine(engine), shared(shared),
        slots(slots), number(number), ofBatch(ofBatch), systems(systems),
        lane(lane), sessions(&cluster.sessions[lane * cluster.here.size()]),
        first(unsigned(cluster.here.begin)),
        end(std::max(first, std::min(unsigned(cluster.here.end), systems))),
        elsewhere(*cluster.link, cluster.joined, number),
        remote(*cluster.link, cluster.joined, call, number),
        broadcast(cluster.joined, shared.size(), std::move(source), &elsewhere),
        results(systems) {}

  const Call &call;
  const EngineOptions options;
  const Engine engine;
  Progress *progress = nullptr; ///< of system 0
  const SharedChannels &shared;
  std::counting_semaphore<> &slots;
  const uint64_t number;  ///< of all that there have been
  const uint64_t ofBatch; ///< of those of the batch
  const unsigned systems, lane;
  const std::unique_ptr<Session> *const sessions; ///< of systems from `first`
  const unsigned first, end; ///< systems that have a call here
  Session &session(unsigned system) const { return *sessions[system - first]; }
  PassLink elsewhere;
  RemoteCalls remote;
  Broadcast broadcast;
  struct Result {
    absl::StatusOr<SessionRun> run = absl::UnknownError("not run");
    uint64_t ownBytesIn = 0, bytesOut = 0;
  };
  std::vector<Result> results;
  std::atomic<unsigned> finished = 0;
};

void Cluster::runSystem(Pass &pass, unsigned system) {
  Pass::Result &result = pass.results[system];
  const bool isHere = !pass.elsewhere.holds(system);
  const auto make = [&](MemoryX &store, const auto &wafer) {
    if (!isHere)
      return pass.remote.make(system, store);
    SystemPort port(store, pass.shared, pass.broadcast, system, &pass.slots);
    RunResult run = wafer(port);
    return RemoteCalls::Result{std::move(run), port.delivered(),
                               port.ownBytesIn(), port.bytesOut()};
  };
  const Relay relay = [&](MemoryX &store, const auto &wafer) {
    RemoteCalls::Result made = make(store, wafer);
    for (unsigned i = 0; i < pass.shared.size(); ++i)
      store.countDelivered(pass.shared[i].first, pass.shared[i].second,
                           made.delivered[i]);
    result.ownBytesIn = made.ownBytesIn;
    result.bytesOut = made.bytesOut;
    return std::move(made.run);
  };
  if (isHere)
    pass.slots.acquire();
  result.run = pass.session(system).call(pass.call, pass.options,
                                         system == 0 ? pass.progress : nullptr,
                                         pass.engine, relay);
  pass.broadcast.leave(system);
  if (isHere)
    pass.slots.release();
  ++pass.finished;
}

void Cluster::receiveUntilDone(Pass &pass) {
  while (link->size() > 1 && pass.finished < pass.systems)
    if (const auto received = link->receive())
      if (received->second.isOf(pass.number) &&
          !pass.remote.dispatch(received->second))
        PassLink::dispatch(received->second, pass.broadcast);
}

/// Each on a thread of its own, for they wait for one another. What goes wrong
/// between processes ends their waiting.
void Cluster::runSystems(Pass &pass) {
  std::exception_ptr failure;
  pools[pass.lane].run(pass.end - pass.first + 1, [&](unsigned worker) {
    if (worker > 0)
      return runSystem(pass, pass.first + worker - 1);
    try {
      receiveUntilDone(pass);
    } catch (...) {
      failure = std::current_exception();
      pass.broadcast.fail(failure);
      pass.remote.fail(failure);
    }
  });
  if (failure)
    std::rethrow_exception(failure);
}

/// Each process has counted the edges below its nodes.
void Cluster::countEdges(Pass &pass, ClusterRun &run) {
  for (unsigned member = 0; member < joined.members(); ++member)
    if (const unsigned first = joined.below(member).first;
        first >= here.begin && first < here.end)
      run.edgeBytes[member] += pass.broadcast.edgeBytes(member);
  for (unsigned process = 1; process < link->size(); ++process)
    link->send(process, {Message::Kind::Count, {pass.number}});
  for (unsigned counted = 1; counted < link->size();) {
    const auto received = link->receive();
    if (!received || received->second.kind != Message::Kind::Count)
      continue;
    ++counted;
    for (unsigned member = 0; member < joined.members(); ++member)
      run.edgeBytes[member] += received->second.numbers[1 + member];
  }
}

ClusterRun Cluster::emptyRun() const {
  ClusterRun run;
  run.systems.resize(joined.systems());
  run.edgeBytes.resize(joined.members());
  run.passes = samplesOf(0, joined.systems(), batch.calls()).size();
  run.passCycles.resize(run.passes);
  return run;
}

ClusterRun Cluster::runPass(Pass &pass, const AfterCall &after) {
  ClusterRun run = emptyRun();
  const auto callOf = [&](unsigned system) {
    return samplesOf(system, joined.systems(), batch.calls()).begin +
           pass.ofBatch;
  };
  const unsigned begin = pass.first, end = pass.end;
  for (unsigned system = begin; system < end; ++system)
    bindCall(pass.session(system), callOf(system));
  for (unsigned process = 1; process < link->size(); ++process)
    link->send(process, {Message::Kind::Begin, {pass.number, pass.systems}});
  for (unsigned idle = 0; idle < joined.systems(); ++idle)
    if ((idle < begin || idle >= end) && !pass.elsewhere.holds(idle))
      pass.broadcast.leave(idle);
  runSystems(pass);
  countEdges(pass, run);
  double slowest = 0;
  for (unsigned system = begin; system < end; ++system) {
    Pass::Result &result = pass.results[system];
    try {
      requireOk(result.run.status());
    } catch (const Error &error) {
      throw Error(error.errorClass(),
                  absl::StrCat("system ", system, ", call ", callOf(system),
                               " of the batch: ", error.message()));
    }
    {
      std::lock_guard guard(taking);
      if (after)
        after(system, callOf(system), pass.session(system));
      else
        keepOutputs(pass.session(system), callOf(system));
    }
    SystemRun &its = run.systems[system];
    ++its.calls;
    its.cycles += result.run->result.cycles;
    its.ownBytesIn += result.ownBytesIn;
    its.bytesOut += result.bytesOut;
    slowest = std::max(slowest, result.run->result.cycles);
  }
  run.passCycles[pass.ofBatch] = slowest;
  if (begin == 0)
    run.calls.push_back(*std::move(pass.results[0].run));
  return run;
}

/// Passes that are emulated at a time, each with sessions of its own.
unsigned Cluster::lanesFor(uint64_t passes, unsigned threads) {
  const auto systems = unsigned(here.size());
  const auto lanes = link->size() > 1
                         ? 1
                         : unsigned(std::min<uint64_t>(
                               passes, std::max(1u, threads / systems)));
  while (sessions.size() < size_t(lanes) * systems)
    sessions.push_back(sessions.front()->sibling());
  while (pools.size() < lanes)
    pools.emplace_back(systems + 1);
  if (!lanePool || lanePool->size() < lanes)
    lanePool = std::make_unique<WorkerPool>(lanes);
  return lanes;
}

ClusterRun Cluster::runBatch(const Call &call, const EngineOptions &given,
                             Progress *progress, Engine engine,
                             const AfterCall &after) {
  const unsigned systems = joined.systems();
  if (session().hasState())
    throw Error(ErrorClass::BadState,
                "the program has persistent buffers, which keep something from "
                "call to call, and calls of a batch run on different systems; "
                "run them one after the other on one");
  const uint64_t calls = batch.calls();
  if (calls < systems && !after)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("the inputs hold ", calls, " call",
                             calls == 1 ? "" : "s", " of the program for ",
                             systems,
                             " systems; give each input that many times the "
                             "rows of the program, or take fewer systems"));
  if (link->size() > 1 && call.copies() && call.copies()->size() > 0)
    throw Error(ErrorClass::BadProgram,
                "the program copies tensors to and from PEs beside its "
                "streams, which reach systems of one process only; run it with "
                "--num-systems, without mpirun");
  awaitOthers(*link, ready);
  const auto start = std::chrono::steady_clock::now();
  batch.clearOutputs();
  EngineOptions options = given;
  if (options.threads == 0)
    options.threads = std::max(1u, std::thread::hardware_concurrency());
  std::counting_semaphore<> slots(ptrdiff_t(options.threads));
  const SharedChannels shared(call);
  ClusterRun run = emptyRun();
  const unsigned lanes = lanesFor(run.passes, options.threads);
  if (lanes * here.size() > 1)
    options.threads = 1;
  const uint64_t begun = passes;
  passes += run.passes;
  const auto make = [&](uint64_t number, unsigned lane) {
    const std::unique_ptr<MemoryX> store =
        sessions[lane * here.size()]->streams(call);
    unsigned active = 0;
    while (active < systems &&
           samplesOf(active, systems, calls).size() > number)
      ++active;
    const auto source = [&](unsigned channel) {
      return store->next(shared[channel].first, shared[channel].second,
                         blockWords);
    };
    Pass pass(*this, call, options, engine, shared, slots, begun + number,
              number, active, lane, source);
    pass.progress = number == 0 ? progress : nullptr;
    return runPass(pass, after);
  };
  // What fails is the first pass that does, however many run at a time.
  std::vector<ClusterRun> made(run.passes);
  std::vector<std::exception_ptr> failures(run.passes);
  std::atomic<uint64_t> end = run.passes;
  const auto runLane = [&](unsigned lane) {
    for (uint64_t number = lane; number < end; number += lanes)
      try {
        made[number] = make(number, lane);
      } catch (...) {
        failures[number] = std::current_exception();
        uint64_t before = end;
        while (number < before && !end.compare_exchange_weak(before, number))
          ;
      }
  };
  lanePool->run(lanes, runLane);
  if (end < run.passes)
    std::rethrow_exception(failures[end]);
  for (ClusterRun &pass : made)
    run.join(pass);
  run.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return run;
}

absl::StatusOr<ClusterRun> Cluster::run(const Call &call, EngineOptions options,
                                        Progress *progress, Engine engine,
                                        const AfterCall &after) {
  return asStatusOr(
      [&] { return runBatch(call, options, progress, engine, after); });
}

// ---------------------------------------------------------------- results

void Cluster::keepOutputs(const Session &session, uint64_t call) {
  for (const std::string &name : session.written()) {
    absl::StatusOr<HostTensor> part = session.output(name);
    requireOk(part.status());
    batch.keepOutput(name, call, *part);
  }
}

absl::StatusOr<HostTensor> Cluster::output(const std::string &name) const {
  if (const HostTensor *whole = batch.output(name))
    return *whole;
  return sessions.front()->output(name);
}

std::vector<std::string> Cluster::written() const {
  return sessions.front()->written();
}

} // namespace wsec::runtime
