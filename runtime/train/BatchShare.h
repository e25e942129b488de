// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_BATCHSHARE_H
#define RUNTIME_TRAIN_BATCHSHARE_H

#include "runtime/host/Cluster.h"
#include "runtime/swarmx/ReductionLink.h"

#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// What systems of one process have made of a batch.
struct BatchShare {
  ClusterRun run;
  std::vector<std::pair<uint64_t, double>> losses; ///< by call
  /// Adds those of other processes.
  void join(const BatchShare &others);
};

void packShare(const BatchShare &share, Message &message);
/// `like` is of the same batch.
BatchShare unpackShare(const Message &message, const ClusterRun &like);

/// What the calls of some systems add to the gradients, by system and
/// parameter: sums along the canonical tree as far as one system has them.
class GradientSums {
public:
  /// Sums for the parameters of the program, in their order; one of which it
  /// makes no gradient has one of zeros.
  GradientSums(const Session &session, const Tree &tree, uint64_t calls);
  size_t size() const { return elements.size(); }
  /// After a call, as Cluster tells of it: one at a time.
  void add(unsigned system, uint64_t call, const Session &session);
  /// Sends those of systems of this process, also of such without calls, up the
  /// tree: parameter i as stream i, or size() + i in every other batch, so that
  /// none is taken for one of a batch that some process has not yet heard of.
  void send(SampleRange systems, uint64_t batch, ReductionLink &reduction);
  /// Whether partials of a message are of batch `batch`, or of one next to it.
  static bool areOf(const Message &partials, uint64_t batch, size_t size) {
    return partials.numbers.at(1) / size == batch % 2;
  }

private:
  std::vector<std::pair<std::string, uint64_t>> elements; ///< by parameter
  std::vector<std::vector<SystemSum>> sums;
};

/// The launches of a call up to the last one that writes output `loss`, behind
/// which the backward pass is; all of them where none does.
Call untilLoss(const Call &call, const std::string &loss);

/// The calls of the batch that is bound, and the losses that they leave in
/// output `loss` (empty: none). Adds gradients to `sums`, unless that is null.
/// Throws Error.
BatchShare makeShare(Cluster &wafers, const Call &call,
                     const EngineOptions &options, Engine engine,
                     const std::string &loss, GradientSums *sums,
                     const AfterCall &after = {});

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_BATCHSHARE_H
