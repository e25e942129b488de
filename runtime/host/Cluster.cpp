// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Cluster.h"

#include "absl/strings/str_cat.h"
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/swarmx/CanonicalSum.h"
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

Cluster::Cluster(std::unique_ptr<Session> first, unsigned systems)
    : Cluster(std::move(first), systems, std::make_unique<OneProcess>()) {}

Cluster::Cluster(std::unique_ptr<Session> first, unsigned systems,
                 std::shared_ptr<Link> link)
    : joined(systems), link(std::move(link)) {
  sessions.push_back(std::move(first));
  while (sessions.size() < systems)
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

// ---------------------------------------------------------------- the batch

static const program::Tensor *inputNamed(const program::Program &program,
                                         const std::string &name) {
  for (const program::Tensor *tensor : *program.tensors())
    if (tensor->role() == program::TensorRole::Input &&
        tensor->name()->string_view() == name)
      return tensor;
  return nullptr;
}

/// What a session would say.
static void require(const absl::Status &status) {
  if (status.ok())
    return;
  const std::optional<ErrorClass> known = errorClassOf(status);
  std::string text(status.message());
  if (!known)
    throw std::runtime_error(text);
  text.erase(0, errorClassName(*known).size() + 2);
  throw Error(*known, text);
}

/// 1 for a tensor that all calls share.
uint64_t Cluster::callsIn(const std::string &name, DataType type,
                          const std::vector<int64_t> &shape) const {
  const absl::Status fits = sessions.front()->accepts(name, type, shape);
  if (fits.ok())
    return 1;
  const program::Tensor *input = inputNamed(sessions.front()->program(), name);
  if (!input || !input->shape() || input->shape()->size() == 0 ||
      shape.empty() || input->shape()->Get(0) == 0)
    require(fits);
  const std::vector<int64_t> own(input->shape()->begin(),
                                 input->shape()->end());
  std::vector<int64_t> one = shape;
  one[0] = own[0];
  require(one == own ? sessions.front()->accepts(name, type, one) : fits);
  if (shape[0] < own[0] || shape[0] % own[0] != 0)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("input ", inQuotes(name), ": expected ",
                             describe(type, own), " for each call, found ",
                             describe(type, shape), "; ", shape[0],
                             " rows are no multiple of ", own[0]));
  return uint64_t(shape[0] / own[0]);
}

absl::Status Cluster::accepts(const std::string &name, DataType type,
                              const std::vector<int64_t> &shape) const {
  return asStatus([&] { callsIn(name, type, shape); });
}

void Cluster::bindBatch(const std::string &name, HostTensor tensor) {
  const uint64_t its = callsIn(name, tensor.type, tensor.shape);
  if (its > 1 && calls > 1 && its != calls)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("input ", inQuotes(name), " holds ", its,
                             " calls of the program, ", inQuotes(countedBy),
                             " ", calls,
                             "; give all inputs of a batch as many"));
  if (its > 1) {
    calls = its;
    countedBy = name;
  }
  batch.emplace_back(name, std::move(tensor));
}

absl::Status Cluster::bind(const std::string &name, HostTensor tensor) {
  return asStatus([&] { bindBatch(name, std::move(tensor)); });
}

void Cluster::bindCall(Session &session, uint64_t call) const {
  for (const auto &[name, tensor] : batch) {
    const uint64_t parts = callsIn(name, tensor.type, tensor.shape);
    const auto bytes = ptrdiff_t(tensor.bytes.size() / parts);
    const auto from =
        tensor.bytes.begin() + (parts > 1 ? ptrdiff_t(call) * bytes : 0);
    HostTensor part{tensor.type, tensor.shape, {from, from + bytes}};
    if (parts > 1)
      part.shape[0] /= int64_t(parts);
    require(session.bind(name, std::move(part)));
  }
}

// ---------------------------------------------------------------- a run

