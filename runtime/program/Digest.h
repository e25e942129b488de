// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_DIGEST_H
#define RUNTIME_PROGRAM_DIGEST_H

#include <cstdint>

namespace wsec::runtime {

/// Digest of a weight file, as stored in `File.digest`. Covers the size and
/// either everything (up to 8 MiB) or 66 blocks of 64 KiB: the first, 64 evenly
/// spaced, the last. It finds an exchanged or retrained file in milliseconds
/// however large the file is; it does not find every edited byte.
uint64_t fileDigest(const void *data, uint64_t size);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_DIGEST_H
