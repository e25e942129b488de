// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boundary behind selection. Op verifiers checked each kernel; this checks
// what only the whole program shows. Rules are those of Passes.td.

#include "compiler/kernels/Kernel.h"
#include "compiler/select/Passes.h"
#include "dialects/wse/WseChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

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
                     : kernel.getRunWindow()     ? "a window"
                     : kernel.getStreamFlows()   ? "flows"
                                                 : nullptr;
  if (!fact)
    return success();
  return kernel->emitOpError("has ")
         << fact << ", which a selected program does not decide";
}

// (S3)
static LogicalResult verifyNamed(wse::KernelOp kernel) {
  const Kernel *library = findKernel(kernel);
  if ((library && library->onlyMoves()) ||
      (kernel.getNodeNames() && !kernel.getNodeNames().empty()))
    return success();
  return kernel->emitOpError("names no ONNX node that it computes");
}

/// The pieces have one type.
static LogicalResult verifySameType(StringRef output,
                                    MutableArrayRef<wse::StoreOp> pieces) {
  for (wse::StoreOp piece : pieces) {
    if (piece.getType() == pieces.front().getType())
      continue;
    InFlightDiagnostic error = piece.emitOpError("output '")
                               << output << "' is of type " << piece.getType()
                               << " here";
    error.attachNote(pieces.front().getLoc())
        << "and of type " << pieces.front().getType() << " here";
    return error;
  }
  return success();
}

/// Calls `visit` with each [begin, end) of consecutive elements that a piece is
/// stored to, until that returns true; whether it did.
static bool anyRun(wse::StoreOp piece,
                   function_ref<bool(int64_t, int64_t)> visit) {
  const wse::TokenTiling tiling =
      wse::TokenTiling::of(piece.getValue().getType());
  const auto [perSequence, perToken, perFeature] = piece.outputStrides();
  std::array<std::pair<int64_t, int64_t>, 3> dims = {
      {{perSequence, tiling.getBatch()},
       {perToken, tiling.getTokens()},
       {perFeature, wse::featuresOf(piece.getValue())}}};
  llvm::sort(dims);
  int64_t length = 1;
  for (auto &[stride, size] : dims)
    if (stride == length)
      length *= std::exchange(size, 1);
  const int64_t first = piece.getOffset();
  for (int64_t i = 0; i < dims[0].second; ++i)
    for (int64_t j = 0; j < dims[1].second; ++j)
      for (int64_t k = 0; k < dims[2].second; ++k) {
        const int64_t begin =
            first + i * dims[0].first + j * dims[1].first + k * dims[2].first;
        if (visit(begin, begin + length))
          return true;
      }
  return false;
}

// (S4) Pieces at places of their own: each element once.
static LogicalResult verifyPlaces(StringRef output,
                                  MutableArrayRef<wse::StoreOp> pieces) {
  wse::StoreOp last = pieces.back();
  const int64_t count = cast<RankedTensorType>(last.getType()).getNumElements();
  // All runs begin and end at multiples of a unit: one bit tells of it.
  int64_t unit = count;
  for (wse::StoreOp piece : pieces)
    anyRun(piece, [&](int64_t begin, int64_t end) {
      unit = std::gcd(unit, std::gcd(begin, end));
      return unit == 1;
    });
  std::vector<bool> written(size_t(count / unit));
  for (wse::StoreOp piece : pieces) {
    int64_t again = -1;
    if (!anyRun(piece, [&](int64_t begin, int64_t end) {
          for (int64_t at = begin / unit; at < end / unit && again < 0; ++at)
            if (written[size_t(at)])
              again = at * unit;
            else
              written[size_t(at)] = true;
          return again >= 0;
        }))
      continue;
    const auto *writer = llvm::find_if(pieces, [&](wse::StoreOp other) {
      return anyRun(other, [&](int64_t begin, int64_t end) {
        return begin <= again && again < end;
      });
    });
    return wse::withNote(piece.emitOpError("stores element ")
                             << again << " of '" << output << "' a second time",
                         *writer, "it is stored here already");
  }
  if (auto missing = llvm::find(written, false); missing != written.end())
    return last.emitOpError("leaves element ")
           << (missing - written.begin()) * unit << " of '" << output
           << "' unwritten";
  return success();
}

// (S4) for one output or intermediate and the pieces stored to it.
static LogicalResult verifyCovered(StringRef output,
                                   MutableArrayRef<wse::StoreOp> pieces) {
  if (failed(verifySameType(output, pieces)))
    return failure();
  if (llvm::any_of(pieces,
                   [](wse::StoreOp piece) { return piece.getStrides(); }))
    return verifyPlaces(output, pieces);
  llvm::sort(pieces, [](wse::StoreOp a, wse::StoreOp b) {
    return a.getOffset() < b.getOffset();
  });
  int64_t covered = 0;
  Operation *before = nullptr;
  for (wse::StoreOp piece : pieces) {
    int64_t begin = piece.getOffset();
    if (begin != covered)
      return wse::withNote(piece.emitOpError("output '")
                               << output << "' has features up to " << covered
                               << " stored, and the next piece starts at "
                               << begin,
                           before, "the piece before it is here");
    covered = begin + wse::featuresOf(piece.getValue());
    before = piece;
  }
  if (covered != pieces.front().outputFeatures())
    return pieces.back().emitOpError("output '")
           << output << "' has " << covered << " of "
           << pieces.front().outputFeatures() << " features stored";
  return success();
}

