// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/MatmulShape.h"

using namespace mlir;

namespace wsec {

/// Words of scratch memory that a block of partial results may take, and the
/// two buffers of weights.
static constexpr int64_t partialWords = 512;
static constexpr int64_t bufferWords = 1536;

/// Cycles between two blocks that injectors take: until the main thread has
/// seen the end of one, and the channel moves again.
static constexpr double storedGap = 64;

/// Of the loop, and of passing partial results on.
double MatmulShape::blockOverhead(const Machine &machine, double block) const {
  double cycles = machine.loopOverhead + machine.vectorSetup;
  if (partial())
    cycles += machine.vectorSetup +
              CostModel(machine).thereAndBack(block * double(pitch));
  return cycles;
}

MatmulPlan MatmulShape::direct(const Machine &machine) const {
  MatmulPlan plan;
  plan.block = lines();
  if (partial())
    plan.block = std::max<int64_t>(1, std::min(n, partialWords / pitch));
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

MatmulPlan MatmulShape::buffered(const Machine &machine, int64_t block) const {
  CostModel model(machine);
  MatmulPlan plan;
  plan.buffered = true;
  plan.block = block;
  size_t summed = reduce ? 1 : 0;
  double channels = pitch, lines = this->lines();
  // The first term of a partial result is a product.
  double terms = partial() ? std::max(0.0, own - 1) : own;
  double sizes[] = {double(block), std::max(terms, 1.0), channels};
  plan.inner = model.vectorAlong(sizes, summed);
  double count = std::ceil(lines / block);
  sizes[0] = lines / count;
  sizes[1] = terms;
  double each = blockOverhead(machine, lines / count) +
                model.product(sizes, summed, plan.inner);
  if (partial())
    each +=
        channels * machine.mapOverhead + sizes[0] * channels / machine.addRate;
  // an injector relays what it keeps. Of the first block this is all
  // it does.
  double arriving = (lines + block) * own;
  if (quantized) {
    each += quantized->cycles(block, machine);
    arriving = quantized->arrivingWords(block);
  }
  plan.cycles = count * each + 2 * arriving;
  plan.total = plan.cycles;
  return plan;
}

/// The last block goes to all before it is used. `channel`: cycles that bring
/// all words.
void MatmulShape::store(MatmulPlan &plan, double channel) const {
  const double count = std::ceil(double(lines()) / plan.block);
  plan.last = plan.block * own + plan.cycles / count;
  // Nobody takes words while one block has ended and the next is asked for.
  plan.waits = count * storedGap;
  plan.total = std::max(plan.cycles, channel + plan.waits) + plan.last;
}

MatmulPlan MatmulShape::bestPlan(const Machine &machine) const {
  MatmulPlan best = direct(machine);
  if (quantized || stored)
    best.total = std::numeric_limits<double>::infinity();
  else if (oneChannel())
    return best;
  const double channel =
      stored ? CostModel(machine).channelCycles(out, tiling(), double(lines()),
                                                0, 0, /*echoes=*/false)
             : 0;
  const int64_t step =
      quantized ? quantized->step() : 1; // blocks of whole words
  int64_t most = bufferWords / (stored ? 3 : 2) / std::max<int64_t>(1, own);
  if (partial())
    most = std::min(most, partialWords / pitch);
  most = std::max(std::min(most, lines()), step);
  for (int64_t size = step; size <= most;
       size += std::max<int64_t>(1, size / step / 4) * step) {
    int64_t count = (lines() + size - 1) / size;
    const int64_t even = (lines() + count - 1) / count;
    MatmulPlan plan = buffered(machine, int64_t(llvm::alignTo(even, step)));
    if (stored)
      store(plan, channel);
    if (plan.total < best.total)
      best = plan;
  }
  return best;
}

} // namespace wsec
