// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/wse/Wse.h"
#include "tools/map/Passes.h"
#include "tools/map/PlacementDump.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace wsec::map {
#define GEN_PASS_DEF_DUMPPLACEMENTPASS
#include "tools/map/Passes.h.inc"
} // namespace wsec::map

using namespace wsec;
using namespace wsec::map;

namespace {

struct DumpPlacement final : map::impl::DumpPlacementPassBase<DumpPlacement> {
  using DumpPlacementPassBase::DumpPlacementPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    wse::ProgramOp program = getOperation();
    if (file.empty() && program.getState() >= wse::State::Placed) {
      llvm::outs() << placementAsText(viewPlacement(program));
      return;
    }
    std::string error =
        program.getState() < wse::State::Placed
            ? "cannot show where a program is placed that is only " +
                  wse::stringifyState(program.getState()).str()
            : writePlacement(viewPlacement(program), file, measured);
    if (!error.empty()) {
      program.emitError(error);
      signalPassFailure();
    }
  }
};

} // namespace
