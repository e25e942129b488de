// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_CLUSTER_H
#define RUNTIME_HOST_CLUSTER_H

#include "runtime/host/Batch.h"
#include "runtime/host/Session.h"
#include "runtime/strips/WorkerPool.h"
#include "runtime/swarmx/CanonicalSum.h"
#include "runtime/swarmx/Link.h"
#include "runtime/swarmx/Tree.h"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// One system in a run.
struct SystemRun {
  uint64_t calls = 0;
  double cycles = 0;       ///< of all its calls
  uint64_t ownBytesIn = 0; ///< inputs, and rows of weights that they select
  uint64_t bytesOut = 0;
};

/// What a batch took; of a Cluster of some systems only, by these.
struct ClusterRun {
  std::vector<SystemRun> systems;
  uint64_t passes = 0;
  std::vector<double> passCycles;  ///< of the slowest system of each pass
  std::vector<uint64_t> edgeBytes; ///< by member of the tree
  std::vector<SessionRun> calls;   ///< the first of system 0
  double seconds = 0;              ///< of the host

  /// Adds what other systems have made of the same batch.
  void join(const ClusterRun &others);
  /// Cycles of all passes, one after the other.
  double cycles() const;
  double oneSystemCycles() const;
  /// Cycles of one system that makes all calls, over `cycles`.
  double speedUp() const {
    return cycles() > 0 ? oneSystemCycles() / cycles() : 1;
  }
};

/// Told of every call of a batch when it is done, with the session that has its
/// outputs: one at a time, in any order.
using AfterCall =
    std::function<void(unsigned system, uint64_t call, const Session &session)>;

/// A program on several emulated wafers that share its weights, fed through a
/// tree (runtime/swarmx): each makes calls of a batch.
///
/// System i of N makes calls i * k / N and on of a Batch of k: as many as the
/// others or one more. In a pass every system makes one call, and the weights
/// leave the store once. The host emulates several passes at a time where there
/// are fewer systems than threads.
///
/// Throws nothing; Session.h says which statuses there are.
class Cluster {
public:
  /// At least one system. The session's inputs are not used.
  Cluster(std::unique_ptr<Session> first, unsigned systems);
  /// In process 0 of several, which have at least one system each; the others
  /// serve theirs (PassLink.h). Not of programs with host copies.
  Cluster(std::unique_ptr<Session> first, unsigned systems,
          std::shared_ptr<Link> link);
  /// Some of the systems only, of which `here` are the numbers; nothing is said
  /// to the others, which make calls of the same batches somewhere.
  Cluster(std::unique_ptr<Session> first, unsigned systems, SampleRange here);
  ~Cluster();

  Session &session() { return *sessions.front(); }
  /// All that make calls: those of its systems, and others of theirs that make
  /// further passes meanwhile.
  const std::vector<std::unique_ptr<Session>> &emulated() { return sessions; }
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;
  std::vector<std::string> weightFiles() const;
  /// Values inside of the model are read off one system only.
  std::vector<std::string> values() const { return {}; }
  absl::Status keep(const std::string &value) {
    return sessions.front()->keep(value);
  }
  const Tree &tree() const { return joined; }
  /// The systems that make their calls here.
  SampleRange systemsHere() const { return here; }

  /// Whether an input is one of a batch: BadTensor.
  absl::Status accepts(const std::string &name, DataType type,
                       const std::vector<int64_t> &shape) const;
  /// Gives an input of the batch. BadTensor if another has other calls.
  absl::Status bind(const std::string &name, HostTensor tensor);
  /// For another batch.
  void clearInputs() { batch.clearInputs(); }
  const Batch &bound() const { return batch; }
  /// Calls of the batch.
  uint64_t calls() const { return batch.calls(); }

  /// BadTensor when there are fewer calls than systems; BadState for a program
  /// that keeps something from call to call. An error names the system and the
  /// call. With `after` the batch has no outputs but what that takes, and may
  /// have fewer calls.
  absl::StatusOr<ClusterRun> run(const Call &call, EngineOptions options = {},
                                 Progress *progress = nullptr,
                                 Engine engine = Engine::Burst,
                                 const AfterCall &after = {});

  absl::StatusOr<HostTensor> output(const std::string &name) const;
  /// Outputs that the run has written, in the order of the model.
  std::vector<std::string> written() const;

private:
  struct Pass;
  Cluster(std::unique_ptr<Session> first, unsigned systems,
          std::shared_ptr<Link> link, SampleRange here);
  ClusterRun runBatch(const Call &call, const EngineOptions &options,
                      Progress *progress, Engine engine,
                      const AfterCall &after);
  ClusterRun emptyRun() const;
  ClusterRun runPass(Pass &pass, const AfterCall &after);
  unsigned lanesFor(uint64_t passes, unsigned threads);
  void receiveUntilDone(Pass &pass);
  void runSystems(Pass &pass);
  void countEdges(Pass &pass, ClusterRun &run);
  void runSystem(Pass &pass, unsigned system);
  void bindCall(Session &session, uint64_t call) const;
  void keepOutputs(const Session &session, uint64_t call);

  const Tree joined;
  const std::shared_ptr<Link> link;
  const SampleRange here; ///< systems
  Batch batch;
  std::vector<std::unique_ptr<Session>> sessions; ///< by lane and system
  std::deque<WorkerPool> pools; ///< of each lane: its systems, who receives
  std::unique_ptr<WorkerPool> lanePool;
  std::mutex taking;   ///< what calls have given
  unsigned ready = 1;  ///< processes
  uint64_t passes = 0; ///< of all runs
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_CLUSTER_H
