// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_REDUCTION_H
#define RUNTIME_SWARMX_REDUCTION_H

#include "runtime/swarmx/CanonicalSum.h"
#include "runtime/swarmx/Tree.h"
#include "runtime/threads/Mutex.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace wsec::runtime {

/// Canonical: as CanonicalSum, so that the result does not depend on the number
/// of systems; what is no subtree takes further partials on the links. Tree:
/// one partial for each edge, as the hardware would: a system adds its samples
/// in their order, a node its children. The same bits for the same number of
/// systems only.
enum class ReduceOrder { Canonical, Tree };

/// The sums of one system over its samples of a stream.
class SystemSum {
public:
  SystemSum(ReduceOrder order, uint64_t samples);
  /// Samples of the system come in their order.
  void add(uint64_t sample, std::vector<float> values);
  std::vector<Partial> take();

private:
  const ReduceOrder order;
  CanonicalSum sums;
  std::optional<Partial> running;
};

/// The gradients of a batch on their way up: every system sends its partials of
/// each of `streams` once, a node adds what its children send and passes on
/// what is left when the last one has sent. Calls may come from different
/// threads.
class Reduction {
public:
  /// What leaves for a parent in another process.
  using Upwards = std::function<void(unsigned member, unsigned stream,
                                     std::vector<Partial> partials)>;
  /// The sum, where the store is.
  using Done = std::function<void(unsigned stream, std::vector<float> sum)>;

  /// `isHere` empty: all members are. `samples` of the whole batch, at least
  /// one.
  Reduction(const Tree &tree, ReduceOrder order, uint64_t samples, Done done,
            std::function<bool(unsigned member)> isHere = {},
            Upwards upwards = {});

  /// The sums of a system, or what `upwards` has brought from elsewhere. An
  /// empty list for one without samples.
  void send(unsigned member, unsigned stream, std::vector<Partial> partials);

  /// Bytes of values that the edge above a member has carried, if the member
  /// is here.
  uint64_t edgeBytes(unsigned member) const;

private:
  struct Waiting {
    std::map<unsigned, std::vector<Partial>> children; ///< that have sent
  };
  std::vector<Partial> merge(Waiting &waiting) const;
  bool here(unsigned member) const { return !isHere || isHere(member); }

  const Tree tree;
  const ReduceOrder order;
  const uint64_t samples;
  const Done done;
  const std::function<bool(unsigned)> isHere;
  const Upwards upwards;
  mutable Mutex lock;
  std::map<std::pair<unsigned, unsigned>, Waiting>
      waiting ABSL_GUARDED_BY(lock);                 ///< by node, stream
  std::vector<uint64_t> bytes ABSL_GUARDED_BY(lock); ///< by edge
};

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_REDUCTION_H
