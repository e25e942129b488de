// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/Passes.h"
#include "compiler/place/ReadPlacement.h"

using namespace mlir;

namespace wsec::place {
#define GEN_PASS_DEF_VERIFYPLACEDPASS
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

using namespace wsec;

/// The program says that it is placed, and has what a placed program has.
static LogicalResult checkPresent(wse::ProgramOp program) {
  if (program.getState() < wse::State::Placed)
    return program.emitError("expected a placed program, this one is ")
           << wse::stringifyState(program.getState());
  if (!program.getWestChannels() || !program.getEastChannels())
    return program.emitError(
        "a placed program has west_channels and east_channels");
  for (wse::KernelOp kernel : kernelsOf(program)) {
    wse::RectAttr rect = kernel.getRect();
    if (!rect)
      return kernel.emitError("kernel of a placed program has no region");
    if (rect.getXstep() != 1 || rect.getYstep() != 1)
      return kernel.emitError("region of a kernel has gaps");
  }
  return success();
}

static std::vector<PlacedChannel> readChannels(ArrayAttr attrs) {
  std::vector<PlacedChannel> channels;
  for (auto channel : attrs.getAsRange<wse::ChannelAttr>())
    channels.push_back(
        {channel.getRow(), channel.getBegin(), channel.getEnd()});
  return channels;
}

namespace {

struct VerifyPlaced final : place::impl::VerifyPlacedPassBase<VerifyPlaced> {
  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    markAllAnalysesPreserved();
    if (failed(checkPresent(program)))
      return signalPassFailure();
    PlacementProblem problem = readPlacementProblem(program);
    Placement placement;
    for (wse::KernelOp kernel : kernelsOf(program)) {
      wse::RectAttr rect = kernel.getRect();
      placement.regions.push_back({rect.getX0(), rect.getY0(),
                                   rect.getX1() - rect.getX0(),
                                   rect.getY1() - rect.getY0()});
    }
    placement.west = readChannels(program.getWestChannelsAttr());
    placement.east = readChannels(program.getEastChannelsAttr());
    std::string error = problem.check();
    if (error.empty())
      error = problem.verify(placement);
    if (!error.empty()) {
      program.emitError(error);
      signalPassFailure();
    }
  }
};

} // namespace
