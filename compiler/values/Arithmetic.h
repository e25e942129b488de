// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What constants fold with: double, int64_t, or uint64_t where a sign bit is
// none. Integers wrap, as ONNX's and those of PEs do, and stay defined C++;
// NaN stays NaN.
#ifndef COMPILER_VALUES_ARITHMETIC_H
#define COMPILER_VALUES_ARITHMETIC_H

#include "compiler/values/Tensor.h"
#include <cmath>

namespace wsec::values {

/// Calls `compute` with a 0 of the numbers that elements of a type are.
template <typename Compute>
auto withNumbers(ElementType type, Compute compute) {
  if (isFloat(type))
    return compute(0.0);
  return type == ElementType::UInt64 ? compute(uint64_t(0))
                                     : compute(int64_t(0));
}

template <typename T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) + uint64_t(b));
  else
    return a + b;
}

template <typename T>
T minus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) - uint64_t(b));
  else
    return a - b;
}

template <typename T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) * uint64_t(b));
  else
    return a * b;
}

template <typename T>
T negated(T x) {
  if constexpr (std::is_integral_v<T>)
    return minus(T(0), x);
  else
    return -x;
}

template <typename T>
T magnitude(T x) {
  if constexpr (std::is_integral_v<T>)
    return x < 0 ? negated(x) : x;
  else
    return std::fabs(x);
}

/// The smaller number; of equal ones, such as two zeros, the second, as PEs do.
template <typename T>
T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

template <typename T>
T larger(T a, T b) {
  return a != a || a > b ? a : b;
}

/// a / b, of integers towards zero; by 0, which ONNX leaves undefined, 0.
template <typename T>
T quotient(T a, T b) {
  if constexpr (!std::is_integral_v<T>)
    return a / b;
  else if (b == 0)
    return 0;
  else
    return std::is_signed_v<T> && b == T(-1) ? negated(a) : T(a / b);
}

/// What is left of `quotient`: with the sign of `a`.
template <typename T>
T restOf(T a, T b) {
  if constexpr (!std::is_integral_v<T>)
    return std::fmod(a, b);
  else
    return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? 0 : T(a % b);
}

/// With the sign of `b`.
template <typename T>
T modulo(T a, T b) {
  T rest = restOf(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? plus(rest, b) : rest;
}

/// `base` to the power of `exponent`. Integers that are too large wrap, and of
/// a fraction nothing is left; 0 has no negative power.
template <typename T, typename E>
T power(T base, E exponent) {
  if constexpr (!std::is_integral_v<T> || !std::is_integral_v<E>) {
    double value = std::pow(double(base), double(exponent));
    return std::is_integral_v<T> ? T(truncate(value)) : T(value);
  } else if (exponent < 0) {
    const bool isUnit = base == 1 || (std::is_signed_v<T> && base == T(-1));
    return !isUnit ? T(0) : exponent % 2 == 0 ? T(1) : base;
  } else {
    T result = 1;
    for (; exponent > 0; exponent /= 2, base = times(base, base))
      if (exponent % 2)
        result = times(result, base);
    return result;
  }
}

} // namespace wsec::values

#endif // COMPILER_VALUES_ARITHMETIC_H
