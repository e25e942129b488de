// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the stages of a placement's file are ones that can be cut, as far as
// the file alone tells.

#ifndef WSEC_COMPILER_SELECT_GIVENSTAGES_H
#define WSEC_COMPILER_SELECT_GIVENSTAGES_H

#include "compiler/PlacementFile.h"

namespace wsec::select {

/// Empty if stages fill one group after the other, else what is wrong.
std::string groupsProblem(const PlacementFile &given);

/// The row of the mesh at which each group begins; they have no problem.
std::vector<int64_t> beginsOfGroups(const PlacementFile &given);

/// Empty if the channels that stages have to themselves lie one behind the
/// other in each group, `channels` at most, else what is wrong.
std::string sharesProblem(const PlacementFile &given, size_t channels);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_GIVENSTAGES_H
