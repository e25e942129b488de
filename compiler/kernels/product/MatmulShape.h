// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of a product whose weights stream to columns, and in what blocks its
// lines come: cost, scratch and code depend on them.

#ifndef COMPILER_KERNELS_PRODUCT_MATMULSHAPE_H
#define COMPILER_KERNELS_PRODUCT_MATMULSHAPE_H

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/PrecisionLevel.h"
#include "compiler/kernels/product/PackedWeights.h"

namespace wsec {

/// How a product runs: its lines of weights, those of all n or all k, come in
/// blocks.
struct MatmulPlan {
  bool buffered = false;
  bool paired = false; ///< a word brings 16-bit weights of two lines
  /// Sums of a block are of 16 bits, along its lines.
  bool narrowSums = false;
  int64_t block = 1;  ///< lines
  size_t inner = 0;   ///< vectors run along lines, own features or channels
  double cycles = 0;  ///< of the datapath of the busiest PE
  double perWord = 2; ///< of it, for a weight that arrives
  double first = 0;   ///< of the channel, before there is anything to use
  double turns = 0;   ///< of both buffers, where sums pass from PE to PE
  double behind = 0;  ///< of the datapath, behind the last word of the channel
  double waits = 0;   ///< of the channel, between blocks
  double total = 0;   ///< that plans are compared by
};

struct MatmulShape {
  Layout in, out;
  int64_t k, n, pitch;
  bool reduce, exchanges;
  bool stored; ///< injectors relay from the buffer
  double own;  ///< most features of a PE that words of a line are for
  std::optional<PackedWeights> quantized;
  mlir::Type narrow; ///< of weights of 16 bits; null: f32
  bool mixed;        ///< activations are of 16 bits, too, so SIMD multiplies
  bool apart;        ///< sums are made in f32, beside a result of 16 bits
  bool mayRound;     ///< those of a block may be made in 16 bits
  Pairing pairing;   ///< of activations that are exchanged
  MatmulPlan plan;

  MatmulShape(const MatmulForm &op, const Machine &machine)
      : in(Layout::of(op.inputType(), machine.height)),
        out(Layout::of(op.getResult(), machine.height)), k(in.features.total()),
        n(out.features.total()), pitch(out.pitch(machine.height)),
        reduce(op.getVariant() == wse::MatmulVariant::Reduce ||
               op.getVariant() == wse::MatmulVariant::ReduceStored),
        exchanges(machine.width > 1),
        stored(op.getVariant() == wse::MatmulVariant::ReduceStored ||
               op.getVariant() == wse::MatmulVariant::BroadcastStored),
        own(tiling().largest(machine.width)),
        mixed(isNarrow(op.inputType()) && isNarrow(op.getResult())),
        apart(isNarrow(op.getResult()) && !partial()),
        mayRound(mixed &&
                 hasPrecisionLevel(op, PrecisionLevel::NarrowProducts)),
        pairing(pairingOf(op.inputType(), machine)) {
    if (isNarrow(op.getResult()))
      narrow = elementTypeOf(op.getResult());
    quantized = op.getPacked() ? PackedWeights::of(op, machine) : std::nullopt;
    plan = bestPlan(machine);
  }

  /// Lines that the columns see, and how one is tiled.
  int64_t lines() const { return reduce ? n : k; }
  const FeatureTiling &tiling() const { return (reduce ? in : out).features; }
  /// The column's lines of words, and how one is tiled.
  int64_t streamedLines() const {
    return quantized
               ? quantized->streamedLines()
               : wordLines(plan, lines()) + (takesOneMore() ? plan.block : 0);
  }
  /// Lines of words of `lines` lines of weights.
  static int64_t wordLines(const MatmulPlan &plan, int64_t lines) {
    return plan.paired ? (lines + 1) / 2 : lines;
  }
  /// Words of SRAM that a block arrives in.
  int64_t arrivalWords() const {
    return wordLines(plan, plan.block) * int64_t(own);
  }
  FeatureTiling streamed() const {
    return quantized ? quantized->streamed() : tiling();
  }
  /// Whether every row with tokens has just one.
  bool oneChannel() const { return pitch == 1 && out.group != 0; }
  /// Whether a block of partial results is made and passed on.
  bool partial() const { return reduce && exchanges; }
  int64_t blocks() const { return (lines() + plan.block - 1) / plan.block; }
  /// Whether the last of many blocks in three buffers comes once more, and is
  /// not used. Then all steps are alike, with about half of the code.
  bool takesOneMore() const {
    constexpr int64_t many = 256;
    return stored && !plan.paired && lines() % plan.block == 0 &&
           blocks() % 3 == 1 && blocks() >= many;
  }
  /// Words of the sums of a block: those that travel along the row, and of 16
  /// bits those that are to be added to sums of f32.
  int64_t partialCount() const;
  /// Elements between the sums of neighbouring lines and of neighbouring
  /// channels: vectors run along what has neighbours.
  std::array<int64_t, 2> partialStrides() const {
    if (plan.narrowSums && reduce && plan.inner == 0)
      return {1, plan.block};
    return {pitch, 1};
  }
  /// Words of SRAM that it uses beside operands and result.
  int64_t scratchWords(const MatmulForm &op, const Machine &machine) const;
  /// In which injectors that multiply do not hear their column.
  bool applies(const Machine &machine) const {
    return !stored || !columnRestStreams(out, machine).empty();
  }

private:
  /// Cycles of the channels for a line of words, if a word is used so long.
  mutable std::optional<std::pair<double, double>> lineCycles;

  double arrivingWords(const MatmulPlan &plan) const;
  double channelCycles(const Machine &machine, const MatmulPlan &plan,
                       int64_t lines) const;
  MatmulPlan bestPlan(const Machine &machine) const;
  MatmulPlan direct(const Machine &machine) const;
  MatmulPlan buffered(const Machine &machine, int64_t block,
                      bool narrowSums) const;
  int64_t leastBlock(int64_t step, int64_t blocks) const;
  double blockOverhead(const Machine &machine, double block) const;
  void store(MatmulPlan &plan, const Machine &machine) const;
};

/// The cost of a variant whose weights stream.
KernelCost streamedCost(const MatmulForm &op, const Machine &machine);
/// Writes its code.
void lowerStreamed(const MatmulForm &op, RoutineBuilder &builder);
/// The least cycles of all variants: multiply-adds spread evenly over the PEs,
/// or the words of weights that stream over the channels.
double productBound(const MatmulForm &op, const Machine &machine);

} // namespace wsec

#endif // COMPILER_KERNELS_PRODUCT_MATMULSHAPE_H
