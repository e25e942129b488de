// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Kernel.h"
#include "compiler/route/ColoringRouter.h"
#include "compiler/route/Passes.h"
#include "compiler/route/ReadRouting.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace wsec::route {
#define GEN_PASS_DEF_ROUTESTREAMSPASS
#include "compiler/route/Passes.h.inc"
} // namespace wsec::route

using namespace wsec;

/// The index of the stream that is `request`; opens it if it is new.
static size_t openStream(RoutingProblem &problem, StreamRequest request) {
  auto begin = problem.streams.begin(), end = problem.streams.end();
  auto it = std::find_if(begin, end, [&](const StreamRequest &other) {
    return serves(request, other) && serves(other, request);
  });
  if (it != end)
    return it - begin;
  size_t alike = std::count_if(begin, end, [&](const StreamRequest &other) {
    return other.pattern == request.pattern;
  });
  request.name = name(request.pattern);
  if (alike)
    request.name += "_" + std::to_string(alike);
  problem.streams.push_back(request);
  return problem.streams.size() - 1;
}

/// Makes one stream of those two that can be one and let the fewest rows hear
/// words in vain; `streamOf` then has their numbers. False: there are none.
static bool shareStream(RoutingProblem &problem,
                        std::vector<size_t> &streamOf) {
  std::optional<SharedStream> best;
  size_t first = 0, second = 0;
  for (size_t j = 0; j < problem.streams.size(); ++j)
    for (size_t i = 0; i < j; ++i)
      if (auto both = streamForBoth(problem.streams[i], problem.streams[j]);
          both && (!best || both->inVain < best->inVain)) {
        best = both;
        first = i;
        second = j;
      }
  if (!best)
    return false;
  problem.streams[first] = best->stream;
  problem.streams.erase(problem.streams.begin() + second);
  for (size_t &stream : streamOf)
    stream = stream == second ? first : stream - (stream > second);
  return true;
}

static ArrayAttr ruleAttrs(Builder &builder, const RoutedStream &stream) {
  SmallVector<Attribute> attrs;
  MLIRContext *context = builder.getContext();
  for (const RouteRule &rule : stream.rules)
    attrs.push_back(wse::RuleAttr::get(context, rule.color, rule.rect,
                                       rule.receive, rule.transmit));
  return builder.getArrayAttr(attrs);
}

/// Writes the streams at the head of the program; returns their symbols, which
/// differ from the requested names where inputs have taken those.
static SmallVector<Attribute> writeStreams(wse::ProgramOp program,
                                           ArrayRef<wse::RegionOp> regions,
                                           const RoutingProblem &problem,
                                           const Routing &routing) {
  auto nameOf = [&](size_t region, bool needed) {
    if (!needed)
      return FlatSymbolRefAttr();
    wse::RegionOp op = regions[region];
    return FlatSymbolRefAttr::get(op.getSymNameAttr());
  };
  OpBuilder builder = OpBuilder::atBlockBegin(&program.bodyBlock());
  SymbolTable symbols(program);
  SmallVector<Attribute> references;
  for (auto [request, stream] : llvm::zip(problem.streams, routing.streams)) {
    auto rowsAttr =
        request.rows.groups
            ? wse::RowSetAttr::get(builder.getContext(), request.rows)
            : wse::RowSetAttr();
    auto op = wse::StreamOp::create(
        builder, program.getLoc(), builder.getStringAttr(request.name),
        builder.getStringAttr(name(request.pattern)),
        nameOf(request.region,
               regions.size() > 1 && request.pattern != StreamPattern::Launch),
        nameOf(request.target, request.pattern == StreamPattern::Transfer),
        rowsAttr, builder.getDenseI64ArrayAttr(stream.colors),
        ruleAttrs(builder, stream));
    op->remove();
    references.push_back(FlatSymbolRefAttr::get(
        symbols.insert(op, builder.getInsertionPoint())));
  }
  return references;
}

namespace {

struct RouteStreams final : route::impl::RouteStreamsPassBase<RouteStreams> {
  RouteStreams() = default;
  RouteStreams(plan::Shortages *shortages)
      : RouteStreamsPassBase(), shortages(shortages) {}

  plan::Shortages *shortages = nullptr;

  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    if (program.getState() != wse::State::Placed)
      return fail(program, Twine("only a placed program can be routed, this "
                                 "one is ") +
                               wse::stringifyState(program.getState()));
    RoutingProblem problem = readRegions(program);
    auto regions = program.kernelRegions();
    auto machines = program.kernelMachines();
    openStream(problem, {"", StreamPattern::Launch, {}});
    std::vector<size_t> streamOf; // each need of each kernel
    SmallVector<std::pair<wse::KernelOp, size_t>> kernels;
    for (wse::KernelOp kernel : program.kernels()) {
      if (!findKernel(kernel))
        return fail(kernel, "the kernel library has no kernel for this");
      const std::vector<StreamRequest> needs =
          streamsNeededBy(kernel, regions, machines, problem);
      for (const StreamRequest &need : needs)
        streamOf.push_back(openStream(problem, need));
      kernels.push_back({kernel, needs.size()});
    }
    if (std::string error = problem.check(); !error.empty())
      return fail(program, error);
    Routing routing;
    RouteLack lack;
    std::string error = routeByColoring(problem, routing, &lack);
    int64_t shared = 0; // streams that became one with another
    while ((lack == RouteLack::Colors || lack == RouteLack::PathColors) &&
           shareStream(problem, streamOf)) {
      ++shared;
      error = routeByColoring(problem, routing, &lack);
    }
    if (lack != RouteLack::Nothing) {
      auto [what, rest] = StringRef(error).split('\n');
      auto refused = program.emitError(what);
      SmallVector<StringRef> notes;
      rest.split(notes, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
      for (StringRef note : notes)
        refused.attachNote() << note;
      plan::add(shortages, refused,
                lack == RouteLack::Colors ? plan::Lack::Colors
                                          : plan::Lack::Paths);
      return signalPassFailure();
    }

    SmallVector<Attribute> references =
        writeStreams(program, regions, problem, routing);
    ArrayRef<size_t> left = streamOf;
    for (auto [kernel, needs] : kernels) {
      SmallVector<Attribute> streams;
      for (size_t stream : left.take_front(needs))
        streams.push_back(references[stream]);
      left = left.drop_front(needs);
      kernel.setStreamRefs(ArrayAttr::get(&getContext(), streams));
    }
    program.setState(wse::State::Routed);
    std::set<int64_t> colors;
    size_t rules = 0;
    for (const RoutedStream &stream : routing.streams) {
      colors.insert(stream.colors.begin(), stream.colors.end());
      rules += stream.rules.size();
    }
    remark::analysis(program.getLoc(),
                     remark::RemarkOpts::name("routed").category(getArgument()))
        << remark::metric("streams", routing.streams.size())
        << remark::metric("shared", shared)
        << remark::metric("colors", colors.size())
        << remark::metric("rules", rules);
  }

  void fail(Operation *op, const Twine &message) {
    op->emitError(message);
    signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass>
route::createRouteStreamsPass(plan::Shortages *shortages) {
  return std::make_unique<RouteStreams>(shortages);
}
