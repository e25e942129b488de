// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who gives words to whom, for one routine: follows the routes of each color
// along representative rows and columns, those that turn PE by PE, and pairs
// what is sent with what is received, word by word.
#ifndef RUNTIME_PROGRAM_PROOF_FABRICLINES_H
#define RUNTIME_PROGRAM_PROOF_FABRICLINES_H

#include "runtime/program/proof/Handovers.h"
#include "runtime/program/proof/RouteTable.h"

namespace wsec::runtime {

/// Throws NotUnderstood where something does not fit: words without a route,
/// more or fewer words than are received.
Handovers findHandovers(const program::Program &program,
                        const FabricRoutine &routine,
                        const AxisScalars &scalars, RouteTable &routes);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_FABRICLINES_H
