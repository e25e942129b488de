// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by weights in one form: on [batch, token, feature] tensors, with
// their bias, one per part.
#include "compiler/canonicalize/Passes.h"
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/ValueNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSEMATMUL
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;

namespace {
struct FuseMatMulPass
    : wsec::canonicalize::impl::FuseMatMulBase<FuseMatMulPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
#define WSEC_PATTERNS(Name) add##Name(patterns);
#include "compiler/canonicalize/Patterns.inc"
    ValueNameListener listener;
    GreedyRewriteConfig config;
    config.setListener(&listener);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     config))) {
      getOperation().emitError("products by weights do not settle");
      signalPassFailure();
    }
  }
};
} // namespace
