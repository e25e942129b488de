// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Kernel.h"
#include "compiler/route/Passes.h"
#include "compiler/route/ReadRouting.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace wsec::route {
#define GEN_PASS_DEF_VERIFYROUTEDPASS
#include "compiler/route/Passes.h.inc"
} // namespace wsec::route

using namespace wsec;

static StreamRequest readRequest(wse::StreamOp stream,
                                 ArrayRef<wse::RegionOp> regions) {
  StreamRequest request{stream.getSymName().str(), stream.getPattern(), {}};
  if (stream.getRegion())
    request.region = indexOfRegion(regions, *stream.getRegion());
  if (stream.getTarget())
    request.target = indexOfRegion(regions, *stream.getTarget());
  if (wse::RowSetAttr rows = stream.getRowsAttr())
    request.rows = rows.getRows();
  return request;
}

static RoutedStream readRoutes(wse::StreamOp stream) {
  RoutedStream routed;
  routed.colors = stream.getColors();
  for (auto rule : stream.getRules().getAsRange<wse::RuleAttr>())
    routed.rules.push_back({rule.getColor(), rule.getRect(), rule.getReceive(),
                            rule.getTransmit()});
  return routed;
}

/// The kernel refers to the streams it needs, in the order it asks for them.
static LogicalResult
checkKernel(wse::KernelOp kernel, ArrayRef<wse::RegionOp> regions,
            ArrayRef<Machine> machines, const RoutingProblem &problem,
            const llvm::StringMap<StreamRequest> &streams) {
  if (!findKernel(kernel))
    return kernel.emitError("the kernel library has no kernel for this");
  ArrayAttr references = kernel.getStreamRefs();
  if (!references)
    return kernel.emitError("kernel of a routed program has no streams");
  std::vector<StreamRequest> needs =
      streamsNeededBy(kernel, regions, machines, problem);
  if (needs.size() != references.size())
    return kernel.emitError("kernel needs ")
           << needs.size() << " streams and has " << references.size();
  for (auto [need, attr] : llvm::zip(needs, references)) {
    StringRef symbol = cast<FlatSymbolRefAttr>(attr).getValue();
    auto it = streams.find(symbol);
    if (it == streams.end())
      return kernel.emitError("no stream @") << symbol << " in this program";
    if (!serves(it->second, need)) {
      InFlightDiagnostic said =
          kernel.emitError("kernel needs a stream of pattern ")
          << name(need.pattern) << " where it has @" << symbol
          << ", or the same pattern with other rows or regions";
      said.attachNote(SymbolTable::lookupNearestSymbolFrom(
                          kernel, cast<FlatSymbolRefAttr>(attr))
                          ->getLoc())
          << "the stream is here";
      return said;
    }
  }
  return success();
}

/// Reports what the rules say of streams, with a note at each that they name.
static LogicalResult report(wse::ProgramOp program, const std::string &error) {
  InFlightDiagnostic said = program.emitError(error);
  for (auto stream : program.bodyBlock().getOps<wse::StreamOp>())
    if (StringRef(error).contains("'" + stream.getSymName().str() + "'"))
      said.attachNote(stream.getLoc())
          << "stream @" << stream.getSymName() << " is here";
  return said;
}

namespace {

struct VerifyRouted final : route::impl::VerifyRoutedPassBase<VerifyRouted> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

  static LogicalResult verify(wse::ProgramOp program) {
    if (program.getState() < wse::State::Routed)
      return program.emitError("expected a routed program, this one is ")
             << wse::stringifyState(program.getState());
    RoutingProblem problem = readRegions(program);
    auto regions = program.kernelRegions();
    auto machines = program.kernelMachines();
    Routing routing;
    llvm::StringMap<StreamRequest> streams;
    bool hasCommand = false;
    for (auto stream : program.bodyBlock().getOps<wse::StreamOp>()) {
      if (regions.size() > 1 && !stream.getRegion() &&
          stream.getPattern() != wse::StreamPattern::Launch)
        return stream.emitError("says on which of ")
               << regions.size() << " regions it is with 'on @region'";
      problem.streams.push_back(readRequest(stream, regions));
      routing.streams.push_back(readRoutes(stream));
      streams[stream.getSymName()] = problem.streams.back();
      hasCommand |= stream.getPattern() == wse::StreamPattern::Launch;
    }
    if (!hasCommand)
      return program.emitError("no stream carries the launches");
    for (wse::KernelOp kernel : program.kernels())
      if (failed(checkKernel(kernel, regions, machines, problem, streams)))
        return failure();
    std::string error = problem.check();
    if (error.empty())
      error = problem.verify(routing);
    return error.empty() ? success() : report(program, error);
  }
};

} // namespace
