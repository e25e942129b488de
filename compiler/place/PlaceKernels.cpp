// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs stream their weights: kernels run one after the other, so that all
// of them may lie at the channels, on top of each other.

#include "compiler/place/Passes.h"
#include "compiler/place/ReadPlacement.h"
#include "compiler/place/SkylinePlacer.h"

using namespace mlir;

namespace wsec::place {
#define GEN_PASS_DEF_PLACEKERNELSPASS
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

using namespace wsec;

static ArrayAttr channelAttrs(MLIRContext *context,
                              const std::vector<PlacedChannel> &channels) {
  SmallVector<Attribute> attrs;
  for (const PlacedChannel &channel : channels)
    attrs.push_back(wse::ChannelAttr::get(context, channel.row, channel.begin,
                                          channel.end));
  return ArrayAttr::get(context, attrs);
}

namespace {

struct PlaceKernels final : place::impl::PlaceKernelsPassBase<PlaceKernels> {
  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    if (program.getState() != wse::State::Selected) {
      program.emitError("only a selected program can be placed, this one is ")
          << wse::stringifyState(program.getState());
      return signalPassFailure();
    }
    PlacementProblem problem = readPlacementProblem(program);
    Placement placement;
    std::string error = problem.check();
    if (error.empty())
      error = placeBySkyline(problem, placement);
    if (!error.empty()) {
      program.emitError(error);
      return signalPassFailure();
    }
    for (auto [kernel, region] :
         llvm::zip(kernelsOf(program), placement.regions))
      kernel.setRect(wse::RectAttr::get(&getContext(), region.x,
                                        region.x + region.columns, 1, region.y,
                                        region.y + region.rows, 1));
    program.setWestChannelsAttr(channelAttrs(&getContext(), placement.west));
    program.setEastChannelsAttr(channelAttrs(&getContext(), placement.east));
    program.setState(wse::State::Placed);
  }
};

} // namespace
