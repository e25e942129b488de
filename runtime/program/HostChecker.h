// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_HOSTCHECKER_H
#define RUNTIME_PROGRAM_HOSTCHECKER_H

#include "runtime/program/EntryChecker.h"
#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Check the host's side of a program: the tensors with the files they lie in,
/// and the streams and copies that read and write them. The machine, and for
/// copies the classes, must be checked. Arguments of streams are as launches
/// carry them.
void checkTensors(const program::Program &program);
void checkStreams(const program::Program &program, const CarriedRanges &carried,
                  CheckerWork &work);
void checkCopies(const program::Program &program, CheckerWork &work);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_HOSTCHECKER_H
