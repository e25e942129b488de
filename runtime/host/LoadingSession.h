// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_LOADINGSESSION_H
#define RUNTIME_HOST_LOADINGSESSION_H

#include "runtime/host/Session.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// A Session for callers in other languages: weights that stay on the wafer
/// come there before the first call that needs them, and the second call with
/// equal arguments replays what the first has recorded. Throws nothing.
class LoadingSession {
public:
  /// A session of a .wafer file; no threads: one a core. BadCall: no such
  /// engine.
  static absl::StatusOr<std::unique_ptr<LoadingSession>>
  open(const std::string &path, const std::vector<std::string> &weightFolders,
       const std::string &engine, unsigned threads);

  Session &session() { return *held; }
  const Session &session() const { return *held; }

  /// Session::call, of callOf().
  absl::Status call(const std::string &entry, const NamedValues &arguments);
  /// Whether a call of an entry may leave something on the wafer that the next
  /// one finds.
  absl::StatusOr<bool> keeps(const std::string &entry) const;
  /// Null before the first call.
  const SessionRun *lastRun() const { return last ? &last->second : nullptr; }
  /// The call that lastRun() is of.
  const Call &lastCall() const { return last->first; }

  /// What persistent buffers hold, with the entries that brought weights, which
  /// are a part of it.
  struct State {
    Session::KeptState kept;
    std::set<std::string> loaded;
  };
  State keptState() const { return {held->keptState(), loaded}; }
  absl::Status restoreState(const State &state);
  absl::Status restoreState(const std::string &path);
  void clearState();

private:
  LoadingSession(std::unique_ptr<Session> session, Engine engine,
                 unsigned threads);

  std::unique_ptr<Session> held;
  Engine engine;
  EngineOptions options;
  std::set<std::string> loaded; ///< entries called, those that bring weights
  std::optional<std::pair<Call, SessionRun>> last;
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_LOADINGSESSION_H
