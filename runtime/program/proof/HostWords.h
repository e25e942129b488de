// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words of host streams against what PEs take and send.
#ifndef RUNTIME_PROGRAM_PROOF_HOSTWORDS_H
#define RUNTIME_PROGRAM_PROOF_HOSTWORDS_H

#include "runtime/program/proof/FabricLines.h"

#include <vector>

namespace wsec::runtime {

/// Main threads of different columns that take the same lines of the host's
/// words come together. Throws NotUnderstood if they stop at different lines.
void alignColumns(const FabricRoutine &routine, const AxisScalars &scalars,
                  Handovers &handovers);

/// Throws NotUnderstood unless each channel of the launches' streams brings
/// what its columns take, or takes what its PE sends.
void checkLaunchWords(const program::Program &program,
                      const std::vector<const program::Launch *> &launches,
                      const FabricRoutine &routine, const Handovers &handovers,
                      const AxisScalars &scalars);

/// The words that a channel of a stream brings, or takes.
int64_t channelWords(const program::HostStream &stream,
                     const program::Channel &channel,
                     const AxisScalars &scalars);

/// What checkLaunchWords depends on besides the program's code.
std::vector<int64_t> signatureOf(const program::Program &program,
                                 const program::Launch &launch);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_HOSTWORDS_H
