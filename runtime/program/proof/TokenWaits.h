// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why words no longer move: who waits for whom.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENWAITS_H
#define RUNTIME_PROGRAM_PROOF_TOKENWAITS_H

#include "runtime/program/proof/TokenCells.h"

namespace wsec::runtime::tokens {

/// Follows waits from the first PE that does, until they repeat or end. Empty
/// if no PE waits.
std::string describeStuck(const Code &code, const KindMesh &mesh,
                          const Fabric &fabric, const Cells &cells);

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_PROOF_TOKENWAITS_H
