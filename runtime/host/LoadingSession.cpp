// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/LoadingSession.h"

#include "runtime/program/Errors.h"
#include "runtime/program/facts/Holdings.h"

namespace wsec::runtime {

absl::StatusOr<std::unique_ptr<LoadingSession>>
LoadingSession::open(const std::string &path,
                     const std::vector<std::string> &weightFolders,
                     const std::string &engine, unsigned threads) {
  const std::optional<Engine> named = engineNamed(engine);
  if (!named)
    return asStatus([&] {
      throw Error(ErrorClass::BadCall,
                  "there is no engine '" + engine + "': " + engineNames);
    });
  auto session = Session::open(path, weightFolders);
  if (!session.ok())
    return session.status();
  return std::unique_ptr<LoadingSession>(
      new LoadingSession(*std::move(session), *named, threads));
}

LoadingSession::LoadingSession(std::unique_ptr<Session> session, Engine engine,
                               unsigned threads)
    : held(std::move(session)), engine(engine) {
  options.threads = threads;
  options.replay = true;
}

absl::Status LoadingSession::call(const std::string &entry,
                                  const NamedValues &arguments) {
  const absl::StatusOr<Call> call = held->callOf(entry, arguments);
  if (!call.ok())
    return call.status();
  const program::Entry *load =
      loadingEntry(held->program(), findEntry(held->program(), entry));
  if (load && !loaded.count(load->name()->str())) {
    const auto run =
        held->call(load->name()->str(), {}, options, nullptr, engine);
    if (!run.ok())
      return run.status();
    loaded.insert(load->name()->str());
  }
  absl::StatusOr<SessionRun> run = held->call(*call, options, nullptr, engine);
  if (!run.ok())
    return run.status();
  loaded.insert(call->entry().name()->str());
  last.emplace(*call, *std::move(run));
  return absl::OkStatus();
}

absl::StatusOr<bool> LoadingSession::keeps(const std::string &entry) const {
  return asStatusOr([&] {
    const program::Program &program = held->program();
    return changesState(program,
                        *program.entries()->Get(findEntry(program, entry)));
  });
}

absl::Status LoadingSession::restoreState(const State &state) {
  absl::Status status = held->restoreState(state.kept);
  if (status.ok())
    loaded = state.loaded;
  return status;
}

absl::Status LoadingSession::restoreState(const std::string &path) {
  absl::Status status = held->restoreState(path);
  if (!status.ok())
    return status;
  loaded.clear();
  if (held->holdsState()) // weights that stay are a part of it
    for (const auto *each : *held->program().entries())
      loaded.insert(each->name()->str());
  return status;
}

void LoadingSession::clearState() {
  held->clearState();
  loaded.clear();
}

} // namespace wsec::runtime
