// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/Passes.h"
#include "compiler/place/PlacementDump.h"
#include "dialects/wse/Wse.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace wsec::place {
#define GEN_PASS_DEF_DUMPPLACEMENTPASS
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

using namespace wsec;

namespace {

struct DumpPlacement final : place::impl::DumpPlacementPassBase<DumpPlacement> {
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
