// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/product/MatmulShape.h"

using namespace mlir;

namespace wsec {

/// Words of scratch memory that a block of partial results may take, and the
/// two buffers of weights.
static constexpr int64_t partialWords = 512;
static constexpr int64_t streamBufferWords = 1536;

/// Blocks of a product, and of one whose buffers would take more otherwise: the
/// proof that nobody waits for ever unrolls loops, to 2^16 operations of a
/// routine at most (runtime/program/proof/FabricUse.cpp).
static constexpr int64_t mostLargeBlocks = 1024, mostSmallBlocks = 8192;

/// Cycles between two blocks that injectors take: until the main thread has
/// seen the end of one, and the channel moves again.
static constexpr double storedGap = 44;

/// Weights of 16 bits stream in pairs, half the words, if that takes no more of
/// the PEs' cycles than this times those of single words.
static constexpr double mostForPairs = 1.1;

/// Of the loop, and of passing partial results on.
double MatmulShape::blockOverhead(const Machine &machine, double block) const {
  double cycles = machine.loopOverhead + machine.vectorSetup;
  if (partial())
    cycles += machine.vectorSetup +
              CostModel(machine).thereAndBack(block * double(pitch));
  return cycles;
}

/// Lines of a block, in steps of so many.
int64_t MatmulShape::leastBlock(int64_t step, int64_t blocks) const {
  return llvm::alignTo(llvm::divideCeil(lines(), blocks), step);
}

MatmulPlan MatmulShape::direct(const Machine &machine) const {
  MatmulPlan plan;
  plan.block = lines();
  if (partial()) {
    plan.block = std::max(leastBlock(1, mostLargeBlocks),
                          std::min(n, partialWords / pitch));
    // Where as many are alike, none has code of its own.
    if (const int64_t count = llvm::divideCeil(n, plan.block); n % count == 0)
      plan.block = n / count;
  }
  CostModel model(machine);
  double count = std::ceil(double(lines()) / plan.block);
  double words = lines() * own;
  // Terms of one channel are summed up in a register. An injector relays the
  // words besides.
  double products = oneChannel() && reduce
                        ? machine.dotSetup + words / machine.dotRate
                        : model.streamedFmacs(words, pitch);
  plan.perWord = 1 + products / words;
  plan.cycles = products + words + count * blockOverhead(machine, plan.block);
  if (partial())
    plan.cycles += lines() * pitch / machine.copyRate;
  plan.total = plan.cycles;
  return plan;
}

MatmulPlan MatmulShape::buffered(const Machine &machine, int64_t block,
                                 bool narrowSums) const {
  MatmulPlan plan;
  plan.narrowSums = narrowSums;
  plan.buffered = true;
  if (stored) // buffers take words at once
    plan.perWord = 0;
  plan.paired = narrow && !quantized;
  CostModel model(machine, plan.paired && mixed, narrowSums);
  plan.block = block;
  size_t summed = reduce ? 1 : 0;
  double channels = pitch, lines = this->lines();
  // The first term of a partial result is a product.
  double terms = partial() ? std::max(0.0, own - 1) : own;
  double sizes[] = {double(block), std::max(terms, 1.0), channels};
  // Of weights, and of activations: those of a line lie apart in broadcast.
  // Sums of 16 bits lie along what vectors run along.
  const double strides[] = {reduce ? 1.0 : channels,
                            std::max(double(block), reduce ? channels : 0), 1};
  plan.inner = model.vectorAlong(sizes, summed, strides);
  double count = std::ceil(lines / block);
  sizes[0] = lines / count;
  sizes[1] = terms;
  double each = blockOverhead(machine, lines / count) +
                model.product(sizes, summed, plan.inner, strides);
  if (partial())
    each +=
        channels * machine.mapOverhead + sizes[0] * channels / machine.addRate;
  if (narrowSums && !partial()) // to clear them, and to add them up
    each += model.copies(1, own * channels) + model.adds(1, own * channels);
  if (quantized)
    each += quantized->cycles(block, machine);
  // An injector relays what it keeps. The first block comes before there is
  // anything else to do, and the last is used behind all words.
  plan.cycles = count * each + 2 * arrivingWords(plan);
  const double arrival = channelCycles(machine, plan, block);
  const double kept = quantized ? double(quantized->rows(block)) *
                                      streamed().largest(machine.width)
                                : double(wordLines(plan, block)) * own;
  plan.first = arrival - 2 * kept;
  plan.behind = each;
  // A buffer is free again once sums have come all along the row; what the last
  // take is counted with the row's.
  const double row = model.chain(machine.width, 0);
  if (partial())
    plan.turns = count * (each + row + arrival) / 2 - row;
  plan.total = std::max({plan.first + plan.cycles, plan.turns,
                         channelCycles(machine, plan, this->lines()) + each});
  return plan;
}

/// The last block goes to the rest of the column while that before it is used.
void MatmulShape::store(MatmulPlan &plan, const Machine &machine) const {
  const double words = double(wordLines(plan, plan.block)) * own;
  const double count = std::ceil(double(lines()) / double(plan.block));
  // The first is used once the second is there.
  plan.first =
      std::min(count, 2.0) * (channelCycles(machine, plan, plan.block) - words);
  plan.behind += words + plan.behind;
  // Nobody takes words while one block has ended and the next is asked for; a
  // channel waits for all its columns, which sums leave one after the other.
  const double columns = double(machine.width) / double(machine.westCount());
  plan.waits =
      count *
      (storedGap +
       (partial() ? CostModel(machine).chain(std::ceil(columns), 0) : 0));
  plan.total =
      std::max(plan.first + plan.cycles, channelCycles(machine, plan, lines()) +
                                             plan.waits + plan.behind);
  // While the datapath multiplies, or sends words to the rest of the column, a
  // word is taken in every other cycle. Of the last two blocks nothing comes.
  const double multiplied =
      CostModel(machine, plan.paired && mixed, plan.narrowSums)
          .leastFmacs(double(lines()) * own * double(pitch));
  plan.waits +=
      (multiplied + arrivingWords(plan)) / 2 * std::max(0.0, 1 - 2 / count);
}

/// Words of a column that come while others are used.
double MatmulShape::arrivingWords(const MatmulPlan &plan) const {
  return quantized ? quantized->arrivingWords()
                   : double(wordLines(plan, lines())) * own;
}

/// Cycles of the channels, until they have brought the words of so many lines.
double MatmulShape::channelCycles(const Machine &machine,
                                  const MatmulPlan &plan, int64_t lines) const {
  const int64_t words =
      quantized ? quantized->rows(lines) : wordLines(plan, lines);
  if (!lineCycles || lineCycles->first != plan.perWord)
    lineCycles = {plan.perWord, CostModel(machine).channelCycles(
                                    out, streamed(), 1, 0, plan.perWord,
                                    /*echoes=*/!stored)};
  return double(words) * lineCycles->second;
}

MatmulPlan MatmulShape::bestPlan(const Machine &machine) const {
  MatmulPlan best = direct(machine);
  if (quantized || stored)
    best.total = std::numeric_limits<double>::infinity();
  else if (oneChannel() && !narrow)
    return best;
  else
    best.total = (narrow ? mostForPairs : 1) *
                 std::max(best.total, channelCycles(machine, best, lines()));
  const int64_t step = quantized ? quantized->step()
                       : narrow  ? 2
                                 : 1; // blocks of whole words
  int64_t most =
      streamBufferWords / (stored ? 3 : 2) / std::max<int64_t>(1, own);
  if (partial())
    most = std::min(most, partialWords / pitch);
  // What injectors relay lies in three buffers; other variants do with fewer.
  const int64_t least =
      std::min(leastBlock(step, mostLargeBlocks),
               std::max(most, leastBlock(step, stored ? mostLargeBlocks
                                                      : mostSmallBlocks)));
  most = std::max(std::min(most, lines()), least);
  // One block, where it fits: its code is half of two.
  const bool all = !stored && most == lines();
  auto next = [&](int64_t size) {
    const int64_t larger = size + std::max<int64_t>(1, size / step / 4) * step;
    return all && size < most ? std::min(larger, most) : larger;
  };
  for (int64_t size = least; size <= most; size = next(size)) {
    int64_t count = (lines() + size - 1) / size;
    const int64_t even = (lines() + count - 1) / count;
    const int64_t block = int64_t(llvm::alignTo(even, step));
    for (bool narrowSums : {false, true}) {
      // Of a row's sums each PE has those of its own features.
      const double terms = partial() ? own : double(block);
      if (narrowSums && (!mayRound || quantized || (reduce && !partial()) ||
                         terms > narrowTerms))
        continue;
      MatmulPlan plan = buffered(machine, block, narrowSums);
      if (stored)
        store(plan, machine);
      if (plan.total < best.total)
        best = plan;
    }
  }
  return best;
}

double productBound(const MatmulForm &op, const Machine &machine) {
  double weights = double(op.inputType().getShape().back()) *
                   wse::featuresOf(op.getResult());
  double tokens = Layout::of(op.getResult(), machine.height).tokenCount();
  double products =
      CostModel(machine, isNarrow(op.inputType()) && isNarrow(op.getResult()),
                hasPrecisionLevel(op, PrecisionLevel::NarrowProducts))
          .leastFmacs(weights * tokens / machine.peCount());
  if (op.residentWeight())
    return products;
  if (auto packed = PackedWeights::of(op, machine); packed && op.getPacked())
    weights = packed->words(machine.width);
  else if (isNarrow(op.getResult()))
    weights /= 2; // two to a word
  const double matrices =
      op.hasEntries() ? double(op.getEntry().getCount())
                      : double(ShapedType::getNumElements(
                            op.getWeight().getType().getShape().drop_back(2)));
  return std::max(products, matrices * weights / machine.westCount());
}

KernelCost streamedCost(const MatmulForm &op, const Machine &machine) {
  MatmulShape shape(op, machine);
  CostModel model(machine);
  double width = machine.width, channels = shape.pitch;
  double lines = shape.lines();
  KernelCost cost;
  if (!shape.applies(machine)) {
    cost.compute = std::numeric_limits<double>::infinity();
    return cost;
  }
  cost.compute = shape.plan.first + shape.plan.cycles;
  if (width > 1) {
    const bool halved = !shape.reduce && shape.pairing != Pairing::None;
    const double words = lines * channels / (halved ? 2 : 1);
    cost.fabric = words;
    cost.serial = shape.reduce
                      ? model.chain(width, 0) + model.multicast(width, 0)
                      : multicastRowCycles(machine, words);
  }
  const double streamed = double(shape.streamedLines());
  const FeatureTiling tiling = shape.streamed();
  auto channelCycles = [&](double eastward) {
    const double cycles =
        model.channelCycles(shape.out, tiling, streamed, eastward,
                            shape.plan.perWord, !shape.stored);
    return std::max(cycles + shape.plan.waits + shape.plan.behind,
                    shape.plan.first + shape.plan.turns);
  };
  cost.stream = channelCycles(0);
  cost.fabric = std::max(cost.fabric, streamed * tiling.largest(machine.width));
  // Sums come west, column by column; activations go east. Weights that come
  // late to columns in the west need not be waited for.
  const double others = std::max(cost.compute, cost.fabric);
  const double waited = channelCycles(shape.reduce ? model.chain(2, 0)
                                                   : double(machine.hopCycles));
  cost.serial += std::max(others, waited) - std::max(others, cost.stream);
  if (op.getBias() && !wse::residentOf(op, *op.getBias())) {
    cost.stream += model.channelCycles(shape.out, shape.out.features, 1);
    cost.compute += 2 * double(shape.out.features.largest(machine.width));
  }
  // From an injector to the row farthest from it.
  cost.serial += model.multicast(shape.out.activeRows(machine.height), 0);
  return cost;
}

int64_t MatmulShape::partialCount() const {
  if (plan.narrowSums)
    return wordsOf(narrow, pitch * (partial() ? plan.block : int64_t(own)));
  return partial() ? pitch * plan.block : 0;
}

int64_t MatmulShape::scratchWords(const MatmulForm &op,
                                  const Machine &machine) const {
  int64_t words = 0;
  if (quantized)
    words += quantized->scratchWords(plan.block, blocks());
  else if (plan.buffered)
    words += std::min<int64_t>(stored ? 3 : 2, blocks()) * arrivalWords();
  words += partialCount();
  if (exchanges && !reduce)
    words += wordsOf(op.inputType().getElementType(), pitch * k);
  if (apart)
    words += out.words(machine.width, machine.height);
  return words;
}

} // namespace wsec
