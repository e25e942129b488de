// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of vector instructions on contiguous float32 data. Every
// function gives the same bits on every instruction set and for every split of
// a vector: an element's result depends on its inputs only.
#ifndef RUNTIME_PE_VECTORKERNELS_H
#define RUNTIME_PE_VECTORKERNELS_H

#include <cstddef>

namespace wsec::program {
enum class Opcode : unsigned char;
}

namespace wsec::runtime {

/// A source of an element-wise operation: one element per result, or one
/// element for all of them.
struct VectorSource {
  const float *data = nullptr;
  bool scalar = false;
};

/// dst[i] = op(a[i], b[i]) for i < n. `dst` may equal a source but not overlap
/// one otherwise.
void applyVector(program::Opcode op, size_t n, float *dst, VectorSource a,
                 VectorSource b);

/// Rows of vectors, one after the other: dst[r][i] = op(a[r][i], b[r][i]).
struct RowsProblem {
  program::Opcode op;
  size_t rows, columns;
  float *dst;
  ptrdiff_t dstRow;
  VectorSource a;
  ptrdiff_t aRow;
  VectorSource b;
  ptrdiff_t bRow;
};
void applyRows(const RowsProblem &problem);

/// Adds up all rows into one vector, which stays in registers meanwhile:
/// `dstRow` is 0. A source may be that vector, too: its pointer equals `dst`
/// and its row is 0.
void reduceRows(const RowsProblem &problem);

/// dst[r][i] = a[r][i] with any strides.
struct CopyProblem {
  size_t rows, columns;
  float *dst;
  ptrdiff_t dstRow, dstColumn;
  const float *a;
  ptrdiff_t aRow, aColumn;
};
void copyStrided(const CopyProblem &problem);

/// dst[r][i][l] = sources[l][r][i]: words of several, side by side.
struct InterleaveProblem {
  size_t rows, columns, sources;
  ptrdiff_t dstRow;      ///< of `dst`; columns are `sources` apart
  ptrdiff_t row, column; ///< of each source

  bool operator==(const InterleaveProblem &) const = default;
};
void interleave(const InterleaveProblem &problem, float *dst,
                const float *const *sources);

/// Where the factors of a product lie.
struct Factors {
  const float *a, *b;
};

/// c[i][p][m] = fma(a[i][k][l], b[k][l][p][m], c[i][p][m]) for all k, l in
/// lexicographic order, for each i < rows, p < blocks, m < columns. Elements m
/// lie side by side. If it starts, sums begin with `start` instead of what is
/// there: -0 leaves the bits of the first term. With several factors the same
/// is done with each, in order.
struct FmacProblem {
  struct Depth {
    size_t extent = 1;
    ptrdiff_t a = 0, b = 0;
  };
  size_t rows = 1;
  ptrdiff_t cRow = 0, aRow = 0;
  Depth outer, inner; ///< k, l
  size_t blocks = 1;
  ptrdiff_t cBlock = 0, bBlock = 0;
  size_t columns = 0;
  float *c = nullptr;
  const Factors *factors = nullptr;
  size_t count = 1; ///< of factors
  bool starts = false;
  float start = -0.0f;
};
void accumulateProducts(const FmacProblem &problem);
/// Terms of each sum, of one piece of its factors or several, while which it
/// stays in a register.
inline constexpr size_t termsAtOnce = 128;
/// Factors with which sums stay in the cache.
inline constexpr size_t mostFactors = 128;

/// Whether this processor has what the kernels are compiled for.
bool processorSupported();
/// Throws BadProgram if not.
void requireProcessor();

} // namespace wsec::runtime

#endif // RUNTIME_PE_VECTORKERNELS_H
