// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Balanced tiling: n elements over p parts whose sizes differ by at most one,
// the larger parts first. The same three functions are scalar operations of a
// PE program (runtime/program/program.fbs), so compiler and PEs agree.
//
//   n = 10, p = 4:   0 1 2 | 3 4 5 | 6 7 | 8 9
//
// Spread tiling: the same sizes, but the larger parts are evenly spaced, so
// that neighbouring parts together hold about their share.
//
//   n = 10, p = 4:   0 1 | 2 3 4 | 5 6 | 7 8 9

#ifndef WSEC_COMPILER_MACHINE_TILING_H
#define WSEC_COMPILER_MACHINE_TILING_H

#include <algorithm>
#include <cstdint>

namespace wsec {

/// First element of part i; n for i = p.
inline int64_t tileStart(int64_t n, int64_t p, int64_t i) {
  return i * (n / p) + std::min(i, n % p);
}

/// Elements of part i; 0 outside [0, p).
inline int64_t tileSize(int64_t n, int64_t p, int64_t i) {
  return i < 0 || i >= p ? 0 : n / p + (i < n % p);
}

/// Elements of the largest part.
inline int64_t tileSizeMax(int64_t n, int64_t p) { return (n + p - 1) / p; }

/// The part that holds element e.
inline int64_t tileIndex(int64_t n, int64_t p, int64_t e) {
  int64_t size = n / p, large = n % p, boundary = large * (size + 1);
  return e < boundary ? e / (size + 1) : large + (e - boundary) / size;
}

/// First element of part i of a spread tiling; n for i = p.
inline int64_t spreadStart(int64_t n, int64_t p, int64_t i) {
  return i * (n / p) + i * (n % p) / p;
}

/// Elements of part i of a spread tiling.
inline int64_t spreadSize(int64_t n, int64_t p, int64_t i) {
  return spreadStart(n, p, i + 1) - spreadStart(n, p, i);
}

/// The part of a spread tiling that holds element e.
inline int64_t spreadIndex(int64_t n, int64_t p, int64_t e) {
  return ((e + 1) * p - 1) / n;
}

} // namespace wsec

#endif // WSEC_COMPILER_MACHINE_TILING_H
