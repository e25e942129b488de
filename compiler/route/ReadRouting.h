// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_READROUTING_H
#define WSEC_COMPILER_ROUTE_READROUTING_H

#include "compiler/route/RoutingProblem.h"
#include "dialects/wse/Wse.h"

#include <optional>

namespace wsec {

/// Regions, channels, colors and relays of a placed program; no streams yet.
RoutingProblem readRegions(wse::ProgramOp program);

/// The streams that a kernel needs, without those that would connect nothing
/// in their region, one of `regions`, which are `machines`. They have no names.
std::vector<StreamRequest>
streamsNeededBy(wse::KernelOp kernel, llvm::ArrayRef<wse::RegionOp> regions,
                llvm::ArrayRef<Machine> machines,
                const RoutingProblem &problem);

/// The number of the region of that name.
size_t indexOfRegion(llvm::ArrayRef<wse::RegionOp> regions,
                     llvm::StringRef name);

/// What serves both of two requests, and how many rows then hear words in vain.
struct SharedStream {
  StreamRequest stream;
  int64_t inVain = 0;
};
std::optional<SharedStream> streamForBoth(const StreamRequest &a,
                                          const StreamRequest &b);
/// Whether a kernel that needs `need` can have `stream`.
bool serves(const StreamRequest &stream, const StreamRequest &need);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_READROUTING_H
