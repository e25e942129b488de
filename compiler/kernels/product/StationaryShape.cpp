// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/product/StationaryProduct.h"

#include "compiler/kernels/move/HostTokens.h"
#include "compiler/kernels/move/RowExchange.h"
#include "compiler/machine/EntryPasses.h"
#include "compiler/machine/Tiling.h"

#include <limits>

using namespace mlir;

namespace wsec {

/// Parts in which a PE takes its weights, each with code of its own.
static constexpr int64_t mostBlocks = 4, mostBlocksOfOne = 3;
/// Of weights that are used once so many words may stay; of more only what is
/// in two buffers of so many.
static constexpr int64_t mostHeldWords = 640, bufferWords = 160;
/// Rounds of rows with unlike numbers of tokens, each with code of its own.
static constexpr int64_t mostUnlikeRounds = 8;

/// Whether all rows of the region have tokens, and as many.
static bool sharedEvenly(const Layout &layout, const Machine &machine) {
  if (layout.group == 0)
    return layout.batch % machine.height == 0;
  return layout.batch * layout.group == machine.height &&
         layout.span == layout.group && layout.tokens % layout.span == 0;
}

static int64_t entriesOf(const MatmulForm &op) {
  return op.getEntry() ? op.getEntry().getCount() : 1;
}

/// Result features as tokens of a tensor with the features of the input: a row
/// holds as many of them, a column those of its inputs. Of each feature of the
/// input all entries are neighbours.
static RankedTensorType heldType(const MatmulForm &op, int64_t k, int64_t n) {
  const auto input = wse::TokenTiling::of(op.inputType());
  const int64_t entries = entriesOf(op);
  return wse::TokenTiling(1, n)
      .withColumns(input.getColumns(), entries * input.getHeadSize())
      .withHeadColumns(input.getHeadColumns())
      .type(entries * k, op.inputType().getElementType());
}

StationaryShape::StationaryShape(const MatmulForm &op, const Machine &machine,
                                 bool resident)
    : in(Layout::of(op.inputType(), machine.height)),
      out(Layout::of(op.rowResultType(), machine.height)),
      k(in.features.total()), n(out.features.total()),
      rows(resident ? machine.height : machine.westCount()), resident(resident),
      element(op.inputType().getElementType()) {
  const int64_t height = machine.height, pitch = out.pitch(height);
  if (resident || op.hasEntries())
    entries = entriesOf(op);
  if (machine.width < 2 || height < 2 || out.replicatedRows ||
      (!resident && ((n < rows && entries == 1) || rows == 0)) ||
      (resident && entries > 1 &&
       in.features.unitSize % in.features.columns != 0))
    return;
  if (entries > 1 && !resident) {
    takeEntries(machine);
    return;
  }
  if (isNarrow() && !resident)
    pairs = in.features.inPairsAndTails(machine.width);
  rowFeatures = llvm::divideCeil(n, rows);
  ownInputs = in.features.largest(machine.width);
  ownResults = out.features.largest(machine.width);
  byInput = resident &&
            heldWords(heldType(op, k, n), machine).pairing == Pairing::Channels;
  if (isNarrow() && resident && entries % 2 && entries > 1 && !byInput)
    return; // words would have elements of two features
  // Rounds of entries take tokens in order, as their numbers come.
  shared = entries == 1 && sharedEvenly(out, machine);
  const int64_t mostRounds = shared ? pitch : mostUnlikeRounds;
  for (int64_t count = 1; count <= mostRounds; ++count) {
    if (shared && pitch % count != 0)
      continue;
    channels = pitch / count;
    tokens = (out.tokenCount() + count - 1) / count;
    rowTokens = shared ? channels : std::min(tokens, pitch);
    const int64_t buffer =
        std::max<int64_t>(1, bufferWords / wordsOf(ownInputs));
    const bool once = count == 1 && !resident;
    inTurns = 0;
    ofOne.clear();
    if (once && rowFeatures * wordsOf(ownInputs) > mostHeldWords &&
        rowFeatures > 2 * buffer)
      inTurns = bestTurn(buffer, machine);
    else if (once && tokens == 1)
      ofOne = blocksOfOne(machine);
    if (words() > (resident ? mostResidentWords : mostWords))
      continue;
    rounds = (out.tokenCount() + tokens - 1) / tokens;
    // While a PE multiplies with one block the next comes.
    growth = std::max<int64_t>(
        1, int64_t((machine.mapOverhead +
                    CostModel(machine, isNarrow()).leastFmacs(double(tokens))) /
                   machine.width));
    return;
  }
}

double StationaryShape::turnCycles(const Machine &machine, size_t inner) const {
  return double(tokens) * (machine.loadCycles + machine.loopOverhead +
                           machine.vectorSetup + ofOneToken(machine, inner));
}

/// Cycles in which a PE multiplies by the weights of a result feature.
double StationaryShape::featureCycles(const Machine &machine) const {
  const double sizes[] = {1, double(ownInputs), double(tokens)};
  return CostModel(machine, isNarrow())
      .product(sizes, 1, inner(machine), {1, 1, 1});
}

int64_t StationaryShape::bestTurn(int64_t most, const Machine &machine) const {
  const double feature = featureCycles(machine);
  const double arrival = double(inputWords().total());
  int64_t best = most;
  double fewest = std::numeric_limits<double>::infinity();
  for (int64_t size = most; size > most / 2; --size) {
    const int64_t rest = rowFeatures % size;
    const double last = double(rest ? rest : size);
    const double behind =
        last * feature + std::max(0.0, double(size) * feature - last * arrival);
    if (behind < fewest) {
      best = size;
      fewest = behind;
    }
  }
  return best;
}

SmallVector<int64_t, 3>
StationaryShape::blocksOfOne(const Machine &machine) const {
  const auto growth = std::max<int64_t>(
      1, int64_t(double(inputWords().total()) / featureCycles(machine)));
  SmallVector<int64_t, 3> sizes;
  int64_t rest = rowFeatures;
  for (int64_t size = 1; rest > 0; size *= growth) {
    const bool isFirst = sizes.size() + 1 == mostBlocksOfOne;
    sizes.insert(sizes.begin(), isFirst ? rest : std::min(rest, size));
    rest -= sizes.front();
  }
  return sizes;
}

size_t StationaryShape::inner(const Machine &machine) const {
  if (entries > 1)
    return turnCycles(machine, 0) < turnCycles(machine, 1) ? 0 : 1;
  if (tokens == 1)
    return resident && ofOneToken(machine, 0) < ofOneToken(machine, 1) ? 0 : 1;
  if (isNarrow())
    return 2;
  const double sizes[] = {double(rowFeatures),
                          double(std::max<int64_t>(1, ownInputs - 1)),
                          double(tokens)};
  const CostModel model(machine);
  return model.product(sizes, 1, 1, {1, 1, 1}) <
                 model.product(sizes, 1, 2, {1, 1, 1})
             ? 1
             : 2;
}

double StationaryShape::ofOneToken(const Machine &machine, size_t inner) const {
  const bool areTurns = streamsEntries();
  const double sizes[] = {double(areTurns ? inTurns : rowFeatures),
                          double(ownInputs)};
  const double apart = resident ? double(entries) : 1;
  const double strides[] = {byInput ? 1 : sizes[1] * apart,
                            byInput ? sizes[0] * apart : apart};
  return CostModel(machine, isNarrow()).product(sizes, 1, inner, strides);
}

FeatureTiling eachColumn(const Machine &machine) {
  FeatureTiling one;
  one.units = machine.width;
  return one;
}

bool sumsInPhases(const Machine &machine, double sums) {
  return CostModel(machine).chain(machine.width, sums) >
         reduceRowCycles(machine, sums) + leastGainOfPhases;
}

int64_t StationaryShape::exchangeWords() const {
  const int64_t heard = tokens * wordsOf(ownInputs);
  return isNarrow() ? std::max(heard, ownResults * resultWords()) : heard;
}

int64_t StationaryShape::sentWords() const {
  if (streamsEntries())
    return 0; // they lie where sums did
  const int64_t results = kept() * wordsOf(tokens);
  return isNarrow() ? std::max(results, rowTokens * wordsOf(ownInputs))
                    : results;
}

int64_t StationaryShape::words() const {
  int64_t words = exchangeWords() + tokens * rowFeatures + sentWords();
  if (!resident)
    words += entries * heldFeatures() * wordsOf(ownInputs);
  return words + (entries > 1 ? out.tokenCount() : 0);
}

SmallVector<int64_t> StationaryShape::blocks() const {
  if (resident)
    return {rowFeatures};
  if (inTurns) {
    SmallVector<int64_t> sizes(rowFeatures / inTurns, inTurns);
    if (const int64_t rest = rowFeatures % inTurns)
      sizes.push_back(rest);
    return sizes;
  }
  if (!ofOne.empty())
    return SmallVector<int64_t>(ofOne.begin(), ofOne.end());
  auto count = [&](int64_t size) {
    int64_t blocks = 0;
    for (int64_t sum = 0; sum < rowFeatures; sum += size, size *= growth)
      ++blocks;
    return blocks;
  };
  // The first comes while activations are gathered.
  int64_t size = std::max<int64_t>(1, 2 * tokens * wordsOf(ownInputs) /
                                          inputWords().total());
  while (count(size) > mostBlocks)
    ++size;
  SmallVector<int64_t> sizes;
  for (int64_t rest = rowFeatures; rest > 0; rest -= sizes.back()) {
    sizes.push_back(std::min(rest, size));
    size *= growth;
  }
  return sizes;
}

/// Cycles of the first round, in which weights come block after block: each is
/// multiplied, `feature` cycles for a result feature, while the next comes. A
/// word then takes turns with the steps of the PE it is for, and holds up the
/// row.
static double firstRound(const StationaryShape &shape, const Machine &machine,
                         ArrayRef<int64_t> blocks, double feature) {
  const double tokens = shape.tokens;
  const double words = machine.mapOverhead + tokens;
  const double rate =
      words / (words + CostModel(machine, shape.isNarrow()).leastFmacs(tokens));
  const double k = double(shape.inputWords().total());
  const double ownWords = double(shape.inputWords().largest(machine.width));
  double cycles = std::max(k * blocks[0],
                           3 * tokens * double(shape.wordsOf(shape.ownInputs)));
  for (size_t i = 0; i < blocks.size(); ++i) {
    double multiply = blocks[i] * feature;
    double next = i + 1 < blocks.size() ? double(blocks[i + 1]) : 0;
    multiply += next * ownWords;
    cycles += multiply + std::max(0.0, next * k - rate * multiply);
  }
  return cycles;
}

/// Sums that begin as 0, and are multiplied into.
double oneTokenCycles(const StationaryShape &shape, const Machine &machine) {
  const size_t inner = shape.inner(machine);
  return CostModel(machine, shape.isNarrow())
             .copies(1, double(shape.rowFeatures)) +
         (shape.entries > 1 ? shape.turnCycles(machine, inner)
                            : shape.ofOneToken(machine, inner));
}

/// Activations down to so many rows, and results back.
static double columnWays(const Machine &machine, int64_t rows) {
  return CostModel(machine).multicast(double(rows), 0) +
         gatherColumnCycles(machine, rows);
}

/// What of one token, and weights that stay, is not waited for. The first rows
/// have a result feature more to multiply, but the last have the longest way.
/// Results of near rows are taken while those of far ones are on theirs.
static double besideWays(ArrayRef<StationaryShape> shapes,
                         const Machine &machine) {
  const StationaryShape &one = shapes.front();
  if (!one.resident || one.tokens > 1)
    return 0;
  const int64_t users = std::min<int64_t>(one.n, machine.height);
  int64_t longer = 0, rows = 1;
  double more = 0, taken = 0;
  for (const StationaryShape &shape : shapes) {
    taken += 2 * double(shape.ownResults - shape.kept());
    rows = std::max(rows,
                    int64_t(llvm::divideCeil(shape.ownResults, shape.kept())));
    if (const int64_t its = shape.n % users) {
      longer = std::max(longer, its);
      StationaryShape last = shape;
      --last.rowFeatures;
      more += oneTokenCycles(shape, machine) - oneTokenCycles(last, machine);
    }
  }
  return std::min(more,
                  columnWays(machine, users) - columnWays(machine, longer)) +
         std::min(taken, CostModel(machine).chain(double(rows), 0));
}

/// Activations come from rows with tokens, and go to those with result
/// features; sums go the other way. Of several products of an input together.
double sumCycles(ArrayRef<StationaryShape> shapes, const Machine &machine,
                 bool toRows, double others) {
  CostModel model(machine);
  const StationaryShape &one = shapes.front();
  double sums = others, rowWords = 0, ownWords = 0;
  for (const StationaryShape &shape : shapes) {
    const auto words = double(shape.wordsOf(shape.tokens)); // of a feature
    sums += double(shape.mostSums());
    if (toRows) {
      rowWords += double(shape.wordsOf(shape.rowFeatures));
      continue;
    }
    rowWords += words * double(shape.rowFeatures);
    ownWords += words * double(shape.ownResults);
  }
  const auto holders = double(one.out.rows(machine.height).end());
  const int64_t users =
      one.resident ? std::min<int64_t>(one.n, machine.height) : machine.height;
  const double row = sumsInPhases(machine, sums)
                         ? reduceRowCycles(machine, sums)
                         : model.chain(machine.width, sums);
  const double ways = row - sums + model.multicast(machine.width, 0) +
                      model.chain(holders, 0) +
                      model.thereAndBack(sums, rowWords);
  if (toRows)
    return ways + model.multicast(double(users), 0);
  return ways + columnWays(machine, users) + model.multicast(holders, 0) +
         2 * ownWords - besideWays(shapes, machine);
}

/// Of one token: the result begins as 0, or arrives in a buffer of its own. Of
/// 16 bits activations are laid out anew before they leave, and sums that were
/// rounded get the other half of their words.
double oneTokenMoves(const StationaryShape &shape, const Machine &machine,
                     bool toRows) {
  const CostModel model(machine);
  if (toRows)
    return model.copies(1, double(shape.wordsOf(shape.rowFeatures))) +
           (shape.isNarrow()
                ? model.copies(1, double(shape.rowFeatures)) +
                      model.nest(1, double(shape.ownInputs), machine.copyRate16)
                : 0);
  const double results = double(shape.ownResults);
  double cycles = model.copies(1, results);
  if (shape.isNarrow())
    cycles += model.nest(1, double(shape.ownInputs), machine.copyRate16) +
              model.copies(1, double(shape.rowFeatures)) +
              model.nest(1, results, machine.addRate16);
  return cycles;
}

/// Cycles in which activations of all tokens come down a column.
static double fetchCycles(const StationaryShape &shape,
                          const Machine &machine) {
  return 3 * double(shape.exchangeWords()) +
         columnWays(machine, machine.height);
}

/// So many, twice as many each time, that a group has multiplied when its next
/// words come, if that can be.
int64_t StationaryShape::fewestGroups(const Machine &machine) const {
  const double idle = turnArrival() - turnCycles(machine, inner(machine)) -
                      (depths > 1 ? fetchCycles(*this, machine) : 0);
  int64_t groups = 2;
  while (groups < machine.width && idle * double(groups) < turnArrival())
    groups = std::min<int64_t>(2 * groups, machine.width);
  return groups;
}

/// Each pass brings activations, each part sends sums. Columns multiply while
/// other groups get their words; who has not done so when its next ones come is
/// waited for.
static KernelCost entriesCost(const StationaryShape &shape,
                              const Machine &machine) {
  const auto parts = double(shape.parts), depths = double(shape.depths);
  const auto turn = double(shape.inTurns);
  const double turns = double(shape.rowFeatures) / turn;
  const double multiplied = shape.turnCycles(machine, shape.inner(machine));
  const double arrival = shape.turnArrival();
  const double arriving = double(shape.entries * shape.ownInputs) * turn;
  // Where one group has its words, the next takes some as soon as it can.
  const double gap =
      double(shape.groups) * (machine.loopOverhead + machine.vectorSetup);
  const double group = arrival / double(shape.groups);
  const double each = std::max(arrival + gap, multiplied + group);
  // At a new depth groups wait for one another longer, for all begin at a time:
  // 16 tokens of 1,792 x 512 on 32x32 PEs are predicted within 1.2 % with four
  // gaps, and 2.7 % too low with one.
  const double first = depths > 1
                           ? std::max(arrival + 4 * gap, multiplied + group) +
                                 fetchCycles(shape, machine)
                           : each;
  // Behind its last whole turn the last group takes the rest, which has come by
  // for the others meanwhile.
  double behind = std::min(multiplied, arrival - group);
  if (const int64_t rest = shape.rowFeatures % shape.inTurns) {
    StationaryShape less = shape;
    less.inTurns = rest;
    const double share = double(rest) / turn;
    behind = std::max(behind, share * (arrival - group)) + share * group +
             less.turnCycles(machine, shape.inner(machine)) - share * each;
  }
  const double all = depths * (each * (turns - 1) + first) + behind +
                     sumCycles({shape}, machine);
  KernelCost cost;
  cost.compute =
      parts * (depths * turns * (multiplied + arriving) +
               CostModel(machine).copies(1, double(shape.mostSums())));
  cost.fabric = cost.stream = parts * depths * turns * arrival;
  cost.serial = parts * all + 3 * double(shape.exchangeWords()) -
                std::max(cost.compute, cost.stream);
  return cost;
}

/// All tokens at a time, for entries come by but once. Of what is hardly slower
/// than the fastest, what takes least SRAM, for other kernels need some, too: a
/// hundredth of the cycles buys up to half of it (26 tokens of 1,024 x 512 on
/// 16x16 PEs: 6,068 words or 2,948).
void StationaryShape::takeEntries(const Machine &machine) {
  if (isNarrow())
    return;
  tokens = out.tokenCount();
  rowTokens = std::min(tokens, out.pitch(machine.height));
  rounds = 1;
  const bool areEven = in.features.columns == 1 && in.features.unitSize == 1;
  const int64_t inputs = in.features.largest(machine.width);
  const int64_t results = out.features.largest(machine.width);
  const EntryProduct product = {tokens, entries, k,      n,      machine.width,
                                rows,   areEven, inputs, results};
  std::vector<std::pair<double, StationaryShape>> all;
  for (const EntryPasses &passes : EntryPasses::of(product)) {
    StationaryShape shape = *this;
    shape.parts = passes.parts;
    shape.depths = passes.depths;
    shape.ofEachRow = passes.ofEachRow;
    shape.n /= passes.parts;
    shape.rowFeatures = passes.rowFeatures;
    shape.ownInputs = passes.ownInputs;
    shape.ownResults = passes.ownResults;
    shape.inTurns = passes.turn;
    shape.groups = shape.fewestGroups(machine);
    all.emplace_back(entriesCost(shape, machine).total(), shape);
  }
  rounds = 0;
  double fewest = std::numeric_limits<double>::infinity();
  for (const auto &[cycles, shape] : all)
    fewest = std::min(fewest, cycles);
  for (const auto &[cycles, shape] : all)
    if (cycles <= 1.01 * fewest && (rounds == 0 || shape.words() < words()))
      *this = shape;
}

KernelCost stationaryCost(const MatmulForm &op, const Machine &machine) {
  StationaryShape shape(op, machine);
  KernelCost cost;
  if (shape.rounds == 0) {
    cost.compute = std::numeric_limits<double>::infinity();
    return cost;
  }
  if (shape.streamsEntries())
    return entriesCost(shape, machine);
  CostModel model(machine, shape.isNarrow());
  double tokens = shape.tokens, rounds = shape.rounds, rows = shape.rowFeatures;
  SmallVector<int64_t> blocks = shape.blocks();
  double inputs = shape.ownInputs, results = shape.ownResults;
  double gathered = tokens * double(shape.wordsOf(shape.ownInputs));
  double sums = tokens * rows, own = shape.rowTokens;
  double product = 0, packing = 0;
  if (shape.tokens == 1) {
    product = oneTokenCycles(shape, machine);
    packing = oneTokenMoves(shape, machine);
  } else if (shape.isNarrow() || shape.entries > 1) {
    double sizes[] = {rows, inputs, tokens};
    const double strides[] = {1, 1, 2};
    const size_t inner = shape.inner(machine);
    product = model.copies(1, sums) +
              (shape.entries > 1 ? shape.turnCycles(machine, inner)
                                 : model.product(sizes, 1, inner, strides));
    if (shape.isNarrow())
      packing = 2 * machine.vectorSetup + own * inputs / machine.copyRate16 +
                own * results / machine.addRate16;
  } else {
    double others[] = {rows, inputs - 1, tokens};
    product = rows * machine.mapOverhead + sums / machine.addRate +
              model.product(others, 1, shape.inner(machine), {1, 1, 1});
  }
  // The rows next to the first relay most of what they take, and hear it again
  // as the first one multicasts it: 2 cycles a word, and 3 where weights come
  // meanwhile (slopes, measured on wavelet).
  double gather = gathered * (shape.resident ? 2 : 3);
  cost.compute = rounds * (gather + product + packing +
                           double(blocks.size()) * 2 * machine.vectorSetup);
  if (!shape.resident)
    cost.fabric = cost.stream = double(shape.inputWords().total()) * rows;
  // What weights of the first round are waited for, and multiplied, beyond the
  // longer of the two.
  double first = gather + product;
  if (!shape.resident)
    cost.serial = firstRound(shape, machine, blocks, product / rows) -
                  std::max(cost.stream, first);
  cost.serial += rounds * sumCycles({shape}, machine);
  return cost;
}

SmallVector<Relay> stationaryRelays() {
  using P = StreamPattern;
  SmallVector<Relay> relays = allReduceRelays();
  relays.append(gatherColumnRelays());
  relays.append({{P::KeyCast, P::RowWest}, {P::RowCast, P::Column}});
  return relays;
}

/// Weights come while activations and the blocks before them are at work: two
/// cycles a word at most (1.65 to 2, measured on wavelet), and before sums are.
SmallVector<HostFlow> stationaryFlows(const MatmulForm &op,
                                      const Machine &machine) {
  StationaryShape shape(op, machine);
  KernelCost cost = stationaryCost(op, machine);
  SmallVector<HostFlow> flows;
  if (op.getBias() && !wse::residentOf(op, *op.getBias()))
    flows.push_back(CostModel(machine).columnFlow(shape.out.features, 1,
                                                  /*firstUse=*/0,
                                                  /*lastUse=*/0));
  if (shape.resident) {
    if (shape.entries > 1)
      flows.push_back(CostModel(machine).columnFlow(
          eachColumn(machine), shape.out.tokenCount(), /*firstUse=*/0,
          /*lastUse=*/0));
    return flows;
  }
  const double all = cost.total();
  const double others =
      double(shape.rounds * shape.parts) * sumCycles({shape}, machine);
  const int64_t passes = shape.parts * shape.depths;
  flows.push_back(
      {StreamPattern::ChannelRow,
       passes * shape.entries * shape.inputWords().total() * shape.rowFeatures,
       /*firstUse=*/0, std::min(2 * cost.stream, all - others) / all});
  return flows;
}

SmallVector<StreamNeed> stationaryStreams(const MatmulForm &op,
                                          const Machine &machine) {
  SmallVector<StreamNeed> needs;
  if (op.getBias() && !wse::residentOf(op, *op.getBias()))
    needs = columnStreams(Layout::of(op.getResult(), machine.height), machine);
  if (!op.residentWeight())
    needs.push_back({StreamPattern::ChannelRow, {}});
  else if (op.getEntry())
    needs = hostTokensStreams({}, machine, /*inAllRows=*/true);
  needs.append(
      sumStreams(machine, double(StationaryShape(op, machine).mostSums())));
  return needs;
}

SmallVector<StreamNeed> sumStreams(const Machine &machine, double sums,
                                   bool toRows) {
  SmallVector<StreamNeed> needs = sumsInPhases(machine, sums)
                                      ? allReduceStreams(machine, sums)
                                      : rowStreams(machine);
  if (toRows)
    needs.append(
        {{StreamPattern::KeyNorth, {}},
         {StreamPattern::KeyCast, {1, machine.height, machine.height}}});
  else
    needs.append(gatherColumnStreams(machine));
  return needs;
}

std::optional<HeldWeight> heldStationary(const MatmulForm &op,
                                         const Machine &machine) {
  StationaryShape shape(op, machine, /*resident=*/true);
  if (shape.rounds == 0)
    return std::nullopt;
  const int64_t entries = shape.entries;
  HeldWeight held{heldType(op, shape.k, shape.n), {entries, entries * shape.k}};
  if (op.getEntry())
    held.strides.insert(held.strides.begin(), 1);
  return held;
}

} // namespace wsec
