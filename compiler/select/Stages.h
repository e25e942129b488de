// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resident mode: the program becomes a pipeline. Its kernels are cut into
// stages, each on a band of columns of its own, and what one makes and a later
// one uses is transferred from band to band, so that each can work on another
// sample.

#ifndef WSEC_COMPILER_SELECT_STAGES_H
#define WSEC_COMPILER_SELECT_STAGES_H

#include "compiler/select/SideBySide.h"

#include <optional>

namespace wsec::select {

/// What stages are chosen for.
struct KeepOptions {
  bool weights = false; ///< stay on the wafer, where kernels can hold them
  int64_t code = 0;     ///< bytes of a PE; 0: not known
  int64_t selected = 0; ///< that kernels were selected with room for
  /// Whether `code` and `selected` are of all kernels, which a stage has its
  /// share of: regions are there for their code.
  bool spreadCode = false;
  bool clear = false;  ///< no keep-out lies in a row of stages
  int64_t samples = 0; ///< that follow one another; 0: many
};

/// Cuts `program`, which has all kernels on the whole mesh, into stages, at
/// most `mostStages` in each of `mostRows` rows, whose slowest is as fast as
/// any can be, with the transfers between them; from row to row through the
/// store. Where weights are kept the SRAM of each stage holds them. False, and
/// nothing is changed, if that is one stage, or samples would not follow one
/// another in fewer than `cycles`. Of samples that are counted the last is to
/// be done first.
bool spreadOverStages(wse::ProgramOp program, PlanningCache &cache,
                      size_t mostStages, size_t mostRows, double cycles,
                      const KeepOptions &keep);

/// Cuts it into the stages of a placement, before the kernels that it names;
/// an error if it cannot be cut there. Channels are shared out by the words
/// that stages need where the placement does not say how.
llvm::LogicalResult spreadOverStagesOn(wse::ProgramOp program,
                                       PlanningCache &cache,
                                       const PlacementFile &given,
                                       const KeepOptions &keep);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_STAGES_H
