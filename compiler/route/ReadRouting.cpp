// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/ReadRouting.h"
#include "compiler/kernels/Kernel.h"

#include <set>

using namespace wsec;

/// Those of all kernels, whether the program has them or not.
static std::vector<std::pair<StreamPattern, StreamPattern>> kernelRelays() {
  std::set<std::pair<StreamPattern, StreamPattern>> relays;
  for (const Kernel *kernel : allKernels())
    for (auto [from, to] : kernel->relays())
      relays.insert({from, to});
  return {relays.begin(), relays.end()};
}

static std::vector<RouteChannel>
readChannels(const std::vector<ChannelPosition> &channels) {
  std::vector<RouteChannel> result;
  for (const ChannelPosition &channel : channels)
    result.push_back({channel.row, channel.begin, channel.end});
  return result;
}

RoutingProblem wsec::readRegions(wse::ProgramOp program) {
  RoutingProblem problem;
  problem.meshWidth = program.meshWidth();
  problem.meshHeight = program.meshHeight();
  problem.colors = program.targetMachine().usableColors();
  for (const Machine &region : program.kernelMachines())
    problem.regions.push_back({region.x, region.y, region.width, region.height,
                               readChannels(region.westChannels()),
                               readChannels(region.eastChannels())});
  // A program without kernels has the whole mesh, which nobody named.
  for (auto [region, op] : llvm::zip(problem.regions, program.kernelRegions()))
    region.name = op.getSymName().str();
  for (const PeRectangle &out : program.targetMachine().keepOuts)
    problem.keepOuts.push_back(
        {out.x, out.x + out.width, 1, out.y, out.y + out.height, 1});
  problem.relays = kernelRelays();
  return problem;
}

size_t wsec::indexOfRegion(llvm::ArrayRef<wse::RegionOp> regions,
                           llvm::StringRef name) {
  return llvm::find_if(regions,
                       [&](wse::RegionOp region) {
                         return region.getSymName() == name;
                       }) -
         regions.begin();
}

std::vector<StreamRequest> wsec::streamsNeededBy(
    wse::KernelOp kernel, llvm::ArrayRef<wse::RegionOp> regions,
    llvm::ArrayRef<Machine> machines, const RoutingProblem &problem) {
  std::vector<StreamRequest> requests;
  const size_t own = indexOfRegion(regions, kernel.getRegionRef().getValue());
  for (const StreamNeed &need :
       findKernel(kernel)->streams(kernel, machines[own])) {
    StreamRequest request{"", need.pattern, need.rows};
    request.region =
        need.from.empty() ? own : indexOfRegion(regions, need.from);
    if (request.pattern == StreamPattern::Transfer)
      request.target = own;
    if (problem.connects(request))
      requests.push_back(request);
  }
  return requests;
}

static StreamNeed needOf(const StreamRequest &request) {
  return {request.pattern, request.rows};
}

std::optional<SharedStream> wsec::streamForBoth(const StreamRequest &a,
                                                const StreamRequest &b) {
  if (a.region != b.region || a.target != b.target)
    return std::nullopt;
  const StreamNeed needs[] = {needOf(a), needOf(b)};
  const std::optional<StreamNeed> both = streamForBoth(needs[0], needs[1]);
  if (!both)
    return std::nullopt;
  SharedStream shared{a};
  shared.stream.rows = both->rows;
  for (const StreamNeed &need : needs)
    shared.inVain += rowsThatHear(*both, need).count() - need.rows.count();
  return shared;
}

bool wsec::serves(const StreamRequest &stream, const StreamRequest &need) {
  const std::optional<SharedStream> both = streamForBoth(stream, need);
  return both && both->stream.rows == stream.rows;
}
