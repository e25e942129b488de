// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/attention/CachedAttentionShape.h"
#include "compiler/kernels/attention/CachedTokens.h"

using namespace mlir;
using namespace wsec;

/// What PEs that have nothing to do pass over.
static constexpr double instructionsOfHead = 8, instructionsOfRound = 14;

double CachedAttentionShape::largestCycles(const Machine &machine,
                                           bool ownFirst, double own) const {
  CostModel model(machine), sums(machine, narrow);
  const double queries = double(asked()), rows = double(query.group);
  const double share = std::ceil(own / double(sharing())) * queries;
  const double sizes[] = {own, double(mostValue), queries};
  const double strides[] = {queries, double(held), 1};
  const double overTokens = asked() < held
                                ? model.nest(queries, own, machine.reduceRate)
                                : model.adds(1, own * queries);
  double weighed =
      2 * model.adds(1, share) + model.functions(share) + overTokens +
      machine.vectorSetup +
      sums.product(sizes, 0, sums.vectorAlong(sizes, 0, strides), strides);
  if (spread())
    weighed += gatheredCycles(machine, double(scoreCount()));
  if (rows == 1)
    return weighed;
  const double exchange = 4 * machine.vectorSetup +
                          reduceBatchCycles(machine, query.group, queries) +
                          model.multicast(rows, queries);
  if (!ownFirst)
    return weighed + exchange;
  // Of eight instructions of the exchange a PE runs four, and skips others.
  return std::max(weighed, exchange) + model.copies(1, queries) +
         4 * (machine.vectorSetup + machine.asyncIssue) +
         8 * (machine.loadCycles + machine.branchNotTaken) +
         2 * model.adds(1, queries) + model.functions(queries) +
         model.adds(double(mostValue + 1), queries);
}

double CachedAttentionShape::gatheredCycles(const Machine &machine,
                                            double words) const {
  CostModel model(machine);
  return 3 * machine.vectorSetup +
         std::max(model.chain(double(columns), 0), model.thereAndBack(words)) +
         model.multicast(double(columns), 0);
}

/// Of the busiest PE, at the last position: a row has most tokens then.
KernelCost wsec::costOf(wse::CachedAttentionOp op,
                        const CachedAttentionShape &shape,
                        const Machine &machine) {
  CostModel model(machine), sums(machine, shape.narrow);
  auto [first, last] =
      cast<wse::EntryOp>(op->getParentOp())
          .rangeOf(cast<BlockArgument>(op.getPositions().front()));
  const double own = double(tileSizeMax(last + shape.tokens, shape.keys.span));
  const double asked = double(shape.asked());
  const double columns = double(shape.columns);
  const double inRow = double(shape.channels * shape.repeat);
  const double weighted = double(shape.weightedCount());
  auto product = [&](int64_t features, size_t summed) {
    const double sizes[] = {own, double(features), asked};
    const double strides[] = {asked, double(shape.held), 1};
    return machine.vectorSetup +
           sums.product(sizes, summed, sums.vectorAlong(sizes, summed, strides),
                        strides);
  };
  const double overTokens = shape.asked() < shape.held
                                ? model.nest(asked, own, machine.reduceRate)
                                : model.adds(1, own * asked);
  const double rows = double(shape.query.group);
  auto reduced = [&](double words) {
    return 2 * machine.vectorSetup +
           reduceBatchCycles(machine, shape.query.group, words);
  };
  auto sent = [&](double pes, double words) {
    return 2 * machine.vectorSetup + model.multicast(pes, words);
  };
  // Of both halves of what a column has of a head; then the scales.
  auto unpacked = [&](int64_t features) {
    const double half = double(tileSizeMax(features, 2)) * own;
    return 2 * (model.nest(1, half, machine.addRate16) +
                model.copies(1, half)) +
           model.adds(own, asked);
  };
  const double scores = double(shape.scoreCount());
  double round = model.copies(1, scores) + product(shape.mostKey, 1) +
                 double(shape.late()) * model.copies(1, asked) +
                 model.copies(1, asked) + overTokens +
                 shape.largestCycles(machine, shape.ownLargest, own);
  if (shape.softcap)
    round += model.adds(1, own * asked) + model.functions(own * asked);
  if (op.getSinks())
    round += model.copies(1, asked) + 2 * model.adds(1, asked) +
             model.functions(asked);
  if (shape.window && shape.chunked)
    round += model.copies(1, own * asked) +
             double(tileSizeMax(shape.round - 1, *shape.window)) *
                 model.copies(own, asked);
  else if (shape.window)
    round += model.copies(1, own * asked) +
             double(tileSizeMax(shape.round - 1, shape.keys.span)) *
                 model.copies(1, asked);
  double head = model.copies(1, weighted) + 2 * model.functions(inRow) +
                model.adds(1, inRow) +
                model.adds(1, double(shape.mostValue) * inRow);
  if (shape.bytes) {
    round += unpacked(shape.mostKey) + unpacked(shape.mostValue) +
             2 * machine.vectorSetup;
    head += model.adds(1, inRow);
  }
  if (shape.spread())
    round += 2 * machine.vectorSetup + model.chain(columns, scores) +
             sent(columns, scores);
  if (rows > 1) {
    head += multicastTokensCycles(
                shape.query, double(shape.repeat * shape.mostKey), machine) +
            reduced(weighted);
  }
  if (shape.query.span > 1)
    head += sent(rows, weighted);
  if (shape.moves())
    for (int64_t size : {shape.keySize, shape.valueSize})
      head +=
          shape.gatheredCycles(machine, inRow * double(size / shape.perWord()));
  // A loop over heads has the guards of its instructions.
  const double guard = shape.spread() ? model.guard(shape.keys) : 0;
  head += instructionsOfHead * guard;
  round += instructionsOfRound * guard;
  const double heads =
      shape.spread()
          ? 1
          : double(tileSizeMax(shape.keys.features.units, machine.width));
  KernelCost cost;
  cost.compute = heads * (head + double(shape.tokens / shape.round) * round);
  // At the first position: what is multiplied, and queries to those rows.
  double seen = 0;
  for (int64_t token = 0; token < shape.tokens; ++token)
    seen += double(first + token + 1);
  cost.lowerBound =
      model.leastAcross(
          double(std::min(shape.keys.span, first + shape.tokens))) +
      sums.leastFmacs(double(shape.query.batch) * double(op.getNumHeads()) *
                      double(shape.keySize + shape.valueSize) * seen /
                      machine.peCount());
  return cost;
}
