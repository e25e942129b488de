// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/ReadRouting.h"
#include "compiler/kernels/Kernel.h"

using namespace wsec;

/// Where kernels forward words while they arrive. What waits for a whole
/// message before it sends (the sum of a row that column 0 casts back, say)
/// relays too: it is one more link of the same chain.
static std::vector<std::pair<RoutePattern, RoutePattern>> kernelRelays() {
  using P = RoutePattern;
  return {
      {P::Channel, P::Column}, // injectors
      {P::RowWest, P::RowWest},      {P::RowWest, P::RowCast},
      {P::RowWest, P::RootWest},     {P::RowWest, P::HeadCast},
      {P::RootWest, P::RootWest},    {P::RootWest, P::RowCast},
      {P::RowEast, P::RowEast},      {P::RowEast, P::OutNorth},
      {P::RowEast, P::OutExit},      {P::OutNorth, P::OutNorth},
      {P::OutNorth, P::OutExit},     {P::KeyNorth, P::KeyNorth},
      {P::KeyCast, P::RowWest},      {P::RowCast, P::Column}, // products
      {P::KeyNorth, P::KeyCast},     {P::ValueNorth, P::ValueNorth},
      {P::ValueNorth, P::ValueCast}, {P::RowEast, P::Transfer},
      {P::RowWest, P::Transfer},
  };
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

std::vector<StreamRequest>
wsec::streamsNeededBy(wse::KernelOp kernel,
                      llvm::ArrayRef<wse::RegionOp> regions,
                      const RoutingProblem &problem) {
  std::vector<StreamRequest> requests;
  const Machine machine = wse::regionOf(kernel).machine();
  const size_t own = indexOfRegion(regions, kernel.getRegionRef().getValue());
  for (const StreamNeed &need : findKernel(kernel)->streams(kernel, machine)) {
    StreamRequest request{"",
                          RoutePattern(need.pattern),
                          {need.rows.groups, need.rows.pitch, need.rows.used}};
    request.region =
        need.from.empty() ? own : indexOfRegion(regions, need.from);
    if (request.pattern == RoutePattern::Transfer)
      request.target = own;
    if (problem.connects(request))
      requests.push_back(request);
  }
  return requests;
}

bool wsec::sameStream(const StreamRequest &a, const StreamRequest &b) {
  return a.pattern == b.pattern && a.region == b.region &&
         a.target == b.target && a.rows.groups == b.rows.groups &&
         a.rows.pitch == b.rows.pitch && a.rows.used == b.rows.used;
}
