// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_KERNELS_PRODUCT_WEIGHTGRADIENTSHAPE_H
#define WSEC_COMPILER_KERNELS_PRODUCT_WEIGHTGRADIENTSHAPE_H

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/move/ColumnExits.h"
#include "dialects/wse/InherentAttributes.h"

namespace wsec {

/// What a gradient of a weight runs on: see WeightGradient.cpp.
struct GradientShape {
  /// Words of SRAM that a block takes, or a small one, and what is multicast at
  /// once, at most.
  static constexpr int64_t blockWords = 1024, smallWords = 256,
                           castWords = 2048;
  /// Blocks of a launch: the proof that nobody waits for ever unrolls them.
  static constexpr int64_t mostBlocks = 512;

  /// Variants, and both of them.
  enum { SmallBlocks = 1, TwoLanes = 2 };

  /// Blocks have at most `most` words.
  GradientShape(mlir::RankedTensorType kept, mlir::RankedTensorType cast,
                const Machine &machine, int variant, ColumnExits::Where where,
                int64_t most);
  /// With the exits, and the blocks of two lanes, that make it faster.
  static GradientShape of(mlir::Value kept, mlir::Value cast,
                          const Machine &machine, int variant = 0);
  static GradientShape of(wse::WeightGradientOp op, const Machine &machine) {
    return of(op.getKept(), op.getCast(), machine, variantOf(op));
  }
  static int variantOf(mlir::Operation *op) {
    return (op->hasAttr(wse::smallBlocksAttrName) ? SmallBlocks : 0) |
           (op->hasAttr(wse::twoLanesAttrName) ? TwoLanes : 0);
  }

  bool applies() const {
    return exits.used() && ofPart() * pitch <= castWords &&
           block * own <= 2 * blockWords && blocks() <= mostBlocks;
  }
  int64_t blocks() const { return lines / block; }
  int64_t ofPart() const { return lines / parts; }
  /// Vectors run along features that stay, or else along those of the block.
  bool alongKept() const { return own >= block; }
  /// Columns of the lane that has most of them.
  int64_t columnsOfLane() const {
    int64_t most = 0;
    for (const StreamPattern &lane : exits.lanes())
      for (const ChannelPosition &exit : exits.ofLane(lane))
        most = std::max<int64_t>(most, exit.end - exit.begin);
    return most;
  }
  /// Whether columns share a lane.
  bool takesTurns() const { return columnsOfLane() > 1; }
  int64_t scratchWords() const {
    return (exchanges ? ofPart() * pitch : 0) +
           (takesTurns() ? 2 : 1) * block * own;
  }
  /// Whether words of a block take an exit no less than a chain of all rows.
  /// Engines with one clock for a row count shorter blocks as long as that.
  bool outlastsChains() const;
  /// Words of the exit that has most of them on a lane.
  int64_t mostWords(const StreamPattern &lane) const {
    int64_t most = 0;
    for (const ChannelPosition &exit : exits.ofLane(lane))
      most = std::max(most, exits.features(exit) * lines);
    return most;
  }
  /// Tokens but the first, features of a block, features that stay.
  std::array<double, 3> sizes() const { return sizes(pitch); }
  size_t inner(const CostModel &model) const {
    const double strides[] = {1, double(pitch), double(pitch)};
    return model.vectorAlong(sizes(), 0, strides);
  }
  KernelCost cost() const;

  const Machine &machine;
  const Layout kept;
  const ColumnExits exits;
  const int64_t lines; ///< features that are multicast
  const int64_t own, pitch;
  const bool exchanges;
  /// In which they are multicast: all at once, or one of each column. So line i
  /// of part p is feature i * parts + p.
  int64_t parts = 1;
  int64_t block = 1; ///< of those of a part, at once: a divisor

private:
  std::array<double, 3> sizes(int64_t tokens) const {
    return {double(tokens - 1), double(block), double(own)};
  }
  double blockCycles(int64_t tokens) const;
};

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_PRODUCT_WEIGHTGRADIENTSHAPE_H
