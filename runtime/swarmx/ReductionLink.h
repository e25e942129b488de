// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_REDUCTIONLINK_H
#define RUNTIME_SWARMX_REDUCTIONLINK_H

#include "runtime/swarmx/Link.h"
#include "runtime/swarmx/Reduction.h"

namespace wsec::runtime {

/// A reduction over the processes of a link, each with its systems and nodes
/// (PassLink.h); process 0 gets the sums. A process begins the next one on a
/// link when all know that the last one has ended.
class ReductionLink {
public:
  ReductionLink(Link &link, const Tree &tree, ReduceOrder order,
                uint64_t samples, Reduction::Done done);

  /// The partials of a system that is here.
  void send(unsigned system, unsigned stream, std::vector<Partial> partials) {
    reduction.send(system, stream, std::move(partials));
  }
  /// Whether a message was for the reduction.
  bool dispatch(const Message &message);
  uint64_t edgeBytes(unsigned member) const {
    return reduction.edgeBytes(member);
  }

private:
  Reduction reduction;
};

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_REDUCTIONLINK_H
