// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums and products for folding: integers wrap, as ONNX's do, and stay defined
// C++.
#ifndef COMPILER_VALUES_ARITHMETIC_H
#define COMPILER_VALUES_ARITHMETIC_H

#include "llvm/Support/MathExtras.h"

namespace wsec::values {

inline double plus(double a, double b) { return a + b; }
inline int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  llvm::AddOverflow(a, b, sum);
  return sum;
}

inline double minus(double a, double b) { return a - b; }
inline int64_t minus(int64_t a, int64_t b) {
  int64_t difference;
  llvm::SubOverflow(a, b, difference);
  return difference;
}

inline double times(double a, double b) { return a * b; }
inline int64_t times(int64_t a, int64_t b) {
  int64_t product;
  llvm::MulOverflow(a, b, product);
  return product;
}

inline double negated(double x) { return -x; }
inline int64_t negated(int64_t x) { return minus(0, x); }

} // namespace wsec::values

#endif // COMPILER_VALUES_ARITHMETIC_H
