// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/product/WeightGradientShape.h"

#include "compiler/machine/Tiling.h"

#include <limits>
#include <tuple>

using namespace mlir;

namespace wsec {

GradientShape::GradientShape(RankedTensorType keptType,
                             RankedTensorType castType, const Machine &machine,
                             int variant, ColumnExits::Where where,
                             int64_t most)
    : machine(machine), kept(Layout::of(keptType, machine.height)),
      exits(kept, machine, where, variant & TwoLanes),
      lines(castType.getShape().back()),
      own(kept.features.largest(machine.width)),
      pitch(kept.pitch(machine.height)), exchanges(machine.width > 1) {
  const int64_t ofColumn =
      Layout::of(castType, machine.height).features.largest(machine.width);
  if (exchanges && lines * pitch > castWords &&
      ofColumn * machine.width == lines)
    parts = ofColumn;
  for (int64_t size = 2; size <= ofPart() && size * own <= most; ++size)
    if (ofPart() % size == 0)
      block = size;
}

GradientShape GradientShape::of(Value keptValue, Value castValue,
                                const Machine &machine, int variant) {
  auto kept = cast<RankedTensorType>(keptValue.getType());
  auto moved = cast<RankedTensorType>(castValue.getType());
  ColumnExits::Where where = ColumnExits::SouthOfTokens;
  const int64_t most = variant & SmallBlocks ? smallWords : blockWords;
  int64_t words = most;
  double least = std::numeric_limits<double>::infinity();
  // Nothing leaves before the first block is made. Who is at the end of a lone
  // lane has too much to do to take turns more often.
  for (ColumnExits::Where its :
       {ColumnExits::SouthOfTokens, ColumnExits::AnyRow})
    for (int64_t size = most; size >= smallWords; size /= 2) {
      const GradientShape shape(kept, moved, machine, variant, its, size);
      if (size < most && !(shape.exits.twoLanes && shape.outlastsChains()))
        break;
      if (const double cycles = shape.cost().total(); cycles < least)
        std::tie(where, words, least) = std::tuple(its, size, cycles);
    }
  return GradientShape(kept, moved, machine, variant, where, words);
}

bool GradientShape::outlastsChains() const {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const ChannelPosition &exit : exits.exits)
    if (exit.begin < exit.end)
      fewest = std::min(fewest, exits.features(exit) * block);
  return double(fewest) >= CostModel(machine).chain(machine.height, 0);
}

/// Of the datapath of a PE with so many tokens, for a block: it makes it, and
/// passes it on.
double GradientShape::blockCycles(int64_t tokens) const {
  CostModel model(machine);
  const double strides[] = {1, double(pitch), double(pitch)};
  const double words = double(block * own);
  const double calls = double(std::min(own, block));
  // Instructions of the chains that others run: a third of them is for PEs
  // without features or tokens.
  const double skipped = (exits.where == ColumnExits::AnyRow ? 6 : 4) *
                         (model.guard(kept) > 0 ? 1.5 : 1);
  double cycles = machine.loopOverhead + machine.vectorSetup + words +
                  skipped * (machine.loadCycles + machine.branchNotTaken) +
                  model.adds(calls, words / calls);
  if (tokens > 1)
    cycles += machine.vectorSetup +
              model.product(sizes(tokens), 0, inner(model), strides);
  return cycles;
}

KernelCost GradientShape::cost() const {
  CostModel model(machine);
  KernelCost cost;
  if (!applies()) {
    cost.compute = std::numeric_limits<double>::infinity();
    return cost;
  }
  const double each = blockCycles(pitch), count = double(blocks());
  cost.compute = count * each;
  SmallVector<std::vector<ChannelPosition>, 2> lanes;
  for (const StreamPattern &lane : exits.lanes())
    lanes.push_back(exits.ofLane(lane));
  for (size_t i = 0; i < exits.exits.size(); ++i) {
    const ChannelPosition &exit = exits.exits[i];
    if (exit.begin == exit.end)
      continue;
    // It takes sums of the rows north as others do, then those of the rows
    // south. Where columns take turns it sends these, and what comes from the
    // columns west of its lane, while it makes the next block.
    const bool makes = exit.row <= exits.last;
    const double words = double(exits.features(exit) * lines);
    double ofLane = 0;
    for (const std::vector<ChannelPosition> &lane : lanes)
      ofLane = std::max(ofLane, double(exits.features(lane[i]) * lines));
    const double all = count * double(block * own);
    const int64_t tokens = kept.group == 0 ? pitch
                                           : tileSize(kept.tokens, kept.span,
                                                      exit.row % kept.group);
    double work = makes ? count * blockCycles(tokens) : all;
    if (takesTurns())
      work +=
          ofLane + (exits.hasRowsSouth() && makes && exit.row > 0 ? all : 0);
    else if (exits.where == ColumnExits::AnyRow)
      work += ofLane;
    // Until the farthest row's words are there.
    const double above = double(exits.rows.before(exit.row));
    double across = model.chain(above + 1, 0) +
                    machine.hopCycles * std::max(0.0, double(exit.row) - above);
    if (exits.hasRowsSouth())
      across =
          std::max(across, model.chain(double(exits.last - exit.row) + 1, 0));
    // What is multicast reaches its columns before those east of them.
    if (exchanges)
      across -= machine.hopCycles * double(machine.width - exit.end);
    cost.stream = std::max(cost.stream, words);
    cost.compute = std::max(cost.compute, across + work);
    // No words before the first block is there.
    cost.fabric = std::max(cost.fabric, across + words + each);
  }
  if (exchanges)
    cost.serial +=
        double(parts) * multicastRowCycles(machine, double(ofPart() * pitch));
  const double products = double(kept.features.total() * lines);
  const double tokens = double(kept.tokenCount());
  // Of the first token of a PE products are no sums yet.
  const double firsts = std::min(tokens, double(machine.height));
  cost.lowerBound = std::max(
      products / machine.channelsInUse(),
      products / machine.peCount() *
          (firsts / machine.addRate + (tokens - firsts) / machine.fmacRate));
  return cost;
}

} // namespace wsec