/// One call on each of the first `systems` systems.
struct Cluster::Pass {
  Pass(const Cluster &cluster, const Call &call, const EngineOptions &options,
       Engine engine, const SharedChannels &shared,
       std::counting_semaphore<> &slots, uint64_t number, unsigned systems,
       Broadcast::Source source)
      : call(call), options(options), engine(engine), shared(shared),
        slots(slots), number(number), systems(systems),
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
  const uint64_t number;
  const unsigned systems;
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
  const bool here = !pass.elsewhere.holds(system);
  const auto make = [&](MemoryX &store, const auto &wafer) {
    if (!here)
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
  if (here)
    pass.slots.acquire();
  result.run = sessions[system]->call(pass.call, pass.options,
                                      system == 0 ? pass.progress : nullptr,
                                      pass.engine, relay);
  pass.broadcast.leave(system);
  if (here)
    pass.slots.release();
  ++pass.finished;
}

/// Until other processes are there, and have found the program.
void Cluster::awaitOthers() {
  for (unsigned ready = 1; ready < link->size();) {
    const auto received = link->receive();
    if (!received)
      continue;
    if (received->second.kind == Message::Kind::Failed)
      std::rethrow_exception(unpackError(received->second, 1));
    ++ready;
  }
}

void Cluster::receiveUntilDone(Pass &pass) {
  while (link->size() > 1 && pass.finished < pass.systems)
    if (const auto received = link->receive())
      if (received->second.numbers.at(0) == pass.number &&
          !pass.remote.dispatch(received->second))
        PassLink::dispatch(received->second, pass.broadcast);
}

/// Each process has counted the edges below its nodes.
void Cluster::countEdges(Pass &pass, ClusterRun &run) {
  for (unsigned member = 0; member < joined.members(); ++member)
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

void Cluster::runPass(Pass &pass, ClusterRun &run) {
  const auto callOf = [&](unsigned system) {
    return samplesOf(system, joined.systems(), calls).begin + pass.number;
  };
  for (unsigned system = 0; system < pass.systems; ++system)
    bindCall(*sessions[system], callOf(system));
  for (unsigned process = 1; process < link->size(); ++process)
    link->send(process, {Message::Kind::Begin, {pass.number, pass.systems}});
  for (unsigned idle = pass.systems; idle < joined.systems(); ++idle)
    if (!pass.elsewhere.holds(idle))
      pass.broadcast.leave(idle);
  std::vector<std::thread> threads;
  for (unsigned system = 0; system < pass.systems; ++system)
    threads.emplace_back([&, system] { runSystem(pass, system); });
  receiveUntilDone(pass);
  for (std::thread &thread : threads)
    thread.join();
  countEdges(pass, run);
  double slowest = 0;
  for (unsigned system = 0; system < pass.systems; ++system) {
    Pass::Result &result = pass.results[system];
    try {
      require(result.run.status());
    } catch (const Error &error) {
      throw Error(error.errorClass(),
                  absl::StrCat("system ", system, ", call ", callOf(system),
                               " of the batch: ", error.message()));
    }
    keepOutputs(*sessions[system], callOf(system));
    SystemRun &its = run.systems[system];
    ++its.calls;
    its.cycles += result.run->result.cycles;
    its.ownBytesIn += result.ownBytesIn;
    its.bytesOut += result.bytesOut;
    slowest = std::max(slowest, result.run->result.cycles);
  }
  run.cycles += slowest;
  if (run.calls.empty())
    run.calls.push_back(*std::move(pass.results[0].run));
}

ClusterRun Cluster::runBatch(const Call &call, const EngineOptions &given,
                             Progress *progress, Engine engine) {
  const unsigned systems = joined.systems();
  if (session().hasState())
    throw Error(ErrorClass::BadState,
                "the program has persistent buffers, which keep something from "
                "call to call, and calls of a batch run on different systems; "
                "run them one after the other on one");
  if (calls < systems)
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
  awaitOthers();
  const auto start = std::chrono::steady_clock::now();
  results.clear();
  EngineOptions options = given;
  if (options.threads == 0)
    options.threads = std::max(1u, std::thread::hardware_concurrency());
  std::counting_semaphore<> slots(ptrdiff_t(options.threads));
  if (systems > 1)
    options.threads = 1;
  const SharedChannels shared(call);
  ClusterRun run;
  run.systems.resize(systems);
  run.edgeBytes.resize(joined.members());
  run.passes = samplesOf(0, systems, calls).size();
  for (uint64_t number = 0; number < run.passes; ++number) {
    const std::unique_ptr<MemoryX> store = session().streams(call);
    unsigned active = 0;
    while (active < systems &&
           samplesOf(active, systems, calls).size() > number)
      ++active;
    const auto source = [&](unsigned channel) {
      return store->next(shared[channel].first, shared[channel].second,
                         blockWords);
    };
    Pass pass(*this, call, options, engine, shared, slots, number, active,
              source);
    pass.progress = number == 0 ? progress : nullptr;
    runPass(pass, run);
  }
  run.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return run;
}

absl::StatusOr<ClusterRun> Cluster::run(const Call &call, EngineOptions options,
                                        Progress *progress, Engine engine) {
  return asStatusOr([&] { return runBatch(call, options, progress, engine); });
}

// ---------------------------------------------------------------- results

void Cluster::keepOutputs(const Session &session, uint64_t call) {
  for (const std::string &name : session.written()) {
    absl::StatusOr<HostTensor> part = session.output(name);
    require(part.status());
    HostTensor &whole = results[name];
    const size_t bytes = part->bytes.size();
    if (whole.bytes.empty()) {
      whole.type = part->type;
      whole.shape = part->shape;
      if (whole.shape.empty())
        whole.shape.push_back(1);
      whole.shape[0] *= int64_t(calls);
      whole.bytes.resize(bytes * calls);
    }
    std::copy(part->bytes.begin(), part->bytes.end(),
              whole.bytes.begin() + ptrdiff_t(call * bytes));
  }
}

HostTensor Cluster::wholeOutput(const std::string &name) const {
  const auto found = results.find(name);
  if (found != results.end())
    return found->second;
  absl::StatusOr<HostTensor> none = sessions.front()->output(name);
  require(none.status());
  return *none;
}

absl::StatusOr<HostTensor> Cluster::output(const std::string &name) const {
  return asStatusOr([&] { return wholeOutput(name); });
}

std::vector<std::string> Cluster::written() const {
  return sessions.front()->written();
}

} // namespace wsec::runtime
