// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_SPARSEMATRIX_H
#define RUNTIME_MEMORYX_SPARSEMATRIX_H

#include "runtime/program/check/SparseRecords.h"
#include "runtime/program/program_generated.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace wsec::runtime {

/// The records of a matrix without the elements that are not kept (Sparsity in
/// program.fbs), each made from its group as it is read: neither the mask nor
/// the matrix is ever in memory as a whole.
class SparseMatrix {
public:
  /// to[i] = element `first + i * stride` of the dense tensor, as f32.
  using ReadDense = std::function<void(int64_t first, int64_t stride,
                                       size_t count, float *to)>;

  /// `sparsity` has been checked.
  SparseMatrix(const program::Sparsity &sparsity, ReadDense readDense)
      : sparsity(&sparsity), readDense(std::move(readDense)) {}

  /// to[i] = word `first + i` of the records, for i in [0, count).
  void read(uint64_t first, size_t count, float *to) const;

  /// The score of an element of the dense tensor by the random method.
  static uint64_t randomScore(uint64_t seed, uint64_t element);

private:
  void writeRecord(int64_t row, int64_t group, int64_t kept, float *to) const;

  const program::Sparsity *sparsity;
  ReadDense readDense;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_SPARSEMATRIX_H
