// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What PEs of a routine do, where guards, loops and branches differ.
#ifndef RUNTIME_PROGRAM_PROOF_BEHAVIOURS_H
#define RUNTIME_PROGRAM_PROOF_BEHAVIOURS_H

#include "runtime/program/proof/FabricUse.h"

#include <compare>
#include <set>
#include <vector>

namespace wsec::runtime {

/// An event in PEs of one kind.
struct Happening {
  bool happens = false;
  int64_t in = -1, out = -1; ///< colors of an op

  auto operator<=>(const Happening &) const = default;
};
/// By event of the routine.
using Behaviour = std::vector<Happening>;

/// Which events happen in a PE, for each kind of PE; perhaps for some that do
/// not exist. Throws NotUnderstood where there are too many.
std::set<Behaviour> behavioursOf(const FabricRoutine &routine,
                                 const AxisScalars &scalars);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_BEHAVIOURS_H
