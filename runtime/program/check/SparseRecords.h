// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_SPARSERECORDS_H
#define RUNTIME_PROGRAM_CHECK_SPARSERECORDS_H

#include <cstdint>

namespace wsec::runtime {

/// Words of the record of a group that keeps `kept` elements: two indices in a
/// word, then the values. See Sparsity in program.fbs.
constexpr int64_t recordIndexWords(int64_t kept) { return (kept + 1) / 2; }
constexpr int64_t recordWords(int64_t kept) {
  return recordIndexWords(kept) + kept;
}

/// Words of all records of a matrix of `rows` x `columns`.
constexpr int64_t sparseWords(int64_t rows, int64_t columns, int64_t group,
                              int64_t kept, int64_t rest) {
  return rows * (columns / group * recordWords(kept) + recordWords(rest));
}

/// PEs read indices as signed numbers of 16 bits.
inline constexpr int64_t largestSparseIndex = 0x7fff;

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_SPARSERECORDS_H
