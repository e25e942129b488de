// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of the mesh a model should use. Large regions compute faster, small
// ones have shorter rows to exchange along, fewer columns to feed, and are
// reached sooner; tall ones have more I/O channels.

#ifndef WSEC_COMPILER_SELECT_REGIONCHOOSER_H
#define WSEC_COMPILER_SELECT_REGIONCHOOSER_H

#include "compiler/select/PlanningCache.h"
#include "dialects/wse/Wse.h"

#include <memory>
#include <tuple>
#include <vector>

namespace wsec::select {

/// What some kernels take on a region of that shape.
struct ShapeEstimate {
  RegionShape shape;
  double cycles = 0; ///< one after the other
  double stream = 0; ///< of the busiest channel, in cycles
  bool fits = true;  ///< in SRAM

  auto key() const {
    return std::make_tuple(!fits, cycles, shape.columns * shape.rows,
                           shape.columns);
  }
};

struct RegionChoice {
  RegionShape shape;
  double cycles = 0;
  std::vector<ShapeEstimate> estimates; ///< the best first
  /// The estimates for the report: candidatesAttrName.
  mlir::ArrayAttr candidates;
};

/// What is chosen of estimates: the first, of which there is one.
RegionChoice choiceOf(mlir::MLIRContext *context,
                      std::vector<ShapeEstimate> estimates);

/// The shape with the fewest predicted cycles, then the fewest PEs, among those
/// whose SRAM holds the tensors. `program` has all kernels on the whole mesh;
/// other shapes are told from it, without selecting anew.
/// `code`: bytes of it in a PE; 0: not known.
RegionChoice chooseRegion(wse::ProgramOp program, PlanningCache &cache,
                          int64_t code);

/// Estimates for some kernels of a program that has all on the whole mesh, the
/// best first; the best `widths` at all heights, also at those of which two, or
/// up to `bands`, lie above one another.
std::vector<ShapeEstimate> estimateShapes(const Machine &mesh,
                                          llvm::ArrayRef<wse::KernelOp> kernels,
                                          PlanningCache &cache,
                                          int64_t code = 0, size_t widths = 2,
                                          int bands = 1);

/// Estimates of each of these kernels on each shape, in the variant that costs
/// least.
std::vector<std::vector<KernelEstimate>>
estimateEach(const Machine &mesh, llvm::ArrayRef<wse::KernelOp> kernels,
             llvm::ArrayRef<RegionShape> shapes);

class RegionChooser;

/// Asks for some kernels on one shape after the other; they are looked at once.
/// Each is in the variant that costs least, or, with `keepWeights`, holds most
/// of its weights. While it lives they are in nobody else's hands: with
/// `keepWeights` their weights count as resident.
class KernelEstimator {
public:
  KernelEstimator(const Machine &mesh, llvm::ArrayRef<wse::KernelOp> kernels,
                  PlanningCache &cache, bool keepWeights, bool littleScratch);
  ~KernelEstimator();

  /// The estimates of the kernels on one shape, in their order.
  std::vector<KernelEstimate> on(RegionShape shape);
  /// Estimates of kernels that were selected for that shape, in their order.
  std::vector<KernelEstimate> asTyped(RegionShape shape);

private:
  std::unique_ptr<RegionChooser> chooser;
};

/// Bytes of a PE that tensors, scratch and what stays may take: room for so
/// much code, a guess if that is 0, and for gaps is left.
int64_t roomForData(const Machine &region, int64_t code = 0);

/// Gives the values of some kernels the types they have on that shape.
void retype(llvm::ArrayRef<wse::KernelOp> kernels, RegionShape shape);

/// `shape` with the heads of a program selected for it as they cost least.
RegionShape chooseHeads(wse::ProgramOp program, PlanningCache &cache,
                        RegionShape shape);

/// `shape` with the heads for some kernels of a program that has all on the
/// whole mesh, in the variants that `KernelEstimator` counts.
RegionShape chooseHeads(const Machine &mesh,
                        llvm::ArrayRef<wse::KernelOp> kernels,
                        PlanningCache &cache, RegionShape shape,
                        bool keepWeights = false, bool littleScratch = false);

/// Gives the values of a program selected for `shape` its heads.
void spreadHeads(wse::ProgramOp program, RegionShape shape);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_REGIONCHOOSER_H
