// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boundary behind selection. Op verifiers checked each kernel; this checks
// what only the whole program shows. Rules are those of Passes.td.

#include "compiler/select/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace wsec;

namespace wsec::select {
#define GEN_PASS_DEF_VERIFYSELECTEDPASS
#include "compiler/select/Passes.h.inc"
} // namespace wsec::select

// (S2)
static LogicalResult verifyNothingLater(wse::KernelOp kernel) {
  const char *fact = kernel.getStreamRefs()      ? "streams"
                     : kernel.getTimeSlot()      ? "a slot"
                     : kernel.getResultAddress() ? "an address"
                     : kernel.getScratch()       ? "scratch"
                                                 : nullptr;
  if (!fact)
    return success();
  return kernel->emitOpError("has ")
         << fact << ", which a selected program does not decide";
}

// (S3)
static LogicalResult verifyNamed(wse::KernelOp kernel) {
  if (isa<wse::LoadOp, wse::StoreOp>(kernel.getOperation()) ||
      (kernel.getNodeNames() && !kernel.getNodeNames().empty()))
    return success();
  return kernel->emitOpError("names no ONNX node that it computes");
}

// (S4) for one output and the pieces stored to it.
static LogicalResult verifyCovered(StringRef output,
                                   MutableArrayRef<wse::StoreOp> pieces) {
  llvm::sort(pieces, [](wse::StoreOp a, wse::StoreOp b) {
    return a.getFeatureOffset() < b.getFeatureOffset();
  });
  int64_t covered = 0;
  for (wse::StoreOp piece : pieces) {
    if (piece.getType() != pieces.front().getType()) {
      InFlightDiagnostic error = piece.emitOpError("output '")
                                 << output << "' is of type " << piece.getType()
                                 << " here";
      error.attachNote(pieces.front().getLoc())
          << "and of type " << pieces.front().getType() << " here";
      return error;
    }
    int64_t begin = piece.getFeatureOffset();
    if (begin != covered)
      return piece.emitOpError("output '")
             << output << "' has features up to " << covered
             << " stored, and the next piece starts at " << begin;
    covered = begin + wse::featuresOf(piece.getValue());
  }
  if (covered != pieces.front().outputFeatures())
    return pieces.back().emitOpError("output '")
           << output << "' has " << covered << " of "
           << pieces.front().outputFeatures() << " features stored";
  return success();
}

static LogicalResult verifySelected(wse::ProgramOp program) {
  // (S1)
  if (program.getState() != wse::State::Selected)
    return program.emitOpError("is expected to be selected, found ")
           << wse::stringifyState(program.getState());
  llvm::MapVector<StringAttr, SmallVector<wse::StoreOp>> outputs;
  for (Operation &op : program.bodyBlock()) {
    if (isa<wse::StreamOp>(op))
      return op.emitOpError("stands in a selected program, which has no "
                            "streams");
    if (auto alias = dyn_cast<wse::AliasOp>(op)) {
      if (!outputs.insert({alias.getOutputAttr(), {}}).second)
        return op.emitOpError("output ")
               << alias.getOutputAttr() << " is declared twice";
      continue;
    }
    auto kernel = dyn_cast<wse::KernelOp>(op);
    if (!kernel)
      continue;
    if (failed(verifyNothingLater(kernel)) || failed(verifyNamed(kernel)))
      return failure();
    if (auto store = dyn_cast<wse::StoreOp>(op)) {
      auto [entry, isNew] = outputs.insert({store.getOutputAttr(), {}});
      if (!isNew && entry->second.empty())
        return op.emitOpError("output ")
               << store.getOutputAttr() << " is declared twice";
      entry->second.push_back(store);
    }
  }
  // (S5)
  if (outputs.empty())
    return program.emitOpError("has no output");
  for (auto &[output, pieces] : outputs)
    if (!pieces.empty() && failed(verifyCovered(output.getValue(), pieces)))
      return failure();
  return success();
}

namespace {
struct VerifySelectedPass
    : select::impl::VerifySelectedPassBase<VerifySelectedPass> {
  void runOnOperation() override {
    if (failed(verifySelected(getOperation())))
      signalPassFailure();
  }
};
} // namespace
