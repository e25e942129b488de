// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_COMPARE_H
#define RUNTIME_HOST_COMPARE_H

#include "runtime/host/HostTensor.h"

#include <string>

namespace wsec::runtime {

struct Tolerance {
  double absolute = 1e-4;
  double relative = 1e-3;
};

/// How far a tensor is from a reference.
struct Comparison {
  double maxError = 0; ///< largest |actual - expected|
  double rms = 0;      ///< root of the mean of (actual - expected)^2
  double largest = 0;  ///< largest |expected|
  uint64_t beyond = 0; ///< elements beyond the tolerance
  uint64_t elements = 0;
  uint64_t worst = 0; ///< index of the element with the largest error

  bool passes() const { return beyond == 0; }
  /// maxError against `largest`.
  double ratio() const { return largest > 0 ? maxError / largest : maxError; }
};

/// How far an output is from its reference.
struct OutputError {
  std::string output;
  Comparison comparison;
};

/// Compares element by element: |actual - expected| <= absolute + relative *
/// |expected|; infinities and what is not a number must be in place. Throws
/// BadTensor, naming `name`, when the shapes differ.
Comparison compareTensors(const std::string &name, const HostTensor &actual,
                          const HostTensor &expected, Tolerance tolerance);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_COMPARE_H
