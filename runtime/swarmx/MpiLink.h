// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_MPILINK_H
#define RUNTIME_SWARMX_MPILINK_H

#include "runtime/swarmx/Link.h"

#include <functional>

namespace wsec::runtime {

/// What Open MPI's mpirun tells the processes that it starts; a size of 0: it
/// has not started this one.
struct MpiLaunch {
  unsigned rank = 0, size = 0;
};
MpiLaunch mpiLaunch();

/// Called with "SystemLost: ..." when a process has ended, or been silent for
/// `silenceSeconds`, before the run did. Must not return: threads may wait for
/// ever. `speaks`: it is this process that should tell.
using SystemLostHandler =
    std::function<void(const std::string &what, bool speaks)>;

/// Messages over MPI, by the thread that opens the link and receives; others
/// may send. Null where the runtime is built without MPI.
///
/// A process that dies is noticed by its id on the same machine, by mpirun,
/// which then ends the others with SIGTERM, or by its silence: every process
/// that receives says twice a second that it lives.
std::unique_ptr<Link> openMpiLink(SystemLostHandler lost,
                                  double silenceSeconds = 60);

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_MPILINK_H