namespace {

/// What the entries of a program store and read outside of the wafer.
class EntryChecks {
public:
  /// Declared in the program, whatever entry is called.
  LogicalResult declare(Operation &op);
  LogicalResult verify(Block &entry);
  bool hasOutput() const { return outputs; }

private:
  using Stores = llvm::MapVector<StringAttr, SmallVector<wse::StoreOp>>;

  LogicalResult verifyReads(wse::KernelOp kernel, const Stores &stored,
                            llvm::DenseMap<Attribute, Operation *> &read) const;

  /// Where each is declared.
  llvm::DenseMap<Attribute, Operation *> intermediates, aliases;
  bool outputs = false;
};

} // namespace

LogicalResult EntryChecks::declare(Operation &op) {
  if (isa<wse::StreamOp>(op))
    return op.emitOpError("stands in a selected program, which has no streams");
  if (auto passing = dyn_cast<wse::IntermediateOp>(op))
    intermediates[passing.getSymNameAttr()] = passing;
  auto alias = dyn_cast<wse::AliasOp>(op);
  if (alias)
    if (auto [first, isNew] = aliases.insert({alias.getOutputAttr(), alias});
        !isNew)
      return wse::withNote(op.emitOpError("output ")
                               << alias.getOutputAttr() << " is declared twice",
                           first->second, "it is declared here already");
  outputs |= alias != nullptr;
  return success();
}

/// (S6)
LogicalResult
EntryChecks::verifyReads(wse::KernelOp kernel, const Stores &stored,
                         llvm::DenseMap<Attribute, Operation *> &read) const {
  for (StringAttr name : wse::tensorsRead(kernel))
    if (Operation *declared = intermediates.lookup(name)) {
      read.insert({name, kernel});
      if (!stored.contains(name))
        return wse::withNote(kernel.emitOpError("reads '")
                                 << name.getValue()
                                 << "', which nothing has stored yet",
                             declared, "it is declared here");
    }
  return success();
}

LogicalResult EntryChecks::verify(Block &entry) {
  Stores stored;
  // The first that reads it, and who stores all of it at once.
  llvm::DenseMap<Attribute, Operation *> read, whole;
  for (auto kernel : entry.getOps<wse::KernelOp>()) {
    if (failed(verifyNothingLater(kernel)) || failed(verifyNamed(kernel)) ||
        failed(verifyReads(kernel, stored, read)))
      return failure();
    const Kernel *library = findKernel(kernel);
    const auto target =
        library ? library->stored(kernel)
                : std::optional<std::pair<StringAttr, RankedTensorType>>();
    if (!target)
      continue;
    const StringAttr output = target->first;
    if (Operation *reader = read.lookup(output))
      return wse::withNote(kernel->emitOpError("stores to '")
                               << output.getValue()
                               << "', which was read before",
                           reader, "it is read here");
    if (Operation *alias = aliases.lookup(output))
      return wse::withNote(kernel->emitOpError("output ")
                               << output << " is declared twice",
                           alias, "it is declared here already");
    outputs |= !intermediates.contains(output);
    auto store = dyn_cast<wse::StoreOp>(*kernel);
    // What is no piece is all of it.
    Operation *other = whole.lookup(output);
    if (!other && !store && stored.contains(output))
      other = stored[output].front();
    if (other)
      return wse::withNote(kernel->emitOpError("stores to '")
                               << output.getValue() << "' a second time",
                           other, "it is stored here already");
    if (store)
      stored[output].push_back(store);
    else
      whole[output] = kernel;
  }
  // (S4)
  for (auto &[output, pieces] : stored)
    if (failed(verifyCovered(output.getValue(), pieces)))
      return failure();
  return success();
}

static LogicalResult verifySelected(wse::ProgramOp program) {
  // (S1)
  if (program.getState() != wse::State::Selected)
    return program.emitOpError("is expected to be selected, found ")
           << wse::stringifyState(program.getState());
  EntryChecks checks;
  for (Operation &op : program.bodyBlock())
    if (failed(checks.declare(op)))
      return failure();
  for (Block *entry : program.entryBlocks())
    if (failed(checks.verify(*entry)))
      return failure();
  // (S5)
  if (!checks.hasOutput())
    return program.emitOpError("has no output");
  return success();
}

namespace {
struct VerifySelectedPass
    : select::impl::VerifySelectedPassBase<VerifySelectedPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifySelected(getOperation())))
      signalPassFailure();
  }
};
} // namespace
