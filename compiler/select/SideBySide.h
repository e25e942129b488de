// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a program that have nothing to do with one another, such as two
// encoders, may run at the same time, each on a region of its own. That pays
// where one region of the whole mesh is not much faster than a part of it.

#ifndef WSEC_COMPILER_SELECT_SIDEBYSIDE_H
#define WSEC_COMPILER_SELECT_SIDEBYSIDE_H

#include "compiler/PlacementFile.h"
#include "compiler/placement/PlacementProblem.h"
#include "compiler/select/RegionChooser.h"

#include <optional>

namespace wsec::select {

/// Kernels that share a region. A kernel without operands, such as a load, may
/// be of several parts.
struct RegionPart {
  llvm::SmallVector<wse::KernelOp> kernels;
  RegionShape shape;
  /// Where its north-west PE lies, if that was chosen with the shape; else
  /// `place` chooses it.
  std::optional<PlacedOrigin> at;
  wse::RegionRole role = wse::RegionRole::Part;
  int64_t firstKernel = 0; ///< of a stage, in the list that was cut
  int64_t group = 0;       ///< of a stage: its row of them
};

struct SideBySide {
  std::vector<RegionPart> parts;
  double cycles = 0; ///< predicted until the last part ends
};

/// The parts, and shapes and places of their regions on the mesh, chosen
/// together, with the fewest predicted cycles; of two parts at most abreast[0]
/// in a row of the mesh, of three abreast[1], and so on, of more than that as
/// many as the last says; nothing if one region for all,
/// of `cyclesOfOne`, is as good. `program` has all kernels on the whole mesh.
std::optional<SideBySide> chooseSideBySide(wse::ProgramOp program,
                                           PlanningCache &cache,
                                           double cyclesOfOne,
                                           llvm::ArrayRef<int64_t> abreast);

/// As many parts as a placement has regions, each for one of its shapes; an
/// error if the program has fewer. `program` has all kernels on the whole mesh.
llvm::FailureOr<SideBySide> sideBySideOn(wse::ProgramOp program,
                                         PlanningCache &cache,
                                         const PlacementFile &given);

/// The shape of a region that is given, for these kernels of a program that has
/// all on the whole mesh: heads as given, or as they cost least.
RegionShape regionShapeOf(const PlacementFile::Region &given,
                          const Machine &mesh,
                          llvm::ArrayRef<wse::KernelOp> kernels,
                          PlanningCache &cache, bool keepWeights = false,
                          bool littleScratch = false);

/// Gives each part its region, with distributions for it.
void spreadOverRegions(wse::ProgramOp program, SideBySide &choice);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_SIDEBYSIDE_H
