// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file that keeps what persistent buffers hold. Numbers are little endian:
//
//   8 bytes   magic, with the version of the format
//   8 bytes   digest of the program (XXH3 of its flatbuffer)
//   8 bytes   number of PEs that hold something
//   of each:  4 bytes index (row by row), 4 bytes n, n bytes of all its
//             persistent buffers, a bit for each two of them that are written
//   8 bytes   digest of all before
#ifndef RUNTIME_HOST_STATEFILE_H
#define RUNTIME_HOST_STATEFILE_H

#include "runtime/engine/PersistentState.h"
#include "runtime/program/Loader.h"

#include <string>

namespace wsec::runtime {

/// Throws IoError; then there is no new file, and an old one is as it was.
void writeState(const std::string &path, const PersistentState &state,
                const LoadedProgram &program);

/// Throws BadState, about `what`, unless the digest is the program's.
void requireOwnState(const std::string &what, uint64_t digest,
                     const LoadedProgram &program);

/// Throws IoError, or BadState where the file is none, is damaged, or was saved
/// by another program.
PersistentState readState(const std::string &path,
                          const LoadedProgram &program);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_STATEFILE_H
