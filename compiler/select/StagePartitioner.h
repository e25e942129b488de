// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_STAGEPARTITIONER_H
#define WSEC_COMPILER_SELECT_STAGEPARTITIONER_H

#include "compiler/select/StageProblem.h"

#include <optional>

namespace wsec {

/// The plan whose slowest stage is as fast as any can be, of these with the
/// fewest rows, in the last of them the fewest stages, then the fewest columns;
/// none if no plan is legal.
std::optional<StagePlan> partitionStages(const StageProblem &problem);

} // namespace wsec

#endif // WSEC_COMPILER_SELECT_STAGEPARTITIONER_H
